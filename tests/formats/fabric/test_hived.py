"""HiveD's cells: two racks of two nodes and a node alone."""

from __future__ import annotations

import pytest

from tests.notices import said
from workbench.errors import InputError
from workbench.formats.fabric.hived import read_hived
from workbench.formats.fabric.registry import detect_format

CONFIG = """\
physicalCluster:
  skuTypes:
    V100: {gpu: 1, cpu: 4, memory: 8192Mi}
  cellTypes:
    V100-2GPU: {childCellType: V100, childCellNumber: 2}
    V100-NODE: {childCellType: V100-2GPU, childCellNumber: 4, isNodeLevel: true}
    V100-RACK: {childCellType: V100-NODE, childCellNumber: 2}
    V100-ROW: {childCellType: V100-RACK, childCellNumber: 2}
  physicalCells:
  - cellType: V100-ROW
    cellChildren:
    - cellChildren:
      - cellAddress: n1
      - {cellAddress: n2, pinnedCellId: mine}
    - cellAddress: rack-b
      cellChildren:
      - cellAddress: n3
      - cellAddress: n4
  - cellType: V100-NODE
    cellAddress: n5
virtualClusters:
  vc1: {}
"""


def test_cells_above_the_node_are_hypernodes_and_leaf_cells_are_gpus() -> None:
    records = read_hived(CONFIG, "h.yaml")
    assert {h.name: (h.tier, h.tier_name, [m.selector.exact for m in h.members]) for h in records.hypernodes} == {
        "v100-row-0-0": (1, "V100-RACK", ["n1", "n2"]),
        "rack-b": (1, "V100-RACK", ["n3", "n4"]),
        "v100-row-0": (2, "V100-ROW", ["v100-row-0-0", "rack-b"]),
    }
    assert [node.name for node in records.nodes] == ["n1", "n2", "n3", "n4", "n5"]
    assert records.nodes[0].allocatable == {"cpu": 32_000, "memory": 64 << 30, "nvidia.com/gpu": 8}
    assert said(records.notes) == ("1 virtual clusters and 1 pinned cells are not read: they are quotas",)


def test_it_is_found_by_its_content() -> None:
    found = detect_format(CONFIG, "x")
    assert found is not None and found.name == "hived"


def test_a_cell_with_fewer_children_than_its_type_is_said() -> None:
    text = CONFIG.replace("      - cellAddress: n4\n", "")
    assert "rack-b lists 1 cell, its type V100-RACK has 2" in said(read_hived(text, "h.yaml").notes)


BROKEN = {
    "an unknown type": (("- cellType: V100-ROW", "- cellType: X"), r"physicalCells\[0\]\.cellType: wrong"),
    "no type": (("  - cellType: V100-ROW\n    cellChildren", "  - cellChildren"), r"cellType: the field is missing"),
    "below a node": (("- cellType: V100-ROW", "- cellType: V100-2GPU"), "at node level or above"),
    "a node twice": (("n4", "n1"), "the same node twice"),
    "a cell twice": (("cellAddress: rack-b", "cellAddress: v100-row-0"), "two cells of one name"),
    "a node without an address": (
        ("    cellAddress: n5\n", ""),
        r"physicalCells\[1\]\.cellAddress: the field is missing",
    ),
    "a type inside itself": (
        ("V100-RACK: {childCellType: V100-NODE", "V100-RACK: {childCellType: V100-ROW"),
        "inside one another without end",
    ),
    "another child": (("- cellAddress: n3", "- {cellAddress: n3, cellType: V100-ROW}"), "expected V100-NODE"),
    "no number": (("{childCellType: V100-NODE, childCellNumber: 2}", "{childCellType: V100-NODE}"), "childCellNumber"),
    "a negative number of GPUs": (("gpu: 1", "gpu: -1"), r"skuTypes\.V100\.gpu: wrong .*expected 0 to 128"),
    "too many GPUs per leaf cell": (("gpu: 1", "gpu: 129"), r"skuTypes\.V100\.gpu: wrong .*expected 0 to 128"),
    "too many GPUs": (("childCellNumber: 4", "childCellNumber: 4000"), "at most 1024 leaf cells"),
}


@pytest.mark.parametrize(("change", "want"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_configuration_is_refused_with_its_field(change: tuple[str, str], want: str) -> None:
    text = CONFIG.replace(*change, 1)
    assert text != CONFIG
    with pytest.raises(InputError, match=want) as raised:
        read_hived(text, "h.yaml")
    assert str(raised.value).startswith("h.yaml: document 1 (line 1), physicalCluster")
