"""NCCL topologies, typed by hand: two GPUs on a PCI switch, one on the processor, one on the other processor."""

from __future__ import annotations

import numpy as np
import pytest

from tests.notices import said
from workbench.errors import InputError
from workbench.formats.load import load
from workbench.formats.matrix import parse_matrix
from workbench.formats.nccl_topo import read_nccl_topo


def pci(bus: str, kind: str, speed: str = "16 GT/s", width: int = 16, inside: str = "") -> str:
    classes = {"gpu": "0x030200", "nic": "0x020700", "switch": "0x060400"}
    return f'<pci busid="{bus}" class="{classes[kind]}" link_speed="{speed}" link_width="{width}">{inside}</pci>'


SWITCH = pci(
    "0000:01:00.0",
    "switch",
    inside=pci("0000:03:00.0", "gpu") + pci("0000:02:00.0", "gpu") + pci("0000:04:00.0", "nic"),
)
SYSTEM = (
    '<system version="1">\n'
    f'<cpu numaid="0" vendor="GenuineIntel">{SWITCH}{pci("0000:05:00.0", "gpu", "8.0 GT/s PCIe", 8)}</cpu>\n'
    f'<cpu numaid="1" vendor="GenuineIntel">{pci("0000:06:00.0", "gpu")}{pci("0000:07:00.0", "nic")}</cpu>\n'
    "</system>\n"
)


def test_a_pair_is_as_fast_as_the_slowest_link_on_its_way() -> None:
    machine = read_nccl_topo(SYSTEM, "m.xml")
    assert [gpu.bus_id for gpu in machine.gpus] == [f"0000:0{i}:00.0" for i in (2, 3, 5, 6)]
    assert machine.matrix.gb_s.tolist() == [[0, 24, 6, 10], [24, 0, 6, 10], [6, 6, 0, 6], [10, 10, 6, 0]]
    assert (len(machine.nics), len(machine.switches), machine.numa, machine.has_nvlink) == (2, 1, (0, 1), False)


def test_the_nearest_nic_shares_the_switch_then_the_numa_node() -> None:
    parts = read_nccl_topo(SYSTEM, "m.xml").matrix.parts
    assert parts is not None
    assert parts.nearest(0) == {"0000:04:00.0": "PIX"}
    assert parts.nearest(2) == {"0000:04:00.0": "PHB"}
    assert parts.nearest(3) == {"0000:07:00.0": "PHB"}
    assert parts.nics["0000:07:00.0"] == ("SYS", "SYS", "SYS", "PHB")
    assert parts.numa == ("0", "0", "0", "1")


def test_several_switches_on_the_way_are_told_from_one_and_nics_have_the_names_of_their_devices() -> None:
    named = '<nic><net name="mlx5_0" dev="0"/><net name="mlx5_1" dev="1"/></nic>'
    card = f'<pci busid="0000:07:00.0" class="0x020000">{named}</pci>'
    same = "".join(f'<pci busid="0000:0{i}:00.0" class="0x020000"><nic><net name="x"/></nic></pci>' for i in (8, 9))
    inner = pci("0000:02:00.0", "switch", inside=pci("0000:03:00.0", "gpu"))
    other = pci("0000:04:00.0", "switch", inside=pci("0000:05:00.0", "gpu") + card)
    text = f'<system><cpu numaid="3">{pci("0000:01:00.0", "switch", inside=inner + other)}{same}</cpu></system>'
    parts = read_nccl_topo(text, "m.xml").matrix.parts
    assert parts is not None
    assert parts.nics == {
        "mlx5_0/mlx5_1": ("PXB", "PIX"),
        "0000:08:00.0": ("PHB", "PHB"),
        "0000:09:00.0": ("PHB", "PHB"),
    }
    assert parts.numa == ("3", "3")


def gpu(bus: str, dev: int, *links: str, sm: int = 80) -> str:
    return pci(bus, "gpu", inside=f'<gpu dev="{dev}" sm="{sm}">{"".join(links)}</gpu>')


