"""Kueue's performance test with topology as a simulation: 15,000 workloads in 30 ClusterQueues of five cohorts.

Shapes, intervals, running times and quotas are those of the generator with topology (kubernetes-sigs/kueue,
test/performance/scheduler): 640 nodes in ten racks of one block; a queue has 20 CPUs and may borrow 100 more.
"""

from __future__ import annotations

import dataclasses

from bench_replay import CLASSES, NODES_PER_RACK, QUEUES, cluster

from workbench.model.gang import Gang, Role
from workbench.model.kueue import Flavor, SliceLayer, TopologyRequest
from workbench.model.kueue_queues import ClusterQueue, FlavorQuotas, Quota
from workbench.model.kueue_request import KueueObjects, KueueRequest, KueueRole
from workbench.model.labels import HOSTNAME_LABEL, NodeLabels
from workbench.model.snapshot import ClusterSnapshot
from workbench.simulate import SimulatedJob

BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
COHORTS = 5
#: Nobody binds the pods of the test, so that the slots of a node are no limit; quota is reached before.
POD_SLOTS = 2_000
#: Of small, medium and large workloads: running time in seconds, priority.
RUNNING = {"small": (0.2, 50), "medium": (0.5, 100), "large": (1.0, 200)}


def queued_cluster() -> ClusterSnapshot:
    """The nodes with their labels, and the ClusterQueues."""
    plain = cluster()
    rows = [
        {BLOCK: "block", RACK: f"rack-{i // NODES_PER_RACK}", HOSTNAME_LABEL: name, "tas-node-group": "tas"}
        for i, name in enumerate(plain.topology.node_names)
    ]
    allocatable = plain.allocatable.copy()
    allocatable[:, plain.resources.index("pods")] = POD_SLOTS
    labels = NodeLabels.from_rows(plain.topology.node_names, rows)
    quotas = ((FlavorQuotas("tas-flavor", {"cpu": Quota(20_000, 100_000)}),),)
    queues = [
        ClusterQueue(f"q{i}", f"cohort-{i // (QUEUES // COHORTS)}", quotas, "LowerPriority", "Any")
        for i in range(QUEUES)
    ]
    objects = KueueObjects(
        {"default-topology": (BLOCK, RACK, HOSTNAME_LABEL)},
        (Flavor("tas-flavor", "default-topology", {"tas-node-group": "tas"}),),
        tuple(queues),
    )
    return dataclasses.replace(plain, labels=labels, allocatable=allocatable).with_extra(objects)


def queued_jobs(per_set: int | None = None) -> list[SimulatedJob]:
    """The workloads in the order of their creation, those of one instant by queue and set.

    `per_set`: most workloads of a set; None: all 15,000 workloads.
    """
    found: list[tuple[float, int, int, SimulatedJob]] = []
    for position, kind in enumerate(CLASSES):
        size, how = kind.name.split("-")
        seconds, priority = RUNNING[size]
        layers = (SliceLayer(RACK, kind.pods // 2),) if how == "balanced" else ()
        request = {"required": TopologyRequest(required=RACK), "preferred": TopologyRequest(preferred=RACK)}.get(
            how, TopologyRequest(slices=layers)
        )
        roles = (Role("main", kind.pods, {"cpu": kind.cpu}),)
        asked = KueueRequest(roles=(KueueRole("main", request),))
        for queue in range(QUEUES):
            for number in range(kind.workloads if per_set is None else min(kind.workloads, per_set)):
                name = f"q{queue}-{kind.name}-{number:03}"
                gang = Gang("default", name, roles, kind.pods, queue=f"q{queue}", priority=priority)
                at = kind.interval_ms * (number + 1) / 1000
                found.append((at, queue, position, SimulatedJob(gang.with_extra(asked), at, seconds)))
    return [job for *_, job in sorted(found, key=lambda one: one[:3])]
