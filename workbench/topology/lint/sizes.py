"""Lint rules on the number of nodes in a lowest HyperNode, compared with others of its tier."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median_low

from workbench.model.counted import counted, some
from workbench.topology.lint.base import Found, Rule, Severity
from workbench.topology.lint.subject import Subject

__all__ = ["RULES"]

#: A switch with this share of all nodes counts as seeing every node; a few hosts may have no cable to it.
_NEARLY_ALL = 0.9

#: Fewest leaves for which there is a usual size.
_LEAVES = 4
#: Share of the leaves that must be near the usual size before another leaf counts as odd.
_USUAL_SHARE = 0.75
_NEAR = (0.7, 1.5)
_FAR = (0.5, 2.0)


def _sees_every_node(subject: Subject) -> Iterator[Found]:
    inside = len(subject.leaf_of)
    for leaf in subject.leaves:
        nodes = subject.own[leaf]
        if len(nodes) < 3 or len(nodes) < _NEARLY_ALL * inside:
            continue
        others = sorted(subject.overlapping.get(leaf, set()).intersection(subject.leaves), key=str.encode)
        if len(others) > 1:
            text = (
                f"{leaf} holds {len(nodes)} of {counted(inside, 'node')}, which are in {some('HyperNode', others)} too"
            )
            yield Found(text, leaf, others=tuple(others))


def _by_tier(subject: Subject) -> Iterator[tuple[int, list[str]]]:
    tiers: dict[int, list[str]] = {}
    for leaf in subject.leaves:
        tiers.setdefault(subject.tier(leaf), []).append(leaf)
    yield from sorted(tiers.items())


def _unequal(subject: Subject) -> Iterator[Found]:
    for tier, leaves in _by_tier(subject):
        sizes = [len(subject.own[leaf]) for leaf in leaves]
        usual = median_low(sizes)
        near = sum(_NEAR[0] * usual <= size <= _NEAR[1] * usual for size in sizes)
        if len(leaves) < _LEAVES or near < _USUAL_SHARE * len(leaves):
            continue
        for leaf, size in zip(leaves, sizes, strict=True):
            # A leaf with a single node has a rule of its own.
            if size > 1 and not _FAR[0] * usual <= size <= _FAR[1] * usual:
                yield Found(f"{leaf} has {counted(size, 'node')}, leaves of tier {tier} usually have {usual}", leaf)


def _single(subject: Subject) -> Iterator[Found]:
    for tier, leaves in _by_tier(subject):
        alone = [leaf for leaf in leaves if len(subject.own[leaf]) == 1]
        if len(alone) == len(leaves) > 1:
            text = f"each of the {len(leaves)} leaves of tier {tier} has one node"
            yield Found(text, alone[0], others=tuple(alone))
        elif len(alone) < len(leaves):
            for leaf in alone:
                node = subject.names[subject.own[leaf][0]]
                yield Found(f"{leaf} has one node, {node}", leaf, node)


RULES = (
    Rule(
        "sees-every-node",
        "T301",
        Severity.error,
        "a switch sees every node: storage or management rail?",
        "All nodes look close to one another there, so the fabric that carries the job's traffic no longer counts.",
        "Leave the switches of the storage and management networks out of the HyperNodes.",
        _sees_every_node,
    ),
    Rule(
        "unequal-leaves",
        "T302",
        Severity.warning,
        "a leaf is much smaller or larger than the others",
        "Racks are built alike. One that sticks out has lost members, or two racks were written into one HyperNode.",
        "Count the cables of that switch; if it is so, --ignore unequal-leaves.",
        _unequal,
    ),
    Rule(
        "single-node-leaf",
        "T303",
        Severity.warning,
        "a leaf with one node",
        "No two pods on different nodes ever meet in it; usually the other members were lost, or a node was cabled to "
        "a switch of its own by mistake.",
        "Add the members that are missing, or join the leaf with its neighbour.",
        _single,
    ),
)
