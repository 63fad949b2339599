"""Every public printout: its size and kind, or the line and the reason of the refusal."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.formats.matrix import load_matrix, read_matrix
from workbench.model.links import link_class_table, suspicious_links

#: File: GPUs, format, kind, link classes (GB/s, slowest of each, rounded), doubts.
WANT = {
    "bw_mapa_dgx-v_8.txt": (8, "own-table", "nominal", [10, 25, 50], []),
    "links_gpuallocator_New4xRTX8000Node_4.txt": (4, "own-table", "link types", [10, 11, 50], []),
    "links_gpuallocator_NewDGX1PascalNode_8.txt": (8, "own-table", "link types", [10, 25], []),
    "links_gpuallocator_NewDGX1VoltaNode_8.txt": (8, "own-table", "link types", [10, 25, 50], []),
    "npusmi_topo_910b_8.txt": (8, "npu-smi", "link types", [28], []),
    "npusmi_topo_910c_2_sio.txt": (2, "npu-smi", "link types", [270], []),
    "nvbandwidth_a100_8_write_ce.txt": (8, "nvbandwidth", "unidirectional", [275], []),
    "nvbandwidth_nv8_8_read_write_ce.txt": (8, "nvbandwidth", "unidirectional", [176], []),
    "nvlinkbw_power8_p100_4_hwloc.txt": (4, "own-table", "bandwidth", [9, 40], ["no-direct-link"]),
    "p2p_a100_sxm_8_mlengineering.txt": (8, "p2pBandwidthLatencyTest", "unidirectional", [271], []),
    "p2p_gb200_nvl4_4_mlengineering.txt": (4, "p2pBandwidthLatencyTest", "unidirectional", [744], []),
    "p2p_h100_8_host_staged_nccl1264.txt": (8, "p2pBandwidthLatencyTest", "unidirectional", [36], ["p2p-disabled"]),
    "p2p_h100_sxm_8_mlengineering.txt": (8, "p2pBandwidthLatencyTest", "unidirectional", [363], []),
    "p2p_k80_8.txt": (8, "p2pBandwidthLatencyTest", "bidirectional", [17], []),
    "p2p_pcie_4_no_p2p_kinghorn.txt": (4, "p2pBandwidthLatencyTest", "unidirectional", [6], ["p2p-disabled"]),
    "p2p_power8_p100_4.txt": (4, "p2pBandwidthLatencyTest", "unidirectional", [20, 25, 35], ["p2p-disabled"]),
    "p2p_power9_v100_4.txt": (4, "p2pBandwidthLatencyTest", "unidirectional", [29, 68], []),
    "p2p_rtx4090_2_one_slow_direction.txt": (
        2, "p2pBandwidthLatencyTest", "unidirectional", [11, 27], ["one-slow-direction"]
    ),
    "p2p_rtx4090_8_p2p_disabled.txt": (8, "p2pBandwidthLatencyTest", "unidirectional", [18], ["p2p-disabled"]),
    "p2p_rtx4090_8_p2p_unlocked.txt": (8, "p2pBandwidthLatencyTest", "unidirectional", [21, 26], []),
    "p2p_rtx6000ada_2.txt": (2, "p2pBandwidthLatencyTest", "unidirectional", [26], []),
    "rocmsmi_showtopo_mi210_4_archer2.txt": (4, "rocm-smi", "link types", [48], []),
    "rocmsmi_showtopo_mi300x_8.txt": (8, "rocm-smi", "link types", [48], []),
    "rocmsmi_showtopo_mi50_4_pcie.txt": (4, "rocm-smi", "link types", [12], []),
    "seed_a_p2p_table.txt": (8, "table", "bandwidth", [5, 15, 48, 96], ["one-slow-direction"]),
    "seed_b_device_cr.json.txt": (8, "json", "bandwidth", [6, 16, 48, 96], ["one-slow-direction"]),
    "topo_m_a100_8_mlengineering.txt": (8, "nvidia-smi-topo", "link types", [300], []),
    "topo_m_a800_8.txt": (8, "nvidia-smi-topo", "link types", [200], []),
    "topo_m_h100_8_mlengineering.txt": (8, "nvidia-smi-topo", "link types", [450], []),
    "topo_m_rtx3090_4_nvlinked_pairs.txt": (4, "nvidia-smi-topo", "link types", [11, 12, 100], []),
    "topo_m_rtx_5_club3090_46.txt": (5, "nvidia-smi-topo", "link types", [10, 11, 12], []),
    "topo_m_v100_sxm2_8_oneflow.txt": (8, "nvidia-smi-topo", "link types", [10, 25, 50], []),
    "transferbench_mi300x_8_gpu_gpu.txt": (8, "transferbench", "unidirectional", [47], []),
    "ndv2-topo.xml": (8, "nccl-topo", "nominal", [10, 24], []),
    "ndv4-topo.xml": (8, "nccl-topo", "nominal", [16, 24], []),
}  # fmt: skip

#: Cut off on purpose: where the missing row would be.
REFUSED = {
    "topo_m_dgx2_16_first5rows_nccltests78.txt": ("after line 5", "4 rows, no row GPU4"),
    "topo_m_dgxa100_8_first5rows_nccl1505.txt": ("after line 5", "4 rows, no row GPU4"),
    "topo_m_pcie_8_vllm11122_first6rows.txt": ("after line 7", "6 rows, no row GPU6"),
}

#: RCCL's tables of XGMI links: the size stands in the name, the GPU in the head.
_LINKS = re.compile(r"xgmi_(?:conn|links)_.*_(\d+)\.txt")


def files(folder: Path) -> list[Path]:
    return sorted([*(folder / "matrices").iterdir(), *(folder / "nccl-topo").iterdir()])


def test_every_file_has_its_expectation(public_data: Path) -> None:
    names = {path.name for path in files(public_data)}
    rccl = {name for name in names if _LINKS.fullmatch(name)}
    assert names == rccl | set(WANT) | set(REFUSED)
    assert len(rccl) == 68


@pytest.mark.parametrize("name", WANT)
def test_the_file_loads_to_its_size_and_kind(public_data: Path, name: str) -> None:
    folder = "nccl-topo" if name.endswith(".xml") else "matrices"
    reading = read_matrix(public_data / folder / name)
    matrix = reading.matrix
    floors = [round(c.low_gb_s) for c in link_class_table(matrix)]
    doubts = [doubt.code for doubt in suspicious_links(matrix)]
    assert (len(matrix), reading.format, reading.kind, floors, doubts) == WANT[name]
    assert reading.unread == ()


@pytest.mark.parametrize("name", REFUSED)
def test_the_file_that_is_cut_off_is_refused_with_its_line(public_data: Path, name: str) -> None:
    with pytest.raises(InputError, match="the table is cut off") as caught:
        load_matrix(public_data / "matrices" / name)
    where, got = REFUSED[name]
    assert (caught.value.where, caught.value.got) == (where, got)
    assert (caught.value.source or "").endswith(name)


def test_tables_of_links_have_the_links_of_their_text(public_data: Path) -> None:
    """Read once more by hand: the count times the speed of the GPU's link, and staging where there is none."""
    each = {"906": 24.0, "908": 24.0, "910": 36.0, "gfx942": 48.0, None: 48.0}
    seen: Counter[str | None] = Counter()
    for path in files(public_data):
        size = _LINKS.fullmatch(path.name)
        if size is None:
            continue
        text = path.read_text(encoding="utf-8")
        gcn = re.search(r"gcn=(\w+)", text)
        counts = np.array([line.split() for line in text.splitlines() if not line.startswith("#")], dtype=float)
        want = np.where(counts > 0, counts * each[gcn[1] if gcn else None], 9.0)
        reading = read_matrix(path)
        others = ~np.eye(len(counts), dtype=bool)
        assert len(reading.matrix) == int(size[1])
        assert (reading.format, reading.kind) == ("own-table", "link counts")
        assert np.array_equal(reading.matrix.gb_s[others], want[others]), path.name
        without = [d for d in suspicious_links(reading.matrix) if d.code == "no-direct-link"]
        assert [len(d.pairs) for d in without] == (
            [int(((counts == 0) & others).sum())] if (counts + np.eye(len(counts)) == 0).any() else []
        )
        seen[gcn[1] if gcn else None] += 1
    assert set(seen) == set(each)


