"""Random fabrics as snapshots, and the comparison of a topology with its round trip."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from workbench.cluster.assemble import assemble
from workbench.formats.fabric.base import make_node
from workbench.formats.fabric.registry import get_format
from workbench.formats.load import load
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.objects.hypernode import make_hypernode
from workbench.objects.kinds import ClusterObjects

# Names as clusters have them: leading zeros, a number in the middle, none at all, numbers that count past a digit.
_NODES = st.sampled_from(["n{}", "node-{:03d}", "gpu{}.rack", "a{}-b7", "x9y{}"])
_SWITCHES = st.sampled_from(["s{}", "leaf-{:02d}", "sw{}.dc1", "tor{}x"])


def forest(topology: Topology) -> dict[str, tuple[int, str, str, frozenset[str]]]:
    """Per HyperNode its tier, tier name, parent and nodes."""
    return {
        name: (
            int(topology.tier[j]),
            topology.tier_names[j],
            topology.domain_name(int(topology.parent[j])),
            frozenset(topology.node_names[i] for i in topology.nodes_of(j)),
        )
        for j, name in enumerate(topology.domain_names)
    }


def shape(topology: Topology) -> set[tuple[int, frozenset[str]]]:
    """Tier and nodes of every HyperNode, whatever it is called."""
    return {(tier, nodes) for tier, _, _, nodes in forest(topology).values()}


@st.composite
def snapshots(
    draw: st.DrawFn, *, even: bool = False, mixed: bool = False, free: bool = False, named: bool = False
) -> ClusterSnapshot:
    """A forest of up to three levels and some thirty nodes.

    Parameters
    ----------
    even : bool
        All leaves at one depth, as label levels need.
    mixed : bool
        Also nodes directly under an upper HyperNode.
    free : bool
        Also nodes under none.
    named : bool
        With a tier name for each level.
    """
    depth = draw(st.integers(1, 3))
    spelt, node_spelt = draw(_SWITCHES), draw(_NODES)
    cluster = ClusterObjects()
    counter = iter(range(10_000))
    node_counter = iter(range(draw(st.integers(0, 12)), 10_000))

    def nodes(least: int) -> list[str]:
        names = [node_spelt.format(next(node_counter)) for _ in range(draw(st.integers(least, 4)))]
        cluster.nodes.update({name: make_node(name) for name in names})
        return names

    def grow(level: int) -> tuple[str, int]:
        name = spelt.format(next(counter))
        bottom = level == 1 or (not even and draw(st.booleans()))
        below = [] if bottom else [grow(level - 1) for _ in range(draw(st.integers(1, 3)))]
        own = nodes(1) if bottom else nodes(0) if mixed else []
        tier = 1 + max((height for _, height in below), default=0)
        tier_name = f"tier{tier}" if named else ""
        members = [child for child, _ in below]
        cluster.hypernodes[name] = make_hypernode(name, tier, nodes=own, children=members, tier_name=tier_name)
        return name, tier

    for _ in range(draw(st.integers(1, 2))):
        grow(depth)
    if free:
        nodes(0)
    return assemble(cluster)[0]


def read_back(text: str, **options: Any) -> ClusterSnapshot:
    """What loading a written text gives."""
    return load("-", stdin=text, **options).snapshot


def converted(snapshot: ClusterSnapshot, name: str) -> tuple[ClusterSnapshot, tuple[str, ...]]:
    """A snapshot written in a format and read again, told by its content; and the losses."""
    write = get_format(name).write
    assert write is not None
    written = write(snapshot)
    return read_back(written.text), written.losses
