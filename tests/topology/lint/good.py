"""Random topologies with nothing wrong in them, as manifests that a test may then damage."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from workbench.objects.kinds import ClusterObjects
from workbench.topology.lint import LintReport, Subject, lint

Manifest = dict[str, Any]

RACK = "example.com/rack"


@dataclass
class Cluster:
    """HyperNodes and Nodes by name, ready to be damaged."""

    hypernodes: dict[str, Manifest] = field(default_factory=dict)
    nodes: dict[str, Manifest] = field(default_factory=dict)
    with_matrix: set[str] = field(default_factory=set)

    def add_node(self, name: str, labels: dict[str, str] | None = None, gpus: int = 8) -> str:
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
        offered = {"cpu": "8", "pods": "110", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
        self.nodes[name] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": metadata,
            "spec": {},
            "status": {"allocatable": offered},
        }
        return name

    def add_hypernode(self, name: str, tier: int, members: list[Manifest]) -> str:
        self.hypernodes[name] = {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": name},
            "spec": {"tier": tier, "members": members},
        }
        return name

    def members(self, name: str) -> list[Manifest]:
        return self.hypernodes[name]["spec"]["members"]

    def tier(self, name: str) -> int:
        return self.hypernodes[name]["spec"]["tier"]

    def of_tier(self, tier: int) -> list[str]:
        return [name for name in self.hypernodes if self.tier(name) == tier]

    @property
    def top(self) -> int:
        return max(self.tier(name) for name in self.hypernodes)

    @property
    def upper(self) -> list[str]:
        """HyperNodes above the leaves."""
        return [name for name in self.hypernodes if self.tier(name) > 1]

    def children(self, name: str) -> list[str]:
        return [m["selector"]["exactMatch"]["name"] for m in self.members(name) if m["type"] == "HyperNode"]

    def parent(self, name: str) -> str | None:
        return next((p for p in self.hypernodes if name in self.children(p)), None)

    def root(self, name: str) -> str:
        while above := self.parent(name):
            name = above
        return name

    def detach(self, name: str) -> None:
        """Take a HyperNode out of its parent."""
        above = self.parent(name)
        assert above is not None
        self.hypernodes[above]["spec"]["members"] = [m for m in self.members(above) if m != member(name, "HyperNode")]

    def rack_nodes(self, leaf: str) -> list[str]:
        """Nodes that the leaf was made with."""
        return [n for n, node in self.nodes.items() if node["metadata"]["labels"].get(RACK) == leaf]

    def rename(self, old: str, new: str) -> str:
        manifest = self.hypernodes.pop(old)
        manifest["metadata"]["name"] = new
        self.hypernodes[new] = manifest
        for name in self.hypernodes:
            for one in self.members(name):
                if one == member(old, "HyperNode"):
                    one["selector"]["exactMatch"]["name"] = new
        return new

    def name_tiers(self) -> None:
        for name in self.hypernodes:
            self.hypernodes[name]["spec"]["tierName"] = f"level{self.tier(name)}"

    def manifests(self) -> list[Manifest]:
        # Through text, so that no two objects share a part: YAML would write it as an alias.
        return json.loads(json.dumps([*self.hypernodes.values(), *self.nodes.values()]))

    def subject(self) -> Subject:
        objects = ClusterObjects(keep_patterns=True)
        for manifest in self.manifests():
            objects.add(manifest)
        return Subject.of_objects(objects, {}, self.hypernodes, self.with_matrix)

    def lint(self, **options: Any) -> LintReport:
        return lint(self.subject(), **options)


def member(name: str, kind: str = "Node") -> Manifest:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def pattern(text: str) -> Manifest:
    return {"type": "Node", "selector": {"regexMatch": {"pattern": text}}}


def labelled(key: str, value: str) -> Manifest:
    return {"type": "Node", "selector": {"labelMatch": {"matchLabels": {key: value}}}}


STYLES = ("exact", "whole pattern", "beginning", "label")


@st.composite
def good_clusters(draw: st.DrawFn, styles: tuple[str, ...] = STYLES) -> Cluster:
    """Balanced forests of two to four tiers with at least four leaves of nearly equal size."""
    fan_out = draw(st.lists(st.integers(2, 3), min_size=1, max_size=3))
    roots = draw(st.integers(1, 2))
    if roots * math.prod(fan_out) < 4:
        fan_out[-1] += 2
    cluster = Cluster()
    base = draw(st.integers(4, 6))
    gpus = draw(st.sampled_from((0, 8)))
    counted = draw(st.booleans())
    level = []
    for k in range(roots * math.prod(fan_out)):
        leaf = f"t1-{k:02d}"
        size = base + draw(st.integers(0, 1))
        names = [cluster.add_node(f"r{k:02d}-n{i:02d}", {RACK: leaf}, gpus) for i in range(size)]
        style = draw(st.sampled_from(styles))
        chosen = {
            "exact": [member(name) for name in names],
            "whole pattern": [pattern(rf"^r{k:02d}-n\d\d$")],
            "beginning": [pattern(f"^r{k:02d}-")],
            "label": [labelled(RACK, leaf)],
        }[style]
        level.append(cluster.add_hypernode(leaf, 1, chosen))
        if counted:
            cluster.hypernodes[leaf]["status"] = {"nodeCount": size}
    for tier, size in enumerate(fan_out, 2):
        level = [
            cluster.add_hypernode(f"t{tier}-{k:02d}", tier, [member(c, "HyperNode") for c in level[k * size :][:size]])
            for k in range(len(level) // size)
        ]
    if draw(st.booleans()):
        cluster.name_tiers()
    if draw(st.booleans()):
        cluster.with_matrix = set(cluster.nodes)
    if draw(st.booleans()):
        cluster.add_node("control-0", {"node-role.kubernetes.io/control-plane": ""}, gpus)
    return cluster
