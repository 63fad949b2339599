"""Which Jobs of a HyperJob wait, and why: told with the counts of the Job that does not fit, and once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fabrics import document_tree
from tests.policies.hyper_job.cases import POLICIES, hyper, job
from workbench.model.gang import Gang, Role
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import get_policy

every_policy = pytest.mark.parametrize("policy", POLICIES)


def occupied(*nodes: str) -> ClusterSnapshot:
    used = dict.fromkeys(nodes, (0, 0, 1, 1))
    return document_tree(used=used, free_gpus=dict.fromkeys(used, 0xFE))


def why(gang: Gang, cluster: ClusterSnapshot, policy: str = "gang") -> str:
    """Text of the first reason of a refusal, behind the counts of HyperNodes."""
    result = get_policy(policy).place(gang, cluster.ledger())
    assert isinstance(result, Refusal)
    who = [reason.message.partition(" of accelerator pods; ")[2] for reason in result.reasons]
    assert not any(who[1:]), "told twice"
    return who[0]


def left_out(gang: Gang, cluster: ClusterSnapshot, policy: str = "gang") -> list[str]:
    """Why the Jobs wait that a placement leaves out, each reason once."""
    result = get_policy(policy).place(gang, cluster.ledger())
    assert isinstance(result, Placement)
    return list(dict.fromkeys(reason.message for one in result.unplaced for reason in one.reasons))


@every_policy
def test_the_job_that_does_not_fit_is_named_with_its_counts(policy: str) -> None:
    gang = hyper([job(0, 2), job(1, 9), job(2, 9)])
    assert why(gang, document_tree(), policy) == "h-m-1, h-m-2 wait: s1 holds 2 of its 9 pods × 8 GPUs"
    (text,) = left_out(hyper([job(0, 2), job(1, 3)], 1), document_tree(), policy)
    assert text == "h-m-1 waits without a HyperNode of tier 1: s1 holds 2 of its 3 pods × 8 GPUs"


def test_a_minimum_below_all_pods_is_told() -> None:
    gang = hyper([job(0, 2), job(1, 6, needs=5)], 1)
    assert left_out(gang, document_tree())[0].endswith("s1 holds 2 of its 6 pods × 8 GPUs, and 5 are needed")


def test_no_hypernode_is_left() -> None:
    texts = left_out(hyper([job(i) for i in range(5)], 2), occupied("node0"))
    assert [text.partition(" ")[0] for text in texts] == ["h-m-3", "h-m-4"]
    assert "none of the 4 HyperNodes is left: 3 for other Jobs, 1 with accelerator pods" in texts[0]


def test_a_job_that_can_never_start_is_named() -> None:
    worker = Role("w", 1, {"cpu": 1000})
    master = Role("m", 1, {"cpu": 1000}, depends_on=("w",))
    stuck = Gang("ml", "h-m-1", (worker, master), 2)
    assert why(hyper([job(0), stuck]), document_tree()) == (
        "h-m-1 waits: task m is created only after w runs (dependsOn), so only 1 of the 2 pods that minAvailable "
        "counts can exist before the job starts; lower minAvailable to 1"
    )
    assert left_out(hyper([job(0), stuck], 1), document_tree())[0].startswith("h-m-1 waits without a HyperNode")


def test_a_job_with_a_narrower_constraint() -> None:
    gang = hyper([job(0, 3), job(1, 3), job(2, 3, tier=1)], 2)
    (text,) = left_out(gang, document_tree())
    assert text == "h-m-2 waits without a HyperNode of tier 2: its constraint allows no HyperNode of tier 2"


def test_a_hyperjob_without_pods_enough_names_the_job_that_lacks_them() -> None:
    short = replace(job(1, 1), min_available=2)
    result = get_policy("volcano-1.15").schedule([hyper([job(0), short])], document_tree())[0].result
    assert isinstance(result, Refusal)
    assert result.reasons[0].message == (
        "Not enough valid tasks for gang-scheduling, valid: 3, min: 4; h-m-1 has 1 of the 2 pods it needs"
    )
