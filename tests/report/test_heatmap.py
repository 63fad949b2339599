from __future__ import annotations

import base64
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from dataclasses import replace

import numpy as np
import pytest

from tests.hand_made import dgx_like
from tests.machines import koordinator_matrix_a
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.machine_parts import MachineParts
from workbench.report.heatmap import draw_heatmap, slowest_pair

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in ET.fromstring(svg).iter(f"{SVG}text")]


def grid(n: int) -> BandwidthMatrix:
    groups = np.arange(n) // 4
    return BandwidthMatrix(np.where(groups[:, None] == groups[None, :], 400.0, 50.0))


def test_values_are_readable_at_eight() -> None:
    svg = draw_heatmap(dgx_like())
    assert texts(svg).count("48.0") == 24 and texts(svg).count("4.64") == 2  # the entry and the legend
    fonts = [float(t.get("font-size", 11)) for t in ET.fromstring(svg).iter(f"{SVG}text")]
    assert min(fonts) >= 9


def test_the_chosen_set_and_its_slowest_pair_are_marked_in_both_directions() -> None:
    svg = draw_heatmap(dgx_like(), [0, 1, 4])
    marks = [r for r in ET.fromstring(svg).iter(f"{SVG}rect") if r.get("class") == "tw-bottleneck"]
    assert len(marks) == 2
    assert "slowest pair: 1 → 4: 4.64 GB/s, 4 → 1: 15 GB/s" in texts(svg)
    assert "chosen: 0, 1, 4" in texts(svg)


def test_a_set_of_one_has_no_pair() -> None:
    assert "tw-bottleneck" not in draw_heatmap(dgx_like(), [3])


@pytest.mark.parametrize("n", [1, 2, 16, 72, 384])
def test_every_size_is_drawn_with_visible_entries_and_a_bounded_page(n: int) -> None:
    svg = draw_heatmap(grid(n), list(range(0, n, 3)), title=f"{n} GPUs", note="a note")
    root = ET.fromstring(svg)
    assert float(root.get("width", 0)) < 1000 and float(root.get("height", 0)) < 1100
    assert len(svg) < 400_000
    assert "a note" in texts(svg)


def test_large_matrices_are_one_embedded_image_with_a_pixel_per_entry() -> None:
    svg = draw_heatmap(grid(72), [0, 1])
    found = re.search(r"data:image/png;base64,([^']+)", svg)
    assert found is not None
    png = base64.b64decode(found[1])
    assert struct.unpack(">II", png[16:24]) == (72, 72)
    data = png[png.index(b"IDAT") + 4 :]
    rows = zlib.decompress(data[: struct.unpack(">I", png[png.index(b"IDAT") - 4 : png.index(b"IDAT")])[0]])
    opacity = [rows[1 + 4 * j + 3] for j in range(72)]
    assert opacity[1] == 255 and 0 < opacity[2] < 255  # chosen, and faded


def test_missing_links_and_the_diagonal_have_no_colour() -> None:
    svg = draw_heatmap(BandwidthMatrix([[1.0, 2.0], [0.0, 1.0]]))
    assert "no link" in texts(svg)
    assert "–" in texts(svg)
    assert "gpu_1 → gpu_0: no link" in [t.text for t in ET.fromstring(svg).iter(f"{SVG}title")]


def test_link_classes_are_in_the_legend() -> None:
    assert {"4.64", "15", "48"} <= set(texts(draw_heatmap(dgx_like())))
    assert any("3 link classes" in text for text in texts(draw_heatmap(dgx_like())))


def test_labels_are_escaped() -> None:
    matrix = BandwidthMatrix([[0.0, 1.0], [1.0, 0.0]], labels=("<script>", "b"), source="<b>")
    svg = draw_heatmap(matrix, title="<i>")
    ET.fromstring(svg)
    assert "<script" not in svg and "<i>" not in svg and "<b>" not in svg


def test_the_slowest_pair_takes_the_lowest_indices_among_equals() -> None:
    assert slowest_pair(grid(8), [2, 5, 7]) == (2, 5)
    assert slowest_pair(dgx_like(), [1, 4]) == (1, 4)


