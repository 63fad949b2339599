from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.simulate.test_engine import SNAPSHOT
from workbench.errors import CapacityError, InputError
from workbench.model.running_pod import RunningPod
from workbench.policies.retry import RetryRule
from workbench.simulate import Simulation, breakdowns
from workbench.simulate.lost_pods import former_pods, placement_of_running


@pytest.mark.parametrize(("rank", "want"), [("3", [3]), ("", []), ("x", []), ("²", []), ("9" * 5000, [])])
def test_only_a_rank_that_is_a_number_is_kept(rank: str, want: list[int]) -> None:
    pod = RunningPod("d", "p", node=0, requests={"cpu": 1}, gang="d/j", annotations={"hccl/rankIndex": rank})
    whole = placement_of_running("d/j", dataclasses.replace(SNAPSHOT, running=(pod,)))
    assert [former.rank for former in former_pods(whole, np.array([True]))] == want


def test_breakdowns_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breakdowns, "_MOST_BREAKDOWNS", 1_000)
    with pytest.raises(CapacityError, match=r"more than 1,000 breakdowns in 1e\+12 s"):
        breakdowns.draw_breakdowns(SNAPSHOT, breakdowns.FaultRates(), 1e12, np.random.default_rng(1))


@pytest.mark.parametrize("cycle", [1e-320, 1e-9])
def test_a_cycle_that_is_too_short_is_refused(cycle: float) -> None:
    with pytest.raises(InputError, match="too short a cycle"):
        Simulation(SNAPSHOT, "gang", [], retry=RetryRule(cycle))
