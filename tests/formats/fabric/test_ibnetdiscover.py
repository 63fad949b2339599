"""Printouts of ibnetdiscover: a small rail-optimised fabric, and defects of real fabrics."""

from __future__ import annotations

import pytest

from tests.notices import said
from workbench.errors import InputError
from workbench.formats.fabric.base import FabricRecords
from workbench.formats.fabric.hosts import host_role
from workbench.formats.fabric.ibnetdiscover import read_ibnetdiscover
from workbench.formats.fabric.registry import detect_format


def switch(guid: str, name: str, *ports: str) -> str:
    """A block of a switch; ports as ``H-1|node-01 HCA-1`` or ``S-9|spine``."""
    lines = [f"switchguid=0x{guid}({guid})", f'Switch\t65 "S-{guid}"\t\t# "{name}" enhanced port 0 lid 1 lmc 0']
    for i, port in enumerate(ports, 1):
        peer, _, description = port.partition("|")
        lines.append(f'[{i}]\t"{peer}"[1](aa) \t\t# "{description}" lid 2 4xNDR')
    return "\n".join(lines) + "\n\n"


def adapter(guid: str, description: str, *ports: str) -> str:
    lines = [f"caguid=0x{guid}", f'Ca\t1 "H-{guid}"\t\t# "{description}"']
    lines += [f'[{i}]({guid}) \t"{peer}"[1]\t\t# lid 2 lmc 0 "leaf" lid 1 4xNDR' for i, peer in enumerate(ports, 1)]
    return "\n".join(lines) + "\n\n"


HEAD = "#\n# Topology file: generated on Fri Nov 20 20:00:00 2026\n#\n\n"

#        spine-1            storage-leaf
#      /         \           (on spine-1)
#   leaf-1   leaf-2           |
#   n1 n2    n1 n2         lustre-oss1
FABRIC = (
    HEAD
    + switch("1", "MF0;leaf-1:MQM9700/U1", "H-11|n1 HCA-1", "H-21|n2 HCA-1", "S-3|MF0;spine-1:MQM9700/U1")
    + switch("2", "MF0;leaf-2:MQM9700/U1", "H-12|n1 HCA-2", "H-22|n2 HCA-2", "S-3|MF0;spine-1:MQM9700/U1")
    + switch("3", "MF0;spine-1:MQM9700/U1", "S-1|x", "S-2|x", "S-4|x", "H-33|Mellanox Technologies Aggregation Node")
    + switch("4", "MF0;storage-leaf:MQM9700/U1", "H-41|lustre-oss1 mlx5_0", "S-3|x")
    + adapter("11", "n1 HCA-1", "S-1")
    + adapter("12", "n1 HCA-2", "S-2")
    + adapter("21", "n2 HCA-1", "S-1")
    + adapter("22", "n2 HCA-2", "S-2")
    + adapter("41", "lustre-oss1 mlx5_0", "S-4")
    + adapter("33", "Mellanox Technologies Aggregation Node", "S-3")
)


def tree(records: FabricRecords) -> dict[str, tuple[int, list[str | None]]]:
    return {h.name: (h.tier, [m.selector.exact for m in h.members]) for h in records.hypernodes}


def test_adapters_join_by_host_name_and_storage_is_no_node() -> None:
    records = read_ibnetdiscover(FABRIC, "fabric.out")
    assert [node.name for node in records.nodes] == ["n1", "n2"]
    assert tree(records) == {"leaf-1-group": (1, ["n1", "n2"]), "spine-1": (2, ["leaf-1-group"])}
    assert said(records.notes) == (
        "storage ports, not nodes: lustre-oss1 (1 port)",
        "switches of storage, left out of the tiers: storage-leaf",
    )


def test_it_is_found_by_its_content() -> None:
    found = detect_format(FABRIC, "anything")
    assert found is not None and found.name == "ibnetdiscover"


def test_a_cable_that_one_end_prints_counts() -> None:
    text = HEAD + switch("1", "leaf", "H-11|n1 HCA-1") + switch("3", "spine", "S-1|leaf")
    assert tree(read_ibnetdiscover(text, "f")) == {"leaf": (1, ["n1"]), "spine": (2, ["leaf"])}


def test_adapters_without_a_host_name_are_no_nodes_where_others_have_one() -> None:
    text = HEAD + switch(
        "1", "leaf", "H-11|n1 HCA-1", "H-12|MT4129 ConnectX7   Mellanox Technologies", "H-13|localhost HCA-1"
    )
    records = read_ibnetdiscover(text, "f")
    assert [node.name for node in records.nodes] == ["n1"]
    assert said(records.notes) == ("2 adapters do not say their host's name and belong to no node: H-12, H-13",)


