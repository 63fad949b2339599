"""What a session keeps of jobs that it has decided on."""

from __future__ import annotations

import weakref

import workbench as wb
from workbench.policies.volcano.v1_13.policy import HardRounds


def test_the_search_of_a_decided_job_is_not_kept_until_the_session_ends(monkeypatch):
    # A search holds arrays of all nodes: of hundreds of jobs on 100,000 nodes they were gigabytes.
    made, alive = [], []
    begin = HardRounds.search

    def counted(self, context):
        alive.append(sum(one() is not None for one in made))
        search = begin(self, context)
        made.append(weakref.ref(search))
        return search

    monkeypatch.setattr(HardRounds, "search", counted)
    tree = wb.generate_scenario("balanced", sizes=(4, 2)).snapshot
    fitting = [wb.gang(f"a{i}", pods=2, gpus=8, mode="hard", tier=1) for i in range(4)]
    decisions = wb.schedule([*fitting, wb.gang("b", pods=9, gpus=8, mode="hard", tier=2)], tree, "volcano-1.13")
    assert [decision.placed for decision in decisions] == [True] * 4 + [False]
    assert max(alive) == 0
