"""How sentences name the virtual top and a limit of tiers, whatever policy writes them."""

from __future__ import annotations

import pytest

from tests.fabrics import document_tree
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import NearestMiss, Refusal
from workbench.model.topology import VIRTUAL_TOP, place_name, within_tiers
from workbench.policies import get_policy

TOPOLOGY = document_tree(cpu=1000).topology
POLICIES = ["allocate", "volcano-1.13", "volcano-1.15", "volcano-documents", "koordinator-network"]


def test_the_virtual_top_is_the_whole_cluster() -> None:
    assert place_name(VIRTUAL_TOP) == TOPOLOGY.place_name(-1) == "the whole cluster"
    assert place_name("s0") == TOPOLOGY.place_name(TOPOLOGY.domain("s0")) == "s0"
    assert NearestMiss(4, VIRTUAL_TOP, 2, 3).place == "the whole cluster (tier 4)"


@pytest.mark.parametrize(("limit", "said"), [(None, ""), (1, " of tier <= 1"), (3, " of tier <= 3"), (4, ""), (9, "")])
def test_a_limit_above_all_tiers_is_none(limit: int | None, said: str) -> None:
    assert TOPOLOGY.tiers == (1, 2, 3)
    assert within_tiers(TOPOLOGY, limit) == said


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("tier", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("pods", [9, 20])
def test_no_refusal_names_the_virtual_top_or_a_tier_that_is_not_there(policy: str, tier: int, pods: int) -> None:
    gang = Gang("d", "j", (Role("w", pods, {"cpu": 1000}),), pods, constraint=TopologyConstraint("hard", tier))
    snapshot = document_tree(cpu=1000)
    explanation = get_policy(policy).explain(gang, snapshot)
    result = explanation.decision.result
    assert isinstance(result, Refusal)
    texts = [reason.message for reason in result.reasons] + list(explanation.notes)
    assert not any("cluster-top" in text or "tier <= 4" in text or "tier <= 7" in text for text in texts)
    for note in explanation.notes:
        assert not note.startswith("turn 1, on all nodes") or note.endswith(": too few for the job to start")
