"""`name_list`: names in a message, consecutive ones as ranges."""

from __future__ import annotations

import pytest

from workbench.model.counted import name_list

CASES = {
    "no name": ([], 3, ""),
    "two consecutive names are short enough": (["n0", "n1"], 3, "n0, n1"),
    "three become a range": (["n0", "n1", "n2"], 3, "n0..n2"),
    "leading zeros": (["node07", "node08", "node09", "node10"], 3, "node07..node10"),
    "a number that grows by a digit": (["n8", "n9", "n10", "n11"], 3, "n8..n11"),
    "zeros that get lost are no range": (["n08", "n09", "n010"], 3, "n08, n09, n010"),
    "a gap ends a range": (["n0", "n1", "n2", "n4"], 3, "n0..n2, n4"),
    "another prefix ends a range": (["a0", "a1", "a2", "b3"], 3, "a0..a2, b3"),
    "the last number counts": (["r1n1", "r1n2", "r1n3", "r2n4"], 3, "r1n1..r1n3, r2n4"),
    "a domain behind the number": (["n1.x", "n2.x", "n3.x"], 3, "n1.x..n3.x"),
    "names without a number": (["a", "b", "c", "d"], 3, "a, b, c and 1 more"),
    "the order is kept, downwards is no range": (["n2", "n1", "n0"], 3, "n2, n1, n0"),
    "the same name twice is no range": (["n1", "n1", "n1"], 3, "n1, n1, n1"),
    "the others are counted by names, not by ranges": (["a", "b", "c", "n1", "n2", "n3"], 3, "a, b, c and 3 more"),
    "many others": ([f"n{2 * i}" for i in range(2000)], 1, "n0 and 1,999 more"),
    "a number of very many digits": (["n" + "9" * 5000, "m"], 3, "n" + "9" * 5000 + ", m"),
    "a name is never read as a pattern": (["a\n1", "a\n2", "a\n3"], 3, "a\n1..a\n3"),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_name_list(case: str) -> None:
    names, most, want = CASES[case]
    assert name_list(names, most) == want
