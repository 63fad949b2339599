from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from tests.hand_made import dgx_like, document_tree, gang_of, placement_of, snapshot_of
from workbench.evaluate.compare import Comparison, compare
from workbench.model.best_gpus import best_gpus
from workbench.model.explanation import Candidate, Explanation
from workbench.model.gang import Gang
from workbench.model.machine_parts import MachineParts
from workbench.model.notice import Notice
from workbench.model.placement import Decision, NearestMiss, Refusal, Unplaced
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Problem, Topology
from workbench.report import html

EVIL = "<script>alert(1)</script>"
TOPOLOGY = document_tree()
SNAPSHOT = snapshot_of(TOPOLOGY, busy={6: 0x0F})


class Fixed:
    """Places the first gang, refuses the second; or raises."""

    def __init__(self, name: str, masks: Sequence[int] | None) -> None:
        self.name = name
        self.masks = masks
        self.parameters = {"note": EVIL}

    def schedule(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Decision]:
        if self.masks is None:
            raise ValueError(EVIL)
        refusal = Refusal(
            gangs[1],
            self.name,
            {},
            (Notice("insufficient", f"no room for {EVIL}", numbers={"count": 5}),),
            (NearestMiss(1, "s0", 2, 4),),
            (Notice("careful", EVIL),),
        )
        placement = placement_of(gangs[0], snapshot.topology, [0, 1], self.masks)
        return [Decision(gangs[0], placement), Decision(gangs[1], refusal)]


def comparison() -> Comparison:
    gangs = [gang_of(EVIL, 2, 4), gang_of("big", 4)]
    policies: list[Any] = [Fixed("near", [0x0F, 0x0F]), Fixed("far", [0b11011, 0x0F]), Fixed("mine", None)]
    return compare(gangs, SNAPSHOT, policies, inputs={f"{EVIL}.yaml": "ab" * 32})


