"""Communication as metrics of a comparison: with a plan the group is there, without one it is not."""

from __future__ import annotations

from html import unescape

import pytest

from tests.evaluate.cost.test_job_cost import CALIBRATION, MODEL
from tests.hand_made import document_tree, gang_of, snapshot_of
from tests.test_metric_outputs import terminal
from workbench.errors import InputError
from workbench.evaluate.compare import compare
from workbench.evaluate.cost import CommunicationPlan, LeastCost, ParallelShape
from workbench.model.placement import Placement
from workbench.policies.composed import Composed
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters
from workbench.policies.registry import get_policy
from workbench.report.comparison_tables import comparison_tables
from workbench.report.html import report_html

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


def on(*nodes: int) -> Composed:
    """A policy that puts a pod on each of these nodes: two are under a leaf, four under a HyperNode of tier 2."""
    return Composed("fixed", FunctionPolicy("fixed", lambda gang, ledger: nodes), GpuLowestIndex(NoParameters()))


@pytest.mark.parametrize(
    ("nodes", "speeds", "missing"),
    [
        pytest.param((0, 1), {}, None, id="inside a leaf nothing is crossed"),
        pytest.param((0, 1, 2, 3), {}, 1, id="two leaves"),
        pytest.param((0, 1, 2, 3), {1: 1.0}, None, id="two leaves with their speed"),
        pytest.param((0, 2, 4, 6), {1: 1.0}, 2, id="two HyperNodes of tier 2"),
        # Above the root there are no links.
        pytest.param((0, 2, 4, 6), {1: 1.0, 2: 1.0}, None, id="the root needs none"),
    ],
)
def test_a_tier_needs_a_speed_where_a_priced_placement_crosses_it(
    nodes: tuple[int, ...], speeds: dict[int, float], missing: int | None
) -> None:
    gang = gang_of("a", len(nodes))
    told = CommunicationPlan(CALIBRATION, "m", plan(GPUS * len(nodes) // 4).jobs, speeds)
    if missing is None:
        metrics = compare([gang], SNAPSHOT, [on(*nodes)], communication=told).rows[0].metrics
        assert metrics is not None and metrics["communication_ms"] > 0
    else:
        with pytest.raises(InputError, match=f"tier {missing}: a fabric without speeds.*--tier-gb-s {missing}="):
            compare([gang], SNAPSHOT, [on(*nodes)], communication=told)
    # Without a price for the job no speed is asked for; a tier that is not there is still refused.
    assert compare([gang], SNAPSHOT, [on(*nodes)], communication=CommunicationPlan(CALIBRATION, "m", {})).all_placed
    with pytest.raises(InputError, match="no HyperNode of this tier"):
        compare([gang], SNAPSHOT, [on(*nodes)], communication=CommunicationPlan(CALIBRATION, "m", {}, {9: 1.0}))


def test_every_output_has_the_interval_and_what_it_rests_on() -> None:
    comparison = compare([GANG], SNAPSHOT, ["binpack", "spread"], communication=plan())
    basis = comparison.to_dict()["provenance"]["communication"]
    assert basis["machine"] == "m" and basis["calibration"] == {"name": "made up", "sources": ["made up"]}
    assert basis["left_out"] and basis["tier_gb_s"] == {"1": 1.0, "2": 0.5, "3": 0.25}
    assert basis["jobs"][GANG.key]["shape"] == str(ParallelShape(data=GPUS))
    frame = comparison.to_dataframe()
    assert frame.attrs["provenance"]["communication"] == basis
    for unit in ("ms", "gb_s"):
        low, middle, high = (frame[f"communication_{end}{unit}"] for end in ("low_", "", "high_"))
        assert (low <= middle).all() and (middle <= high).all()
    line = frame.iloc[0]
    ends = {unit: [line[f"communication_{end}{unit}"] for end in ("", "low_", "high_")] for unit in ("ms", "gb_s")}
    texts = {unit: "{:.4g} ({:.4g}–{:.4g})".format(*numbers) for unit, numbers in ends.items()}
    screen, page = terminal(comparison_tables(comparison)), report_html(comparison)
    for text in (*texts.values(), "achine m, calibration made up", "Left out: other jobs on the same links"):
        assert text in screen
        assert text in page
    assert '"tier_gb_s":' in unescape(page)
    # Ends have no columns of their own.
    assert "lower end" not in screen and "upper end" not in page


def test_without_a_plan_the_provenance_tells_nothing_of_communication() -> None:
    assert "communication" not in compare([GANG], SNAPSHOT, ["binpack"]).to_dict()["provenance"]


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
