"""Jobs of published shapes: their steps by hand, the reader, and workloads on the fabrics of Lingjun and Zhejiang."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.simulate.test_engine import SNAPSHOT
from workbench.errors import InputError
from workbench.evaluate.contention import Network, RoutedFabric, TierLinks
from workbench.formats.job_shapes import read_job_shapes, read_model_sizes
from workbench.formats.load import load
from workbench.model.job_log import ModelSize, PublishedShape
from workbench.policies.registry import get_policy
from workbench.simulate import Simulation
from workbench.simulate.arrivals import at_load
from workbench.simulate.shaped_jobs import draw_shaped_jobs, step_of_shape

ENTRY = {"model": "m", "gpus": 16, "dp": 2, "tp": 4, "pp": 2, "cp": 1, "ep": 1}
ENTRY |= {"seq_len": 1000, "micro_batch": 1, "global_batch": 8, "fsdp": False}
DENSE = ModelSize(8e9, 8e9, 32, 4096, 1024, 0, 1)


def write(tmp_path: Path, *entries: object) -> Path:
    path = tmp_path / "shapes.json"
    path.write_text(json.dumps(list(entries)))
    return path


def test_a_step_by_hand() -> None:
    step = step_of_shape(PublishedShape("m", DENSE, (2, 4, 2, 1, 1), 1000, 1, 4, False), 100.0)
    # 6 operations, 8e9 parameters and 1000 tokens on 8 GPUs of 1e14: 60 ms a micro batch; 4 of them and one bubble.
    assert step.compute_s == pytest.approx(5 * 0.06)
    # Gradients of 1e9 parameters in 2 bytes between two replicas: half goes each way, twice.
    assert step.sent_gb["data"] == pytest.approx(2.0)
    assert set(step.sent_gb) == {"tensor", "pipeline", "data"}


def test_interleaved_stages_divide_the_bubble(tmp_path: Path) -> None:
    entries = [{**ENTRY, "vp": vp} for vp in (None, 1, 4, 33)]
    shapes, notes = read_job_shapes(write(tmp_path, *entries), {"m": DENSE})
    assert [shape.interleave for shape in shapes] == [1, 4]
    assert "more virtual pipeline stages than layers" in str(notes[0])
    plain, cut = (step_of_shape(shape, 100.0) for shape in shapes)
    assert cut.compute_s == pytest.approx((4 + 1 / 4) * 0.06) and plain.compute_s == pytest.approx(5 * 0.06)
    assert cut.sent_gb["pipeline"] == 4 * plain.sent_gb["pipeline"]
    with pytest.raises(InputError, match="entry 0, vp"):
        read_job_shapes(write(tmp_path, {**ENTRY, "vp": 0}), {"m": DENSE})


def test_published_shapes_keep_their_virtual_stages(public_data: Path) -> None:
    path = public_data / "job-shapes" / "shapes.json"
    entries = [entry for entry in json.loads(path.read_text()) if (entry["vp"] or 1) > 1]
    shapes, _ = read_job_shapes(path)
    assert len(entries) == 67
    assert {shape.interleave for shape in shapes} >= {1, 2, 4, 5, 8}


def test_experts_are_spread_over_expert_parallel_ranks() -> None:
    sparse = ModelSize(65e9, 1e9, 32, 4096, 1024, 32, 8)
    alone, pairs, spread = (
        step_of_shape(PublishedShape("m", sparse, (8, 1, 1, 1, ep), 1000, 1, 1, False), 100).sent_gb for ep in (1, 4, 8)
    )
    # Gradients of 2 bytes, 2 * 7/8 of them over a ring of eight; a quarter of the experts has two replicas.
    assert alone == {"data": pytest.approx(2 * 7 / 8 * 65 * 2)}
    assert pairs["data"] == spread["data"] == pytest.approx(2 * 7 / 8 * 1 * 2)
    assert pairs["expert-data"] == pytest.approx(2 * 1 / 2 * 64 / 4 * 2)
    assert "expert-data" not in spread
    assert 0 < pairs["expert"] < spread["expert"]


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    unknown = {**ENTRY, "model": "other"}
    unstated = {**ENTRY, "seq_len": None}
    wrong = {**ENTRY, "gpus": 17}
    uneven = {**ENTRY, "global_batch": 7}
    shapes, notes = read_job_shapes(write(tmp_path, ENTRY, ENTRY, unknown, unstated, wrong, uneven), {"m": DENSE})
    assert shapes == [PublishedShape("m", DENSE, (2, 4, 2, 1, 1), 1000, 1, 4, False)]
    assert len(notes) == 4
    assert [note.numbers["count"] for note in notes] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("entry", "message"),
    [([1], "not shapes of jobs"), ({**ENTRY, "dp": -1}, "entry 0, dp"), ({**ENTRY, "tp": "4"}, "entry 0, tp")],
)
def test_bad_shapes(tmp_path: Path, entry: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_job_shapes(write(tmp_path, entry), {"m": DENSE})
    for text in ("no", "", "[" * 100_000, '[{"dp": 1e999}]'):
        (tmp_path / "text").write_text(text)
        with pytest.raises(InputError, match="not JSON"):
            read_job_shapes(tmp_path / "text")


def test_draws_are_those_of_the_generator_and_fit_the_cluster() -> None:
    shapes = [PublishedShape("m", DENSE, (dp, 8, 1, 1, 1), 1000, 1, 4, False) for dp in (1, 2, 4, 8, 16)]
    first, again = (draw_shaped_jobs(shapes, SNAPSHOT, 40, np.random.default_rng(1), gpu_tflops=400) for _ in range(2))
    assert [(job.gang.key, job.duration_s) for job in first] == [(job.gang.key, job.duration_s) for job in again]
    assert {job.gang.n_pods for job in first} == {1, 2, 4, 8}
    with pytest.raises(InputError, match="no shape that the cluster can hold"):
        draw_shaped_jobs(shapes[-1:], SNAPSHOT, 1, np.random.default_rng(1), gpu_tflops=400)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fabric", "card_gb_s", "tiers", "rails"),
    [
        # No public speeds of Lingjun: eight cards of 400 Gbit/s and half of that above the leaves are made up here.
        ("lingjun2023/topo.csv", 50.0, {1: TierLinks(25.0, 8), 2: TierLinks(25.0, 8)}, 8),
        # Two GPUs share a card of 25 GB/s; a leaf has 30 uplinks of 50 GB/s for 60 servers.
        ("zhejiang/links.csv", 12.5, {1: TierLinks(12.5, 30)}, 4),
    ],
)
def test_published_shapes_run_on_published_fabrics(
    fabric: str, card_gb_s: float, tiers: dict[int, TierLinks], rails: int, public_data: Path
) -> None:
    snapshot = load(public_data / fabric, gpus_per_node=8).snapshot
    shapes, notes = read_job_shapes(public_data / "job-shapes" / "shapes.json")
    assert len(shapes) > 60 and len(notes) >= 2
    assert {shape.model for shape in shapes} <= set(read_model_sizes())
    rng = np.random.default_rng(1)
    jobs = at_load(draw_shaped_jobs(shapes, snapshot, 40, rng, gpu_tflops=400), snapshot, 0.9, rng)
    network = Network(RoutedFabric.of(snapshot, card_gb_s, tiers, rails=rails))
    result = Simulation(snapshot, get_policy("volcano"), jobs, network=network).run().result()
    summary = result.summary()
    assert summary["completed"] == 40
    assert 0 < summary["slowed"] < 1
    links = result.link_frame()
    assert (links["use"] <= 1).all()
