"""Lint rules on nodes: their place in the HyperNode tree, their labels, their resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from workbench.model.counted import counted, some
from workbench.topology.lint.base import Found, Rule, Severity
from workbench.topology.lint.structure import listing
from workbench.topology.lint.subject import Subject

__all__ = ["RULES"]

_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

#: Label keys of network levels, closest first, that are known without looking at tier names.
_FAMILIES = (
    ("network.topology.nvidia.com/leaf", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/core"),
    ("volcano.sh/tor", "volcano.sh/hypercluster"),
)

#: A label counts as the rack's label if, in at least this share of the leaves, all nodes of a leaf agree on it. With
#: fewer leaves than `_LEAVES` no label does.
_AGREEING_SHARE = 0.75
_LEAVES = 4


def _outside(subject: Subject) -> Iterator[Found]:
    if not subject.hypernodes:
        return
    inside = {int(i) for nodes in subject.below.values() for i in nodes}
    with_gpus = any(subject.gpus)
    outside = [
        name
        for i, (name, node) in enumerate(subject.nodes.items())
        if i not in inside
        and (subject.gpus[i] or not with_gpus)
        and not any(key in node.metadata.labels for key in _CONTROL_PLANE)
        and not any(taint.key in _CONTROL_PLANE for taint in node.taints)
    ]
    if outside:
        outside.sort(key=str.encode)
        verb = "are" if len(outside) > 1 else "is"
        yield Found(f"{some('node', outside)} {verb} in no HyperNode", node=outside[0], others=tuple(outside))


def _leaf_id_reused(subject: Subject) -> Iterator[Found]:
    for leaf, parents in sorted(subject.listed_by.items(), key=lambda item: item[0].encode()):
        if len(parents) > 1 and subject.own[leaf] and not subject.children[leaf]:
            text = f"the leaf {leaf} is listed by {some('HyperNode', parents)}"
            # The place to edit is a parent's list; the leaf's own manifest is right.
            path = listing(subject, parents[1], leaf)
            yield Found(text, parents[1], path=path, others=(leaf, *parents))
    for low, high in _levels(subject):
        first: dict[str, tuple[str, str]] = {}
        told = set()
        for name, node in subject.nodes.items():
            labels = node.metadata.labels
            if low not in labels or high not in labels:
                continue
            value, above = labels[low], labels[high]
            known, witness = first.setdefault(value, (above, name))
            if known != above and value not in told:
                told.add(value)
                text = f"{low}={value} is under {high}={known} on {witness} and under {high}={above} on {name}"
                yield Found(text, _leaf_with(subject, name), name, others=(witness,))


def _leaf_with(subject: Subject, node: str) -> str:
    return subject.leaf_of.get(subject.index.position[node], "")


def _levels(subject: Subject) -> Iterator[tuple[str, str]]:
    """Pairs of label keys of adjacent levels, the closer first, from known label families and tier names."""
    by_tier = {h.tier: h.tier_name for h in reversed(list(subject.hypernodes.values())) if "/" in h.tier_name}
    named = tuple(by_tier[tier] for tier in sorted(by_tier))
    pairs = [pair for keys in (*_FAMILIES, named) for pair in pairwise(keys)]
    yield from dict.fromkeys(pair for pair in pairs if pair[0] != pair[1])


def _label_disagrees(subject: Subject) -> Iterator[Found]:
    """Findings for nodes whose rack label differs from that of the other nodes in their lowest HyperNode.

    A label is considered only if it otherwise agrees with the lowest HyperNodes.
    """
    leaves = [leaf for leaf in subject.leaves if len(subject.own[leaf]) > 1]
    if len(leaves) < _LEAVES:
        return
    rows = subject.labels
    for key in sorted({key for row in rows for key in row}):
        values = {leaf: Counter(rows[i].get(key, "") for i in subject.own[leaf]) for leaf in leaves}
        agreeing = [leaf for leaf in leaves if len(values[leaf]) == 1]
        racks = {next(iter(values[leaf])) for leaf in agreeing} - {""}
        if len(agreeing) < _AGREEING_SHARE * len(leaves) or 2 * len(racks) <= len(agreeing) or len(racks) < 2:
            continue
        for leaf in leaves:
            yield from _strangers(subject, rows, key, leaf, values[leaf])


def _strangers(
    subject: Subject, rows: list[Mapping[str, str]], key: str, leaf: str, values: Counter[str]
) -> Iterator[Found]:
    if len(values) == 1:
        return
    usual = min(values, key=lambda value: (-values[value], value.encode()))
    for i in subject.own[leaf]:
        value = rows[i].get(key, "")
        if value and value != usual:
            name = subject.names[i]
            yield Found(
                f"{name} is in {leaf} with {key}={value}, the leaf's other nodes have {usual or 'none'}", leaf, name
            )


def _mixed_gpus(subject: Subject) -> Iterator[Found]:
    for leaf in subject.leaves:
        counts = Counter(subject.gpus[i] for i in subject.own[leaf])
        if len(counts) > 1:
            usual = min(counts, key=lambda n: (-counts[n], -n))
            odd = [i for i in subject.own[leaf] if subject.gpus[i] != usual]
            numbers = ", ".join(str(n) for n in sorted({subject.gpus[i] for i in odd}))
            names = [subject.names[i] for i in odd]
            text = f"{some('node', names)} of {leaf} with {numbers} GPUs, the others have {usual}"
            yield Found(text, leaf, names[0] if len(names) == 1 else "", others=tuple(names))


def _cordoned(subject: Subject) -> Iterator[Found]:
    cordoned = [node.unschedulable for node in subject.nodes.values()]
    if all(cordoned):
        return
    for leaf in subject.leaves:
        nodes = subject.own[leaf]
        if all(cordoned[i] for i in nodes):
            yield Found(f"all {counted(len(nodes), 'node')} of {leaf} are cordoned", leaf)


def _no_matrix(subject: Subject) -> Iterator[Found]:
    has = [name in subject.with_matrix for name in subject.names]
    for leaf in subject.leaves:
        several = [i for i in subject.own[leaf] if subject.gpus[i] > 1]
        without = [subject.names[i] for i in several if not has[i]]
        if without and len(without) < len(several):
            text = f"no bandwidth matrix for {some('node', without)} of {leaf}, other nodes of it have one"
            yield Found(text, leaf, without[0] if len(without) == 1 else "", others=tuple(without))


RULES = (
    Rule(
        "leaf-id-reused",
        "T110",
        Severity.error,
        "one leaf id under two parents",
        "Switch numbers often repeat in each pod of a fabric. Read as one leaf, two racks far apart look like one.",
        "Make the pair of parent and number the leaf's identity; if it is one rack, correct the wrong label.",
        _leaf_id_reused,
    ),
    Rule(
        "node-outside",
        "T501",
        Severity.warning,
        "a node is in no HyperNode",
        "Volcano 1.13 never gives it to a hard job; newer releases reach it at the virtual top only. Control-plane "
        "nodes, and nodes without GPUs in a cluster with GPUs, are not meant.",
        "Add it to the HyperNode of its switch.",
        _outside,
        needs_nodes=True,
    ),
    Rule(
        "label-disagrees",
        "T502",
        Severity.warning,
        "a node's label names another rack than its HyperNode",
        "Either the HyperNode or the label is wrong; the next discovery by labels moves the node.",
        "Look where the node is cabled, and correct the other of the two.",
        _label_disagrees,
        needs_nodes=True,
    ),
    Rule(
        "mixed-gpus",
        "T503",
        Severity.warning,
        "nodes of one leaf with different numbers of GPUs",
        "Racks are built alike: a node with fewer GPUs has often lost one, and one without has no business on this "
        "switch.",
        "Look at the node's driver and device plugin; if it is so, --ignore mixed-gpus.",
        _mixed_gpus,
        needs_nodes=True,
    ),
    Rule(
        "leaf-cordoned",
        "T504",
        Severity.note,
        "all nodes of a leaf are cordoned",
        "The leaf counts as a domain and takes nothing.",
        "Uncordon the nodes after maintenance, or take the HyperNode out.",
        _cordoned,
        needs_nodes=True,
    ),
    Rule(
        "matrix-missing",
        "T505",
        Severity.note,
        "a node without the bandwidth matrix that its neighbours have",
        "GPUs of this node are chosen by lowest index, those of the others by bandwidth.",
        "Measure the node, or give it the matrix of its neighbours (--matrix PATTERN=FILE).",
        _no_matrix,
        needs_nodes=True,
    ),
)