def test_nvlinks_count_and_dev_numbers_order_the_gpus() -> None:
    link = '<nvlink target="0000:0{}:00.0" count="{}" tclass="0x030200"/>'
    gpus = gpu("0000:02:00.0", 1, link.format(3, 4)) + gpu("0000:03:00.0", 0, link.format(2, 2))
    text = f'<system><cpu numaid="0">{gpus}</cpu></system>'
    machine = read_nccl_topo(text, "m.xml")
    assert [device.bus_id for device in machine.gpus] == ["0000:03:00.0", "0000:02:00.0"]
    assert machine.matrix.gb_s.tolist() == [[0, 40], [80, 0]]
    assert machine.has_nvlink


def test_through_nvswitch_every_pair_has_all_links() -> None:
    link = '<nvlink target="fffffff" count="18" tclass="0x068000"/>'
    gpus = "".join(gpu(f"0000:0{i}:00.0", i, link, sm=90) for i in range(4))
    matrix = read_nccl_topo(f'<system><cpu numaid="0">{gpus}</cpu></system>', "m.xml").matrix
    assert np.allclose(matrix.gb_s[~np.eye(4, dtype=bool)], 18 * 20.6)


@pytest.mark.parametrize(("gcn", "each"), [("906", 24.0), ("910", 36.0), ("gfx942:sramecc+", 48.0), ("", 24.0)])
def test_xgmi_links_count_by_the_gpu(gcn: str, each: float) -> None:
    inside = '<gpu dev="{}" sm="90" gcn="{}"><xgmi target="{}" count="{}" tclass="0x038000"/></gpu>'
    gpus = pci("0000:02:00.0", "gpu", inside=inside.format(0, gcn, "0000:03:00.0", 2))
    gpus += pci("0000:03:00.0", "gpu", inside=inside.format(1, gcn, "0000:02:00.0", 1))
    machine = read_nccl_topo(f'<system><cpu numaid="0" vendor="AuthenticAMD">{gpus}</cpu></system>', "m.xml")
    assert machine.matrix.gb_s.tolist() == [[0, 2 * each], [max(each, 24.0), 0]]
    assert machine.has_nvlink


def test_it_is_a_matrix_file_and_a_cluster_of_one_node(tmp_path) -> None:
    path = tmp_path / "box.xml"
    path.write_text(SYSTEM, encoding="utf-8")
    assert parse_matrix(SYSTEM.encode(), "m.xml").gb_s[0, 1] == 24
    snapshot = load(path).snapshot
    assert snapshot.topology.node_names == ("box",)
    assert int(snapshot.gpu_total[0, 0]) == 0b1111
    assert snapshot.matrix_of(0) == read_nccl_topo(SYSTEM, "m.xml").matrix
    assert "box: the file has no NVLink, its matrix knows the ways over PCI only" in said(snapshot.gaps)


BOMB = '<!DOCTYPE system [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><system>&b;</system>'
BROKEN = {
    "cut": (SYSTEM[:300], r"m\.xml: line 2, column \d+: not XML"),
    "entities": (BOMB, r"m\.xml: XML with declarations"),
    "an external file": ('<!DOCTYPE s SYSTEM "file:///etc/passwd"><system/>', "XML with declarations"),
    "another root": ("<graphs/>", r"no NCCL topology \(found <graphs>"),
    "no GPU": ('<system><cpu numaid="0"/></system>', "no GPU in the topology"),
    "no busid": ('<system><cpu><pci class="0x030200"/></cpu></system>', "a pci element without busid"),
    "a GPU twice": (f"<system><cpu>{pci('0000:01:00.0', 'gpu') * 2}</cpu></system>", "the same device twice"),
    "a width": ('<system><cpu><pci busid="1" class="0x03" link_width="x"/></cpu></system>', "not a width"),
    "too deep": ("<system><cpu>" + "<pci busid='1'>" * 80 + "</pci>" * 80 + "</cpu></system>", "nested too deeply"),
}


@pytest.mark.parametrize(("text", "want"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_refused(text: str, want: str) -> None:
    with pytest.raises(InputError, match=want):
        read_nccl_topo(text, "m.xml")
