"""Records remembered between sessions: returned with the answer, and read from the next snapshot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from tests.choice import choices
from tests.fabrics import document_tree
from tests.policies.random_cases import random_cluster
from tests.policies.v1_15_cases import random_1_15_gang
from tests.profiles import max_examples
from workbench.kernels.domains import NO_RECORD
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.placement import Placement
from workbench.model.running_pod import RunningPod
from workbench.policies import get_policy
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.volcano.v1_15.constraints import limits_of
from workbench.policies.volcano.v1_15.search_query import records_at_open
from workbench.policies.volcano.v1_15.splitting import split


def gang(n, mode="hard", tier=2, **options):
    options.setdefault("min_available", n)
    return Gang("d", "j", (Role("w", n, {"cpu": 1000}),), constraint=TopologyConstraint(mode, tier), **options)


def running(*nodes):
    pods = [RunningPod("d", f"r{node}", node, {"cpu": 1000}, "d/j", "w") for node in nodes]
    return document_tree(cpu=1000, gpus=0, used={f"node{n}": (1000, 0, 1, 0) for n in nodes}, running=pods)


@pytest.mark.parametrize(
    ("name", "want"), [("volcano-1.13", {"d/j": "s4"}), ("volcano-1.15", {"d/j": "s4", "d/j/": "s4"})]
)
def test_the_answer_says_what_to_remember_and_the_next_snapshot_shows_it(name, want):
    cluster = document_tree(cpu=1000, gpus=0)
    result = get_policy(name).place(gang(3), cluster.ledger())
    assert result.records == want
    after = cluster.with_placement(result)
    assert after.records == want
    assert after.without("d/j").records == {}
    (decision,) = get_policy(name).schedule([gang(3)], cluster)
    assert decision.result.records == want


def test_sub_groups_are_remembered_by_their_names():
    leaf = TopologyConstraint("hard", 1)
    groups = tuple(SubGroup(f"v-{i}", (2 * i, 2 * i + 1), leaf, 2, policy="v", match_index=i) for i in range(2))
    result = get_policy("volcano-1.15").place(gang(4, sub_groups=groups, sub_grouped=True), document_tree().ledger())
    assert result.records == {"d/j": "s0", "d/j/v-0": "s0", "d/j/v-1": "s0"}


def test_1_13_goes_on_from_what_it_wrote_although_the_object_does_not_say_it_yet():
    cluster = replace(running(2), records={"d/j": "s1"})
    again = gang(1, tier=1, ready=1, min_available=2)
    # Without it the smallest name wins.
    assert get_policy("volcano-1.13").place(again, running(2).ledger()).hypernode == "s0"
    assert get_policy("volcano-1.13").place(again, cluster.ledger()).records == {"d/j": "s1"}
    # The object's own word comes first.
    named = again.with_extra(VolcanoMemory("s3"))
    assert get_policy("volcano-1.13").place(named, cluster.ledger()).records == {"d/j": "s3"}


def opened(cluster, job):
    names = cluster.topology.domain_name
    policy = get_policy("volcano-1.15")
    ledger = cluster.ledger()
    request = policy.node.request(job, ledger, GpuQuestions(policy.gpu, ledger), None)
    subs = split(job, cluster, request.demand, limits_of(job, cluster.topology))
    records, record = records_at_open(job, subs, cluster)
    return [names(r) if r != NO_RECORD else "" for r in records], names(record) if record != NO_RECORD else ""


def test_what_is_remembered_counts_before_what_pods_show_while_pods_run():
    job = gang(1, ready=1, min_available=2)
    here, nowhere = running(2), document_tree()
    kept = {"d/j": "s4", "d/j/": "s4"}
    assert opened(here, job) == (["s1"], "s1")
    assert opened(replace(here, records=kept), job) == (["s4"], "s4")
    # Dropped: nothing of the job runs, or the HyperNode is gone.
    assert opened(replace(nowhere, records=kept), replace(job, ready=0)) == ([""], "")
    assert opened(replace(here, records={"d/j": "gone", "d/j/": "gone"}), job) == (["s1"], "s1")
    # A sub-job's record had to be recovered: the job's is made anew.
    assert opened(replace(here, records={"d/j": "s4"}), job) == (["s1"], "s1")


@max_examples(80)
@given(rng=choices())
def test_the_kernel_and_the_explained_search_remember_the_same(rng):
    cluster = random_cluster(rng)
    job = random_1_15_gang(rng, cluster)
    policy = get_policy("volcano-1.15")
    result = policy.place(job, cluster.ledger())
    explained = policy.explain(job, cluster).decision.result
    (session,) = policy.schedule([job], cluster)
    if isinstance(result, Placement):
        assert result.records == explained.records == session.result.records
        assert result.records.get(job.key, "") == result.hypernode
