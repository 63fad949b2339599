"""`NodeTable`: the Nodes, HyperNodes and Devices of a cluster as arrays with one row per node."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from workbench.cluster.faulty_npus import take_out_faulty_npus
from workbench.cluster.node_matrices import matrices_of
from workbench.model.arrays import Longs
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.notice import Notice
from workbench.model.resources import PODS, UNLIMITED, amount_text, is_gpu_resource, resource_columns
from workbench.model.snapshot import gpu_words
from workbench.model.topology import Topology
from workbench.model.value import Value
from workbench.objects.device import Device
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.topology.build import build_topology

__all__ = ["Matrices", "NodeTable", "read_nodes", "with_nodes"]

#: Matrices by a pattern (RE2, unanchored) on node names; the last match wins, also over the Device's matrix.
Matrices = Sequence[tuple[str, BandwidthMatrix]]


@dataclass(frozen=True, eq=False)
class NodeTable(Value):
    """The nodes of a cluster without the pods on them; arrays and tuples are in the topology's node order.

    Attributes
    ----------
    nodes : dict of str to Node
        Nodes by name, in the order of the input; a node without resources has the assumed GPUs.
    index : dict of str to int
        Node index by name.
    selecting_labels : frozenset of str
        Label keys by which HyperNodes select nodes.
    columns : tuple of str
        Names of the resources, the columns of `allocatable` (`ClusterSnapshot.resources`).
    allocatable : ndarray of shape (n, r), int64
    unschedulable, not_ready : ndarray of shape (n,), bool
    total : list of int
        Mask of the healthy GPUs of each node.
    gpu_total : ndarray of shape (n, w), uint64
        The masks in `total` as 64-bit words.
    node_matrix : ndarray of shape (n,), int32
    uids, resource_versions : tuple of str
        Fields of each Node's metadata; "" where the object has none.
    gaps, matrix_gaps : tuple of Notice
        Gaps of the input about the nodes, and about their matrices.
    """

    nodes: dict[str, Node]
    ordered: list[Node]
    index: dict[str, int]
    topology: Topology
    selecting_labels: frozenset[str]
    columns: tuple[str, ...]
    allocatable: Longs
    labels: NodeLabels
    taints: NodeTaints
    unschedulable: npt.NDArray[np.bool_]
    not_ready: npt.NDArray[np.bool_]
    total: list[int]
    gpu_total: npt.NDArray[np.uint64]
    matrices: tuple[BandwidthMatrix, ...]
    node_matrix: npt.NDArray[np.int32]
    addresses: tuple[str, ...]
    uids: tuple[str, ...]
    resource_versions: tuple[str, ...]
    gaps: tuple[Notice, ...]
    matrix_gaps: tuple[Notice, ...]


def read_nodes(
    cluster: ClusterObjects, matrices: Matrices, gpus_per_node: int, topology: Topology | None = None
) -> NodeTable:
    """Make the node table of a cluster from its Nodes, HyperNodes and Devices.

    Raises InputError: a matrix whose size is not the node's number of GPUs, a pattern that RE2 refuses.

    `matrices`: sequence of (pattern, BandwidthMatrix). `gpus_per_node`: as in `workbench.cluster.assemble.assemble`.
    `topology`: the topology of this cluster if it is already built; None: it is built.
    """
    gaps: list[Notice] = []
    nodes = cluster.nodes or _nodes_of_members(cluster, gaps)
    if gpus_per_node:
        nodes = _with_assumed_gpus(nodes, gpus_per_node, gaps)
    if topology is None:
        topology = build_topology(
            cluster.hypernodes.values(), list(nodes), [node.metadata.labels for node in nodes.values()]
        )
    ordered = [nodes[name] for name in topology.node_names]
    columns = resource_columns(set().union(*(node.allocatable for node in ordered)))
    allocatable = _allocatable(ordered, columns, gaps)
    gpu_columns = [i for i, name in enumerate(columns) if is_gpu_resource(name)]
    total = _gpu_masks(ordered, allocatable[:, gpu_columns].sum(axis=1).tolist(), cluster.devices, gaps)
    rows = [mask.bit_length() for mask in total]
    take_out_faulty_npus(ordered, cluster, total, rows, allocatable, gpu_columns, gaps)
    matrix_gaps: list[Notice] = []
    known, node_matrix = matrices_of(ordered, total, rows, cluster.devices, matrices, matrix_gaps)
    without = sum(1 for mask, number in zip(total, node_matrix, strict=True) if mask.bit_count() > 1 and number < 0)
    if without:
        matrix_gaps.append(
            Notice(
                "no-bandwidth-matrix",
                f"no bandwidth matrix for {counted(without, 'node')} with several GPUs",
                numbers={"count": without},
            )
        )
    return NodeTable(
        nodes=dict(nodes),
        ordered=ordered,
        index={name: i for i, name in enumerate(topology.node_names)},
        topology=topology,
        selecting_labels=_selecting_labels(cluster),
        columns=columns,
        allocatable=allocatable,
        labels=NodeLabels.from_rows(topology.node_names, [node.metadata.labels for node in ordered]),
        taints=NodeTaints.from_rows([node.taints for node in ordered]),
        unschedulable=np.array([node.unschedulable for node in ordered], dtype=np.bool_),
        not_ready=np.array([node.not_ready for node in ordered], dtype=np.bool_),
        total=total,
        gpu_total=gpu_words(total),
        matrices=known,
        node_matrix=np.array(node_matrix, dtype=np.int32),
        addresses=_addresses(ordered),
        uids=tuple(node.metadata.uid for node in ordered),
        resource_versions=tuple(node.metadata.resource_version for node in ordered),
        gaps=tuple(gaps),
        matrix_gaps=tuple(matrix_gaps),
    )


def with_nodes(
    table: NodeTable, cluster: ClusterObjects, changed: Collection[str], matrices: Matrices, gpus_per_node: int
) -> NodeTable:
    """The node table after some Nodes changed, equal to the one that `read_nodes` would make.

    Copies a few arrays and recomputes the rows of the changed nodes. All nodes are read again if a node now offers
    other resources by name or another number of GPUs; the topology is read again too if a label changed by which a
    HyperNode selects nodes.

    `table`: the table before the change. `cluster`: the cluster now; it differs only in these Nodes. `changed`: names
    of Nodes that were there before and are there now. `matrices`, `gpus_per_node`: as for `read_nodes`; the same as
    when `table` was made.
    """
    if not changed:
        return table
    pairs = {table.index[name]: (table.nodes[name], cluster.nodes[name]) for name in changed}
    relabelled = [i for i, (old, new) in pairs.items() if old.metadata.labels != new.metadata.labels]
    if any(
        pairs[i][0].metadata.labels.get(key) != pairs[i][1].metadata.labels.get(key)
        for i in relabelled
        for key in table.selecting_labels
    ):
        return read_nodes(cluster, matrices, gpus_per_node)
    offering = {i: new for i, (old, new) in pairs.items() if old.allocatable != new.allocatable}
    # What is assumed of nodes that offer nothing depends on all of them.
    if gpus_per_node or any(
        old.allocatable.keys() != new.allocatable.keys() or old.n_gpus != new.n_gpus for old, new in pairs.values()
    ):
        return read_nodes(cluster, matrices, gpus_per_node, table.topology)
    # Faulty NPUs are taken out of what the node offers.
    if any(
        old.npu_names != new.npu_names
        or old.n_gpus_built_in != new.n_gpus_built_in
        or (i in offering and (new.npu_names or new.name in cluster.device_infos))
        for i, (old, new) in pairs.items()
    ):
        return read_nodes(cluster, matrices, gpus_per_node, table.topology)
    nodes, ordered = table.nodes.copy(), table.ordered.copy()
    for i, (_, new) in pairs.items():
        nodes[new.name] = ordered[i] = new
    allocatable, labels, taints = table.allocatable, table.labels, table.taints
    unschedulable, not_ready = table.unschedulable, table.not_ready
    if offering:
        allocatable = allocatable.copy()
        allocatable[list(offering)] = _allocatable(list(offering.values()), table.columns, [])
    if any(old.unschedulable != new.unschedulable for old, new in pairs.values()):
        unschedulable = unschedulable.copy()
        unschedulable[list(pairs)] = [new.unschedulable for _, new in pairs.values()]
    if any(old.not_ready != new.not_ready for old, new in pairs.values()):
        not_ready = not_ready.copy()
        not_ready[list(pairs)] = [new.not_ready for _, new in pairs.values()]
    if relabelled:
        labels = labels.with_rows(relabelled, lambda i: ordered[i].metadata.labels)
    tainted = {i: new.taints for i, (old, new) in pairs.items() if old.taints != new.taints}
    if tainted:
        taints = taints.with_rows(tainted)
    moved = any(old.internal_ip != new.internal_ip for old, new in pairs.values())
    return replace(
        table,
        nodes=nodes,
        ordered=ordered,
        allocatable=allocatable,
        unschedulable=unschedulable,
        not_ready=not_ready,
        labels=labels,
        taints=taints,
        addresses=_addresses(ordered) if moved else table.addresses,
        uids=_replaced(table.uids, {i: new.metadata.uid for i, (_, new) in pairs.items()}),
        resource_versions=_replaced(
            table.resource_versions, {i: new.metadata.resource_version for i, (_, new) in pairs.items()}
        ),
    )


def _replaced(texts: tuple[str, ...], by_index: Mapping[int, str]) -> tuple[str, ...]:
    changed = list(texts)
    for i, text in by_index.items():
        changed[i] = text
    return tuple(changed)


def _addresses(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(node.internal_ip for node in nodes) if any(node.internal_ip for node in nodes) else ()


def _selecting_labels(cluster: ClusterObjects) -> frozenset[str]:
    return frozenset(
        requirement.key
        for hypernode in cluster.hypernodes.values()
        for selector in hypernode.node_selectors
        for requirement in selector.labels or ()
    )


def _nodes_of_members(cluster: ClusterObjects, gaps: list[Notice]) -> dict[str, Node]:
    """Nodes for a cluster without Node objects: exact members of HyperNodes; adds a notice to `gaps`."""
    names = {name for hypernode in cluster.hypernodes.values() for name in hypernode.node_names if name}
    if names:
        gaps.append(
            Notice(
                "no-nodes",
                "no Node in the input: the "
                f"{counted(len(names), 'node that HyperNodes name has', 'nodes that HyperNodes name have')} "
                "no resources",
                numbers={"count": len(names)},
            )
        )
    else:
        gaps.append(Notice("no-nodes", "no Node in the input"))
    selecting = sum(bool(hypernode.node_selectors) for hypernode in cluster.hypernodes.values())
    if selecting:
        one = "HyperNode selects nodes by pattern or label: without a Node it holds none"
        several = "HyperNodes select nodes by pattern or label: without a Node they hold none"
        text = counted(selecting, one, several)
        gaps.append(Notice("members-without-nodes", text, numbers={"count": selecting}))
    return {name: Node(Metadata(name), {}) for name in sorted(names, key=str.encode)}


def _with_assumed_gpus(nodes: Mapping[str, Node], gpus: int, gaps: list[Notice]) -> dict[str, Node]:
    """The nodes; those without resources get `gpus` GPUs and a usual machine, with a notice in `gaps`."""
    from workbench.topology.generate import NodeShape

    silent = [name for name, node in nodes.items() if not node.allocatable]
    offered = NodeShape(devices={"nvidia.com/gpu": gpus}).resources
    if silent:
        amounts = ", ".join(f"{amount_text(name, amount)} {name}" for name, amount in offered.items())
        gaps.append(
            Notice(
                "gpus-assumed",
                f"assumed for {counted(len(silent), 'node that reports', 'nodes that report')} no resources: "
                f"{amounts} each",
                numbers={"count": len(silent)},
            )
        )
    else:
        gaps.append(Notice("no-gpus-assumed", "every node reports its resources: no GPUs were assumed"))
    return {**nodes, **{name: replace(nodes[name], allocatable=offered) for name in silent}}


def _allocatable(nodes: Sequence[Node], columns: tuple[str, ...], gaps: list[Notice]) -> Longs:
    # Nodes that offer the same were mostly read into one mapping.
    by_id = {id(node.allocatable): node.allocatable for node in nodes}
    number = {each: i for i, each in enumerate(by_id)}
    of = np.array([number[id(node.allocatable)] for node in nodes], dtype=np.intp)
    offered = by_id.values()
    rows = np.array([[amounts.get(name, 0) for name in columns] for amounts in offered], dtype=np.int64)
    rows = rows.reshape(len(by_id), len(columns))
    without_pods = np.array([PODS not in amounts for amounts in offered], dtype=np.bool_)
    rows[without_pods, columns.index(PODS)] = UNLIMITED
    if unlimited := int(without_pods[of].sum()):
        several = "nodes do not say how many pods they take"
        text = f"{counted(unlimited, 'node does not say how many pods it takes', several)}: no limit"
        gaps.append(Notice("no-pod-limit", text, numbers={"count": unlimited}))
    nothing = np.array([not amounts for amounts in offered], dtype=np.bool_)
    if empty := int(nothing[of].sum()):
        one = "node reports neither allocatable nor capacity: it offers nothing"
        several = "nodes report neither allocatable nor capacity: they offer nothing"
        gaps.append(Notice("no-resources", counted(empty, one, several), numbers={"count": empty}))
    return rows[of]


def _gpu_masks(
    nodes: Sequence[Node], offered: Sequence[int], devices: Mapping[str, Device], gaps: list[Notice]
) -> list[int]:
    masks = [(1 << count) - 1 for count in offered]
    differing = 0
    for i, node in enumerate(nodes if devices else ()):
        device = devices.get(node.name)
        if device is None:
            continue
        masks[i] = sum(1 << minor for minor in set(device.healthy_gpus))
        differing += masks[i].bit_count() != offered[i]
    if differing:
        gaps.append(
            Notice(
                "gpu-counts-differ",
                f"on {counted(differing, 'node')} the Device lists another number of healthy GPUs than the Node offers",
                numbers={"count": differing},
            )
        )
    return masks
