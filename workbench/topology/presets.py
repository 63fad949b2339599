"""Presets: named generators of clusters and jobs, which `workbench topology generate KIND` offers.

Each preset has parameters, a meaning and an origin. The generating itself is in `workbench.topology.generate`; the
machines' GPU links are in `workbench.topology.machines`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.errors import InputError, UnknownNameError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.scenario import Scenario
from workbench.topology.fleet import fleet
from workbench.topology.generate import Fabric, Manifest, NodeShape
from workbench.topology.job_shape import JobShape, scenario_of
from workbench.topology.machines import MACHINES, machine, resource_of, with_degraded_links, with_noise
from workbench.topology.preset_parameters import Parameter

__all__ = [
    "PRESETS",
    "Preset",
    "balanced",
    "generate",
    "generate_jobs",
    "generate_scenario",
    "machines",
    "preset_fabric",
    "three_level_tree",
    "two_roce_networks",
    "use_case_1",
    "use_case_2",
]

Plan = tuple[Fabric, tuple[JobShape, ...]]
DESIGN = "Volcano design document 'Network Topology Aware Scheduling'"


@dataclass(frozen=True)
class Preset:
    """A named generator of a cluster with jobs, as `workbench topology generate` lists it.

    `plan`: function that takes the parameters by name and returns the fabric and the jobs on it.
    """

    name: str
    meaning: str
    origin: str
    parameters: Mapping[str, Parameter]
    plan: Callable[..., Plan]


def three_level_tree(gpus: int = 8) -> Plan:
    """HyperNodes s0 … s6 over nodes node0 … node7: two nodes per lowest HyperNode, three tiers."""
    return Fabric((2, 2, 2), shape=_gpu_node(gpus)), ()


def two_roce_networks(gpus: int = 8) -> Plan:
    """Two RoCE networks, each of two NVLink networks of two hosts, node1 … node8.

    No HyperNode joins the RoCE networks.
    """
    fabric = Fabric(
        (2, 2),
        roots=2,
        prefixes=("nvlink-network", "roce-network"),
        first_node=1,
        shape=_gpu_node(gpus),
    )
    return fabric, ()


def balanced(
    sizes: Sequence[int] = (4, 4, 2),
    roots: int = 1,
    gpus: int = 8,
    prefix: str = "s",
    node_prefix: str = "node",
    matrix: str = "",
    noise: float = 0.0,
    seed: int = 0,
) -> Plan:
    """A balanced HyperNode tree of any depth; on request every node has the GPU links of a well-known machine.

    Parameters
    ----------
    sizes, roots : see `Fabric`
    gpus : int
        GPUs per node.
    prefix, node_prefix : str
        Beginning of the names of HyperNodes and nodes.
    matrix : str
        Name of a machine (`workbench.topology.machines.MACHINES`); empty: no matrix.
    noise : float
        Relative standard deviation of the noise added to the matrix.
    seed : int
        Seed of the noise.
    """
    links: BandwidthMatrix | None = None
    if matrix:
        links = machine(matrix)
        if noise:
            links = with_noise(links, noise, np.random.default_rng(seed))
    fabric = Fabric(
        tuple(sizes), roots=roots, prefixes=(prefix,), node_prefix=node_prefix, shape=_gpu_node(gpus), matrix=links
    )
    return fabric, ()


def machines(
    model: str = "dgx-a100",
    nodes: int = 1,
    noise: float = 0.0,
    degraded: int = 0,
    factor: float = 0.25,
    directions: int = 1,
    seed: int = 0,
) -> Plan:
    """Nodes of one well-known machine under one HyperNode, each with a Koordinator Device that holds its GPU links.

    `model`: a name in `workbench.topology.machines.MACHINES`. `noise`, `degraded`, `factor`, `directions`, `seed`: see
    `workbench.topology.machines.with_noise` and `with_degraded_links`; drawn with `seed`, the degraded links first, so
    that noise does not move them. The nodes are equal.
    """
    rng = np.random.default_rng(seed)
    links = machine(model)
    if degraded:
        links = with_degraded_links(links, degraded, factor, rng, directions)
    if noise:
        links = with_noise(links, noise, rng)
    shape = NodeShape(devices={resource_of(model): len(links)})
    return Fabric((nodes,), node_prefix=f"{model}-", shape=shape, matrix=links), ()


def use_case_1(pods: int = 3000, sizes: Sequence[int] = (25, 12, 10, 2)) -> Plan:
    """A training job of 8-GPU pods on zones of four tiers; nodes with 8 H100, 8 CX7 and one BlueField-3.

    `pods`: number of pods; the use case's document has about 3,000, or 5,000. `sizes`: 25 nodes in a zone of tier 1,
    300 in tier 2, 3,000 in tier 3, 6,000 in tier 4: a job of 3,000 pods fills a zone of tier 3, one of 5,000 must cross
    to tier 4. `(10, 10, 10, 5)` gives the 5,000 nodes of the benchmark.
    """
    shape = NodeShape(
        cpu=192,
        memory_gib=2048,
        devices={"nvidia.com/gpu": 8, "rdma/bf3": 1, "rdma/cx7": 8},
        labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
    )
    fabric = Fabric(tuple(sizes), prefixes=tuple(f"zone-t{t}-" for t in range(1, len(sizes) + 1)), shape=shape)
    job = JobShape(
        "train",
        pods,
        cpu=96,
        memory_gib=1024,
        devices={"nvidia.com/gpu": 8, "rdma/cx7": 8},
        mode="hard",
        highest_tier=len(sizes),
    )
    return fabric, (job,)


def use_case_2(pods: int = 3000, group_size: int = 8, sizes: Sequence[int] = (24, 16, 8)) -> Plan:
    """A job of 16-NPU pods whose tensor-parallel groups want one HCCS zone; tiers HCCS, RoCE, VPC.

    `group_size`: pods per group, written as partitionPolicy (Volcano 1.14 and later); 0 leaves the groups out. `sizes`:
    three numbers: 24 nodes of 16 NPUs in an HCCS zone, 16 of these in a RoCE zone, 8 of these in the VPC.
    """
    if len(sizes) != 3:
        raise InputError("this preset has three tiers", source="sizes", got=str(len(sizes)), expected="3 numbers")
    npus = {"huawei.com/Ascend910": 16}
    fabric = Fabric(
        tuple(sizes),
        prefixes=("hccs-", "roce-", "vpc-"),
        tier_names=("hccs", "roce", "vpc"),
        shape=NodeShape(cpu=192, memory_gib=1536, devices=npus),
    )
    job = JobShape(
        "llm",
        pods,
        cpu=96,
        memory_gib=1024,
        devices=npus,
        mode="hard",
        highest_tier=3,
        group_size=group_size,
    )
    return fabric, (job,)


def _gpu_node(gpus: int) -> NodeShape:
    return NodeShape(devices={"nvidia.com/gpu": gpus})


_GPUS = Parameter(8, "GPUs per node", high=1024)
#: The presets by name, in the order in which they are shown.
PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "three-level-tree",
            "HyperNodes s0 to s6 in three tiers over node0 to node7",
            f"{DESIGN}, network topology definition, example 1",
            {"gpus": _GPUS},
            three_level_tree,
        ),
        Preset(
            "two-roce-networks",
            "two RoCE networks of two NVLink networks each over node1 to node8",
            f"{DESIGN}, network topology definition, example 2",
            {"gpus": _GPUS},
            two_roce_networks,
        ),
        Preset(
            "balanced",
            "a balanced tree of any depth, optionally with the GPU links of a known machine",
            "Topology Workbench",
            {
                "sizes": Parameter(
                    (4, 4, 2),
                    "members per HyperNode, from tier 1 upwards: 4,4,2 is 4 nodes in a HyperNode of tier 1, 4 of those "
                    "in one of tier 2, and 2 of those in one of tier 3, 32 nodes in all",
                ),
                "roots": Parameter(1, "trees beside each other"),
                "gpus": _GPUS,
                "prefix": Parameter("s", "beginning of the HyperNodes' names"),
                "node_prefix": Parameter("node", "beginning of the nodes' names"),
                "matrix": Parameter("", f"machine whose GPU links each node has: {', '.join(MACHINES)}"),
                "noise": Parameter(0.0, "relative spread of the links", low=0, high=0.5),
                "seed": Parameter(0, "seed of the noise", low=0, high=2**32 - 1),
            },
            balanced,
        ),
        Preset(
            "machine",
            "nodes of a well-known machine with its GPU links, optionally noisy and with degraded links",
            "datasheets and papers, see workbench.topology.machines",
            {
                "model": Parameter("dgx-a100", f"which: {', '.join(MACHINES)}"),
                "nodes": Parameter(1, "nodes", high=1024),
                "noise": Parameter(0.0, "relative spread of the links", low=0, high=0.5),
                "degraded": Parameter(0, "pairs with a link that is too slow", low=0),
                "factor": Parameter(0.25, "what is left of a degraded link's speed", low=0, high=1),
                "directions": Parameter(1, "1: degraded one way, 2: both", high=2),
                "seed": Parameter(0, "seed of the noise and the degraded links", low=0, high=2**32 - 1),
            },
            machines,
        ),
        Preset(
            "use-case-1",
            "a job of 8-GPU pods over zones of four tiers",
            f"{DESIGN}, use case 1",
            {
                "pods": Parameter(3000, "pods of the job", of_job=True),
                "sizes": Parameter(
                    (25, 12, 10, 2),
                    "members per zone, from tier 1 upwards: 25 nodes in a zone of tier 1, 12 of those in one of tier "
                    "2, and so on",
                ),
            },
            use_case_1,
        ),
        Preset(
            "use-case-2",
            "a job of 16-NPU pods in tensor-parallel groups over HCCS, RoCE and VPC tiers",
            f"{DESIGN}, use case 2",
            {
                "pods": Parameter(3000, "pods of the job", of_job=True),
                "group_size": Parameter(8, "pods per tensor-parallel group, 0: no groups", low=0, of_job=True),
                "sizes": Parameter(
                    (24, 16, 8), "from tier 1 upwards: nodes per HCCS zone, HCCS zones per RoCE zone, RoCE zones"
                ),
            },
            use_case_2,
        ),
        Preset(
            "fleet",
            "131,072 nodes with 8 GPUs in four tiers, queues, running gangs on six of ten GPUs, and gangs that wait",
            "Topology Workbench",
            {
                "sizes": Parameter(
                    (16, 16, 16, 32),
                    "members per HyperNode, from tier 1 upwards: 16 nodes in one of tier 1, 16 of those in one of tier "
                    "2, and so on",
                ),
                "busy": Parameter(60, "percent of the GPUs that running gangs hold, about", low=0, high=95),
                "pending": Parameter(
                    1000, "gangs that wait, of 8 to 4,096 pods of 8 GPUs, at most a thirty-second of the nodes", low=0
                ),
                "queues": Parameter(8, "queues of the gangs", high=1000),
                "seed": Parameter(0, "seed of the gangs", low=0, high=2**32 - 1),
            },
            fleet,
        ),
    )
}


def _plan(kind: str, params: Mapping[str, Any]) -> Plan:
    if kind not in PRESETS:
        raise UnknownNameError("preset", kind, PRESETS)
    preset = PRESETS[kind]
    for name in params:
        if name not in preset.parameters:
            raise UnknownNameError(f"parameter of {kind}", name, preset.parameters)
    return preset.plan(**{name: preset.parameters[name].read(name, value) for name, value in params.items()})


def generate(kind: str, **params: Any) -> list[Manifest]:
    """Kubernetes objects of a preset: HyperNodes, Nodes, Devices, then Jobs, always in the same order;
    of a fleet also Queues, and PodGroups and Pods that run.

    Raises UnknownNameError: no such preset or parameter; InputError: a parameter out of range or of the wrong kind.

    Parameters
    ----------
    kind : str
        A name in `PRESETS`.
    **params
        The preset's parameters as values or as the text typed for them (``sizes="4,4,2"``); defaults for the rest.
    """
    fabric, jobs = _plan(kind, params)
    return [*fabric.manifests(), *(job.manifest() for job in jobs)]


def generate_jobs(kind: str, **params: Any) -> tuple[JobShape, ...]:
    """The jobs of a preset without its cluster; `kind` and `params` are as in `generate`."""
    return tuple(_plan(kind, params)[1])


def preset_fabric(kind: str, params: Mapping[str, Any]) -> Fabric:
    """The fabric of a preset without its jobs. `params`: as for `generate`, which names the errors, too."""
    return _plan(kind, params)[0]


def generate_scenario(kind: str, **params: Any) -> Scenario:
    """Generate a preset directly as a `Scenario` (snapshot and gangs), without Kubernetes objects.

    `kind` and `params` are as in `generate`.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.generate_scenario("balanced", sizes=(4, 2)).snapshot.topology
    Topology(8 nodes, 3 HyperNodes (2 of tier 1, 1 of tier 2))
    """
    return scenario_of(*_plan(kind, params))
