"""Tables of link types and numbers of links: nvidia-smi, npu-smi, rocm-smi, our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.matrices.base import MatrixReading
from workbench.formats.matrices.link_speeds import default_link_speeds
from workbench.formats.matrix import read_matrix_content

STAGING = default_link_speeds().staging_gb_s

TOPO = (
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV12\tSYS\tPXB\t0-15\t0\t\tN/A\n"
    "GPU1\tNV12\t X \tPIX\tSYS\t0-15\t0\t\tN/A\n"
    "GPU2\tSYS\tPHB\t X \tSYS\t16-31\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\tSYS\t X \n"
    "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n"
)

P2P = (
    " \tGPU0\tGPU1\tGPU2\n GPU0\tX\tOK\tCNS\n GPU1\tOK\tX\tCNS\n GPU2\tGNS\tOK\tX\n"
    "\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n"
)

ROCM = """
============================ ROCm System Management Interface ============================
================================ Weight between two GPUs =================================
       GPU0         GPU1         GPU2
GPU0   0            15           40
GPU1   15           0            40
GPU2   40           40           0

================================= Hops between two GPUs ==================================
       GPU0         GPU1         GPU2
GPU0   0            1            2
GPU1   1            0            2
GPU2   2            2            0

=============================== Link Type between two GPUs ===============================
       GPU0         GPU1         GPU2
GPU0   0            XGMI         PCIE
GPU1   XGMI         0            PCIE
GPU2   PCIE         PCIE         0

======================================= Numa Nodes =======================================
GPU[0]		: (Topology) Numa Node: 0
GPU[0]		: (Topology) Numa Affinity: 0
================================== End of ROCm SMI Log ===================================
"""

NODES_BW = """
============================ ROCm System Management Interface ============================
=============================== Bandwidth between two GPUs ===============================
       GPU0         GPU1         GPU2
