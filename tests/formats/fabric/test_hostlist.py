from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.formats.fabric.hostlist import compress_hosts, expand_hosts


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", []),
        ("a", ["a"]),
        ("a, b", ["a", "b"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("node[001-003,020]", ["node001", "node002", "node003", "node020"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("n[09-11]", ["n09", "n10", "n11"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("r[1,3]-x,login", ["r1-x", "r3-x", "login"]),
        ("n[5]", ["n5"]),
    ],
)
def test_a_list_stands_for_its_names(text, want):
    assert expand_hosts(text) == want


@pytest.mark.parametrize(
    "text",
    ["n[1-3", "n1-3]", "n[3-1]", "n[a-b]", "n[]", "n[1-]", "n[[1]]", "n[1-99999999]", "n[1-9999]m[1-9999]", "n[1--2]"],
)
def test_what_is_no_list_is_refused(text):
    with pytest.raises(InputError, match="not a host list"):
        expand_hosts(text)


@pytest.mark.parametrize(
    ("names", "want"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n2", "n1", "n5"], "n[1-2,5]"),
        (["n9", "n10"], "n[9-10]"),
        (["n09", "n10"], "n09,n10"),
        (["n001", "n002", "n010"], "n[001-002,010]"),
        (["login", "n1", "n1"], "login,n1"),
    ],
)
def test_names_become_a_list(names, want):
    if want == "n09,n10":
        assert sorted(expand_hosts(compress_hosts(names))) == names
    else:
        assert compress_hosts(names) == want


NAMES = st.from_regex(r"\A[a-z]{0,2}[0-9]{0,4}[a-z.-]{0,2}[0-9]{0,3}x?\Z").filter(bool)


@given(st.sets(NAMES, max_size=30))
def test_a_list_stands_for_exactly_the_names_it_was_made_of(names):
    assert sorted(expand_hosts(compress_hosts(names))) == sorted(names)


@given(st.lists(NAMES, max_size=12, unique=True), st.randoms())
def test_the_order_of_the_names_does_not_matter(names, random):
    other = list(names)
    random.shuffle(other)
    assert compress_hosts(names) == compress_hosts(other)
