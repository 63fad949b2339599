from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.model.labels import Requirement
from workbench.objects.selectors import (
    NameIndex,
    Selector,
    compile_pattern,
    read_label_selector,
    resolve_selector,
)

NAMES = ["node-0", "node-1", "node-10", "prefix-0", "a\nb"]
LABELS = [{"role": "worker"}, {"role": "worker", "zone": "x"}, {"role": "master"}, {}, {"role": ""}]


@pytest.fixture
def index() -> NameIndex:
    return NameIndex(NAMES, LABELS)


@pytest.mark.parametrize(
    ("pattern", "want"),
    [
        ("node-[0-1]", ["node-0", "node-1", "node-10"]),  # unanchored, as Go's MatchString
        ("^node-1$", ["node-1"]),
        ("1", ["node-1", "node-10"]),
        ("^a$", []),  # $ is the end of the text, not of the line
        (r"\d$", ["node-0", "node-1", "node-10", "prefix-0"]),
        ("^", NAMES),
        ("^prefix|10", ["node-10", "prefix-0"]),
        ("[", []),
        ("", NAMES),
    ],
)
def test_a_pattern_is_found_anywhere_in_the_name(index: NameIndex, pattern: str, want: list[str]) -> None:
    assert resolve_selector(Selector(pattern=pattern), index) == want


patterns = st.text(alphabet="nod-01^$.*+|[](){}?ae\\", min_size=1, max_size=8)


@given(st.lists(patterns, max_size=6), st.lists(st.text(alphabet="nod-01ae", max_size=8), unique=True, max_size=8))
def test_searching_many_patterns_at_once_finds_what_one_by_one_finds(patterns: list[str], names: list[str]) -> None:
    index = NameIndex(names)
    index.prepare(patterns)
    for pattern in patterns:
        try:
            search = compile_pattern(pattern).search
        except InputError:
            assert index.matching(pattern) == []
        else:
            assert index.matching(pattern) == [i for i, name in enumerate(names) if search(name) is not None]


def test_more_patterns_than_one_walk_takes() -> None:
    names = [f"n{i:03d}" for i in range(600)]
    index = NameIndex(names)
    index.prepare(f"{name}$" for name in names)
    assert [index.matching(f"{name}$") for name in names] == [[i] for i in range(600)]


def test_where_re2_has_no_memory_for_all_patterns_they_are_searched_one_by_one(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("workbench.objects.selectors._SEARCH_MEMORY", 20_000)
    patterns = [f"[a-z]+{i}[0-9]*$" for i in range(40)]
    index = NameIndex(NAMES)
    index.prepare(patterns)
    assert index.matching("[a-z]+1[0-9]*$") == []
    assert index.matching("[a-z]+-1[0-9]*$") == [1, 2]
    assert NameIndex([f"x{i}" for i in range(40)]).matching("[a-z]+7[0-9]*$") == [7]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("pattern", ["(?=x)", r"(x)\1", "[", "x{1001}", "*", "[a\nb", "\ud800"])
def test_what_re2_refuses_is_refused_with_its_reason(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="no Go regular expression") as caught:
        compile_pattern(pattern)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("pattern", "refused"), [(r"\C", True), (r"a\\\C", True), (r"\\C", False), (r"\Q\C\E", False)])
def test_the_byte_escape_that_go_lacks_is_refused(pattern: str, refused: bool) -> None:
    if refused:
        with pytest.raises(InputError, match="C"):
            compile_pattern(pattern)
    else:
        compile_pattern(pattern)


def test_an_exact_name_is_yielded_even_without_such_a_node(index: NameIndex) -> None:
    assert resolve_selector(Selector(exact="nowhere"), index) == ["nowhere"]
    assert resolve_selector(Selector(exact=""), index) == []
    assert resolve_selector(Selector(), index) == []


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        ({"matchLabels": {"role": "worker"}}, ["node-0", "node-1"]),
        ({"matchLabels": {"role": "worker", "zone": "x"}}, ["node-1"]),
        ({"matchLabels": {"role": ""}}, ["a\nb"]),
        ({"matchExpressions": [{"key": "role", "operator": "NotIn", "values": ["worker"]}]}, NAMES[2:]),
        ({"matchExpressions": [{"key": "role", "operator": "Exists"}]}, ["node-0", "node-1", "node-10", "a\nb"]),
        ({"matchExpressions": [{"key": "role", "operator": "DoesNotExist", "values": []}]}, ["prefix-0"]),
        ({"matchExpressions": [{"key": "role", "operator": "In", "values": ["master", "worker"]}]}, NAMES[:3]),
        ({}, []),
        ({"matchLabels": None}, []),
        ({"matchExpressions": [{"key": "role", "operator": "Gt", "values": ["1"]}]}, []),
        ({"matchExpressions": [{"key": "role", "operator": "In", "values": []}]}, []),
        ({"matchLabels": {"role": "worker"}, "matchExpressions": [{"key": "x", "operator": "Near"}]}, []),
    ],
)
def test_label_selectors(index: NameIndex, selector: dict[str, object], want: list[str]) -> None:
    assert resolve_selector(Selector(labels=read_label_selector(selector, "labelMatch")), index) == want


def test_a_label_selector_of_the_wrong_type_is_bad_input() -> None:
    with pytest.raises(InputError, match=r"matchExpressions\[0\].values"):
        read_label_selector({"matchExpressions": [{"key": "a", "operator": "In", "values": [1]}]}, "labelMatch")


def test_conditions_keep_their_order() -> None:
    selector = {"matchLabels": {"b": "1"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}
    assert read_label_selector(selector, "") == (Requirement("b", "In", ("1",)), Requirement("a", "Exists"))
