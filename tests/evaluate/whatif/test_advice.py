"""Advice on the pending jobs of one session: one budget of work, and what one job's search tells about the others."""

from __future__ import annotations

from collections import Counter

import pytest

import workbench
from tests.evaluate.whatif.test_fix import placed
from workbench.evaluate.whatif import advice
from workbench.evaluate.whatif.advice import advise_session
from workbench.evaluate.whatif.budget import session_work
from workbench.evaluate.whatif.edit import Edit
from workbench.evaluate.whatif.job_edits import JobEdit
from workbench.evaluate.whatif.trials import EditTrials
from workbench.policies import get_policy


@pytest.fixture
def runs(monkeypatch) -> list[tuple[int, frozenset[Edit]]]:
    """Sessions that trials run: number of gangs and edits."""
    found: list[tuple[int, frozenset[Edit]]] = []
    run = EditTrials._run

    def counted(self: EditTrials, edits: frozenset[Edit]) -> object:
        found.append((len(self.base.case.gangs), edits))
        return run(self, edits)

    monkeypatch.setattr(EditTrials, "_run", counted)
    return found


@pytest.mark.slow
def test_a_session_under_edits_of_no_single_job_is_run_once_for_all_jobs(runs) -> None:
    fleet = workbench.generate_scenario("fleet", sizes="4,2,2", busy=70, pending=6)
    policy = get_policy("volcano-1.15")
    found = advise_session(policy, policy.schedule(fleet.gangs, fleet.snapshot), fleet.snapshot)
    assert len(found) > 1 and all(report.fixes for report in found.values())
    shared = [edits for n_gangs, edits in runs if n_gangs == 6 and not any(isinstance(one, JobEdit) for one in edits)]
    assert shared and max(Counter(shared).values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "fleet", "sessions", "least"),
    [
        ("volcano-1.15", {"sizes": "4,2,2", "busy": 70, "pending": 20}, 150, 10),
        ("kueue-0.19", {"sizes": "8,4,4", "busy": 90, "pending": 24}, 60, 19),
    ],
)
def test_most_jobs_of_a_busy_fleet_get_advice(policy, fleet, sessions, least, monkeypatch, runs) -> None:
    """Few sessions of the whole fleet serve many jobs; where each job ran its own, five and none of them had advice."""
    scenario = workbench.generate_scenario("fleet", **fleet)
    chosen = get_policy(policy)
    decisions = chosen.schedule(scenario.gangs, scenario.snapshot)
    limit = sessions * session_work(len(scenario.gangs), scenario.snapshot.n_nodes)
    monkeypatch.setattr(advice, "MOST_WORK", limit)
    found = advise_session(chosen, decisions, scenario.snapshot)
    done = sum(session_work(n_gangs, scenario.snapshot.n_nodes) for n_gangs, _ in runs)
    advised = [key for key, report in found.items() if report.fixes]
    assert len(advised) >= least and done < 1.3 * limit
    for key in advised:
        assert all(placed(chosen, scenario, key, fix.edits) for fix in found[key].fixes)
    assert found.left_out == sum(not one.placed for one in decisions) - len(advised)
