"""Matrices of nvbandwidth, TransferBench and hwloc's XML, and properties of any text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.notices import said
from workbench.errors import InputError, WorkbenchError
from workbench.formats.matrices.base import MatrixReading
from workbench.formats.matrices.registry import MATRIX_FORMATS, detect_matrix_format
from workbench.formats.matrix import read_matrix_content

NVBANDWIDTH = """nvbandwidth Version: v0.4
Built from Git version: v0.4

CUDA Runtime Version: 12030
CUDA Driver Version: 12030
Driver Version: 545.23.08

Device 0: Some GPU
Device 1: Some GPU

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
          0         1
0     55.63     55.64

SUM host_to_device_memcpy_ce 111.27

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
          0         1
0       N/A    100.00
1    200.00       N/A

SUM device_to_device_memcpy_read_ce 300.00

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
          0         1
0       N/A    110.00
1    220.00       N/A

SUM device_to_device_memcpy_write_ce 330.00
"""

TRANSFERBENCH = """Bytes Per Direction 67108864
Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
 SRC+EXE\\DST    CPU 00    GPU 00    GPU 01
  CPU 00  ->      40.00     41.00     42.00
  GPU 00  ->      55.00   1600.00     48.00
  GPU 01  ->      55.00     47.00   1700.00

Bidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
     SRC\\DST    CPU 00    GPU 00    GPU 01
  CPU 00  ->        N/A     30.00     31.00
  CPU 00 <-         N/A     30.00     31.00
  CPU 00 <->        N/A     60.00     62.00

  GPU 00  ->      30.00       N/A     45.00
  GPU 00 <-       30.00       N/A     46.00
  GPU 00 <->      60.00       N/A     91.00

  GPU 01  ->      30.00     44.00       N/A
  GPU 01 <-       30.00     44.00       N/A
  GPU 01 <->      60.00     88.00       N/A
"""

HWLOC = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine"/>
  <distances2 type="NUMANode" nbobjs="1" kind="5" name="NUMALatency" indexing="os">
    <indexes length="2">0 </indexes><u64values length="3">10 </u64values>
  </distances2>
  <distances2hetero nbobjs="3" kind="25" name="NVLinkBandwidth" indexing="gp">
    <indexes length="30">OSDev:7 OSDev:8 Package:3 </indexes>
    <u64values length="30">1000000 40000 20000 </u64values>
    <u64values length="30">30000 1000000 0 20000 0 1000000 </u64values>
  </distances2hetero>
</topology>
"""


def read(text: str, block: str | None = None) -> MatrixReading:
    return read_matrix_content(text.encode(), "tool.txt", block=block)


def pair(reading: MatrixReading) -> tuple[float, float]:
    return float(reading.matrix.gb_s[0, 1]), float(reading.matrix.gb_s[1, 0])


def test_nvbandwidth_rows_send_whichever_way_its_arrow_points() -> None:
    written, was_read = read(NVBANDWIDTH), read(NVBANDWIDTH, "device_to_device_memcpy_read_ce")
    assert written.block == "device_to_device_memcpy_write_ce"
    assert pair(written) == (220.0, 110.0)
    assert pair(was_read) == (100.0, 200.0)
    assert written.unread == ()
    assert said(written.notes) == ("left aside: host_to_device_memcpy_ce",)


def test_transferbench_keeps_the_gpus_of_both_tables() -> None:
    one, both = read(TRANSFERBENCH), read(TRANSFERBENCH, "bidirectional")
    assert (one.kind, both.kind) == ("unidirectional", "bidirectional")
    assert (pair(one), pair(both)) == ((48.0, 47.0), (91.0, 88.0))
    assert one.matrix.labels == ("gpu_0", "gpu_1")
    assert one.unread == ()


def test_hwloc_knows_gpus_among_its_objects_in_gigabytes() -> None:
    reading = read(HWLOC)
    assert (reading.format, reading.matrix.labels) == ("hwloc", ("OSDev:7", "OSDev:8"))
    assert pair(reading) == (40.0, 30.0)
    assert said(reading.notes) == ("left aside: 1 object that is no GPU",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NVBANDWIDTH[: NVBANDWIDTH.index("Running device")], "no bandwidth between GPUs"),
        (NVBANDWIDTH[: NVBANDWIDTH.index("1    220")], "after line 29: the table is cut off"),
        (NVBANDWIDTH[: NVBANDWIDTH.index("          0         1\n0       N/A    110")], "cut off"),
        (TRANSFERBENCH[: TRANSFERBENCH.index("  GPU 01  ->      55")], "after line 5: the table is cut off"),
        (HWLOC.replace("Package:3 ", ""), "the matrix is cut off"),
        (HWLOC.replace("40000", "-4"), "not a bandwidth"),
        (HWLOC.replace("OSDev", "Package"), "no GPU among the objects"),
        (HWLOC.replace("NVLinkBandwidth", "Other"), "no links between GPUs"),
        (HWLOC.replace('"hwloc2.dtd"', '"hwloc2.dtd" [<!ENTITY a "b">]'), "XML with declarations|not XML"),
        ("<html></html>", "no NCCL topology"),
    ],
)
def test_what_is_broken_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(text)
    assert caught.value.source == "tool.txt"


