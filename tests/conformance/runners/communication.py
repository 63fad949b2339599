"""Runners of the communication cases (`cases/communication`) about costs; `communication_links` has the others.

Formulas that the product does not use are oracles in `tests/reference/cost`.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.conformance.registry import NotUnderstood, Runners
from tests.conformance.runners import communication_links
from tests.conftest import PUBLIC_DATA
from tests.reference.cost import nccl, simai, simulator, textbook
from workbench.evaluate import cost

RUNNERS = Runners("communication")
communication_links.register(RUNNERS)

#: Kind of traffic -> function of `cost`, and the names of its arguments where the case has others.
_TRAFFIC = {
    "data-parallel": (cost.data_parallel_bytes, {"dp": "degree"}),
    "zero1": (cost.data_parallel_bytes, {"dp": "degree"}),
    "fsdp": (cost.data_parallel_bytes, {"dp": "degree"}),
    "tensor-parallel": (cost.tensor_parallel_bytes, {"tp": "degree"}),
    "sequence-parallel": (cost.tensor_parallel_bytes, {"tp": "degree"}),
    "pipeline": (cost.pipeline_bytes, {}),
    "expert-parallel": (cost.expert_parallel_bytes, {"ep": "degree"}),
}


def close(found: float, wanted: float, tolerance: float = 1e-9) -> None:
    """Compare as the README of the cases says."""
    assert math.isclose(found, wanted, rel_tol=tolerance, abs_tol=1e-12), (found, wanted)


@RUNNERS.op(
    "collective_cost",
    "collective-cost",
    given=("algorithm", "bytes", "ranks", "alpha_s", "beta_s_per_byte", "gamma_s_per_byte", "chunks", "inner", "outer"),
    want=("time_s",),
)
def collective_cost(given: dict[str, Any], want: dict[str, Any]) -> None:
    algorithm, size = given["algorithm"], given["bytes"]
    if algorithm in textbook.HIERARCHICAL:
        inner, outer = textbook.LinkLevel(**given["inner"]), textbook.LinkLevel(**given["outer"])
        longest, serial = textbook.hierarchical_time(algorithm, size, inner, outer)
        assert longest <= serial
        close(serial, want["time_s"])
        return
    level = textbook.LinkLevel(given.get("ranks", 2), given["alpha_s"], given["beta_s_per_byte"])
    found = textbook.collective_time(algorithm, size, level, given.get("gamma_s_per_byte", 0), given.get("chunks", 1))
    close(found, want["time_s"])


@RUNNERS.op(
    "bus_bandwidth",
    "bus-bandwidth",
    given=("collective", "ranks", "bytes", "time_s"),
    want=("algbw_gb_s", "busbw_gb_s"),
)
def bus_bandwidth(given: dict[str, Any], want: dict[str, Any]) -> None:
    algorithm = given["bytes"] / given["time_s"] / 1e9
    close(algorithm, want["algbw_gb_s"])
    close(algorithm * cost.bus_factor(given["collective"], given["ranks"]), want["busbw_gb_s"])


@RUNNERS.op(
    "nccl_model",
    "nccl-model",
    given=(
        *("architecture", "cpu", "ranks", "nodes", "channels", "bw_intra_gb_s", "bw_inter_gb_s", "latency_inter_us"),
        *("link", "ll128", "tree_pattern", "collective", "bytes"),
    ),
    want=("model", "choice"),
)
def nccl_model(given: dict[str, Any], want: dict[str, Any]) -> None:
    system = {key: value for key, value in given.items() if key not in {"op", "collective", "bytes", "tree_pattern"}}
    plain = given.get("tree_pattern") == "tree"
    found = nccl.predict(nccl.NcclSystem(**system, plain_tree=plain), given["collective"], given["bytes"])
    assert found.keys() == want["model"].keys()
    for key, wanted in want["model"].items():
        for name, value in wanted.items():
            close(getattr(found[key], name), value, 1e-4)
    assert nccl.choose(found) == want["choice"]


@RUNNERS.op(
    "collective_simulator",
    "collective-time",
    given=("backend", "network", "dimensions", "algorithm_per_dimension", "settings", "collective", "bytes"),
    want=("time_ns",),
)
def collective_time(given: dict[str, Any], want: dict[str, Any]) -> None:
    backends = {"congestion-unaware": False, "congestion-aware": True}
    if given["backend"] not in backends:
        raise NotUnderstood(f"backend {given['backend']!r}")
    dimensions = [
        simulator.Dimension(**dimension, algorithm=algorithm)
        for dimension, algorithm in zip(given["dimensions"], given["algorithm_per_dimension"], strict=True)
    ]
    named = dict(given["settings"])
    named["active_chunks"] = named.pop("active_chunks_per_dimension")
    settings = simulator.SimulatorSettings(**named)
    found = [
        simulator.simulated_time_ns(dimensions, given["collective"], size, settings, backends[given["backend"]])
        for size in given["bytes"]
    ]
    # The rules reproduce every run of the simulator, so that more is asked here than the README of the cases does.
    assert found == want["time_ns"]


@RUNNERS.op(
    "simai_model",
    "simai-bus-bandwidth",
    given=("gpu", "nic", "gpus_per_node", "nics_per_node", "nodes", "collective"),
    want=("bus_bandwidth",),
)
def simai_bus_bandwidth(given: dict[str, Any], want: dict[str, Any]) -> None:
    close(simai.bus_bandwidth(**{key: value for key, value in given.items() if key != "op"}), want["bus_bandwidth"])


@RUNNERS.op("simai_model", "simai-ratio", given=("table", "nodes", "bytes"), want=("ratio",))
def simai_ratio(given: dict[str, Any], want: dict[str, Any]) -> None:
    path = PUBLIC_DATA / "simai" / f"{given['table']}_ratio.csv"
    if not path.exists():
        pytest.skip(f"{path} is not there: the tables are public data that is not committed")
    table = simai.RatioTable.parse(path.read_text(encoding="utf-8"))
    found = table.ratio(given["bytes"], None if given["nodes"] == "multi" else given["nodes"])
    if want["ratio"] is None:
        assert found is None
    else:
        assert found is not None
        close(found, want["ratio"])


@RUNNERS.op(
    "traffic",
    "traffic",
    given=(
        *("kind", "parameters_per_rank", "dp", "tp", "ep", "layers", "moe_layers", "top_k", "microbatches"),
        *("micro_batch", "sequence", "hidden", "split", "bytes_per_element"),
    ),
    want=("bytes_sent_per_rank_per_step",),
)
def traffic(given: dict[str, Any], want: dict[str, Any]) -> None:
    if given["kind"] not in _TRAFFIC:
        raise NotUnderstood(f"kind {given['kind']!r}")
    function, names = _TRAFFIC[given["kind"]]
    named = {names.get(key, key): value for key, value in given.items() if key not in {"op", "kind"}}
    if given["kind"] == "fsdp":
        named["sharded"] = True
    close(function(**named), want["bytes_sent_per_rank_per_step"])  # type: ignore[operator]


@RUNNERS.op(
    "step_time",
    "step-time",
    given=(
        *("microbatches", "stages", "interleave", "forward_s", "backward_s", "tp_comm_s", "ep_comm_s", "dp_comm_s"),
        "dp_overlap",
    ),
    want=("bubble_s", "bubble_fraction", "dp_exposed_s", "step_s"),
)
def step_time(given: dict[str, Any], want: dict[str, Any]) -> None:
    step = cost.PipelineStep(**{key: value for key, value in given.items() if key not in {"op", "dp_overlap"}})
    hidden, exposed = step.both_ends()
    found = hidden if given.get("dp_overlap") == "last-backward" else exposed
    assert hidden.step_s <= exposed.step_s
    for key, value in want.items():
        close(getattr(found, key), value)
