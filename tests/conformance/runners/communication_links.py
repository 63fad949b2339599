"""Runners of the communication cases about jobs that share links.

Rates are those of the kernel. Flows in time and rotations are oracles in `tests/reference/cost`: the product has step
times of jobs instead, for whose forms there are no cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.conformance.registry import Runners
from tests.reference.cost import fluid
from tests.reference.cost.rotation import best_rotation
from tests.reference.cost.time_shifts import time_shifts as shifts_of_jobs
from tests.reference.cost.tree_fabric import RingJob, TreeFabric, ring_times
from workbench.kernels.fair_rates import fair_rates


def register(runners: Runners) -> None:
    """Enter the runners of this module."""
    paths = ("links_gb_s", "fabric", "flows")
    runners.op("maxmin_rates", "rates", given=paths, want=("rate_gb_s",))(rates)
    runners.op("maxmin_finish", "finish-times", given=paths, want=("finish_s",))(finish_times)
    ring = ("alone_s", "together_s")
    runners.op("ring_contention", "ring-collectives", given=("fabric", "jobs"), want=ring)(ring_collectives)
    iterating = ("count", "links_gb_s", "jobs")
    runners.op("iterations", "iterations", given=iterating, want=("iteration_ends_s",))(iterations)
    circle = ("perimeter", "score_unshifted", "best_score", "compatible", "best_shifts_first", "best_shift_tuples")
    runners.op("rotation", "rotation", given=("capacity_gb_s", "slot", "jobs"), want=circle)(rotation)
    runners.op("time_shifts", "time-shifts", given=("jobs", "shift_on_link"), want=("loop_free", "shift"))(time_shifts)


def assert_close(found: Mapping[str, float | None], want: Mapping[str, float | None]) -> None:
    """Compare answers by name, null being an answer."""
    assert found.keys() == want.keys()
    for name, value in want.items():
        got = found[name]
        if value is None or got is None:
            assert got is value, (name, got, value)
        else:
            assert math.isclose(got, value, rel_tol=1e-9, abs_tol=1e-12), (name, got, value)


def _fabric(given: dict[str, Any]) -> TreeFabric:
    return TreeFabric(given["parent"], given["uplink_gb_s"])


def _links(given: dict[str, Any]) -> tuple[dict[str, float], list[fluid.Flow]]:
    fabric = _fabric(given["fabric"]) if "fabric" in given else None
    links = fabric.links() if fabric else given["links_gb_s"]
    flows = []
    for flow in given["flows"]:
        assert flow.keys() <= {"id", "path", "src", "dst", "weight", "demand_gb_s", "size_gb", "start_s"}
        path = flow["path"] if "path" in flow else fabric.path(flow["src"], flow["dst"])  # type: ignore[union-attr]
        flows.append(fluid.Flow(tuple(path), flow.get("weight", 1), flow.get("demand_gb_s")))
    return links, flows


def rates(given: dict[str, Any], want: dict[str, Any]) -> None:
    links, flows = _links(given)
    number = {link: index for index, link in enumerate(links)}
    crossed = [sorted({number[link] for link in flow.path}) for flow in flows]
    start = np.cumsum([0, *map(len, crossed)])
    link = np.array([each for path in crossed for each in path], dtype=np.int32)
    found = fair_rates(
        start,
        link,
        np.ones(len(link)),
        np.array(list(links.values()), dtype=np.float64),
        weight=np.array([flow.weight for flow in flows], dtype=np.float64),
        demand=np.array([np.inf if flow.demand is None else flow.demand for flow in flows], dtype=np.float64),
    )
    found = [None if np.isinf(rate) else rate for rate in found.tolist()]
    assert_close(dict(zip((flow["id"] for flow in given["flows"]), found, strict=True)), want["rate_gb_s"])


def finish_times(given: dict[str, Any], want: dict[str, Any]) -> None:
    links, flows = _links(given)
    sizes = [(flow["size_gb"], flow.get("start_s", 0)) for flow in given["flows"]]
    found = fluid.finish_times(links, [fluid.Transfer(f, *s) for f, s in zip(flows, sizes, strict=True)])
    assert_close(dict(zip((flow["id"] for flow in given["flows"]), found, strict=True)), want["finish_s"])


def ring_collectives(given: dict[str, Any], want: dict[str, Any]) -> None:
    fabric, names = _fabric(given["fabric"]), [job["id"] for job in given["jobs"]]
    jobs = [RingJob(tuple(job["ranks"]), job["payload_gb"], job["collective"]) for job in given["jobs"]]
    alone = [ring_times(fabric, [job])[0] for job in jobs]
    assert_close(dict(zip(names, alone, strict=True)), want["alone_s"])
    assert_close(dict(zip(names, ring_times(fabric, jobs), strict=True)), want["together_s"])


def iterations(given: dict[str, Any], want: dict[str, Any]) -> None:
    jobs = []
    for job in given["jobs"]:
        assert job.keys() <= {"id", "compute_s", "flows", "start_s"}
        flows = tuple((fluid.Flow(tuple(flow["path"])), flow["size_gb"]) for flow in job["flows"])
        jobs.append(fluid.IteratingJob(job["compute_s"], flows, job.get("start_s", 0)))
    found = fluid.iteration_ends(given["links_gb_s"], jobs, given["count"])
    assert dict(zip((job["id"] for job in given["jobs"]), found, strict=True)) == want["iteration_ends_s"]


def rotation(given: dict[str, Any], want: dict[str, Any]) -> None:
    jobs = [(job["period"], [tuple(phase) for phase in job["phases"]]) for job in given["jobs"]]
    assert best_rotation(given["capacity_gb_s"], given["slot"], jobs) == want


def time_shifts(given: dict[str, Any], want: dict[str, Any]) -> None:
    found = shifts_of_jobs({job["id"]: job["period"] for job in given["jobs"]}, given["shift_on_link"])
    assert (found is not None) == want["loop_free"]
    assert found == want["shift"]