def test_without_any_host_name_every_adapter_is_a_node() -> None:
    text = HEAD + switch("1", "ISR9024 Voltaire", "H-11|MT23108 InfiniHost Mellanox Technologies")
    records = read_ibnetdiscover(text, "f")
    assert [node.name for node in records.nodes] == ["H-11"]
    assert tree(records) == {"S-1": (1, ["H-11"])}
    assert records.notes[0].code == "hosts-without-name"


def test_chips_of_a_modular_switch_are_told_apart() -> None:
    text = (
        HEAD
        + switch("1", "MF0;big:CS7520/L01/U1", "H-11|n1 HCA-1")
        + switch("2", "MF0;big:CS7520/L02/U1", "H-21|n2 HCA-1")
    )
    assert sorted(tree(read_ibnetdiscover(text, "f"))) == ["big/L01/U1", "big/L02/U1"]


def test_two_switches_of_one_name_keep_their_ids() -> None:
    text = HEAD + switch("1", "leaf", "H-11|n1 HCA-1") + switch("2", "leaf", "H-21|n2 HCA-1")
    assert sorted(tree(read_ibnetdiscover(text, "f"))) == ["S-1", "S-2"]


def test_a_switch_that_only_its_neighbours_print_is_named() -> None:
    records = read_ibnetdiscover(HEAD + switch("1", "leaf", "H-11|n1 HCA-1", "S-3|spine"), "f")
    assert tree(records) == {"leaf": (1, ["n1"]), "spine": (2, ["leaf"])}
    assert said(records.notes) == ("1 switch has no block of its own, is the printout cut off? spine",)


BROKEN = {
    "adapters only": (HEAD + adapter("11", "n1 HCA-1"), r"f: line 6: no switch in the printout.*found 1 adapter"),
    "no node on any switch": (HEAD + switch("1", "leaf", "S-3|spine"), r"f: line 6: no node on any switch"),
    "cut inside a port": (FABRIC[:-40] + '\n[3]\t"S-1', r"f: line \d+: not a port of ibnetdiscover"),
    "a bad block": (HEAD + "Switch four\n", r"f: line 5: not a block of ibnetdiscover"),
    "a port first": (HEAD + '[1]\t"S-1"[1]\t\t# "x" lid 1\n', r"f: line 5: a port outside of a block"),
}