class Page(HTMLParser):
    """Collects tags with their attributes and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


REPORT = html.report_html(comparison())


def test_the_report_runs_no_script_and_points_nowhere_outside() -> None:
    page = Page(REPORT)
    assert "script" not in {tag for tag, _ in page.tags}
    assert EVIL in page.text and EVIL not in REPORT
    for _, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "data", "action"):
                assert (value or "").startswith("data:")
    outside = set(re.findall(r"https?://[^'\"\s<>]+", REPORT))
    assert outside == {"http://www.w3.org/2000/svg"}  # the name of a vocabulary, never fetched
    assert "url(" not in REPORT.replace("url(#", "")


def test_the_report_has_a_picture_per_policy_that_answered_and_their_heat_maps() -> None:
    kinds = [attributes.get("class") for tag, attributes in Page(REPORT).tags if tag == "svg"]
    drawings = [kind for kind in kinds if kind != "tw-swatch"]
    assert drawings == ["tw-topology"] * 2 + ["tw-chart"] * 2 + ["tw-heatmap"] * 2


def test_all_pictures_of_a_report_share_one_legend() -> None:
    tags = Page(REPORT).tags
    assert [attributes["class"] for _, attributes in tags if attributes.get("class") in ("tw-key", "tw-legend")] == [
        "tw-key"
    ]
    assert sum(attributes.get("class") == "tw-swatch" for _, attributes in tags) == 2 + 2 + 3 + 1
    assert "tier 3" in REPORT


def test_the_report_has_reasons_table_errors_and_provenance() -> None:
    text = Page(REPORT).text
    for part in (
        "1 of 2",
        "no room for",
        "tier 1: s0 holds 2 of 4",
        "mine failed",
        "ValueError",
        "ab" * 32,
        SNAPSHOT.matrices[0].checksum,
        "made by hand",
        "3 policies",
    ):
        assert part in text


def test_equal_comparisons_give_equal_reports_but_for_the_times() -> None:
    def report() -> str:
        found = comparison()
        for row in found.rows:
            object.__setattr__(row, "decision_s", 0.001)
        return html.report_html(found)

    assert report() == report()


def test_the_heat_map_shows_a_chosen_part_before_a_whole_node() -> None:
    gangs = [gang_of("whole", 1, 8), gang_of("part", 1, 2)]

    class Both:
        name, parameters = "both", {}

        def schedule(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Decision]:
            return [
                Decision(gangs[0], placement_of(gangs[0], snapshot.topology, [0], [0xFF])),
                Decision(gangs[1], placement_of(gangs[1], snapshot.topology, [1], [0b11])),
            ]

    policies: list[Any] = [Both()]
    page = html.report_html(compare(gangs, SNAPSHOT, policies))
    assert "default/part on node1" in page and "default/whole on node0" not in page


def test_a_placement_shows_its_picture_pods_and_what_was_left_out() -> None:
    gang = gang_of(EVIL, 3, 2)
    placement = placement_of(gang, TOPOLOGY, [0, 1, -1], [0b11, 0b1100, 0])
    object.__setattr__(
        placement, "unplaced", (Unplaced(2, (Notice("insufficient", "no room", numbers={"count": 8}),)),)
    )
    text = Page(html.placement_html(placement)).text
    assert f"{EVIL}-worker-1" in text and "2, 3" in text
    assert f"{EVIL}-worker-2 has no node: no room" in text
    assert "2 of 3 pods" in text


def test_one_of_a_thing_is_not_told_as_several() -> None:
    placed = placement_of(gang_of("one", 1), TOPOLOGY, [0], [0b11])
    assert "1 of 1 pod" in Page(html.placement_html(placed)).text
    assert "1 of 1 pods" not in Page(html.placement_html(placed)).text
    assert "Only 1 GPU is free" in Page(html.best_gpus_html(best_gpus(dgx_like(), 4, free=[0]))).text


def test_a_long_placement_is_cut_and_counted() -> None:
    placement = placement_of(gang_of("a", 300), TOPOLOGY, [0] * 300)
    assert "and 200 more" in Page(html.placement_html(placement)).text


def test_a_refusal_shows_reasons_counts_and_nearest_misses() -> None:
    refusal = Refusal(
        gang_of(EVIL, 4),
        "p",
        {},
        (Notice("c", EVIL, numbers={"count": 5}),),
        (NearestMiss(2, "s4", 3, 4),),
        (Notice("careful", "careful"),),
    )
    page = Page(html.refusal_html(refusal))
    assert EVIL in page.text and "s4" in page.text and "careful" in page.text
    assert "script" not in {tag for tag, _ in page.tags}


def test_an_explanation_shows_domains_nodes_and_the_parts_of_scores() -> None:
    gang = gang_of("a", 1)
    decision = Decision(gang, placement_of(gang, TOPOLOGY, [0]))
    candidates = (
        Candidate("domain", "s0", 1, True, "holds 2 of 1 pods", 100.0),
        Candidate("inner", "s00", 1, True, "holds 2 of 2 pods", 9.5, {"packing": 9.5}, "part-0"),
        Candidate("node", "node0", None, True, "", 12.5, {"binpack": 12.5}),
        *(Candidate("node", f"x{i}", None, False, EVIL) for i in range(200)),
    )
    page = Page(html.explanation_html(Explanation(decision, candidates, ("first",))))
    assert "s00" in page.text and "part-0" in page.text and "packing" in page.text
    assert "s0" in page.text and "binpack" in page.text and "12.5" in page.text and "and 101 more" in page.text
    assert "script" not in {tag for tag, _ in page.tags}
    assert "default/a is placed (by-hand): 1 of 1 pod first" in " ".join(page.text.split())


def test_an_explanation_says_why_a_job_is_pending_in_words() -> None:
    gang = gang_of("a", 1)
    refusal = Refusal(gang, "p", {}, (Notice("insufficient", f"no room for {EVIL}"), Notice("tier", "none is near")))
    page = Page(html.explanation_html(Explanation(Decision(gang, refusal), (), ())))
    assert f"default/a is pending (p): no room for {EVIL}; none is near" in " ".join(page.text.split())


def test_best_gpus_show_the_set_its_ties_and_its_bound() -> None:
    text = Page(html.best_gpus_html(best_gpus(dgx_like(), 4))).text
    assert "0, 1, 2, 3" in text and "48 GB/s" in text and "2 sets with this value" in text and "4, 5, 6, 7" in text


def test_best_gpus_say_when_too_few_are_free() -> None:
    assert "Only 2 GPUs are free" in Page(html.best_gpus_html(best_gpus(dgx_like(), 4, free=[0, 1]))).text


def test_a_snapshot_shows_its_gaps() -> None:
    snapshot = snapshot_of(TOPOLOGY)
    object.__setattr__(snapshot, "gaps", (Notice("unknown-queue", "no Queue: default with weight 1"),))
    assert "no Queue: default with weight 1" in Page(html.snapshot_html(snapshot)).text


def test_a_topology_page_lists_the_problems() -> None:
    topology = Topology.build(["a"], [], [Problem("cycle", "s1", f"s1 -> s2 -> s1 {EVIL}")], ready=False)
    page = Page(html.topology_page(snapshot_of(topology)))
    assert "s1 -> s2 -> s1" in page.text and "script" not in {tag for tag, _ in page.tags}


@pytest.mark.parametrize(
    ("value", "want"), [(None, "–"), ("", "–"), (np.inf, "∞"), (48.3333, "48.33"), (12500, "12,500"), ("x", "x")]
)
def test_numbers_are_short(value: object, want: str) -> None:
    assert html.number_text(value) == want


def test_best_gpus_show_a_line_to_copy_and_the_nics_near_them() -> None:
    parts = MachineParts({"mlx5_0": ("PIX",) * 4 + ("SYS",) * 4}, ("0",) * 4 + ("1",) * 4)
    text = Page(html.best_gpus_html(best_gpus(replace(dgx_like(), parts=parts), 2))).text
    assert "To copy: CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1" in text
    assert "near NIC mlx5_0: GPU 0, 1 (PIX)" in text and "NUMA nodes: 0" in text
