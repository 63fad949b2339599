"""Communication as metrics of a comparison: with a plan the group is there, without one it is not."""

from __future__ import annotations

import pytest

from tests.evaluate.cost.test_job_cost import CALIBRATION, MODEL
from tests.hand_made import document_tree, gang_of, snapshot_of
from workbench.errors import InputError
from workbench.evaluate.compare import compare
from workbench.evaluate.cost import CommunicationPlan, LeastCost, ParallelShape
from workbench.model.placement import Placement
from workbench.policies.base import Composed
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters
from workbench.policies.registry import get_policy

SNAPSHOT = snapshot_of(document_tree())
GANG = gang_of("a", 4)
GPUS = 4 * GANG.roles[0].n_gpus
SPEEDS = {1: 1.0, 2: 0.5, 3: 0.25}


def plan(ranks: int = GPUS) -> CommunicationPlan:
    return CommunicationPlan(CALIBRATION, "m", {GANG.key: (ParallelShape(data=ranks), MODEL)}, SPEEDS)


def test_every_policy_of_a_comparison_has_milliseconds_and_gb_s_with_an_interval() -> None:
    comparison = compare([GANG, gang_of("b", 1)], SNAPSHOT, ["binpack", "spread"], communication=plan())
    for row in comparison.rows:
        assert row.metrics is not None
        record = row.metrics.to_dict()["jobs"][GANG.key]["communication"]
        low, middle, high = (record[f"communication_{end}"] for end in ("low_ms", "ms", "high_ms"))
        assert 0 <= low <= middle <= high and middle > 0
        assert record["communication_gb_s"] > 0
    packed, spread = (row.metrics for row in comparison.rows)
    assert packed is not None and spread is not None
    assert packed["communication_ms"] <= spread["communication_ms"]
    assert packed.jobs[gang_of("b", 1).key]["communication_ms"] is None


def test_without_a_plan_there_is_no_such_group() -> None:
    comparison = compare([GANG], SNAPSHOT, ["binpack"])
    assert all("communication" not in metric.key for metric in comparison.metrics)


def test_a_fabric_without_speeds_is_refused_before_any_policy_runs() -> None:
    silent = CommunicationPlan(CALIBRATION, "m", {}, {1: 1.0})
    with pytest.raises(InputError, match="tier 2, 3"):
        compare([GANG], SNAPSHOT, ["binpack"], communication=silent)


def test_a_shape_that_does_not_fit_is_the_error_of_the_row() -> None:
    row = compare([GANG], SNAPSHOT, ["binpack"], communication=plan(2)).rows[0]
    assert row.error is not None and "does not fit" in row.error.message


def test_cost_as_the_objective_of_a_policy() -> None:
    apart = FunctionPolicy("apart", lambda gang, ledger: [0, 2, 4, 6] if gang.n_pods == 4 else [7])
    spread, packed = Composed("apart", apart, GpuLowestIndex(NoParameters())), get_policy("binpack")
    chosen = LeastCost(plan(), [spread, packed])
    comparison = compare([GANG, gang_of("b", 1)], SNAPSHOT, [spread, packed, chosen], communication=plan())
    costs = [row.metrics["communication_ms"] for row in comparison.rows if row.metrics is not None]
    assert costs[2] == min(costs) < max(costs)
    # The job without a price goes where the first policy puts it.
    ours, first = (LeastCost(plan(), [spread, packed]), spread)
    other = gang_of("b", 1)
    assert ours.place(other, SNAPSHOT.ledger()).node.tolist() == first.place(other, SNAPSHOT.ledger()).node.tolist()
    assert not isinstance(LeastCost(plan(), [packed]).place(gang_of("huge", 500), SNAPSHOT.ledger()), Placement)
    with pytest.raises(InputError, match="no policy to choose among"):
        LeastCost(plan(), [])