def test_classes_are_named_by_link_type_with_the_noise_inside() -> None:
    matrix = BandwidthMatrix(
        [[0, 50, 10], [50, 0, 10.5], [10, 10, 0]],
        link_types=[["", "NV2", "SYS"], ["NV2", "", "<PHB>"], ["SYS", "SYS", ""]],
    )
    svg = draw_heatmap(matrix)
    assert {"NV2 50", "SYS/<PHB> 10–10.5 ±2.1 %"} <= set(texts(svg))
    titles = [t.text or "" for t in ET.fromstring(svg).iter(f"{SVG}title")]
    assert "gpu_0 → gpu_1: 50 GB/s (NV2)" in titles
    assert "4 links, standard deviation 2.14% of their mean" in titles
    assert "row → column, GB/s; 2 link classes (± noise inside it)" in texts(svg)


def test_suspicious_links_are_said_below_the_picture() -> None:
    written = " ".join(texts(draw_heatmap(dgx_like())))
    assert "suspicious: one slow direction: 1 → 4 has 4.64 GB/s, 4 → 1 15" in written
    assert "suspicious" not in " ".join(texts(draw_heatmap(grid(8))))


def test_the_key_of_a_wide_class_has_both_of_its_colours() -> None:
    chain = BandwidthMatrix([[0, 300, 325], [350, 0, 380], [380, 380, 0]])
    key = draw_heatmap(chain).split("tw-entries")[1].split("1 link class")[0].split("tw-labels")[1]
    assert "fill='#440154'/>" in key and "fill='#fde725'/>" in key
    assert "fill='#440154'/>" not in draw_heatmap(BandwidthMatrix(np.full((16, 16), 392.0)))


def test_colours_of_a_class_with_many_speeds_are_told_as_bandwidths() -> None:
    speeds = 10 + np.arange(64, dtype=float).reshape(8, 8)
    speeds = np.maximum(speeds, speeds.T)
    told = texts(draw_heatmap(BandwidthMatrix(speeds)))
    assert "colour: by bandwidth, from dark (slow) to light (fast)" in told


def colours_of(svg: str) -> dict[str, str | None]:
    """Colour of each entry, by the two GPUs' names."""
    entries = next(g for g in ET.fromstring(svg).iter(f"{SVG}g") if g.get("class") == "tw-entries")
    found = {}
    for entry in entries.iter(f"{SVG}g"):
        title, square = entry.find(f"{SVG}title"), entry.find(f"{SVG}rect")
        if title is not None and square is not None:
            found[(title.text or "").split(":")[0]] = square.get("fill")
    return found


def test_noise_inside_a_link_class_gets_one_colour_which_its_key_has() -> None:
    svg = draw_heatmap(BandwidthMatrix(koordinator_matrix_a()))
    colours = colours_of(svg)
    assert len(set(colours.values())) == 4 and len(colours) == 56
    assert colours["gpu_0 → gpu_4"] == colours["gpu_2 → gpu_5"]  # 15.77 and 14.62
    legend = svg.rsplit("<g transform=", 1)[1]
    assert all(f"fill='{colour}'" in legend for colour in colours.values())


def test_the_legend_explains_colours_bars_and_frames_in_words() -> None:
    svg = draw_heatmap(dgx_like(), [0, 1, 4], others={"gpu-policy": [0]})
    told = texts(svg)
    assert any(text.startswith("row → column, GB/s; 3 link classes") for text in told)
    assert "colour: one for each link class, from dark (slow) to light (fast)" in told
    assert "orange bars: chosen GPUs; orange frames: their slowest pair" in told
    assert "pale: pairs with a GPU that is not chosen" in told
    assert not any("pale" in text for text in texts(draw_heatmap(dgx_like(), range(8))))
    assert "marks at the right: GPUs that policies would take, a column each" in told
    titles = [t.text for t in ET.fromstring(svg).iter(f"{SVG}title")]
    assert "GPU 4 is chosen" in titles
    assert "slowest pair of the chosen GPUs: 1 → 4 has 4.64 GB/s" in titles
    plain = " ".join(texts(draw_heatmap(dgx_like())))
    assert "colour:" in plain and "bar" not in plain and "marks" not in plain and "beside the rows" not in plain
    assert "frames" not in " ".join(texts(draw_heatmap(dgx_like(), [3])))


