"""Runner of the GPU cases (`cases/gpu`): best sets by `workbench.best_gpus` and the matrix's solver."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import workbench
from tests.conformance.registry import Runners
from tests.conformance.runners import gpu_field, koordinator_devices, koordinator_document, koordinator_network
from workbench.kernels.gpu_sets import indices_of, mask_of

RUNNERS = Runners("gpu")
gpu_field.register(RUNNERS)
koordinator_devices.register(RUNNERS)
koordinator_document.register(RUNNERS)
koordinator_network.register(RUNNERS)


@RUNNERS.op(
    "document_bottleneck",
    "best-subsets",
    given=("matrix", "symmetrise", "available", "k", "required"),
    want=("bottleneck", "optimal_subsets", "count"),
)
def best_subsets(given: dict[str, Any], want: dict[str, Any]) -> None:
    found = workbench.best_gpus(
        given["matrix"],
        given["k"],
        free=given["available"],
        require=given["required"],
        symmetric=given["symmetrise"],
        all_ties=True,
    )
    assert_bandwidth(found.bottleneck_gb_s, want["bottleneck"], given["symmetrise"])
    assert as_sets(found.ties) == as_sets(want["optimal_subsets"])
    assert found.optimal_sets == want["count"]
    assert found.gpus in found.ties
    assert found.exact


@RUNNERS.op("document_bottleneck", "evaluate", given=("matrix", "symmetrise", "subset"), want=("bottleneck",))
def evaluate(given: dict[str, Any], want: dict[str, Any]) -> None:
    subset = given["subset"]
    found = workbench.best_gpus(
        given["matrix"], len(subset), free=subset, require=subset, symmetric=given["symmetrise"]
    )
    assert found.gpus == tuple(sorted(subset))
    assert_bandwidth(found.bottleneck_gb_s, want["bottleneck"], given["symmetrise"])


@RUNNERS.op(
    "document_bottleneck",
    "group-split",
    given=("matrix", "symmetrise", "available", "pods"),
    want=("union_bottleneck", "union_optimal_subsets", "pod_bottlenecks_ascending", "optimal_splits"),
)
def group_split(given: dict[str, Any], want: dict[str, Any]) -> None:
    symmetric, pods = given["symmetrise"], given["pods"]
    matrix = workbench.BandwidthMatrix(given["matrix"])
    union = workbench.best_gpus(matrix, sum(pods), free=given["available"], symmetric=symmetric, all_ties=True)
    assert_bandwidth(union.bottleneck_gb_s, want["union_bottleneck"], symmetric)
    assert as_sets(union.ties) == as_sets(want["union_optimal_subsets"])

    found = matrix.solver(symmetric).group(mask_of(given["available"]), pods, max_splits=10**6)
    assert found.optimal_splits_complete
    assert_bandwidth(found.union_bottleneck_gb_s, want["union_bottleneck"], symmetric)
    for got, wanted in zip(sorted(found.bottlenecks_gb_s), want["pod_bottlenecks_ascending"], strict=True):
        assert_bandwidth(got, wanted, symmetric)
    splits = [(indices_of(union), [indices_of(pod) for pod in pods]) for union, pods in found.optimal_splits]
    assert as_splits(splits) == as_splits((entry["union"], entry["split"]) for entry in want["optimal_splits"])
    assert (found.union, found.masks) in found.optimal_splits


def as_sets(subsets: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    return sorted(tuple(sorted(subset)) for subset in subsets)


def as_splits(splits: Iterable[tuple[Sequence[int], Sequence[Sequence[int]]]]) -> list[object]:
    """Which of two equal pods gets which set is not pinned."""
    return sorted((tuple(sorted(union)), as_sets(split)) for union, split in splits)


def assert_bandwidth(got: float, want: float | None, symmetric: str) -> None:
    """Exact for min and max; to 1e-9 for mean, whose halves may round. None: one GPU, no pair, infinity."""
    if want is None:
        assert got == math.inf
    elif symmetric == "mean":
        assert math.isclose(got, want, rel_tol=0, abs_tol=1e-9)
    else:
        assert got == want
