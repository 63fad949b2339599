from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from tests.hand_made import document_tree, gang_of, placement_of, snapshot_of, tree
from workbench.model.topology import DomainSpec, Problem, Topology
from workbench.report.blocks import MIN_CELL
from workbench.report.colours import tier_colour
from workbench.report.occupancy import occupancy
from workbench.report.svg_text import fit_text
from workbench.report.topology_svg import SHRINK, Drawing, DrawingPlan, draw_parts, draw_topology

SVG = "{http://www.w3.org/2000/svg}"
TOPOLOGY = document_tree()


def group(svg: str, name: str) -> ET.Element:
    return next(g for g in ET.fromstring(svg).iter(f"{SVG}g") if g.get("class") == name)


def titles(svg: str) -> list[str]:
    return [title.text or "" for title in group(svg, "tw-nodes").iter(f"{SVG}title")]


@pytest.mark.parametrize("sizes", [(2, 2, 2), (10, 10, 10), (16, 25, 10, 5)], ids=["8", "1,000", "20,000"])
def test_pictures_are_well_formed_large_enough_and_of_sane_shape(sizes: tuple[int, ...]) -> None:
    svg = draw_topology(tree(sizes), title="a title")
    root = ET.fromstring(svg)
    assert 0.8 <= float(root.get("width", 0)) / float(root.get("height", 1)) <= 2.6
    squares = [g.find(f"{SVG}rect") for g in group(svg, "tw-nodes")]
    # What a narrow page shrinks a picture to must still be visible.
    assert all(float(rect.get("width", 0)) * SHRINK >= MIN_CELL for rect in squares if rect is not None)
    assert len(squares) == len(titles(svg))


def test_every_node_has_a_tool_tip_with_its_jobs_and_gpus() -> None:
    placement = placement_of(gang_of("train", 2, 4), TOPOLOGY, [0, 0], [0x0F, 0x30])
    svg = draw_topology(TOPOLOGY, occupancy([placement], snapshot_of(TOPOLOGY, busy={1: 0b11})))
    assert "node0: default/train 2 pods on GPU 0, 1, 2, 3, 4, 5; 2 of 8 GPUs free" in titles(svg)
    assert "node1: 6 of 8 GPUs free" in titles(svg)
    assert len(titles(svg)) == 8


def test_each_gpu_of_a_small_cluster_has_the_colour_of_its_job() -> None:
    placement = placement_of(gang_of("train", 1, 3), TOPOLOGY, [0], [0b111])
    svg = draw_topology(TOPOLOGY, occupancy([placement], snapshot_of(TOPOLOGY)))
    gpus = [r for r in group(svg, "tw-nodes").iter(f"{SVG}rect") if r.get("class") == "tw-gpu"]
    assert len(gpus) == 64
    assert sum(r.get("fill") == "#0072b2" for r in gpus) == 3


def test_folded_pictures_say_how_many_nodes_a_square_stands_for() -> None:
    svg = draw_topology(tree((16, 25, 10, 5)))
    assert "20,000 nodes folded into 1,250 squares of up to 16 nodes" in "".join(ET.fromstring(svg).itertext())
    assert "s0 (16 nodes)" in titles(svg)


def test_partly_used_squares_are_filled_in_part() -> None:
    topology = tree((10, 10))
    placement = placement_of(gang_of("train", 1, 2), topology, [0], [0b11])
    svg = draw_topology(topology, occupancy([placement], snapshot_of(topology)))
    first = next(g for g in group(svg, "tw-nodes") if "train" in (g.findtext(f"{SVG}title") or ""))
    whole, used = first.findall(f"{SVG}rect")
    assert float(used.get("width", 0)) == pytest.approx(float(whole.get("width", 0)) / 4, abs=0.06)


def test_names_are_escaped() -> None:
    name = "<script>alert('x')</script>&\""
    topology = Topology.build([name], [DomainSpec(f"d{name}", 1, [0])])
    placement = placement_of(gang_of(name, 1), topology, [0])
    svg = draw_topology(topology, occupancy([placement], jobs=[name]), title=name)
    ET.fromstring(svg)
    assert "<script" not in svg


