"""The card that is shown of a place in a picture: a HyperNode, a node, or a square of several nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from workbench.evaluate.whatif.job_edits import taint_text
from workbench.model.counted import counted
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.report.blocks import Block, Layout
from workbench.report.occupancy import Occupancy

__all__ = ["Kind", "PictureWalk", "card_of", "label_texts", "listed"]

#: A box of a picture, or one of its squares.
Kind = Literal["hypernode", "square"]

#: Jobs, running pods, HyperNodes or labels that a card lists; the rest is counted.
_LISTED = 6


class PictureWalk:
    """The places of a picture, and how to walk from one to another."""

    def __init__(self, topology: Topology, layout: Layout) -> None:
        self._nodes: dict[str, tuple[int, ...]] = {}
        self._siblings: dict[tuple[Kind, str], tuple[Sequence[tuple[Kind, str]], int]] = {}
        self._parent: dict[tuple[Kind, str], tuple[Kind, str] | None] = {}
        self._first: dict[tuple[Kind, str] | None, tuple[Kind, str]] = {}
        self._add(topology, layout.top, None)

    def _add(self, topology: Topology, block: Block, parent: tuple[Kind, str] | None) -> None:
        inner: list[tuple[Kind, str]] = [("hypernode", topology.domain_name(b.domain)) for b in block.blocks]
        inner += [("square", label) for label in block.labels]
        for i, place in enumerate(inner):
            self._siblings[place] = inner, i
            self._parent[place] = parent
        if inner:
            self._first[parent] = inner[0]
        self._nodes.update(zip(block.labels, block.nodes, strict=True))
        for place, one in zip(inner, block.blocks):
            self._add(topology, one, place)

    def find(self, kind: object, name: str) -> tuple[Kind, str] | None:
        """The place of this kind and name; None if the picture has none."""
        known: Kind | None = next((known for known in get_args(Kind) if known == kind), None)
        return (known, name) if known is not None and (known, name) in self._siblings else None

    def nodes_of(self, label: str) -> tuple[int, ...]:
        """The nodes of a square."""
        return self._nodes[label]

    @property
    def start(self) -> tuple[Kind, str] | None:
        """The place at which a walk begins; None in an empty picture."""
        return self._first.get(None)

    def around(self, kind: Kind, name: str) -> dict[str, tuple[Kind, str]]:
        """The places to which the arrow keys lead: up to the HyperNode around, down into it, to its siblings.

        `kind`: {"hypernode", "square"}. `name`: name of the HyperNode, or label of the square. Returns: kind and name
        of the place in each direction: ``up``, ``down``, ``left``, ``right``; a direction without a place is missing.
        """
        siblings, at = self._siblings[kind, name]
        found = {"up": self._parent[kind, name], "down": self._first.get((kind, name))}
        if at > 0:
            found["left"] = siblings[at - 1]
        if at + 1 < len(siblings):
            found["right"] = siblings[at + 1]
        return {way: place for way, place in found.items() if place is not None}


def card_of(kind: Kind, name: str, walk: PictureWalk, snapshot: ClusterSnapshot, who: Occupancy) -> dict[str, Any]:
    """Title and lines of the card of a place (a HyperNode, a node or a square of several), as a JSON-ready dict.

    `kind`: {"hypernode", "square"}. `name`: name of the HyperNode, or label of the square.
    """
    topology = snapshot.topology
    if kind == "hypernode":
        domain = topology.domain(name)
        nodes = topology.nodes_of(domain).tolist()
        first = [("HyperNode", f"tier {topology.domain_tier(domain)}"), ("nodes", f"{len(nodes):,}")]
    else:
        nodes = list(walk.nodes_of(name))
        first = [] if len(nodes) == 1 else [("nodes", f"{len(nodes):,}")]
    lines = [*first, *_free(nodes, who), *_pods(nodes, who), *_running(nodes, snapshot)]
    lines += [("in", text) for text in [_above(walk, kind, name, topology)] if text]
    closed = [who.closed[node] for node in nodes if node in who.closed]
    if closed and len(nodes) > 1:
        counts = ", ".join(f"{closed.count(word):,} {word}" for word in dict.fromkeys(closed))
        lines.append(("no job can use", counts))
    if kind == "square" and len(nodes) == 1:
        lines += _of_one_node(nodes[0], snapshot)
    return {"title": name, "lines": lines}


def _free(nodes: Sequence[int], who: Occupancy) -> list[tuple[str, str]]:
    total = sum(who.n_gpus.get(node, 0) for node in nodes)
    if not total:
        return []
    taken = sum(who.n_busy.get(n, 0) + sum(entry.n_gpus for entry in who.held.get(n, ())) for n in nodes)
    return [("free", f"{total - taken:,} of {counted(total, 'GPU', form=',')}")]


def _pods(nodes: Sequence[int], who: Occupancy) -> list[tuple[str, str]]:
    held: dict[int, list[int]] = {}
    gpus: dict[int, tuple[int, ...]] = {}
    for node in nodes:
        for entry in who.held.get(node, ()):
            amounts = held.setdefault(entry.job, [0, 0])
            amounts[0] += entry.pods
            amounts[1] += entry.n_gpus
            gpus[entry.job] = entry.gpus
    texts = []
    for job in sorted(held):
        pods, n_gpus = held[job]
        text = f"{who.jobs[job]}: {counted(pods, 'pod', form=',')}"
        if len(nodes) == 1 and gpus[job]:
            text += f" on GPU {', '.join(map(str, gpus[job]))}"
        elif n_gpus:
            text += f" on {counted(n_gpus, 'GPU', form=',')}"
        texts.append(text)
    return listed("placed", texts)


def _running(nodes: Sequence[int], snapshot: ClusterSnapshot) -> list[tuple[str, str]]:
    """Pods that ran before: by name on one node, else their number."""
    inside = set(nodes)
    names = [f"{pod.namespace}/{pod.name}" for pod in snapshot.running if pod.node in inside]
    if len(nodes) == 1:
        return listed("running", sorted(names, key=str.encode))
    return [("running", counted(len(names), "pod", form=","))] if names else []


def _above(walk: PictureWalk, kind: Kind, name: str, topology: Topology) -> str:
    """The HyperNodes around a place, the innermost first."""
    names = []
    place: tuple[Kind, str] | None = (kind, name)
    while place is not None:
        place = walk.around(*place).get("up")
        if place is not None:
            names.append(f"{place[1]} (tier {topology.domain_tier(topology.domain(place[1]))})")
    return ", ".join(names)


def _of_one_node(node: int, snapshot: ClusterSnapshot) -> list[tuple[str, str]]:
    states = [("not ready", snapshot.not_ready), ("cordoned", snapshot.unschedulable)]
    words = [word for word, nodes in states if np.asarray(nodes)[node]]
    lines = [("state", ", ".join(words))] if words else []
    taints = snapshot.taints.sets[int(snapshot.taints.codes[node])]
    lines += listed("taints", [taint_text(taint) for taint in taints])
    return lines + listed("labels", label_texts(snapshot.labels.row(node)))


def label_texts(labels: Mapping[str, str]) -> list[str]:
    """Labels as a person writes them: ``key=value``."""
    return [f"{key}={value}" for key, value in labels.items()]


def listed(heading: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Lines of a card, as pairs of heading and text: the first few texts, then the number of the others."""
    lines = [(heading if i == 0 else "", text) for i, text in enumerate(texts[:_LISTED])]
    if len(texts) > _LISTED:
        lines.append(("", f"and {len(texts) - _LISTED} more"))
    return lines
