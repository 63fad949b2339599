"""Every fabric in the folder of public data loads, or is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notices import said
from workbench.errors import InputError
from workbench.formats.load import load
from workbench.model.topology import Topology

#: File or folder -> nodes, and HyperNodes by tier.
FABRICS = {
    "topograph/small-tree.yaml": (6, {1: 2, 2: 1}),
    "topograph/medium.yaml": (8, {1: 4, 2: 2, 3: 1}),
    "topograph/nvl72.yaml": (72, {1: 4, 2: 2, 3: 1}),
    "topograph/netq": (10, {1: 2, 2: 1}),
    "topograph/netq/topologyGraph.json": (8, {1: 2, 2: 1}),
    "topograph/netq/computeNodes.json": (2, {1: 1}),
    "ibnetdiscover/1.topo": (4, {1: 2, 2: 1}),
    "ibnetdiscover/2.topo": (2, {1: 1}),
    "ibnetdiscover/ibnetdiscover-example.out": (119, {1: 8, 2: 1}),
    "hived/hived-config-1.yaml": (5, {1: 2}),
    "hived/hived-config-2.yaml": (5, {1: 2}),
    "hived/hived-config-3.yaml": (5, {1: 2}),
    "lingjun2023/topo.csv": (847, {1: 119, 2: 3, 3: 1}),
    "from-life-3/09-cascaded-switches/fabric.txt": (4, {1: 2, 2: 1}),
    "from-life-3/10-slurm-two-cores/topology.conf": (96, {1: 6, 2: 1}),
    "from-life-3/11-service-hosts/fabric.txt": (20, {1: 3, 2: 1}),
    "nccl-topo/ndv2-topo.xml": (1, {}),
    "nccl-topo/ndv4-topo.xml": (1, {}),
}


def by_tier(topology: Topology) -> dict[int, int]:
    return {tier: len(topology.domains_at(tier)) for tier in topology.tiers}


@pytest.mark.parametrize("name", FABRICS)
def test_it_loads_as_a_tree(name: str, public_data: Path) -> None:
    snapshot = load(public_data / name).snapshot
    assert (snapshot.n_nodes, by_tier(snapshot.topology)) == FABRICS[name]
    assert snapshot.topology.ready and snapshot.topology.problems == ()


def test_the_table_leaves_no_fabric_out(public_data: Path) -> None:
    folders = ("topograph", "ibnetdiscover", "hived", "lingjun2023", "nccl-topo")
    there = {str(p.relative_to(public_data)) for folder in folders for p in (public_data / folder).rglob("*.*")}
    assert there - set(FABRICS) == {"ibnetdiscover/ibnetdiscover-bad.out"}


def test_the_broken_printout_is_refused_with_its_line(public_data: Path) -> None:
    with pytest.raises(InputError, match=r"ibnetdiscover-bad\.out: line 10: no switch in the printout"):
        load(public_data / "ibnetdiscover/ibnetdiscover-bad.out")


def test_the_real_printout_joins_adapters_to_nodes_and_rails_to_groups(public_data: Path) -> None:
    snapshot = load(public_data / "ibnetdiscover/ibnetdiscover-example.out").snapshot
    topology = snapshot.topology
    rail_group = topology.nodes_of(topology.domain("A09-P1-IBLEAF-01-04-group"))
    assert [topology.node_names[i] for i in rail_group] == [f"a08-p1-dgx-04-c{i:02}" for i in range(1, 18)]
    assert "fabric manager ports, not nodes: B11-P1-CUFM-02 (2 ports)" in said(snapshot.gaps)
    assert any(gap.startswith("74 adapters do not say their host's name") for gap in said(snapshot.gaps))


def test_a_leaf_of_lingjun_is_the_pair_of_pod_switch_and_access_switch(public_data: Path) -> None:
    topology = load(public_data / "lingjun2023/topo.csv").snapshot.topology
    leaves = [topology.domain_names[j] for j in topology.domains_at(1)]
    assert {"P8-S4", "P10-S4", "P12-S4"} <= set(leaves)
    assert {topology.domain_name(int(topology.parent[topology.domain(n)])) for n in leaves} == {"P8", "P10", "P12"}


def test_the_inventory_beside_its_graph_adds_gpus_and_nvlink_domains(public_data: Path) -> None:
    snapshot = load(public_data / "topograph/netq").snapshot
    assert snapshot.labels.rows()[snapshot.topology.node("node1")]["accelerator.topograph.run/domain"].startswith(
        "3fbfc98b"
    )


@pytest.mark.parametrize("name", ["nccl-topo/ndv2-topo.xml", "nccl-topo/ndv4-topo.xml"])
def test_an_nccl_topology_is_a_machine_with_a_matrix(name: str, public_data: Path) -> None:
    snapshot = load(public_data / name).snapshot
    matrix = snapshot.matrix_of(0)
    assert matrix is not None and len(matrix) == 8
    assert snapshot.topology.node_names == (Path(name).stem,)
