from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.simulate.test_engine import SNAPSHOT
from workbench.model.snapshot import RunningPod
from workbench.simulate.lost_pods import former_pods, placement_of_running


@pytest.mark.parametrize(("rank", "want"), [("3", [3]), ("", []), ("x", []), ("²", []), ("9" * 5000, [])])
def test_only_a_rank_that_is_a_number_is_kept(rank: str, want: list[int]) -> None:
    pod = RunningPod("d", "p", node=0, requests={"cpu": 1}, gang="d/j", annotations={"hccl/rankIndex": rank})
    whole = placement_of_running("d/j", dataclasses.replace(SNAPSHOT, running=(pod,)))
    assert [former.rank for former in former_pods(whole, np.array([True]))] == want