@pytest.mark.parametrize(("text", "want"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_printout_is_refused_with_its_line(text: str, want: str) -> None:
    with pytest.raises(InputError, match=want):
        read_ibnetdiscover(text, "f")


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("node-01", "compute"),
        ("tossed-3", "compute"),
        ("storage01", "storage"),
        ("rack2-nas-1.example.org", "storage"),
        ("gpu7.storage.example.org", "compute"),
        ("WekaNode12", "storage"),
        ("B11-P1-CUFM-02", "fabric manager"),
        ("localhost", "unnamed"),
        ("Ubuntu", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_roles_by_name(name: str, role: str) -> None:
    assert host_role(name) == role


def uplinks(*speeds: str) -> str:
    """A leaf with node n1 and a spine, joined by cables of these speeds; leaf's ports begin at 2."""
    text = HEAD + switch("1", "leaf", "H-11|n1 HCA-1", *("S-3|spine" for _ in speeds))
    for i, speed in enumerate(speeds, 2):
        text = text.replace(
            f'[{i}]\t"S-3"[1](aa) \t\t# "spine" lid 2 4xNDR', f'[{i}]\t"S-3"[{i}]\t# "spine" lid 2 {speed}'
        )
    return text


@pytest.mark.parametrize(
    ("speeds", "want"),
    [
        (("4xEDR", "4xEDR", "4xDDR"), "leaf[4] - spine[4] at 4xDDR"),
        (("4xNDR", "2xNDR", "4xNDR", "4xNDR"), "leaf[3] - spine[3] at 2xNDR"),
        (("4xHDR", "4xHDR", "1xSDR", "4xEDR", "4xHDR"), "leaf[4] - spine[4] at 1xSDR, leaf[5] - spine[5] at 4xEDR"),
        (("4xFDR", "4xFDR10", "4xFDR"), "leaf[3] - spine[3] at 4xFDR10"),
    ],
)
def test_a_cable_slower_than_its_equals_is_told(speeds: tuple[str, ...], want: str) -> None:
    notes = read_ibnetdiscover(uplinks(*speeds), "f").notes
    assert [note.code for note in notes if note.code == "slow-cable"] == ["slow-cable"]
    assert next(said([note])[0] for note in notes if note.code == "slow-cable").endswith(want)


@pytest.mark.parametrize("speeds", [("4xEDR",), ("4xEDR", "4xEDR"), ("4xEDR", "4xHDR"), ("4xEDR", "4xEDR", "4xNDR")])
def test_a_faster_cable_or_one_without_equals_is_no_slow_cable(speeds: tuple[str, ...]) -> None:
    assert "slow-cable" not in [note.code for note in read_ibnetdiscover(uplinks(*speeds), "f").notes]


def test_a_slow_port_of_a_node_is_told() -> None:
    text = HEAD + switch("1", "leaf", *(f"H-1{i}|n{i} HCA-1" for i in range(1, 6)))
    text = text.replace('"n3 HCA-1" lid 2 4xNDR', '"n3 HCA-1" lid 2 4xHDR')
    assert said(read_ibnetdiscover(text, "f").notes) == (
        "1 cable from leaf to nodes slower than the 4 others, which run at 4xNDR: leaf[3] - n3[1] at 4xHDR",
    )


def test_service_hosts_are_no_nodes_and_raise_no_switch_above_the_others() -> None:
    text = HEAD + switch("1", "leaf-1", "H-11|gpu1 HCA-1", "H-12|login01 HCA-1", "S-3|spine")
    text += switch("2", "leaf-2", "H-21|gpu2 HCA-1", "S-3|spine") + switch("3", "spine", "H-31|mgmt-1 mlx5_0")
    records = read_ibnetdiscover(text, "f")
    assert [node.name for node in records.nodes] == ["gpu1", "gpu2"]
    assert tree(records)["spine"] == (2, ["leaf-1", "leaf-2"])
    assert "service ports, not nodes: login01 (1 port), mgmt-1 (1 port)" in said(records.notes)


def test_a_storage_switch_on_one_of_two_cascaded_leaves_adds_no_tier() -> None:
    text = HEAD + switch("1", "leaf-1", "H-11|n1 HCA-1", "S-2|leaf-2", "S-4|store")
    text += switch("2", "leaf-2", "H-21|n2 HCA-1", "S-1|leaf-1") + switch(
        "4", "store", "H-41|nas-1 HCA-1", "S-1|leaf-1"
    )
    records = read_ibnetdiscover(text, "f")
    assert tree(records)["leaf-1-cascade"] == (2, ["leaf-1", "leaf-2"])
    assert [h.name for h in records.hypernodes] == ["leaf-1", "leaf-2", "leaf-1-cascade"]
    assert "switches of storage, left out of the tiers: store" in said(records.notes)


def test_service_hosts_alone_are_the_nodes() -> None:
    text = HEAD + switch("1", "leaf", "H-11|master-0 HCA-1", "H-12|master-1 HCA-1")
    records = read_ibnetdiscover(text, "f")
    assert [node.name for node in records.nodes] == ["master-0", "master-1"] and records.notes == ()


@pytest.mark.parametrize(
    ("host", "role"),
    [
        ("login01", "service"),
        ("loginnode-2.example.org", "service"),
        ("controller", "service"),
        ("slurmctld1", "service"),
        ("bcm-head-01", "service"),
        ("mgmt3", "service"),
        ("k8s-master-0", "service"),
        ("dtn02", "service"),
        ("bee01", "storage"),
        ("beegfs-meta-1", "storage"),
        ("headache", "compute"),
        ("gpu-12", "compute"),
        ("node001", "compute"),
        ("worker-3", "compute"),
    ],
)
def test_a_host_that_serves_the_others_is_told_by_its_name(host: str, role: str) -> None:
    assert host_role(host) == role


@pytest.mark.parametrize("host", ["amt01", "quantum-3", "infiniband7", "techmt2"])
def test_a_host_whose_name_contains_a_vendors_word_is_a_node(host: str) -> None:
    text = HEAD + switch("1", "leaf", "H-11|n1 mlx5_0", f"H-12|{host} mlx5_0", "H-13|MT4129 mlx5_0")
    assert {node.name for node in read_ibnetdiscover(text, "f").nodes} == {"n1", host}


def test_a_management_host_is_no_adapter_without_a_name() -> None:
    text = HEAD + switch("1", "leaf", "H-11|n1 mlx5_0", "H-12|mgmt01 mlx5_0", "H-13|Technologies Aggregation Node ")
    assert said(read_ibnetdiscover(text, "f").notes) == ("service ports, not nodes: mgmt01 (1 port)",)