def test_pictures_name_themselves_and_use_the_colour_of_the_page() -> None:
    svg = draw_topology(TOPOLOGY, title="by volcano")
    root = ET.fromstring(svg)
    name, description = root.get("aria-labelledby", "").split()
    assert {
        name: "by volcano",
        description: "8 nodes, 4 HyperNodes of tier 1, 2 HyperNodes of tier 2, 1 HyperNode of tier 3",
    } == {e.get("id"): e.text for e in root if e.get("id")}
    assert root.get("fill") == "currentColor"
    assert not re.search(r"<style|#000|black|white", svg)


def test_the_thirteenth_job_is_hatched_and_ids_of_two_pictures_differ() -> None:
    topology = tree((10, 10))
    placements = [placement_of(gang_of(f"j{i:02}", 1), topology, [i]) for i in range(30)]
    one, other = (draw_topology(topology, occupancy(placements), title) for title in ("one", "other"))
    ids = [set(re.findall(r" id='([^']+)'", svg)) for svg in (one, other)]
    assert len(ids[0]) == 12 + 2 and not ids[0] & ids[1]
    assert "and 6 more jobs" in one


def test_the_same_input_gives_the_same_bytes() -> None:
    placement = placement_of(gang_of("train", 1, 3), TOPOLOGY, [0], [0b111])
    assert len({draw_topology(TOPOLOGY, occupancy([placement], snapshot_of(TOPOLOGY))) for _ in range(3)}) == 1


@pytest.mark.parametrize(
    ("text", "width", "want"), [("node1", 100, "node1"), ("a-long-name-7", 40, "…ame-7"), ("node1", 10, "")]
)
def test_texts_fit_by_keeping_their_ends(text: str, width: float, want: str) -> None:
    assert fit_text(text, width, 11.0) == want


def test_the_problems_of_a_topology_are_said_below_it() -> None:
    problems = [Problem("cycle", "x", "x -> y -> x"), Problem("cycle", "z", "z -> z")]
    svg = draw_topology(Topology.build(["a"], [], problems, ready=False))
    assert "2 problems: x -> y -> x …" in "".join(ET.fromstring(svg).itertext())


def test_a_cluster_without_nodes_can_be_drawn() -> None:
    ET.fromstring(draw_topology(Topology.build([], [])))


def test_pictures_too_wide_for_a_third_of_a_page_say_so() -> None:
    assert "class='tw-topology'" in draw_topology(document_tree())
    assert "class='tw-topology tw-wide'" in draw_topology(tree((10, 10, 10)))


def test_a_picture_falls_into_elements_that_say_what_they_are_of() -> None:
    topology = tree((4, 3))
    parts = draw_parts(topology, title="a title")
    assert str(parts) == draw_topology(topology, title="a title")
    boxes, labels, levels, squares = parts.groups
    assert levels == ()
    assert {name for name, _ in boxes} == set(topology.domain_names) >= {name for name, _ in labels}
    assert sorted(name for name, _ in squares) == sorted(topology.node_names)
    for group_of, tag in ((boxes, "rect"), (labels, "text"), (squares, "g")):
        assert {ET.fromstring(markup).tag for _, markup in group_of} == {tag}


def test_a_picture_is_told_by_what_it_adds_to_another() -> None:
    before = Drawing(("<svg>", "</svg>"), ((("a", "<a/>"), ("b", "<b/>"), ("b", "<b/>"), ("c", "<c/>")),))
    now = Drawing(("<svg>", "</svg>"), ((("c", "<c/>"), ("a", "<a/>"), ("b", "<b/>"), ("b", "<b/>"), ("c", "<d/>")),))
    (parts,) = now.parts(before)["groups"]  # type: ignore[misc]
    held = before.groups[0]
    grown = [e for part in parts for e in (held[part[0] : sum(part)] if type(part[0]) is int else [part])]
    assert tuple(grown) == now.groups[0]
    assert [3, 1] in parts and sum(type(part[0]) is str for part in parts) == 2
    assert now.parts() == {"frame": now.frame, "groups": [list(now.groups[0])], "places": ()}


def test_the_places_of_a_picture_are_told_where_they_differ() -> None:
    at, there, here = (Drawing(("<svg>", "</svg>"), ((("a", "<g/>"),),), (place,)) for place in ("1 2", "1 2", "3 4"))
    assert at.parts(there)["places"] is None
    assert at.parts(here)["places"] == at.parts()["places"] == ("1 2",)
    assert str(at) == "<svg><g transform='translate(1 2)'/></svg>"


