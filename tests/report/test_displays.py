from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import workbench  # hands in the drawing code
from tests.hand_made import dgx_like, document_tree, gang_of, placement_of, snapshot_of
from tests.simulate.test_engine import job, run
from workbench.errors import InputError
from workbench.evaluate.compare import compare
from workbench.model.best_gpus import best_gpus
from workbench.model.display import Displayed
from workbench.model.explanation import Explanation
from workbench.model.gang import SubGroup, TopologyConstraint
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Refusal
from workbench.model.scenario import Scenario
from workbench.model.switch_history import Moment, SwitchHistory

TOPOLOGY = document_tree()
GANG = gang_of("train", 1)
PLACEMENT = placement_of(GANG, TOPOLOGY, [0], [0xFF])

VALUES = {
    "topology": (TOPOLOGY, "<svg"),
    "matrix": (dgx_like(), "tw-heatmap"),
    "best gpus": (best_gpus(dgx_like(), 2), "tw-best-gpus"),
    "snapshot": (snapshot_of(TOPOLOGY), "tw-snapshot"),
    "scenario": (Scenario(snapshot_of(TOPOLOGY), (GANG,)), "tw-scenario"),
    "gang": (GANG, "tw-gang"),
    "placement": (PLACEMENT, "tw-placement"),
    "refusal": (Refusal(GANG, "p", {}, (Notice("c", "m"),)), "tw-refusal"),
    "explanation": (Explanation(Decision(GANG, PLACEMENT), ()), "tw-explanation"),
    "switch history": (SwitchHistory(("s0",), (Moment("start", None, {}, ()),)), "tw-switch-history"),
    "simulation": (run([job("a", 4, 0, 10)]), "tw-simulation"),
    "comparison": (compare([GANG], snapshot_of(TOPOLOGY), ["gang"]), "tw-comparison"),
}


@pytest.mark.parametrize("name", VALUES)
def test_every_value_has_a_display_and_a_view(name: str) -> None:
    value, mark = VALUES[name]
    assert isinstance(value, Displayed)
    assert mark in (value._repr_html_() or "")
    assert mark in value.view().html


def test_a_simulation_says_in_a_line_what_became_of_its_jobs() -> None:
    result = run([job("a", 4, 0, 10), job("b", 99, 0, 10)])
    assert repr(result) == "SimulationResult(binpack, best-effort: 1 of 2 jobs completed, 50.0 % of the GPUs in use)"


def test_a_scenario_lists_its_jobs_and_what_was_refused() -> None:
    refused = (Notice("refused-by-admission", "no <tasks>", "Job ml/empty"),)
    shown = Scenario(snapshot_of(TOPOLOGY), (GANG,), refused)._repr_html_() or ""
    assert GANG.key in shown and "Job ml/empty: no &lt;tasks&gt;" in shown
    assert "No job waits" in (Scenario(snapshot_of(TOPOLOGY), ())._repr_html_() or "")


def test_a_gang_shows_roles_constraint_and_sub_groups() -> None:
    gang = dataclasses.replace(
        GANG,
        constraint=TopologyConstraint("hard", 2),
        sub_groups=(SubGroup("pp-0", (0,), TopologyConstraint("soft"), 1),),
        sub_grouped=True,
    )
    shown = gang._repr_html_() or ""
    assert "topology hard, tier 2" in shown and "pp-0" in shown and GANG.roles[0].name in shown


def test_a_topology_is_coloured_by_what_is_given() -> None:
    plain = TOPOLOGY.view().html
    for given in (PLACEMENT, [PLACEMENT], Decision(GANG, PLACEMENT)):
        assert "default/train" in TOPOLOGY.view(color_by=given).html
    assert "default/train" not in plain
    assert "7 of 8 GPUs free" not in TOPOLOGY.view(color_by=PLACEMENT).html
    assert "0 of 8 GPUs free" in TOPOLOGY.view(color_by=PLACEMENT, snapshot=snapshot_of(TOPOLOGY)).html


def test_a_placement_shows_gpus_one_by_one_and_those_that_were_in_use() -> None:
    placed = workbench.place(gang_of("train", 1, 4), snapshot_of(TOPOLOGY, busy={0: 0xFF}), "binpack+gpu-lowest-index")
    picture = placed._repr_html_() or ""
    assert picture.count("class='tw-gpu'") == 64 and ">in use before</text>" in picture
    assert "node0: 0 of 8 GPUs free" in picture and "node1: default/train 1 pod on GPU 0, 1, 2, 3; 4 of 8" in picture


def test_a_matrix_view_marks_a_set() -> None:
    assert "chosen: 1, 4" in dgx_like().view(gpus=[4, 1]).html
    with pytest.raises(InputError, match="no such GPU"):
        dgx_like().view(gpus=[8])


def test_an_unknown_kind_of_picture_is_refused() -> None:
    with pytest.raises(InputError, match="svg or pyvis"):
        TOPOLOGY.view(kind="png")


def test_pictures_can_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "t.svg"
    TOPOLOGY.view().save(path)
    assert path.read_text(encoding="utf-8") == TOPOLOGY.view()._repr_html_()