def test_names_of_formats_are_distinct() -> None:
    names = [entry.name for entry in MATRIX_FORMATS]
    assert len(set(names)) == len(names)
    assert detect_matrix_format("1 2\n3 4\n").name == "table"


def test_the_documentation_lists_every_format() -> None:
    page = (Path(__file__).parents[3] / "docs" / "matrices.md").read_text(encoding="utf-8")
    assert [entry.name for entry in MATRIX_FORMATS if f"| `{entry.name}` |" not in page] == []


@given(
    st.sampled_from([NVBANDWIDTH, TRANSFERBENCH, HWLOC]).flatmap(
        lambda text: st.tuples(st.just(text), st.integers(0, len(text)), st.integers(0, 40), st.text(max_size=6))
    )
)
def test_damaged_printouts_give_a_matrix_or_an_error(damage: tuple[str, int, int, str]) -> None:
    text, at, length, instead = damage
    try:
        read(text[:at] + instead + text[at + length :])
    except WorkbenchError as error:
        assert "tool.txt" in str(error)


# Two packages; on the first a PCIe switch (an upstream port, and a downstream port per device) with two GPUs and a NIC,
# a second switch below it with a NIC, and a NIC at another host bridge. The second package has a NIC of its own.
HWLOC_PARTS = """<topology version="2.0">
<object type="Machine" os_index="0" gp_index="1">
 <object type="Package" os_index="0" gp_index="2">
  <object type="NUMANode" os_index="4" gp_index="30"/>
  <object type="NUMANode" os_index="255" gp_index="31" subtype="GPUMemory"/>
  <object type="Bridge" bridge_type="0-1" gp_index="10"><object type="Bridge" bridge_type="1-1" gp_index="11">
   <object type="Bridge" bridge_type="1-1"><object type="Bridge" bridge_type="1-1">
    <object type="PCIDev" pci_busid="0000:07:00.0" pci_type="0302 [10de:1db1] [0:0] a1">
     <object type="OSDev" gp_index="7" name="cuda0" osdev_type="5" subtype="CUDA"/></object>
   </object><object type="Bridge" bridge_type="1-1">
    <object type="PCIDev" pci_busid="0000:08:00.0" pci_type="0302 [10de:1db1] [0:0] a1">
     <object type="OSDev" gp_index="8" name="cuda1" osdev_type="5" subtype="CUDA"/></object>
   </object><object type="Bridge" bridge_type="1-1">
    <object type="PCIDev" pci_busid="0000:05:00.0" pci_type="0207 [15b3:1013] [0:0] 00">
     <object type="OSDev" name="ib0" osdev_type="2"/><object type="OSDev" name="mlx5_0" osdev_type="3"/></object>
   </object><object type="Bridge" bridge_type="1-1"><object type="Bridge" bridge_type="1-1">
    <object type="Bridge" bridge_type="1-1">
     <object type="PCIDev" pci_busid="0000:0a:00.0" pci_type="0207 [15b3:1013] [0:0] 00"/>
    </object></object></object></object>
  </object><object type="PCIDev" pci_busid="0000:0b:00.0" pci_type="0200 [15b3:1013] [0:0] 00"/></object>
  <object type="Bridge" bridge_type="0-1">
   <object type="PCIDev" pci_busid="0000:0c:00.0" pci_type="0200 [15b3:1013] [0:0] 00"/></object>
 </object>
 <object type="Package" os_index="1" gp_index="3"><object type="NUMANode" os_index="5" gp_index="32"/>
  <object type="Bridge" bridge_type="0-1">
   <object type="PCIDev" pci_busid="0001:00:00.0" pci_type="0200 [15b3:1013] [0:0] 00"/></object>
 </object>
</object>
"""


def test_hwloc_tells_nics_by_the_bridges_on_the_way_and_numa_nodes() -> None:
    matrix = read(HWLOC_PARTS + HWLOC[HWLOC.index("  <distances2 ") :]).matrix
    assert matrix.parts is not None
    assert matrix.parts.nics == {
        "ib0/mlx5_0": ("PIX", "PIX"),
        "0000:0a:00.0": ("PXB", "PXB"),
        "0000:0b:00.0": ("PHB", "PHB"),
        "0000:0c:00.0": ("NODE", "NODE"),
        "0001:00:00.0": ("SYS", "SYS"),
    }
    assert matrix.parts.numa == ("4", "4")
    assert matrix.near([0])["near_nics"] == {"ib0/mlx5_0": {"0": "PIX"}}


def test_hwloc_without_the_objects_of_its_gpus_tells_no_parts() -> None:
    assert read(HWLOC).matrix.parts is None
    other = HWLOC_PARTS.replace('gp_index="8"', 'gp_index="9"')
    assert read(other + HWLOC[HWLOC.index("  <distances2 ") :]).matrix.parts is None
