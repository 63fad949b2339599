"""Benchmark of reading network topology files of 20,000 nodes into a `Topology`, and of comparing two topologies.

Baseline of the readers: splitting the text only. Baseline of the comparison: comparing leaves in dicts, which finds
moved nodes, but neither renamed HyperNodes nor changed tiers.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import yaml
from measure import microseconds, row

from workbench.formats.fabric.base import FabricRecords, make_node
from workbench.formats.fabric.hived import read_hived
from workbench.formats.fabric.ibnetdiscover import read_ibnetdiscover
from workbench.formats.fabric.lingjun import read_lingjun
from workbench.formats.fabric.netq import read_netq_graph
from workbench.formats.fabric.topograph import read_topograph
from workbench.formats.fabric.topograph_labels import derive_topograph_labels
from workbench.model.no_collection import no_collection
from workbench.model.topology import Topology
from workbench.objects.kinds import ClusterObjects
from workbench.topology.build import build_topology
from workbench.topology.diff import diff_topologies
from workbench.topology.generate import Fabric

N_NODES, PER_LEAF, PER_SPINE = 20_000, 25, 20
N_LEAVES = N_NODES // PER_LEAF
N_SPINES = N_LEAVES // PER_SPINE
REPEATS = 3
GOAL_US, DIFF_GOAL_US = 0.4e6, 1e6


def leaf_of(i: int) -> int:
    return i // PER_LEAF


def rows() -> Iterator[dict[str, Any]]:
    """One row of the result table per reader, then two for comparing: equal topologies, and all HyperNodes renamed."""
    yield from (_reader(*case) for case in _cases())
    yield from _comparisons()


def _cases() -> Iterator[tuple[str, str, Callable[[str, str], FabricRecords], str, Callable[[str], object]]]:
    yield "ibnetdiscover", _printout(), read_ibnetdiscover, "networkx, components of the cables", _components
    yield "netq", _graph(), read_netq_graph, "json.loads, parsing only", json.loads
    yield "topograph", _model(), read_topograph, "yaml.CSafeLoader, parsing only", _load_yaml
    yield "hived", _cells(), read_hived, "yaml.CSafeLoader, parsing only", _load_yaml
    yield (
        "lingjun",
        _table(),
        read_lingjun,
        "csv.reader, parsing only",
        lambda text: list(csv.reader(io.StringIO(text))),
    )
    labels = {
        f"n{i}": {
            f"fabric.topograph.run/tier-{t}": v for t, v in enumerate((f"l{leaf_of(i)}", f"s{leaf_of(i) // PER_SPINE}"))
        }
        for i in range(N_NODES)
    }
    cluster = ClusterObjects()
    cluster.nodes.update({name: make_node(name, of) for name, of in labels.items()})
    yield "topograph-labels", "", lambda *_: _derived(cluster), "dict by label value", lambda _: _by_value(labels)


def _reader(
    name: str, text: str, read: Callable[[str, str], FabricRecords], baseline: str, plain: Callable[[str], object]
) -> dict[str, Any]:
    def ours() -> Topology:
        with no_collection():  # as `workbench.load` reads files
            records = read(text, name)
            return build_topology(
                records.hypernodes, [node.name for node in records.nodes] or [f"n{i}" for i in range(N_NODES)]
            )

    topology = ours()
    assert topology.n_nodes == N_NODES and len(topology.domains_at(1)) >= N_LEAVES and not topology.problems
    base = float(min(microseconds(lambda: plain(text), REPEATS)))
    note = f"{len(text) / 1e6:.1f} MB, {topology.n_domains} HyperNodes, up to the Topology"
    return row(f"read {name}", f"{N_NODES} nodes", microseconds(ours, REPEATS), baseline, base, GOAL_US, note, "p50")


def _comparisons() -> Iterator[dict[str, Any]]:
    sizes = (PER_LEAF, PER_SPINE, N_SPINES)
    before = Fabric(sizes).topology()
    for what, after in (
        ("equal", Fabric(sizes).topology()),
        ("all renamed", Fabric(sizes, prefixes=("t",)).topology()),
    ):
        base = float(min(microseconds(lambda after=after: _plain_diff(before, after), REPEATS)))
        ours = microseconds(lambda after=after: diff_topologies(before, after), REPEATS)
        note = f"{what}: {diff_topologies(before, after)!r}"
        yield row("diff topologies", f"{N_NODES} nodes", ours, "dicts of node to leaf", base, DIFF_GOAL_US, note)


def _plain_diff(before: Topology, after: Topology) -> list[str]:
    old, new = (
        {t.node_names[i]: t.domain_names[j] for j in t.domains_at(1) for i in t.nodes_of(int(j))}
        for t in (before, after)
    )
    return [node for node, leaf in old.items() if new.get(node) != leaf]


def _derived(cluster: ClusterObjects) -> FabricRecords:
    records = derive_topograph_labels(cluster)
    assert records is not None
    return records


def _by_value(labels: dict[str, dict[str, str]]) -> dict[tuple[str, str], list[str]]:
    groups: dict[tuple[str, str], list[str]] = {}
    for node, of in labels.items():
        for pair in of.items():
            groups.setdefault(pair, []).append(node)
    return groups


def _components(text: str) -> list[set[str]]:
    graph = nx.Graph()
    current = ""
    for line in text.splitlines():
        names = re.findall(r'"([SH]-[^"]+)"', line)
        if line.startswith(("Switch", "Ca")):
            current = names[0]
        elif names:
            graph.add_edge(current, names[0])
    return list(nx.connected_components(graph))


def _load_yaml(text: str) -> object:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def _printout() -> str:
    lines = ["# Topology file: generated", ""]
    for leaf in range(N_LEAVES):
        lines.append(f'Switch\t65 "S-l{leaf}"\t\t# "MF0;leaf-{leaf}:MQM9700/U1" enhanced port 0 lid 1 lmc 0')
        for i in range(leaf * PER_LEAF, (leaf + 1) * PER_LEAF):
            lines.append(f'[{i % 64}]\t"H-{i}"[1](aa{i % 9}) \t\t# "n{i} HCA-1" lid 2 4xNDR')
        lines += [f'[40]\t"S-s{leaf // PER_SPINE}"[1]\t\t# "spine" lid 2 4xNDR', ""]
    for spine in range(N_SPINES):
        lines.append(f'Switch\t65 "S-s{spine}"\t\t# "MF0;spine-{spine}:MQM9700/U1" enhanced port 0 lid 1 lmc 0')
        lines += [f'[{i}]\t"S-l{spine * PER_SPINE + i}"[40]\t\t# "leaf" lid 2 4xNDR' for i in range(PER_SPINE)] + [""]
    for i in range(N_NODES):
        lines += [
            f'Ca\t1 "H-{i}"\t\t# "n{i} HCA-1"',
            f'[1](aa) \t"S-l{leaf_of(i)}"[1]\t\t# lid 2 lmc 0 "leaf" lid 1 4xNDR',
            "",
        ]
    return "\n".join(lines)


def _graph() -> str:
    switches = [f"l{i}" for i in range(N_LEAVES)] + [f"s{i}" for i in range(N_SPINES)]
    devices = [{"id": s, "name": s, "device_type": "switch", "node_type": "device"} for s in switches]
    devices += [{"id": f"n{i}", "name": f"n{i}", "device_type": "host", "node_type": "device"} for i in range(N_NODES)]
    links = [{"src": f"n{i}", "target": f"l{leaf_of(i)}"} for i in range(N_NODES)]
    links += [{"src": f"l{i}", "target": f"s{i // PER_SPINE}"} for i in range(N_LEAVES)]
    return json.dumps([{"nodes": [{"node_type": "tier", "compounded_nodes": devices}], "links": links}])


def _model() -> str:
    spines = {
        f"s{i}": {"switches": [f"l{j}" for j in range(i * PER_SPINE, (i + 1) * PER_SPINE)]} for i in range(N_SPINES)
    }
    blocks = [
        {"switch": f"l{i}", "nodes": [f"n{j}" for j in range(i * PER_LEAF, (i + 1) * PER_LEAF)]}
        for i in range(N_LEAVES)
    ]
    return yaml.dump({"switches": spines, "blocks": blocks}, Dumper=yaml.CSafeDumper, sort_keys=False)


def _cells() -> str:
    types: dict[str, dict[str, Any]] = {
        "NODE": {"childCellType": "V100", "childCellNumber": 8, "isNodeLevel": True},
        "LEAF": {"childCellType": "NODE", "childCellNumber": PER_LEAF},
        "SPINE": {"childCellType": "LEAF", "childCellNumber": PER_SPINE},
    }
    cells = [
        {
            "cellType": "SPINE",
            "cellChildren": [
                {"cellChildren": [{"cellAddress": f"n{leaf * PER_LEAF + i}"} for i in range(PER_LEAF)]}
                for leaf in range(spine * PER_SPINE, (spine + 1) * PER_SPINE)
            ],
        }
        for spine in range(N_SPINES)
    ]
    config = {"physicalCluster": {"cellTypes": types, "physicalCells": cells}}
    return yaml.dump(config, Dumper=yaml.CSafeDumper, sort_keys=False)


def _table() -> str:
    lines = [f"n{i},G1,P{leaf_of(i) // PER_SPINE},S{leaf_of(i) % PER_SPINE}" for i in range(N_NODES)]
    return "\n".join(["ip,DSW,PSW,ASW", *lines])
