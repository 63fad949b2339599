"""Convert HyperNodes and Nodes to a drawn topology (`Draft`), and back; let the linter read and mend a drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import TypedDict

from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.model.resources import is_gpu_resource
from workbench.objects.hypernode import HyperNode, Member, read_hypernode, resolve_members
from workbench.objects.hypernode_manifest import hypernode_manifest
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.selectors import NameIndex, Selector
from workbench.topology.build import resolve_tree
from workbench.topology.draft import ROOT, Change, Draft, Item, differences
from workbench.topology.edit_checks import check_size
from workbench.topology.generate import Fabric, NodeShape
from workbench.topology.lint import Subject, apply_edits, edits_by_hypernode, lint
from workbench.topology.objects_of import hypernodes_in, nodes_in

__all__ = [
    "FAILED",
    "LINK_FAILED",
    "LINK_GBIT_S",
    "add_fabric",
    "cut_off",
    "draft_of",
    "fabric_line",
    "fix_finding",
    "hypernodes_after",
    "hypernodes_of",
    "import_over",
    "nodes_of",
    "subject_of",
]

# Attributes of a drawing for which the Kubernetes kinds have no field are stored in annotations of our own.
LINK_GBIT_S = "topology-workbench/link-gbit-s"
FAILED = "topology-workbench/failed"
LINK_FAILED = "topology-workbench/link-failed"
_OURS = (LINK_GBIT_S, FAILED, LINK_FAILED)
_GPU = "nvidia.com/gpu"
# Resources besides GPUs of a node that was drawn, not read.
_NEW_NODE = NodeShape(devices={}).resources


def draft_of(hypernodes: Iterable[HyperNode], nodes: Iterable[Node]) -> Draft:
    """Make a drawing of HyperNodes and Nodes.

    A drawing is a forest: a node hangs under the innermost HyperNode that holds it (ties: the first in byte order), and
    links that close a cycle or give a second parent are left out, as `topology.problems` says.
    Switches get ids in order of falling tier and name, then nodes in order of name.
    """
    given = {hypernode.name: hypernode for hypernode in hypernodes}
    known = sorted(nodes, key=lambda node: node.name.encode())
    tree = resolve_tree(given.values(), [node.name for node in known], [node.metadata.labels for node in known])
    ids: dict[str, int] = {}
    for name in sorted(given, key=lambda name: (-given[name].tier, name.encode())):
        ids[name] = len(ids) + 1
    leaf: dict[str, tuple[tuple[int, bytes], str]] = {}
    for name in given:
        rank = (-tree.nesting.depth[name], name.encode())
        for position in tree.nodes[name].tolist():
            node = tree.names[position]
            if node not in leaf or rank < leaf[node][0]:
                leaf[node] = (rank, name)
    items = [_switch(ids[name], given[name], ids.get(tree.parent.get(name, ""), ROOT)) for name in ids]
    by_name = {node.name: node for node in known}
    for name in sorted(tree.names, key=str.encode):
        parent = ids[leaf[name][1]] if name in leaf else ROOT
        items.append(_node(len(items) + 1, by_name.get(name) or Node(Metadata(name), {}), parent))
    return Draft(items)


def hypernodes_of(draft: Draft) -> list[HyperNode]:
    """The HyperNodes of a drawing, highest tier first, then in order of ids.

    A HyperNode that was read keeps its members as they were written, regular expressions and label selectors too, as
    long as they select what is drawn; else its members are listed by name.
    """
    switches = sorted((item for item in draft if item.kind == "switch"), key=lambda item: (-item.tier, item.id))
    return _hypernodes(draft, switches)


def hypernodes_after(draft: Draft, changes: Iterable[Change]) -> dict[str, HyperNode | None]:
    """HyperNodes that committed changes of a drawing may have altered, by the names they had before the changes.

    Returns dict of str to HyperNode or None: new HyperNodes under their own names; None for HyperNodes that were
    removed.
    """
    touched: dict[int, str] = {}
    gone: dict[str, HyperNode | None] = {}
    nodes_changed = False
    for change in changes:
        for item in (change.before, change.after):
            if item is not None and item.parent in draft:
                touched.setdefault(item.parent, draft[item.parent].name)
            nodes_changed = nodes_changed or (item is not None and item.kind == "node")
        # An item does not name its parent switch; the HyperNode of the parent lists the item.
        if change.before is not None and change.before.kind == "switch":
            if change.after is None:
                gone[change.before.name] = None
            else:
                touched[change.id] = change.before.name
        elif change.after is not None and change.after.kind == "switch":
            touched.setdefault(change.id, change.after.name)
    if nodes_changed:
        # Patterns and label selectors may start or stop matching a node under another switch.
        for item in draft:
            if item.hypernode is not None and not _is_exact(item.hypernode):
                touched.setdefault(item.id, item.name)
    present = [(draft[i], name) for i, name in sorted(touched.items()) if i in draft]
    made = _hypernodes(draft, [item for item, _ in present])
    return gone | {name: hypernode for (_, name), hypernode in zip(present, made)}


def _hypernodes(draft: Draft, switches: Iterable[Item]) -> list[HyperNode]:
    index: list[NameIndex] = []

    def all_nodes() -> NameIndex:
        if not index:
            nodes = sorted((item for item in draft if item.kind == "node"), key=lambda item: item.name.encode())
            index.append(NameIndex([item.name for item in nodes], [item.labels for item in nodes]))
        return index[0]

    return [_hypernode(draft, item, all_nodes) for item in switches]


def _hypernode(draft: Draft, item: Item, all_nodes: Callable[[], NameIndex]) -> HyperNode:
    children = draft.children(item.id)
    switches = [child.name for child in children if child.kind == "switch"]
    nodes = [child.name for child in children if child.kind == "node"]
    read = item.hypernode
    if read is not None and _selects(read, all_nodes, switches, nodes):
        members = read.members
    else:
        members = tuple(Member("HyperNode", Selector(name)) for name in switches)
        members += tuple(Member("Node", Selector(name)) for name in nodes)
    metadata = read.metadata if read is not None else Metadata(item.name)
    metadata = replace(metadata, name=item.name, labels=dict(item.labels), annotations=_annotations(metadata, item))
    return HyperNode(metadata, item.tier, item.tier_name, members)


def nodes_of(draft: Draft, only_reachable: bool = False) -> list[Node]:
    """The Nodes of a drawing, in byte order of their names.

    `only_reachable`: cordon the nodes that a failed node, switch or link cuts off, so that a scheduler places no pod
    there.
    """
    cut = cut_off(draft) if only_reachable else set()
    drawn = sorted((item for item in draft if item.kind == "node"), key=attrgetter("name"))
    return [_as_node(item, item.cordoned or item.id in cut) for item in drawn]


def _as_node(item: Item, unschedulable: bool) -> Node:
    """The Node object for an item; if the drawing did not change the item, the object it was read from."""
    read = item.node or Node(Metadata(item.name), _NEW_NODE)
    was = read.metadata
    annotations = _annotations(was, item)
    allocatable = _allocatable(read, item.gpus)
    if (was.name, was.labels, was.annotations) != (item.name, item.labels, annotations):
        was = replace(was, name=item.name, labels=dict(item.labels), annotations=annotations)
    if was is read.metadata and allocatable is read.allocatable and read.unschedulable == unschedulable:
        return read
    return replace(read, metadata=was, allocatable=allocatable, unschedulable=unschedulable)


def _is_exact(read: HyperNode) -> bool:
    return all(member.selector.exact is not None for member in read.members)


def _selects(read: HyperNode, all_nodes: Callable[[], NameIndex], switches: list[str], nodes: list[str]) -> bool:
    if sorted(read.children) != sorted(switches):
        return False
    if _is_exact(read):
        # a member with an empty name selects nothing
        return set(read.node_names) - {""} == set(nodes)
    index = all_nodes()
    positions, unknown, _ = resolve_members(read, index)
    return not unknown and sorted(index.names[position] for position in positions) == sorted(nodes)


def _switch(item_id: int, read: HyperNode, parent: int) -> Item:
    return Item(
        item_id,
        "switch",
        read.name,
        parent,
        tier=read.tier,
        tier_name=read.tier_name,
        labels=read.metadata.labels,
        hypernode=read,
        **_drawn(read.metadata.annotations),
    )


def _node(item_id: int, read: Node, parent: int) -> Item:
    return Item(
        item_id,
        "node",
        read.name,
        parent,
        gpus=read.n_gpus,
        labels=read.metadata.labels,
        cordoned=read.unschedulable,
        node=read,
        **_drawn(read.metadata.annotations),
    )


class _Drawn(TypedDict):
    link_gbit_s: float
    failed: bool
    link_failed: bool


def _drawn(annotations: Mapping[str, str]) -> _Drawn:
    if not annotations:
        return {"link_gbit_s": 0.0, "failed": False, "link_failed": False}
    try:
        link = max(float(annotations.get(LINK_GBIT_S, "0")), 0.0)
    except ValueError:
        link = 0.0
    return {
        "link_gbit_s": link if link < 1e9 else 0.0,
        "failed": annotations.get(FAILED) == "true",
        "link_failed": annotations.get(LINK_FAILED) == "true",
    }


def _annotations(metadata: Metadata, item: Item) -> Mapping[str, str]:
    if not (metadata.annotations or item.link_gbit_s or item.failed or item.link_failed):
        return metadata.annotations
    annotations = {name: value for name, value in metadata.annotations.items() if name not in _OURS}
    if item.link_gbit_s:
        annotations[LINK_GBIT_S] = f"{item.link_gbit_s:g}"
    if item.failed:
        annotations[FAILED] = "true"
    if item.link_failed:
        annotations[LINK_FAILED] = "true"
    return annotations


def _allocatable(read: Node, gpus: int) -> Mapping[str, int]:
    given = read.allocatable
    if read.n_gpus == gpus:
        return given
    if not given:
        # GPUs were set on a node without known resources: without cores and memory no pod could use them.
        return {**_NEW_NODE, _GPU: gpus}
    counted = [name for name in given if is_gpu_resource(name)]
    # The number of GPUs differs from the one read: the first kind of GPU takes the change.
    kept = {name: amount for name, amount in given.items() if name not in counted}
    return {**kept, (counted or [_GPU])[0]: gpus} if gpus else kept


def cut_off(draft: Draft) -> set[int]:
    """Ids of the items that a failed node, switch or link cuts off, those that failed among them."""
    cut: set[int] = set()
    for item in draft:
        if (item.failed or item.link_failed) and item.id not in cut:
            cut.add(item.id)
            cut.update(below.id for below in draft.beneath(item.id))
    return cut


def subject_of(draft: Draft) -> Subject:
    """The HyperNodes and Nodes of a drawing as the linter judges them; failures cordon no node here."""
    cluster = ClusterObjects.of(hypernodes_of(draft), nodes_of(draft))
    manifests = {name: hypernode_manifest(hypernode) for name, hypernode in cluster.hypernodes.items()}
    return Subject.of_objects(cluster, manifests=manifests)


def fix_finding(draft: Draft, rule: str, hypernode: str, field: str) -> list[Change]:
    """The changes that make the only possible correction of a finding.

    `draft`: not changed. `rule`: id of the rule. `hypernode`, `field`: where the finding is, as in `Finding`.

    Raises
    ------
    UnknownNameError
        No rule has that id.
    InputError
        The drawing has no such finding any more, or one without a single remedy.
    """
    subject = subject_of(draft)
    report = lint(subject, only=[rule])
    chosen = [finding for finding in report.fixable if (finding.hypernode, finding.field) == (hypernode, field)]
    if not chosen:
        raise InputError(
            "no finding that has one remedy",
            source="editor",
            got=f"{rule} at {field or 'all'} of {hypernode or 'no HyperNode'}",
            expected="a finding of the drawing as it is now",
        )
    edits = edits_by_hypernode(chosen[:1])[hypernode]
    mended = read_hypernode(apply_edits(subject.manifests[hypernode], edits))
    hypernodes = {**subject.hypernodes, hypernode: mended}
    return differences(draft, draft_of(hypernodes.values(), nodes_of(draft)))


def fabric_line(fabric: Fabric) -> str:
    """Describe what `add_fabric` would draw: ``7 HyperNodes in 3 tiers, 8 nodes of 8 GPUs``."""
    switches = sum(fabric.n_domains(tier) for tier in range(1, fabric.n_tiers + 1))
    tiers, gpus = counted(fabric.n_tiers, "tier"), counted(fabric.shape.n_gpus, "GPU")
    nodes = counted(fabric.n_nodes, "node", form=",")
    links = " with its links" if fabric.matrix is not None else ""
    return f"{counted(switches, 'HyperNode', form=',')} in {tiers}, {nodes} of {gpus}{links}"


def add_fabric(draft: Draft, fabric: Fabric) -> list[Change]:
    """Draw a fabric beside what is drawn already, under its own names.

    `draft`: not changed.

    Raises
    ------
    InputError
        A name that the drawing has already.
    CapacityError
        More items than a drawing takes.
    """
    check_size(draft, fabric.n_nodes + sum(fabric.n_domains(tier) for tier in range(1, fabric.n_tiers + 1)))
    snapshot = fabric.snapshot()
    drawn = list(draft_of(hypernodes_in(snapshot.topology), nodes_in(snapshot)))
    taken = [item.name for item in drawn if draft.find(item.kind, item.name) is not None]
    if taken:
        raise InputError(
            "the drawing has these names already",
            source="preset",
            got=f"{taken[0]} and {counted(len(taken) - 1, 'more name')}" if len(taken) > 1 else taken[0],
            expected="another prefix, or an empty drawing",
        )
    ids = {ROOT: ROOT} | dict(zip((item.id for item in drawn), draft.new_ids(len(drawn)), strict=True))
    return [Change(None, replace(item, id=ids[item.id], parent=ids[item.parent])) for item in drawn]


def import_over(draft: Draft, cluster: ClusterObjects) -> Draft:
    """Make a drawing of imported objects, completed with an earlier drawing's data about nodes of equal names.

    `draft`: the earlier drawing; not changed. `cluster`: the import. If it has no Node, the patterns, label selectors
    and exact names of its HyperNodes select nodes of the earlier drawing, and nodes that are not selected are dropped.

    In the result a node that the import describes with resources is as described. A node that the import only names
    keeps its resources, taints, address and cordon. In both cases labels and annotations are merged, and those of the
    import take precedence.
    """
    known = {node.name: node for node in nodes_of(draft)}
    imported = cluster.nodes or _selected(known, cluster)
    nodes = [_with_known(node, known[name]) if name in known else node for name, node in imported.items()]
    return draft_of(cluster.hypernodes.values(), nodes)


def _selected(known: Mapping[str, Node], cluster: ClusterObjects) -> dict[str, Node]:
    """Nodes of the earlier drawing, `known`, that members of the imported HyperNodes select, by name."""
    names = list(known)
    index = NameIndex(names, [node.metadata.labels for node in known.values()])
    members = [member for hypernode in cluster.hypernodes.values() for member in hypernode.members]
    index.prepare(member.selector.pattern or "" for member in members if member.selector.exact is None)
    found = {i for hypernode in cluster.hypernodes.values() for i in resolve_members(hypernode, index)[0]}
    return {names[i]: known[names[i]] for i in sorted(found)}


def _with_known(node: Node, known: Node) -> Node:
    was, now = known.metadata, node.metadata
    metadata = replace(now, labels={**was.labels, **now.labels}, annotations={**was.annotations, **now.annotations})
    if node.allocatable:
        return replace(node, metadata=metadata)
    return replace(
        known,
        metadata=metadata,
        taints=node.taints or known.taints,
        unschedulable=node.unschedulable or known.unschedulable,
        not_ready=node.not_ready or known.not_ready,
        internal_ip=node.internal_ip or known.internal_ip,
    )