@pytest.mark.slow
def test_a_picture_after_another_is_what_it_would_be_alone() -> None:
    sizes = ((10, 10, 10), (10, 10, 9), (10, 10, 10), (3, 3), (16, 25, 10, 5))
    plan = None
    for topology in map(tree, sizes):
        plan = DrawingPlan(topology, plan)
        for node in (0, topology.n_nodes - 1):
            who = occupancy([placement_of(gang_of("train", 1, 2), topology, [node], [0b11])], snapshot_of(topology))
            assert draw_topology(topology, who, "x", plan) == draw_topology(topology, who, "x")


def test_a_box_has_the_colour_of_its_tier_which_the_legend_names() -> None:
    svg = draw_topology(TOPOLOGY)
    boxes = {b.findtext(f"{SVG}title"): (b.get("stroke"), b.get("fill")) for b in group(svg, "tw-blocks")}
    assert boxes["s0: tier 1, 2 nodes"] == (tier_colour(1), tier_colour(1))
    assert boxes["s6: tier 3, 8 nodes"] == (tier_colour(3), tier_colour(3))
    legend = group(svg, "tw-legend")
    assert {"tier 1", "tier 2", "tier 3"} <= {t.text for t in legend.iter(f"{SVG}text")}
    assert {tier_colour(t) for t in (1, 2, 3)} <= {r.get("stroke") for r in legend.iter(f"{SVG}rect")}


def test_a_picture_leaves_the_legend_to_the_page() -> None:
    drawing = draw_parts(TOPOLOGY, legend=False)
    assert "tw-legend" not in str(drawing) and "tier 1</text>" not in str(drawing)
    assert drawing.height < draw_parts(TOPOLOGY).height


def levels_of(svg: str) -> dict[str, float]:
    """The filled part of the bar of each HyperNode, by its tool tip."""
    found = {}
    for bar in group(svg, "tw-levels"):
        whole, *filled = [float(rect.get("width", 0)) for rect in bar.findall(f"{SVG}rect")]
        found[bar.findtext(f"{SVG}title") or ""] = sum(filled) / whole
    return found


def test_a_bar_says_how_full_each_hypernode_is() -> None:
    placement = placement_of(gang_of("train", 2, 4), TOPOLOGY, [0, 0], [0x0F, 0xF0])
    levels = levels_of(draw_topology(TOPOLOGY, occupancy([placement], snapshot_of(TOPOLOGY, busy={1: 0b1111}))))
    assert levels["s0: 12 of 16 GPUs in use"] == pytest.approx(0.75, abs=0.01)
    assert levels["s1: 0 of 16 GPUs in use"] == 0.0
    assert levels["s6: 12 of 64 GPUs in use"] == pytest.approx(12 / 64, abs=0.01)
    assert len(levels) == TOPOLOGY.n_domains


def test_bars_are_wide_enough_to_read_where_twenty_thousand_nodes_are_folded() -> None:
    topology = tree((16, 25, 10, 5))
    svg = draw_topology(topology, occupancy([], snapshot_of(topology)))
    bars = [rect for bar in group(svg, "tw-levels") for rect in bar.findall(f"{SVG}rect")]
    assert len(bars) == 50 + 5 + 1
    assert all(float(rect.get("width", 0)) >= 30 for rect in bars)


def test_without_known_gpus_there_are_no_bars() -> None:
    assert levels_of(draw_topology(TOPOLOGY, occupancy([placement_of(gang_of("train", 1), TOPOLOGY, [0])]))) == {}


def test_a_page_with_cards_of_its_own_gets_a_picture_without_tool_tips() -> None:
    who = occupancy([placement_of(gang_of("train", 1, 2), TOPOLOGY, [0], [0b11])], snapshot_of(TOPOLOGY))
    with_tips = str(draw_parts(TOPOLOGY, who))
    without = str(draw_parts(TOPOLOGY, who, plan=DrawingPlan(TOPOLOGY, tips=False)))
    assert without == re.sub(r"<title>[^<]*</title>", "", with_tips)
