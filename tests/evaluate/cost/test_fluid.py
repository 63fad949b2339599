"""Iterations of jobs that share links: what is refused. The conformance cases have the answers."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.evaluate.cost import Flow, IteratingJob, iteration_ends


def job(link: str, size: float = 1, compute_s: float = 1, start_s: float = 0) -> IteratingJob:
    return IteratingJob(compute_s, ((Flow((link,)), size),), start_s)


def test_a_job_on_a_dead_link_is_refused_though_another_one_goes_on() -> None:
    with pytest.raises(InputError, match="job 1: a job never ends an iteration"):
        iteration_ends({"l": 1, "m": 0}, [job("l"), job("m")], 2)
    # Nothing to send needs no link.
    assert iteration_ends({"l": 1, "m": 0}, [job("l"), job("m", size=0)], 1) == [[2], [1]]


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf")])
def test_negative_and_infinite_numbers_are_refused(wrong: float) -> None:
    for bad in (job("l", size=wrong), job("l", compute_s=wrong), job("l", start_s=wrong)):
        with pytest.raises(InputError, match="job 1"):
            iteration_ends({"l": 1}, [job("l"), bad], 1)
    with pytest.raises(InputError, match="link l"):
        iteration_ends({"l": wrong}, [job("l")], 1)
    with pytest.raises(InputError, match="count"):
        iteration_ends({"l": 1}, [job("l")], -1)


def test_a_count_may_be_written_as_a_float() -> None:
    assert iteration_ends({"l": 1}, [job("l")], 2.0) == [[2, 4]]  # type: ignore[arg-type]
