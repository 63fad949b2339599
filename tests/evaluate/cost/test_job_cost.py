"""Costs of placed jobs: parallel shapes, ring crossings, tiers and both ends of overlap."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from tests.hand_made import document_tree
from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.cost import CostModel, ParallelShape, TrainingModel, fit_calibration
from workbench.evaluate.cost.job_cost import job_cost
from workbench.evaluate.cost.parallel_shape import exchanges
from workbench.model.collective import CollectiveBlock, Measurement

#: Latency 10 us, bus bandwidth 100 GB/s, whatever the collective and the nodes.
CALIBRATION = fit_calibration(
    [
        Measurement(block, "made up", 2**power, 10e-6 + 2**power * share * (block.ranks - 1) / block.ranks / 1e11)
        for collective, share in (("all-reduce", 2), ("all-gather", 1), ("all-to-all", 1))
        for nodes in (1, 2, 4, 8)
        for block in [CollectiveBlock("m", collective, 8, nodes)]
        for power in range(10, 35, 2)
    ],
    [],
    "made up",
)
MODEL = TrainingModel(parameters=1e9, layers=8, hidden=1024, sequence=2048, microbatches=4)


def costs(**tier_gb_s: float) -> CostModel:
    return CostModel(CALIBRATION, "m", document_tree(), {int(tier[1:]): gb_s for tier, gb_s in tier_gb_s.items()})


def ranks_on(*nodes: int) -> np.ndarray:
    """Eight GPUs on each node, in this order."""
    return np.repeat(np.array(nodes, dtype=np.int64), 8)


@pytest.mark.parametrize(
    ("kind", "groups"),
    [
        pytest.param("tensor", [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15]], id="tensor"),
        pytest.param("data", [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15]], id="data"),
        pytest.param("expert", [[0, 2], [4, 6], [1, 3], [5, 7], [8, 10], [12, 14], [9, 11], [13, 15]], id="expert"),
        pytest.param("pipeline", [[i, i + 8] for i in range(8)], id="pipeline"),
    ],
)
def test_ranks_of_a_group(kind: str, groups: list[list[int]]) -> None:
    shape = ParallelShape.parse("4x2x2x1x2", "shape")
    assert shape.ranks == 16 and str(shape) == "4x2x2x1x2"
    assert shape.groups(kind).tolist() == groups


@pytest.mark.parametrize("text", ["", "0x8", "8x", "8x8x8x8x8x8", "axb", "4x1x1x1x3", "8 x 8"])
def test_a_wrong_shape_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        ParallelShape.parse(text, "--shape")


def test_calls_times_size_give_the_bytes_that_a_rank_sends() -> None:
    shape = ParallelShape(data=4, tensor=2, pipeline=2, context=2, expert=2)
    model = TrainingModel(
        parameters=1e9, layers=8, hidden=64, sequence=128, micro_batch=2, microbatches=3, moe_layers=4, top_k=2
    )
    found = {each.kind: each for each in exchanges(shape, model)}
    assert list(found) == ["tensor", "context", "expert", "pipeline", "data"]
    for kind, ranks in (("tensor", 2), ("context", 2), ("expert", 2), ("data", 8)):
        each = found[kind]
        twice = 2 if each.collective == "all-reduce" else 1
        assert each.calls * each.size * twice * (ranks - 1) / ranks == pytest.approx(each.bytes_per_rank)
    # Of a pipeline's messages only those of filling and draining are on the critical path.
    assert found["pipeline"].calls == 2 and found["pipeline"].bytes_per_rank == 2 * 3 * 2 * 64 * 64 * 2


def test_a_ring_in_a_bad_order_loads_the_links_of_a_hypernode_more_often() -> None:
    model = costs(t1=1.0, t2=100.0)
    good = model.cost("all-reduce", 1e9, ranks_on(0, 1, 2, 3))
    bad = model.cost("all-reduce", 1e9, ranks_on(0, 2, 1, 3))
    assert good.crossings[1] == 1 and bad.crossings[1] == 2
    assert bad.tier_s[1] == pytest.approx(2 * good.tier_s[1])
    # One step of the ring leaves each leaf with 2 (n - 1) / n of the bytes, over the links of 16 GPUs.
    assert good.tier_s[1] == pytest.approx(1e9 * 2 * 31 / 32 / (16 * 1e9))
    assert good.estimate.time_s >= good.tier_s[1]


def test_an_all_to_all_sends_everything_that_goes_out_in_any_order() -> None:
    model = costs(t1=1.0, t2=1.0)
    for order in ((0, 1, 2, 3), (0, 2, 1, 3)):
        assert model.cost("all-to-all", 1e9, ranks_on(*order)).tier_s[1] == pytest.approx(1e9 * 16 / 32 / 1e9)


def test_a_job_inside_one_hypernode_needs_no_speeds_and_one_that_leaves_it_does() -> None:
    inside = costs().cost("all-reduce", 1e9, ranks_on(0, 1))
    assert inside.tier_s == {} and inside.estimate == inside.calibrated
    with pytest.raises(InputError, match="without speeds"):
        costs().cost("all-reduce", 1e9, ranks_on(0, 2))
    with pytest.raises(InputError):
        costs(t9=1.0)
    with pytest.raises(UnknownNameError):
        CostModel(CALIBRATION, "no such machine", document_tree(), {})
    with pytest.raises(InputError):
        costs().cost("all-reduce", 1e9, np.array([0]))


def test_what_tiers_add_sums_to_the_difference_from_a_network_without_limits() -> None:
    shape = ParallelShape(data=64)
    nodes = ranks_on(*range(8))
    slow = job_cost("j", nodes, shape, MODEL, costs(t1=0.5, t2=0.2, t3=100.0))
    fast = job_cost("j", nodes, shape, MODEL, costs(t1=1e6, t2=1e6, t3=1e6))
    assert slow.tiers[0].hypernodes == 4 and slow.tiers[1].hypernodes == 2
    assert all(tier.added_ms >= 0 for tier in slow.tiers)
    assert sum(tier.added_ms for tier in slow.tiers) == pytest.approx(slow.exposed.ms - fast.exposed.ms)
    assert slow.gb_s < fast.gb_s


def test_both_ends_of_overlap_and_the_interval() -> None:
    shape = ParallelShape(data=2, tensor=8)
    alone = job_cost("j", ranks_on(0, 1), shape, MODEL, costs())
    kinds = {part.exchange.kind: part.time.ms for part in alone.parts}
    assert alone.exposed.ms == pytest.approx(kinds["tensor"] + kinds["data"])
    assert alone.hidden.ms == pytest.approx(kinds["tensor"])
    assert alone.step is None
    assert alone.exposed.low_ms < alone.exposed.ms < alone.exposed.high_ms
    timed = TrainingModel(
        parameters=1e9, layers=8, hidden=1024, sequence=2048, microbatches=4, forward_s=1e-3, backward_s=2e-3
    )
    step = job_cost("j", ranks_on(0, 1), shape, timed, costs()).step
    assert step is not None
    assert step[1].ms == pytest.approx(12 + alone.exposed.ms)
    assert step[1].ms - step[0].ms == pytest.approx(min(2.0, kinds["data"]))


def test_a_shape_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="does not fit"):
        job_cost("j", ranks_on(0, 1), ParallelShape(data=8), MODEL, costs())


def test_the_record_tells_calibration_interval_and_what_is_left_out() -> None:
    record = job_cost("j", ranks_on(0, 1), ParallelShape(data=2, tensor=8), MODEL, costs()).to_dict()
    assert record["calibration"] == {"name": "made up", "sources": ["made up"]}
    assert {"ms", "low_ms", "high_ms"} == set(record["communication"]["exposed"])
    assert record["left_out"] and record["parts"][0]["kind"] == "tensor"


@pytest.mark.parametrize(
    ("shape", "group", "replicas"),
    [
        # Two tensor-parallel ranks share each expert: their positions differ in the last bit.
        (ParallelShape(data=4, tensor=2, expert=2), [0, 2], [0, 4]),
        (ParallelShape(data=2, tensor=2, context=2, expert=4), [0, 2, 4, 6], [0]),
        # EP does not divide DP x CP: eight neighbours of a stage hold whole experts.
        (ParallelShape(data=2, tensor=8, pipeline=2, expert=8), list(range(8)), [0, 8]),
        (ParallelShape(data=16, tensor=2, pipeline=8, expert=32), list(range(32)), [0]),
    ],
)
def test_expert_groups_and_the_replicas_of_an_expert(
    shape: ParallelShape, group: list[int], replicas: list[int]
) -> None:
    experts, same = shape.groups("expert"), shape.groups("expert-data")
    assert experts[0].tolist() == group and same[0].tolist() == replicas
    for groups in (experts, same):
        assert sorted(groups.ravel().tolist()) == list(range(shape.ranks))
    # A group of experts and a group of replicas have one rank in common at most, and all of one stage.
    for one in experts.tolist():
        for other in same.tolist():
            assert len(set(one) & set(other)) <= 1
    assert same.shape[1] == shape.expert_replicas


def test_experts_are_part_of_the_model() -> None:
    with pytest.raises(InputError, match="expert_parameters"):
        TrainingModel(parameters=1e9, layers=1, hidden=1, sequence=1, expert_parameters=2e9)
    dense = TrainingModel(parameters=8e9, layers=8, hidden=64, sequence=64)
    sparse = dataclasses.replace(dense, expert_parameters=6e9, moe_layers=8)
    # Without expert parallelism every rank holds all experts.
    assert exchanges(ParallelShape(data=8), dense) == exchanges(ParallelShape(data=8), sparse)
    kinds = {one.kind: one for one in exchanges(ParallelShape(data=8, tensor=2, expert=4), sparse)}
    assert kinds["data"].size == pytest.approx(2e9 / 2 * 2)
    assert kinds["expert-data"].size == pytest.approx(6e9 / 4 / 2 * 2)
    # Whole experts on tensor-parallel ranks: no second division.
    wide = {one.kind: one for one in exchanges(ParallelShape(data=2, tensor=8, expert=8), sparse)}
    assert wide["expert-data"].size == pytest.approx(6e9 / 8 * 2)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"forward_s": 1e-3}, "one pass only"),
        ({"backward_s": 1e-3}, "one pass only"),
        ({"moe_layers": 9}, "moe_layers: more than there are layers"),
        ({"interleave": 9}, "interleave: more than there are layers"),
        ({"interleave": 0}, "interleave"),
        ({"parameters": 1e300}, "parameters: too large"),
        ({"gradient_bytes": 1e19}, "gradient_bytes: too large"),
        ({"hidden": 10**12}, "hidden: too large"),
        ({"backward_s": 1e30, "forward_s": 1.0}, "backward_s: too large"),
    ],
)
def test_models_that_cannot_be_are_refused(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        dataclasses.replace(MODEL, **wrong)


def test_interleaved_stages_have_shorter_bubbles() -> None:
    shape, nodes = ParallelShape(tensor=8, pipeline=4), ranks_on(0, 1, 2, 3)
    plain = dataclasses.replace(MODEL, forward_s=1e-3, backward_s=2e-3)
    cut = dataclasses.replace(plain, interleave=2)
    speeds = costs(t1=50.0, t2=50.0)
    for model, bubbles in ((plain, 3), (cut, 3 / 2)):
        found = job_cost("j", nodes, shape, model, speeds)
        kinds = {part.exchange.kind: part.time.ms for part in found.parts}
        unit = 3 + kinds["tensor"] / 4
        assert found.step is not None
        assert found.step[1].ms == pytest.approx((4 + bubbles) * unit + kinds["pipeline"])
        assert found.exposed.ms == pytest.approx(found.step[1].ms - (4 + bubbles) * 3)
    sent = [{each.kind: each for each in exchanges(shape, model)}["pipeline"] for model in (plain, cut)]
    assert sent[1].bytes_per_rank == 2 * sent[0].bytes_per_rank and sent[0].calls == sent[1].calls


def test_every_published_shape_has_groups_or_degrees_that_do_not_multiply(public_data: Path) -> None:
    entries = json.loads((public_data / "job-shapes" / "shapes.json").read_text())
    refused = []
    for entry in entries:
        dp, tp, pp, cp, ep = (entry[name] or 1 for name in ("dp", "tp", "pp", "cp", "ep"))
        if dp * tp * pp * cp != entry["gpus"]:
            refused.append(entry["model"])
        else:
            shape = ParallelShape(dp, tp, pp, cp, ep)
            assert shape.groups("expert").shape[1] == ep
    assert len(entries) == 186 and set(refused) == {"kimi-k2"}
