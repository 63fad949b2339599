"""HyperNodes that running Jobs of HyperJobs hold alone, read from a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.test_hyper_job_gangs import entry, made_by, pod
from tests.objects.test_hyper_job import hyper_job
from workbench.cluster.assemble import assemble
from workbench.cluster.changes import deleted, read_change
from workbench.cluster.observed import observed_gangs
from workbench.cluster.state import ClusterState
from workbench.cluster.waiting import waiting_gangs
from workbench.model.placement import Placement
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.kinds import ClusterObjects
from workbench.policies import get_policy

RECORD = "volcano.sh/job-allocated-hypernode"


def cluster() -> ClusterObjects:
    """Eight nodes of eight GPUs under s0 … s3, those under s4 and s5, these under s6."""
    found = ClusterObjects()
    for manifest in TREE:
        found.add(manifest)
    return found


def node(name: str) -> dict[str, Any]:
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": amounts}}


def hypernode(name: str, tier: int, kind: str, *members: str) -> dict[str, Any]:
    selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    spec = {"tier": tier, "members": selectors}
    return {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}, "spec": spec}


TREE = [
    *(node(f"node{i}") for i in range(8)),
    *(hypernode(f"s{i}", 1, "Node", f"node{2 * i}", f"node{2 * i + 1}") for i in range(4)),
    hypernode("s4", 2, "HyperNode", "s0", "s1"),
    hypernode("s5", 2, "HyperNode", "s2", "s3"),
    hypernode("s6", 3, "HyperNode", "s4", "s5"),
]
MANIFEST = hyper_job(replicatedJobs=[entry("a", 2, 2)])


def read(*manifests: dict[str, Any]) -> ClusterSnapshot:
    objects = cluster()
    for manifest in manifests:
        objects.add(manifest)
    return assemble(objects)[0]


def group(job: str, hypernode: str) -> dict[str, Any]:
    owner = {"kind": "Job", "name": job, "controller": True}
    metadata = {"name": job, "namespace": "ml", "annotations": {RECORD: hypernode}, "ownerReferences": [owner]}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": {}}


PODS = [pod("h-a-0", i, f"node{i}", "Running") for i in range(2)]


@pytest.mark.parametrize(
    ("more", "want"),
    [
        ([], "s0"),
        ([group("h-a-0", "s4")], "s4"),
        # A record that does not hold the pods, or that no HyperNode has, says nothing.
        ([group("h-a-0", "s5")], "s0"),
        ([group("h-a-0", "gone")], "s0"),
    ],
)
def test_the_recorded_hypernode_else_the_smallest_around(more: list[dict[str, Any]], want: str) -> None:
    snapshot = read(MANIFEST, *made_by(MANIFEST), *PODS, *more)
    assert snapshot.exclusive == {"ml/h/h-a-0": want}


def test_only_running_jobs_of_a_known_hyper_job_count() -> None:
    jobs = made_by(MANIFEST)
    assert read(*jobs, *PODS).exclusive == {}
    assert read(MANIFEST, *jobs).exclusive == {}
    plain = [{**job, "metadata": {**job["metadata"], "labels": {}}} for job in jobs]
    assert read(MANIFEST, *plain, *PODS).exclusive == {}


def test_others_stay_out_and_the_next_job_joins() -> None:
    other = hyper_job(replicatedJobs=[entry("b", 4, 2)])
    other["metadata"] = {"name": "k", "namespace": "ml"}
    objects = cluster()
    for manifest in (MANIFEST, *made_by(MANIFEST), *PODS, other):
        objects.add(manifest)
    snapshot, workload = assemble(objects)
    mine, theirs = workload.gangs
    ledger = snapshot.ledger()
    # node0 and node1 have four GPUs left each, and nobody gets them.
    assert not ledger.gpu_free[:2].any() and snapshot.gpu_free[:2].all()
    placed = get_policy("volcano-1.15").place(mine, ledger)
    assert isinstance(placed, Placement) and placed.exclusive == {"ml/h/h-a-1": "s1"}
    assert not isinstance(get_policy("gang").place(theirs, snapshot.ledger()), Placement)


def test_a_followed_cluster_knows_them_as_long_as_they_run() -> None:
    state = ClusterState(cluster())
    for manifest in (MANIFEST, *made_by(MANIFEST), *PODS):
        change = read_change(manifest)
        assert change is not None
        state.apply([change])
    assert state.snapshot.exclusive == {"ml/h/h-a-0": "s0"}
    state.apply([deleted("Pod", "ml/h-a-0-w-1")])
    assert state.snapshot.exclusive == {"ml/h/h-a-0": "s0"}
    state.apply([deleted("Pod", "ml/h-a-0-w-0")])
    assert state.snapshot.exclusive == {}


def test_the_jobs_of_a_running_hyper_job_are_taken_off_their_nodes_together() -> None:
    running = [pod("h-a-0", i, f"node{i}", "Running") for i in range(2)]
    objects = cluster()
    for manifest in (MANIFEST, *made_by(MANIFEST), *running, pod("h-a-1", 0), group("h-a-0", "s0")):
        objects.add(manifest)
    state = ClusterState(objects, any_scheduler=True)
    before = state.snapshot
    (found,) = observed_gangs(state)
    assert (found.gang.kind, found.gang.key, len(found.gang.jobs)) == ("HyperJob", "ml/h", 2)
    placed = {"h-a-0-w-0": "node0", "h-a-0-w-1": "node1"}
    assert {name: node for name, node in found.nodes.items() if node} == placed
    assert not found.snapshot.running and found.snapshot.exclusive == {} and before.exclusive == {"ml/h/h-a-0": "s0"}
    assert not any(job.record for job in found.gang.jobs), "what was recorded is as if it had not been"
    assert list(waiting_gangs(state)) == [], "a HyperJob of which a Job runs does not wait"
