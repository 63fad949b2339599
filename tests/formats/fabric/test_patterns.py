from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.fabric.test_hostlist import NAMES
from workbench.formats.fabric.patterns import exact_patterns
from workbench.objects.selectors import compile_pattern

RACKS = [f"rack{r}-n{i:02d}" for r in (1, 2, 10) for i in range(1, 17)]


@pytest.mark.parametrize(
    ("known", "wanted", "want"),
    [
        (RACKS, [n for n in RACKS if n.startswith("rack1-")], "^rack1-"),
        (RACKS, [n for n in RACKS if n.startswith("rack2-")], "^rack2"),
        (RACKS, [n for n in RACKS if n.startswith("rack1")], "^rack1"),
        ([f"n{i}" for i in range(20)], [f"n{i}" for i in range(8, 13)], "^n(?:1[0-2]|[89])"),
        ([f"n{i:02d}" for i in range(40)], [f"n{i:02d}" for i in range(1, 17)], "^n(?:0[1-9]|1[0-6])"),
        (["n1", "n10", "m1"], ["n1"], "n1$"),
        (["a.x", "b.x", "c.y"], ["a.x", "b.x"], "x$"),
        (["a+1", "a+2", "a1"], ["a+1", "a+2"], "^a\\+"),
        (["ab", "abc", "b"], ["ab", "abc"], "^a"),
    ],
)
def test_the_shortest_form_is_taken_where_open_patterns_are_allowed(known, wanted, want):
    assert exact_patterns(known, [wanted], open_ended=True)[0] == want


@pytest.mark.parametrize(
    ("known", "wanted", "want"),
    [
        ([f"gpu-{i}" for i in range(1, 9)], [f"gpu-{i}" for i in range(1, 5)], "^gpu-[1-4]$"),
        ([f"n{i:02d}" for i in range(40)], [f"n{i:02d}" for i in range(1, 17)], "^n(?:0[1-9]|1[0-6])$"),
        (["n1", "n10", "m1"], ["n1"], "^n1$"),
        (["a.x", "b.x", "c.y"], ["a.x", "b.x"], "^[ab]\\.x$"),
        (["a", "ab", "b"], ["a", "ab"], "^ab?$"),
    ],
)
def test_a_pattern_is_closed_by_default(known, wanted, want):
    assert exact_patterns(known, [wanted])[0] == want


@given(st.sets(NAMES, min_size=1, max_size=24), st.booleans(), st.data())
def test_a_pattern_finds_exactly_the_names_it_was_made_for(known, open_ended, data):
    wanted = data.draw(st.sets(st.sampled_from(sorted(known)), min_size=1))
    pattern = exact_patterns(known, [wanted], open_ended=open_ended)[0]
    assert pattern is not None
    assert {name for name in known if compile_pattern(pattern).search(name)} == wanted


@given(st.sets(NAMES, min_size=2, max_size=24), st.data())
def test_a_closed_pattern_never_finds_a_name_that_comes_later(names, data):
    later = data.draw(st.sampled_from(sorted(names)))
    known = names - {later}
    wanted = data.draw(st.sets(st.sampled_from(sorted(known)), min_size=1))
    pattern = exact_patterns(known, [wanted])[0]
    assert pattern is not None and compile_pattern(pattern).search(later) is None


@given(st.sets(st.text("a]^-\\[.$1é\n", min_size=1, max_size=4), min_size=1, max_size=12), st.data())
def test_letters_that_mean_something_to_a_pattern_do_not(known, data):
    wanted = data.draw(st.sets(st.sampled_from(sorted(known)), min_size=1))
    pattern = exact_patterns(known, [wanted])[0]
    if pattern is not None:
        assert {name for name in known if compile_pattern(pattern).search(name)} == wanted
