from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.reference.switch_affinity import Row, closest, place
from workbench.kernels.switch_rules import (
    CLOSEST,
    COMMON,
    FALL_BACK,
    FOUNDATION,
    ONE,
    OPENED,
    PADDING,
    WHOLE,
    place_closest,
    place_new,
)
from workbench.kernels.switches import FOUNDATION as FOUNDATION_JOBS
from workbench.kernels.switches import SUMS, UNHEALTHY

CODES = {"idle": (0, False), "exclusive": (2, False), "shared/healthy": (1, False), "shared/unhealthy": (1, True)}
KINDS = {"padding": PADDING, "foundation": FOUNDATION, "common": COMMON}
#: State during the job, by rule; under one switch it stays.
BECOMES = {WHOLE: "exclusive", CLOSEST: "shared/healthy", OPENED: "shared/healthy", FALL_BACK: "shared/unhealthy"}
ROWS = st.lists(st.builds(Row, st.sampled_from(sorted(CODES)), st.integers(0, 7), st.booleans()), max_size=9)


def asked(rows: list[Row], job: int, n_pods: int, per_switch: int, max_shared: int) -> tuple[list, int]:
    sums = np.zeros((SUMS, len(rows)), dtype=np.int64)
    for i, row in enumerate(rows):
        state, sums[UNHEALTHY, i] = CODES[row.state]
        sums[state, i] = 1
        sums[FOUNDATION_JOBS, i] = not row.common_only
    free = np.array([row.free for row in rows], dtype=np.int64)
    switch, taken, rule, missing = place_new(sums, free, job, n_pods, per_switch, max_shared)
    return list(zip(switch.tolist(), taken.tolist(), rule.tolist(), strict=True)), missing


@given(ROWS, st.sampled_from(sorted(KINDS)), st.integers(1, 30), st.integers(1, 8), st.integers(1, 2))
def test_the_switches_of_a_new_job(rows, kind, n_pods, per_switch, max_shared):
    found, missing = asked(rows, KINDS[kind], n_pods, per_switch, max_shared)
    expected = place(rows, kind, n_pods, per_switch, max_shared)
    assert (missing == 0) == (expected is not None)
    assert sum(taken for _, taken, _ in found) + missing == n_pods
    if expected is not None:
        states = [(i, taken, rows[i].state if rule == ONE else BECOMES[rule]) for i, taken, rule in found]
        assert states == expected


def test_switches_that_a_pending_job_would_have_taken_are_told():
    rows = [Row("idle", 2), Row("exclusive", 4), Row("shared/unhealthy", 1), Row("shared/healthy", 1, False)]
    assert asked(rows, FOUNDATION, 5, 2, 2) == ([(0, 2, WHOLE)], 3)
    assert asked(rows, COMMON, 5, 2, 2) == ([(0, 2, WHOLE), (2, 1, FALL_BACK)], 2)
    assert asked(rows, PADDING, 5, 2, 2) == ([], 5)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=9), st.integers(1, 20), st.integers(0, 2))
def test_one_or_two_shared_switches(switches, n_pods, max_shared):
    allowed = np.array([allowed for allowed, _ in switches], dtype=np.bool_)
    switch, taken = place_closest(allowed, np.array([free for _, free in switches], dtype=np.int64), n_pods, max_shared)
    rows = [Row("shared/healthy", free) for _, free in switches]
    healthy = sorted((i for i, (allowed, _) in enumerate(switches) if allowed), key=lambda i: (rows[i].free, i))
    expected = closest(rows, healthy, n_pods, max_shared)
    assert list(zip(switch.tolist(), taken.tolist(), strict=True)) == expected