def test_the_two_matrices_of_the_document_keep_their_slow_directions(public_data: Path) -> None:
    matrix = load_matrix(public_data / "matrices" / "seed_a_p2p_table.txt")
    (slow,) = suspicious_links(matrix)
    assert slow.pairs == ((1, 4), (4, 0))
    assert slow.message == ("one slow direction: 1 → 4 has 4.64 GB/s, 4 → 1 16.81; 4 → 0 has 5 GB/s, 0 → 4 15.77")


def test_a_table_of_types_names_the_classes(public_data: Path) -> None:
    classes = link_class_table(load_matrix(public_data / "matrices" / "topo_m_v100_sxm2_8_oneflow.txt"))
    assert [(c.name, c.low_gb_s, c.n_links) for c in classes] == [("SYS", 10, 24), ("NV1", 25, 16), ("NV2", 50, 16)]


def test_machines_of_clouds_tell_the_nics_on_the_switch_of_each_gpu(public_data: Path) -> None:
    """Azure's topology has a NIC for each GPU on a switch of two, Amazon's four NICs on the switch of each GPU."""
    azure = load_matrix(public_data / "nccl-topo" / "ndv4-topo.xml")
    assert azure.near([2, 3]) == {
        "near_nics": {nic: {"2": "PIX", "3": "PIX"} for nic in ("0103:00:00.0", "0104:00:00.0")},
        "numa_nodes": ["0"],
    }
    amazon = load_matrix(public_data / "nccl-topo-ec2" / "p5.48xl-2026.xml")
    nics = {f"rdmap{number}s0": {"2": "PIX"} for number in (113, 114, 115, 116)}
    assert amazon.near([2]) == {"near_nics": nics, "numa_nodes": ["0"]}


def test_the_one_nic_of_a_printout_is_told_with_its_link_to_every_gpu(public_data: Path) -> None:
    matrix = load_matrix(public_data / "matrices" / "topo_m_v100_sxm2_8_oneflow.txt")
    assert matrix.near([0, 2]) == {"near_nics": {"mlx5_0": {"0": "NODE", "2": "PIX"}}, "numa_nodes": []}
