from __future__ import annotations

from tests.hand_made import document_tree, gang_of, placement_of
from workbench.evaluate.records import decision_record
from workbench.model.notice import Notice
from workbench.model.placement import Decision, NearestMiss, Refusal, Unplaced

TOPOLOGY = document_tree()


def test_a_placed_job_lists_its_pods_with_gpus_rank_and_annotations() -> None:
    gang = gang_of("a", 2, 2)
    record = decision_record(Decision(gang, placement_of(gang, TOPOLOGY, [0, 5], [0b11, 0b1100], rank=[1, 0])))
    assert (record["namespace"], record["name"], record["outcome"]) == ("default", "a", "placed")
    assert record["hypernode"] is None and record["tier"] is None
    first = record["pods"][0]
    assert (first["name"], first["node"], first["gpus"], first["rank"]) == ("a-worker-0", "node0", [0, 1], 1)
    assert '"allocatedGPUs":{"0":["0","1"]}' in first["annotations"]["topology.scheduling.koordinator.sh/gpu"]


def test_pods_beyond_the_minimum_are_listed_with_their_reasons() -> None:
    gang = gang_of("a", 2, 2)
    placement = placement_of(gang, TOPOLOGY, [0, -1], [0b11, 0])
    object.__setattr__(
        placement, "unplaced", (Unplaced(1, (Notice("insufficient", "no room", numbers={"count": 7}),)),)
    )
    record = decision_record(Decision(gang, placement))
    assert record["unplaced"] == [
        {
            "name": "a-worker-1",
            "reasons": [{"code": "insufficient", "message": "no room", "subject": "", "numbers": {"count": 7}}],
        }
    ]
    assert len(record["pods"]) == 1


def test_a_pending_job_has_reasons_and_nearest_misses() -> None:
    gang = gang_of("a", 9)
    refusal = Refusal(
        gang,
        "p",
        {},
        (Notice("c", "m", numbers={"count": 3}),),
        (NearestMiss(1, "s0", 2, 9),),
        (Notice("careful", "careful"),),
    )
    record = decision_record(Decision(gang, refusal))
    assert record["outcome"] == "pending" and record["pods"] == []
    assert record["reasons"] == [{"code": "c", "message": "m", "subject": "", "numbers": {"count": 3}}]
    assert record["nearest_misses"] == [{"tier": 1, "domain": "s0", "holds": 2, "needs": 9}]
    assert record["warnings"] == [{"code": "careful", "message": "careful", "subject": "", "numbers": {}}]