GPU0   N/A          50000-200000 N/A
GPU1   50000-100000 N/A          50000-50000
GPU2   N/A          50000-50000  N/A
Format: min-max; Units: mps
================================== End of ROCm SMI Log ===================================
"""


def read(text: str, **options: str) -> MatrixReading:
    return read_matrix_content(text.encode(), "links.txt", **options)


def off_diagonal(reading: MatrixReading) -> list[float]:
    return [value for i, row in enumerate(reading.matrix.gb_s.tolist()) for j, value in enumerate(row) if i != j]


def test_topo_m_keeps_types_and_asymmetry() -> None:
    reading = read(TOPO)
    assert (reading.format, reading.kind, reading.unread) == ("nvidia-smi-topo", "link types", ())
    assert off_diagonal(reading) == [300, 10, 300, 14.8, 10, 12.1]
    assert reading.matrix.labels == ("GPU0", "GPU1", "GPU2")
    assert reading.matrix.link_types[1] == ("NV12", "", "PIX")
    assert reading.notes == ()


def test_topo_p2p_says_which_pairs_cannot_and_why() -> None:
    reading = read(P2P)
    assert (reading.format, reading.unread) == ("nvidia-smi-p2p", ())
    assert off_diagonal(reading) == [12.1, STAGING, 12.1, STAGING, STAGING, 12.1]
    assert [(d.code, d.pairs) for d in reading.matrix.suspicious] == [
        ("p2p-disabled", ((0, 2), (1, 2))),
        ("p2p-disabled", ((2, 0),)),
    ]
    assert reading.matrix.suspicious[0].message == (
        "P2P is disabled (chipset not supported) 0 → 2, 1 → 2: taken as 9 GB/s"
    )


def test_npu_smi_without_a_known_way_takes_the_staging_speed() -> None:
    head = "           Phy-ID12   Phy-ID13   Phy-ID14\n"
    text = f"{head}Phy-ID12   X  SIO  NA\nPhy-ID13  SIO X HCCS_SW\nPhy-ID14 NA HCCS_SW X\n"
    reading = read(text)
    assert (reading.format, reading.matrix.labels) == ("npu-smi", ("Phy-ID12", "Phy-ID13", "Phy-ID14"))
    assert off_diagonal(reading) == [270, STAGING, 270, 196, STAGING, 196]
    assert [d.code for d in reading.matrix.suspicious] == ["no-direct-link"]


def test_rocm_smi_prefers_types_and_can_go_by_weights() -> None:
    by_type, by_weight = read(ROCM), read(ROCM, block="weight")
    assert (by_type.block, by_type.blocks, by_type.unread) == ("link type", ("weight", "link type"), ())
    assert off_diagonal(by_type) == off_diagonal(by_weight) == [48, 12.1, 48, 12.1, 12.1, 12.1]
    assert by_weight.notes and not by_type.notes


def test_rocm_smi_bandwidth_is_that_of_all_links_of_the_pair() -> None:
    reading = read(NODES_BW)
    assert (reading.block, reading.kind, reading.unread) == ("bandwidth", "nominal", ())
    assert off_diagonal(reading) == [200, STAGING, 100, 50, STAGING, 50]
    assert [(d.code, d.pairs) for d in reading.matrix.suspicious] == [("no-direct-link", ((0, 2), (2, 0)))]


@pytest.mark.parametrize(
    ("head", "rows", "want"),
    [
        ("number of XGMI links row->col, gcn=910", "0 4 0\n4 0 1\n0 1 0", [144, STAGING, 144, 36, STAGING, 36]),
        ("gcn=1250; XGMI link count", "0 2\n2 0", [96, 96]),
        ("link counts, NVLink", "0 6\n6 0", [150, 150]),
        ("nominal MB/s", "0 40000\n20000 0", [40, 20]),
        ("GB/s", "0 40 0\n40 0 7\n0 7 0", [40, STAGING, 40, 7, STAGING, 7]),
        ("MB/s, order: OSDev:1 Package:3 OSDev:2", "0 1 5000\n1 0 1\n0 1 0", [5, STAGING]),
    ],
)
def test_our_own_tables_say_what_their_numbers_are(head: str, rows: str, want: list[float]) -> None:
    reading = read(f"# {head}\n{rows}\n")
    assert reading.format == "own-table"
    assert off_diagonal(reading) == want
    assert [d.code for d in reading.matrix.suspicious] == (["no-direct-link"] if STAGING in want else [])


def test_several_links_of_a_pair_count_as_the_fastest() -> None:
    reading = read("# links\n     a   b\na  X  NV2+PHB\nb  SYS+PIX X\n")
    assert off_diagonal(reading) == [50, 14.8]
    assert reading.matrix.link_types == (("", "NV2+PHB"), ("SYS+PIX", ""))


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        (TOPO.replace("PHB", "WARP"), "line 4, row GPU2, column GPU1", "a link type without a speed"),
        (TOPO[: TOPO.index("GPU2\tSYS")], "after line 3", "rows are missing"),
        (TOPO[: TOPO.index("PHB")], "line 4, row GPU2", "the row is cut off"),
        (TOPO.replace("GPU2\tSYS", "GPU1\tSYS"), "line 4, row GPU1", "a row twice"),
        (TOPO.replace("GPU1\tGPU2", "GPU1\tGPU1"), "line 1", "a column twice"),
        (ROCM.replace("15           0 ", "7            0 "), "line 6, row GPU1, column GPU0", "an unknown weight"),
        (ROCM.replace("15           0 ", f"{'9' * 5000} 0 "), "line 6, row GPU1, column GPU0", "an unknown weight"),
        (NODES_BW.replace("50000-100000", "fast"), "line 6, row GPU1, column GPU0", "not a bandwidth"),
        (ROCM[: ROCM.index("===== Weight")], None, "nothing to tell links apart"),
        ("# XGMI link count\n0 1.5\n1 0\n", "row gpu_0, column 1", "not a number of links"),
        ("# MB/s order: OSDev:1 OSDev:2 OSDev:3\n0 1\n1 0\n", None, "another number of objects"),
    ],
)
def test_what_is_broken_is_refused_with_its_line(text: str, where: str | None, message: str) -> None:
    options = {"block": "weight"} if "weight" in message else {}
    with pytest.raises(InputError, match=message) as caught:
        read(text, **options)
    assert (caught.value.source, caught.value.where) == ("links.txt", where)


def test_a_format_without_blocks_refuses_one() -> None:
    with pytest.raises(InputError, match="no blocks"):
        read(TOPO, block="bidirectional")


def test_speeds_of_the_users_own_replace_those_of_the_table(tmp_path: Path) -> None:
    own = tmp_path / "speeds.csv"
    own.write_text("type,gb_s,per\nNV,14,link\nSTAGING,5,pair\nWARP,77,pair\n", encoding="utf-8")
    reading = read(TOPO.replace("PHB", "WARP"), link_speeds=str(own))
    assert off_diagonal(reading) == [168, 10, 168, 14.8, 10, 77]
    assert 5.0 in off_diagonal(read(P2P, link_speeds=str(own)))


def test_topo_m_tells_nics_by_the_names_of_their_legend_and_numa_nodes() -> None:
    parts = read(TOPO).matrix.parts
    assert parts is not None
    assert parts.nics == {"mlx5_0": ("PXB", "SYS", "SYS")}
    assert parts.numa == ("0", "0", "1")


def test_topo_m_without_a_legend_tells_the_columns() -> None:
    parts = read(TOPO[: TOPO.index("\nNIC Legend")]).matrix.parts
    assert parts is not None and list(parts.nics) == ["NIC0"]


def test_npu_smi_tells_nics_as_well() -> None:
    text = "\tNPU0 NPU1 mlx5_0 CPU Affinity\nNPU0 X HCCS PIX 0-7\nNPU1 HCCS X PHB 0-7\nmlx5_0 PIX PHB X\n"
    parts = read(text).matrix.parts
    assert parts is not None
    assert (parts.nics, parts.numa) == ({"mlx5_0": ("PIX", "PHB")}, ())


def test_rocm_smi_tells_the_numa_node_of_every_gpu_or_none() -> None:
    assert read(ROCM).matrix.parts is None  # GPU[0] only
    rest = "".join(f"GPU[{i}]\t\t: (Topology) Numa Node: {i - 1}\n" for i in (1, 2))
    parts = read(ROCM + rest).matrix.parts
    assert parts is not None
    assert (parts.nics, parts.numa) == ({}, ("0", "0", "1"))
    assert read(ROCM + rest).unread == ()
    assert read(ROCM + rest, block="weight").matrix.parts == parts
