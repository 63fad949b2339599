"""NICs stand around the GPUs that they are nearest to, apart from each other and inside the picture."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.machine_parts import MachineParts
from workbench.report.machine_layout import machine_layout
from workbench.report.machine_nics import NIC_MARGINS, nic_boxes
from workbench.report.machine_svg import draw_machine

SVG = "{http://www.w3.org/2000/svg}"


def machine(parts: MachineParts, n: int = 8) -> BandwidthMatrix:
    group = np.arange(n) // 4
    return BandwidthMatrix(np.where(group[:, None] == group[None, :], 96.0, 16.0), parts=parts)


def near(*gpus: int, n: int = 8, far: str = "SYS") -> tuple[str, ...]:
    return tuple("PIX" if gpu in gpus else far for gpu in range(n))


PAIRS = MachineParts({f"mlx5_{i}": near(2 * i, 2 * i + 1) for i in range(4)}, ("0",) * 4 + ("1",) * 4)
CARDS = MachineParts({f"rdma{i}": near(i // 4) for i in range(32)}, ("0",) * 8)
ONE = MachineParts({"mlx5_0": ("NODE", "NODE", "PIX", "PIX", "SYS", "SYS", "SYS", "SYS")})
SAME_PLACE = MachineParts({f"nic{i}": (*near(0), f"T{i}")[:7] + (f"T{i}",) for i in range(12)})


def boxes_of(parts: MachineParts):
    return nic_boxes(parts, machine_layout(machine(parts).link_classes()))


def test_a_nic_is_joined_to_the_gpus_of_its_nearest_link() -> None:
    assert {box.names: box.gpus for box in boxes_of(PAIRS)} == {(f"mlx5_{i}",): (2 * i, 2 * i + 1) for i in range(4)}
    assert [(box.gpus, box.kind) for box in boxes_of(ONE)] == [((2, 3), "PIX")]


def test_a_nic_that_is_nearest_to_no_gpu_is_joined_to_none() -> None:
    parts = MachineParts({"near": ("PIX",) * 8, "far": ("SYS",) * 8})
    assert {box.names[0]: box.gpus for box in boxes_of(parts)} == {"near": tuple(range(8)), "far": ()}


def test_nics_with_the_same_links_share_a_box_that_names_them_all() -> None:
    assert [len(box.names) for box in boxes_of(CARDS)] == [4] * 8
    root = ET.fromstring(draw_machine(machine(CARDS)))
    drawn = [g for g in root.iter(f"{SVG}g") if g.get("class") == "tw-nic"]
    titles = {g.findtext(f"{SVG}title") for g in drawn}
    assert "rdma4, rdma5, rdma6, rdma7: nearest to GPU 1 (PIX)" in titles
    assert "rdma4 +3" in {g.findtext(f"{SVG}text") for g in drawn}


@pytest.mark.parametrize("parts", [PAIRS, CARDS, ONE, SAME_PLACE], ids=["pairs", "cards", "one", "same place"])
def test_boxes_lie_apart_from_each_other_and_from_gpus_inside_the_picture(parts: MachineParts) -> None:
    layout = machine_layout(machine(parts).link_classes())
    boxes = nic_boxes(parts, layout)
    for one, other in itertools.combinations(boxes, 2):
        assert abs(one.x - other.x) >= 58 or abs(one.y - other.y) >= 15
    for box in boxes:
        for x, y in layout.centre:
            assert abs(box.x - x) > 29 + 15 or abs(box.y - y) > 7.5 + 15
        assert box.x - 29 >= -NIC_MARGINS[0] and box.x + 29 <= layout.width + NIC_MARGINS[0]
        assert box.y - 8 >= -NIC_MARGINS[1] and box.y + 8 <= layout.height + NIC_MARGINS[1]


def test_a_nic_stands_on_the_side_of_its_gpus() -> None:
    layout = machine_layout(machine(PAIRS).link_classes())
    for box in nic_boxes(PAIRS, layout):
        own = [np.hypot(box.x - x, box.y - y) for x, y in layout.centre[list(box.gpus)]]
        others = [np.hypot(box.x - x, box.y - y) for gpu, (x, y) in enumerate(layout.centre) if gpu not in box.gpus]
        assert min(own) < min(others)


def test_the_picture_says_what_is_near_and_explains_itself() -> None:
    root = ET.fromstring(draw_machine(machine(PAIRS), [0, 1], (0, 1)))
    told = [t.text for t in root.iter(f"{SVG}text")]
    assert "boxes: NICs, dotted to the GPUs that they are nearest to" in " ".join(map(str, told))
    assert "N0: on NUMA node 0" in told
    assert told.count("N0") == 4 and told.count("N1") == 4
    titles = [t.text for t in root.iter(f"{SVG}title")]
    assert "GPU 5, gpu_5, NUMA node 1, nearest mlx5_2 (PIX)" in titles
    plain = [t.text for t in ET.fromstring(draw_machine(machine(MachineParts()))).iter(f"{SVG}text")]
    assert not any("NIC" in str(text) or "NUMA" in str(text) for text in plain)


def test_where_boxes_have_no_room_the_gpus_tell_their_nics() -> None:
    many = MachineParts({f"nic{i}": (f"T{i}",) * 8 for i in range(13)})
    assert boxes_of(many) == []
    parts = MachineParts({"nic": ("PIX",) * 72}, ("0",) * 36 + ("1",) * 36)
    svg = draw_machine(machine(parts, 72))
    assert "tw-nic" not in svg and "GPU 71, gpu_71, NUMA node 1, nearest nic (PIX)" in svg


def test_names_are_escaped() -> None:
    assert "<b>" not in draw_machine(machine(MachineParts({"<b>": ("<i>",) * 8}, ("<u>",) * 8)))
