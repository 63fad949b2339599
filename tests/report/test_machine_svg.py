"""The machine is legible at every size: symbols apart, text large enough, thick lines where links are fast."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from tests.machines import koordinator_matrix_a
from workbench.model.bandwidth import BandwidthMatrix
from workbench.report.machine_layout import CIRCLE_UP_TO, machine_layout
from workbench.report.machine_svg import draw_machine

SVG = "{http://www.w3.org/2000/svg}"


def levels(n: int, *sizes_and_speeds: tuple[int, float]) -> BandwidthMatrix:
    gb_s = np.zeros((n, n))
    for size, speed in reversed(sizes_and_speeds):
        group = np.arange(n) // size
        gb_s[group[:, None] == group[None, :]] = speed
    return BandwidthMatrix(gb_s)


MACHINES = {
    "8 GPUs in a mesh": BandwidthMatrix(koordinator_matrix_a()),
    "8 GPUs on one switch": levels(8, (8, 450.0)),
    "16 dies in packages": levels(16, (2, 270.0), (16, 196.0)),
    "72 GPUs on one switch": levels(72, (72, 900.0)),
    "72 GPUs in four trays": levels(72, (18, 900.0), (72, 100.0)),
    "384 NPUs in 48 nodes": levels(384, (8, 392.0), (384, 196.0)),
    "384 NPUs at one plane": levels(384, (8, 392.0), (384, 380.0)),
    "1024 GPUs in 16 groups": levels(1024, (64, 900.0), (1024, 100.0)),
    "1 GPU": BandwidthMatrix([[0.0]]),
    "2 GPUs without a link": BandwidthMatrix(np.zeros((2, 2))),
}


def elements(svg: str, tag: str, css_class: str = ""):
    found = ET.fromstring(svg).iter(f"{SVG}{tag}")
    return [e for e in found if not css_class or e.get("class") == css_class]


@pytest.mark.parametrize("matrix", MACHINES.values(), ids=MACHINES)
def test_gpus_lie_apart_inside_the_picture(matrix):
    layout = machine_layout(matrix.link_classes())
    x, y = layout.centre.T
    half = layout.size / 2
    assert (x >= half).all() and (x <= layout.width - half).all()
    assert (y >= half).all() and (y <= layout.height - half).all()
    distance = np.maximum(abs(x[:, None] - x), abs(y[:, None] - y)) + np.eye(len(x)) * 1e9
    assert (np.hypot(x[:, None] - x, y[:, None] - y) + np.eye(len(x)) * 1e9).min() >= layout.size - 1e-6
    assert distance.min() > 0
    assert layout.size >= 10 and 0.3 < layout.width / layout.height < 4


@pytest.mark.parametrize("matrix", MACHINES.values(), ids=MACHINES)
def test_every_gpu_is_drawn_and_the_picture_is_well_formed(matrix):
    svg = draw_machine(matrix, [0], None, {"gpu <one>": [0]}, taken=[len(matrix) - 1], title="a < b")
    gpus = [e.get("data-gpu") for e in ET.fromstring(svg).iter(f"{SVG}g") if e.get("data-gpu")]
    assert gpus == [str(i) for i in range(len(matrix))]
    assert len(elements(svg, "rect", "tw-mark")) == 1
    assert svg == draw_machine(matrix, [0], None, {"gpu <one>": [0]}, taken=[len(matrix) - 1], title="a < b")


def test_the_faster_the_thicker():
    svg = draw_machine(levels(4, (2, 100.0), (4, 10.0)))
    widths = sorted(float(e.get("stroke-width")) for e in elements(svg, "line", "tw-link"))
    assert len(widths) == 6 and widths[:4] == [widths[0]] * 4 and widths[4:] == [widths[5]] * 2
    assert widths[5] > 3 * widths[0]


def test_fast_neighbours_stand_beside_each_other_on_the_circle():
    gb_s = np.full((8, 8), 10.0)
    for i, j in ((0, 5), (5, 2), (2, 7), (7, 1), (1, 6), (6, 3), (3, 4)):
        gb_s[i, j] = gb_s[j, i] = 100.0
    centre = machine_layout(BandwidthMatrix(gb_s).link_classes()).centre
    step = np.hypot(*(centre[0] - centre[5]))
    for i, j in ((5, 2), (2, 7), (7, 1), (1, 6), (6, 3), (3, 4)):
        assert np.hypot(*(centre[i] - centre[j])) == pytest.approx(step)


def test_islands_are_what_fast_links_join():
    layout = machine_layout(levels(72, (18, 900.0), (72, 100.0)).link_classes())
    assert [len(island.gpus) for island in layout.islands] == [18] * 4
    assert layout.islands[1].gpus == tuple(range(18, 36))
    assert len(machine_layout(levels(72, (72, 900.0)).link_classes()).islands) == 1
    assert machine_layout(levels(CIRCLE_UP_TO, (8, 900.0), (CIRCLE_UP_TO, 100.0)).link_classes()).islands == ()


def test_scattered_fast_pairs_make_no_islands():
    gb_s = np.full((40, 40), 10.0)
    gb_s[3, 30] = gb_s[30, 3] = 100.0
    assert len(machine_layout(BandwidthMatrix(gb_s).link_classes()).islands) == 1


def test_the_slowest_pair_is_a_line_of_its_own():
    svg = draw_machine(MACHINES["8 GPUs in a mesh"], [0, 1, 4], (1, 4))
    assert len(elements(svg, "line", "tw-bottleneck")) == 1
    texts = [e.text for e in elements(svg, "text")]
    assert "filled: 3 chosen GPUs" in texts and "dashed: slowest pair 1 – 4" in texts
    assert elements(draw_machine(MACHINES["1 GPU"], [0]), "line", "tw-bottleneck") == []


def test_marks_are_named_unless_a_table_beside_does():
    matrix, others = BandwidthMatrix(koordinator_matrix_a()), {"gpu-simple": (0, 1)}
    named, bare = (draw_machine(matrix, others=others, named=named) for named in (True, False))
    assert "gpu-simple" in [e.text for e in elements(named, "text")]
    assert "gpu-simple" not in [e.text for e in elements(bare, "text")]
    assert elements(bare, "rect", "tw-mark")
