"""Readiness of a sub-group; upstream's own rows are in the conformance cases."""

from __future__ import annotations

import pytest

from workbench.policies.volcano.newest.sub_jobs import is_pipelined, is_ready


@pytest.mark.parametrize(
    ("tasks", "best_effort", "ready", "pipelined"),
    [
        ({"Allocated": 1, "Running": 1}, 0, True, True),
        ({"Allocated": 1, "Pipelined": 1}, 0, False, True),
        ({"Pending": 5}, 0, False, False),
        ({"Pending": 5}, 2, True, True),
        ({"Failed": 1, "Releasing": 1, "Succeeded": 1}, 0, False, False),
    ],
)
def test_of_two_that_are_needed(tasks: dict[str, int], best_effort: int, ready: bool, pipelined: bool) -> None:
    assert (is_ready(2, tasks, best_effort), is_pipelined(2, tasks, best_effort)) == (ready, pipelined)
