from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.hand_made import document_tree, gang_of, placement_of, snapshot_of
from workbench.errors import InputError, UnknownNameError
from workbench.evaluate import compare as compare_module
from workbench.evaluate.compare import compare
from workbench.formats.load import load
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Refusal
from workbench.model.snapshot import ClusterSnapshot

TOPOLOGY = document_tree()
SNAPSHOT = snapshot_of(TOPOLOGY)
GANGS = [gang_of("a", 2), gang_of("b", 1)]


class Fixed:
    """Puts gang a on given nodes and refuses b; or raises."""

    def __init__(self, name: str, nodes: Sequence[int], error: BaseException | None = None) -> None:
        self.name = name
        self.nodes = nodes
        self.error = error
        self.parameters = {"nodes": list(nodes)}

    def schedule(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Decision]:
        if self.error is not None:
            raise self.error
        refusal = Refusal(gangs[1], self.name, {}, (Notice("insufficient", "0 of 8 nodes fit", numbers={"count": 8}),))
        placed = placement_of(gangs[0], snapshot.topology, self.nodes, [0xFF] * 2)
        return [Decision(gangs[0], placed), Decision(gangs[1], refusal)]


def run(*policies: Any, **options: Any) -> Any:
    return compare(GANGS, SNAPSHOT, policies, **options)


def test_rows_stand_in_input_order_and_keep_their_decisions() -> None:
    comparison = run(Fixed("far", [0, 7]), Fixed("near", [0, 1]))
    assert [row.policy for row in comparison.rows] == ["far", "near"]
    assert [row.metrics.jobs["default/a"]["lca_tier"] for row in comparison.rows] == [3, 1]
    assert comparison.rows[0].decision("default/b").result.reasons[0].code == "insufficient"
    assert len(comparison.rows[0].placements) == len(comparison.rows[0].refusals) == 1
    assert not comparison.all_placed


def test_decisions_come_in_input_order_and_tell_the_order_in_which_they_were_taken() -> None:
    gangs = [gang_of("late", 1), dataclasses.replace(gang_of("first", 1), priority=1)]
    for policy in ("gang", "volcano", "koordinator-gpu"):
        comparison = compare(gangs, SNAPSHOT, [policy])
        (row,) = comparison.rows
        assert [d.gang.name for d in row.decisions] == ["late", "first"]
        assert [d.gang.name for d in row.in_turn] == ["first", "late"]
        assert [job["turn"] for job in comparison.to_dict()["policies"][0]["jobs"]] == [1, 0]
        assert comparison.to_dataframe()["turn"].tolist() == [1, 0]


@pytest.mark.parametrize("error", [InputError("bad answer", source="mine"), ZeroDivisionError("division by zero")])
def test_a_policy_that_raises_harms_no_other_row(error: Exception) -> None:
    comparison = run(Fixed("near", [0, 1]), Fixed("mine", [], error), Fixed("far", [0, 7]))
    failed = comparison.rows[1]
    assert failed.metrics is None and failed.decisions == ()
    assert failed.error.message == f"{type(error).__name__}: {error}"
    assert "in schedule" in failed.error.traceback
    assert [row.error is None for row in comparison.rows] == [True, False, True]
    assert not comparison.all_placed


def test_an_interrupt_stops_the_comparison() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(Fixed("slow", [], KeyboardInterrupt()))


def test_an_unknown_policy_is_said_before_anything_runs() -> None:
    class Watched(Fixed):
        def schedule(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Decision]:
            raise AssertionError("ran")

    with pytest.raises(UnknownNameError, match="allocat"):
        run(Watched("w", []), "alocate", progress=lambda done, total, name: pytest.fail("ran"))


def test_one_text_is_no_list_of_policies() -> None:
    with pytest.raises(InputError, match="policies: no list of policies"):
        compare(GANGS, SNAPSHOT, "gang")


def test_progress_is_told_before_each_policy_and_at_the_end() -> None:
    calls: list[tuple[int, int, str]] = []
    run(Fixed("x", [0, 1]), Fixed("y", [0, 1]), progress=lambda *call: calls.append(call))
    assert calls == [(0, 2, "x"), (1, 2, "y"), (2, 2, "")]


def test_equal_runs_are_equal_but_for_the_decision_time() -> None:
    def record() -> str:
        found = run(Fixed("x", [0, 1]), "spread", inputs={"a.yaml": "00"}).to_dict()
        for row in found["policies"]:
            assert row.pop("decision_s") >= 0
        return json.dumps(found, allow_nan=False)

    assert record() == record()


def test_the_dictionary_has_the_provenance_and_the_shape_of_place() -> None:
    found = run(Fixed("x", [0, 1]), inputs={"a.yaml": "00"}).to_dict()
    assert found["provenance"]["inputs"] == {"a.yaml": "00"}
    assert found["provenance"]["policies"] == [{"policy": "x", "parameters": {"nodes": [0, 1]}}]
    assert found["provenance"]["matrices"][0]["sha256"] == SNAPSHOT.matrices[0].checksum
    assert found["provenance"]["snapshot"]["source"] == "made by hand"
    job_a, job_b = found["policies"][0]["jobs"]
    assert job_a["pods"][1]["node"] == "node1" and job_a["pods"][1]["gpus"] == list(range(8))
    assert (job_b["outcome"], job_b["reasons"][0]["numbers"]["count"]) == ("pending", 8)


def test_the_data_frame_has_a_line_per_policy_and_job() -> None:
    frame = run(Fixed("near", [0, 1]), Fixed("mine", [], ValueError("no"))).to_dataframe()
    assert frame["policy"].tolist() == ["near", "near", "mine", "mine"]
    assert frame["outcome"].tolist() == ["placed", "pending", "error", "error"]
    assert frame.loc[0, "pairs_1"] == 1 and frame.loc[0, "bottleneck_gb_s"] == 4.64
    assert frame.loc[1, "reasons"] == "0 of 8 nodes fit"
    assert frame["decision_s"].notna().all()


def test_each_session_is_measured_once(monkeypatch) -> None:
    """Also where a policy that uses leaf switches brings their metrics for all."""
    measured = []
    plain = compare_module.measure_run

    def counted_run(decisions, *arguments):
        measured.append(decisions)
        return plain(decisions, *arguments)

    monkeypatch.setattr(compare_module, "measure_run", counted_run)
    folder = Path(__file__).parents[2] / "datasets" / "switch-affinity"
    snapshot = load(folder / "cluster.yaml").snapshot
    gangs = load(folder / "cluster.yaml", folder / "jobs-hard.yaml").gangs
    unlabelled = [dataclasses.replace(gang, extras={}) for gang in gangs]
    comparison = compare(unlabelled, snapshot, ["binpack", "switch-affinity"])
    assert len(measured) == 2
    assert all(row.metrics.switches is not None for row in comparison.rows)