def test_every_line_of_the_legend_fits_into_the_picture() -> None:
    svg = draw_heatmap(replace(grid(4), parts=MachineParts({"n": ("PIX",) * 4}, ("0",) * 4)), [0, 1], others={"p": [0]})
    lines = texts(svg.rsplit("<g transform=", 1)[1].join(["<svg xmlns='http://www.w3.org/2000/svg'><g transform=", ""]))
    assert len(lines) >= 6 and max(map(len, lines)) <= 66


PARTS = MachineParts(
    {f"mlx5_{i}": tuple("PIX" if gpu // 2 == i else "SYS" for gpu in range(8)) for i in range(4)},
    ("0",) * 4 + ("1",) * 4,
)


def test_numa_nodes_and_the_nearest_nics_stand_beside_the_rows() -> None:
    svg = draw_heatmap(replace(dgx_like(), parts=PARTS), [0, 1], others={"gpu-policy": [0]})
    told = texts(svg)
    assert [told.count(f"PIX mlx5_{i}") for i in range(4)] == [2, 2, 2, 2]
    titles = [t.text for t in ET.fromstring(svg).iter(f"{SVG}title")]
    assert {"GPUs 0 to 3: NUMA node 0", "GPUs 4 to 7: NUMA node 1", "nearest to GPU 5: PIX mlx5_2"} <= set(titles)
    assert "beside the rows: NUMA nodes, nearest NICs with their link type" in told
    assert {"NUMA", "nearest NICs"} <= set(told)
    # The marks of policies stand to the right of the band, and all is inside the picture.
    root = ET.fromstring(svg)
    mark = next(r for r in root.iter(f"{SVG}rect") if r.get("class") == "tw-mark")
    plain = ET.fromstring(draw_heatmap(dgx_like(), [0, 1], others={"gpu-policy": [0]}))
    before = next(r for r in plain.iter(f"{SVG}rect") if r.get("class") == "tw-mark")
    assert float(mark.get("x", 0)) > float(before.get("x", 0)) + 100
    assert float(mark.get("x", 0)) < float(root.get("width", 0))


def test_a_row_with_many_near_nics_shows_the_first_and_says_all_in_its_title() -> None:
    parts = MachineParts({f"rdma-port-{i}": ("PIX",) * 8 for i in range(20)})
    svg = draw_heatmap(replace(dgx_like(), parts=parts))
    rows = [text for text in texts(svg) if text.startswith("PIX rdma-port-0")]
    assert len(rows) == 8 and sum(text.endswith("…") for text in texts(svg)) == 8
    assert any("rdma-port-19" in (t.text or "") for t in ET.fromstring(svg).iter(f"{SVG}title"))


def test_a_large_machine_has_a_strip_of_numa_nodes_only() -> None:
    parts = MachineParts({"nic": ("SYS",) * 72}, tuple(str(i // 36) for i in range(72)))
    told = texts(draw_heatmap(replace(grid(72), parts=parts)))
    assert "beside the rows: NUMA nodes" in told
    assert "nearest NICs" not in told


def test_parts_are_escaped() -> None:
    parts = MachineParts({"<b>": ("PIX",) * 8}, ("<i>",) * 8)
    assert "PIX <b>" in texts(draw_heatmap(replace(dgx_like(), parts=parts)))


def test_many_link_classes_are_explained_by_the_scale_of_their_colours() -> None:
    speeds = np.full((14, 14), 1.0)
    for i in range(1, 14):
        # One speed for each GPU beside those before it: 13 classes.
        speeds[i, :i] = speeds[:i, i] = 2.0**i
    svg = draw_heatmap(BandwidthMatrix(speeds))
    assert "class='tw-speeds'" in svg
    assert {"2", "8.19e+03", "GB/s"} <= set(texts(svg))
