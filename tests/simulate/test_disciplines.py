"""Disciplines of one's own, and their registry; the clusters of test_engine."""

from __future__ import annotations

import dataclasses
import heapq
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from tests.simulate.test_engine import SNAPSHOT, THREE, job, run, starts
from workbench.cli.simulate import simulate
from workbench.errors import InputError, UnknownNameError
from workbench.model.job_log import JobLog, LoggedJob
from workbench.policies import get_policy
from workbench.simulate import Candidates, Discipline, SimulatedJob, Simulation, disciplines, get_discipline
from workbench.simulate.disciplines import DISCIPLINES, discipline, list_disciplines
from workbench.study import Study
from workbench.study.plan import StudyWorkload


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    kept = dict(disciplines._registered)
    yield
    disciplines._registered.clear()
    disciplines._registered.update(kept)


class ShortestFirst(Discipline):
    """The job with the least work first."""

    def rank(self, job: SimulatedJob) -> float:
        return job.duration_s


class OneAtATime(Discipline):
    """A job starts only where none runs, the one that asks for most GPUs first; the others wait behind it."""

    def start(self, candidates: Candidates) -> None:
        waiting = [(-run.most_gpus, run) for run in candidates]
        heapq.heapify(waiting)
        while waiting:
            _, run = heapq.heappop(waiting)
            if list(candidates.running) or not candidates.start(run):
                candidates.pass_over(run)


def test_a_rank_is_a_discipline() -> None:
    discipline("shortest-first")(ShortestFirst)
    jobs = [job("a", 8, 0, 10), job("long", 8, 1, 30), job("short", 8, 2, 5)]
    result = run(jobs, discipline="shortest-first")
    assert starts(result) == [0, 15, 10]
    assert result.discipline == "shortest-first"
    assert "shortest-first" in list_disciplines()
    assert list_disciplines()[: len(DISCIPLINES)] == DISCIPLINES


def test_a_discipline_says_itself_who_starts() -> None:
    discipline("one-at-a-time")(OneAtATime)
    jobs = [job("a", 1, 0, 10), job("b", 2, 0, 10), job("c", 3, 0, 10), job("d", 1, 5, 10)]
    result = run(jobs, discipline="one-at-a-time")
    assert starts(result) == [20, 10, 0, 30]
    assert {row.code for row in result.refusals} == {"behind", ""}


def test_a_simulation_with_a_discipline_of_ones_own_survives_pickle() -> None:
    discipline("shortest-first")(ShortestFirst)
    whole = run(THREE, discipline="shortest-first")
    simulation = Simulation(SNAPSHOT, "binpack", THREE, discipline=ShortestFirst()).run(5)
    again = pickle.loads(pickle.dumps(simulation)).run().result()
    assert (again.attempts, again.discipline) == (whole.attempts, whole.discipline)


def test_a_study_names_a_discipline_of_ones_own() -> None:
    discipline("shortest-first")(ShortestFirst)
    log = JobLog(tuple(LoggedJob(one.gang, one.submitted_s, one.duration_s) for one in THREE), "log")
    study = Study(
        "own",
        {"t": SNAPSHOT},
        {"w": StudyWorkload(log)},
        {"binpack": get_policy("binpack")},
        disciplines=("best-effort", "shortest-first"),
    )
    first, second = study.runs
    assert first.digest != second.digest

    class Other(ShortestFirst):
        def rank(self, job: SimulatedJob) -> float:
            return -job.duration_s

    discipline("shortest-first")(Other)
    changed = dataclasses.replace(study).runs
    assert (changed[0].digest, changed[1].digest == second.digest) == (first.digest, False)


#: As in a cell of a notebook.
CELL = """
from workbench.simulate import Discipline, discipline

@discipline("largest-first")
class LargestFirst(Discipline):
    def rank(self, job):
        return -job.gang.n_pods
"""


@pytest.mark.slow
def test_a_study_runs_a_discipline_of_a_notebook_in_its_workers(tmp_path: Path) -> None:
    exec(CELL, {"__name__": "__main__"})  # the workers have no such module
    jobs = [job("a", 8, 0, 10), job("small", 1, 1, 5), job("big", 8, 2, 20)]
    log = JobLog(tuple(LoggedJob(one.gang, one.submitted_s, one.duration_s) for one in jobs), "log")
    parts = {"t": SNAPSHOT}, {"w": StudyWorkload(log)}, {"binpack": get_policy("binpack")}
    study = Study("own", *parts, disciplines=("fifo", "largest-first"))
    frame = study.run(tmp_path, workers=1)
    assert frame.set_index("discipline")["waited_mean_s"].to_dict() == {
        name: pytest.approx(run(jobs, discipline=name).summary()["waited_mean_s"]) for name in study.disciplines
    }
    assert starts(run(jobs, discipline="largest-first")) == [0, 30, 10]


@pytest.mark.parametrize("name", ["", " x", 3, None, "fifo"])
def test_names_that_are_refused(name: Any) -> None:
    with pytest.raises(InputError, match="discipline"):
        discipline(name)


def test_what_is_no_discipline() -> None:
    with pytest.raises(InputError, match="not a discipline"):
        discipline("mine")(dict)
    with pytest.raises(UnknownNameError, match="did you mean shortest-first"):
        discipline("shortest-first")(ShortestFirst)
        get_discipline("shortest-frist")
    with pytest.raises(UnknownNameError, match="did you mean fifo"):
        run(THREE, discipline="fifa")


def test_the_command_names_every_discipline() -> None:
    (option,) = get_type_hints(simulate, include_extras=True)["discipline"].__metadata__
    assert option.metavar == f"[{'|'.join(DISCIPLINES)}]"
