from __future__ import annotations

import pytest

from workbench.model.snapshot import RunningPod
from workbench.simulate.faults import damaged_gang


@pytest.mark.parametrize(("rank", "want"), [("3", [3]), ("", []), ("x", []), ("²", []), ("9" * 5000, [])])
def test_only_a_rank_that_is_a_number_is_kept(rank: str, want: list[int]) -> None:
    pod = RunningPod("d", "p", node=0, requests={"cpu": 1}, gang="d/j", annotations={"hccl/rankIndex": rank})
    found = damaged_gang(None, [pod], [pod], ["n0"])
    assert [former.rank for former in found.ascend.former] == want
