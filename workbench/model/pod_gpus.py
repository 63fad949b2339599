"""`split_gpus`: choose GPUs on one machine for several pods of a job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from workbench.errors import CapacityError, InputError, named_arguments
from workbench.kernels.bottleneck import MAX_SPLIT_DEVICES, BottleneckSolver
from workbench.kernels.gpu_sets import indices_of, mask_of
from workbench.kernels.two_pods import split_in_two
from workbench.model.bandwidth import BandwidthMatrix, Symmetric
from workbench.model.best_gpus import asked_masks, finite_or_none
from workbench.model.counted import counted
from workbench.model.gpu_ties import solve_by_numa, split_by_numa
from workbench.model.links import suspicious_links

__all__ = ["PodGpus", "PodObjective", "split_gpus"]

PodObjective = Literal["union", "per-pod"]


@dataclass(frozen=True)
class PodGpus:
    """Result of `split_gpus`: the GPUs of each of several pods on one machine.

    Attributes
    ----------
    pods : tuple of tuple of int
        GPUs of each pod, in the order of the requested sizes; empty when too few are free.
    bottlenecks_gb_s : tuple of float
        Bottleneck of each pod's own GPUs; infinity for a pod of one GPU.
    union_bottleneck_gb_s : float
        Smallest pair weight among the GPUs of all pods together; infinity for one GPU.
    objective : str
        ``union`` or ``per-pod``.
    proved : str
        What is proved optimal: ``all`` (all that the objective asks for) or ``union and slowest pod`` (for two pods on
        a machine of more than 16 GPUs).
    n_free : int
        Number of GPUs that could be chosen.
    """

    pods: tuple[tuple[int, ...], ...]
    bottlenecks_gb_s: tuple[float, ...]
    union_bottleneck_gb_s: float
    objective: str
    proved: str
    matrix: BandwidthMatrix
    n_free: int

    @property
    def gpus(self) -> tuple[int, ...]:
        """GPUs of all pods together, ascending."""
        return tuple(sorted(gpu for pod in self.pods for gpu in pod))

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON-ready dict, the output of `workbench gpus --pods -o json`; infinity becomes None."""
        return {
            "pods": [list(pod) for pod in self.pods],
            "pod_bottlenecks_gb_s": [finite_or_none(value) for value in self.bottlenecks_gb_s],
            "gpus": list(self.gpus),
            "bottleneck_gb_s": finite_or_none(self.union_bottleneck_gb_s),
            "objective": self.objective,
            "proved": self.proved,
            "suspicious_links": [doubt.to_dict() for doubt in suspicious_links(self.matrix)],
            **self.matrix.near(self.gpus),
        }


@named_arguments
def split_gpus(
    matrix: BandwidthMatrix | npt.ArrayLike,
    pods: Sequence[int],
    free: Iterable[int] | None = None,
    require: Iterable[int] | None = None,
    avoid: Iterable[int] | None = None,
    symmetric: Symmetric = "min",
    objective: PodObjective = "union",
) -> PodGpus:
    """Choose GPUs for several pods that share a machine, and divide them among the pods.

    Returns PodGpus: with no pod in it when too few GPUs are free. Ties: ``union`` as docs/decisions.md, decision 1 for
    the set; then pods by falling size, equal ones in the order given, get the lexicographically smallest sets. Where
    the NUMA nodes are known, the fewest of them summed over the pods come first (machines of at most 16 GPUs). Source:
    Koordinator proposal "GPU topology-aware scheduling"; the two objectives in docs/reference/gpu-topology.md, section
    A4.

    Parameters
    ----------
    matrix : BandwidthMatrix or array_like of shape (n, n)
        Bandwidth in GB/s.
    pods : sequence of int
        GPUs per pod.
    free, require, avoid, symmetric
        As in `workbench.model.best_gpus.best_gpus`; `require` binds the union, and goes with that objective only.
    objective : {"union", "per-pod"}
        ``union`` (the Koordinator document's: one ring over all pods): the slowest pair of all GPUs together first,
        then the ascending list of the pods' own bottlenecks, lexicographically. ``per-pod`` (tensor parallel inside a
        pod, little traffic between pods): the ascending list of the pods' own bottlenecks over every choice of GPUs,
        regardless of the links between pods.

    Raises
    ------
    InputError
        No pod, a size below 1, more GPUs than the machine has, `require` with ``per-pod``, an unknown objective; as
        `best_gpus` for the others.
    CapacityError
        More than 16 GPUs to choose from, and three pods or the objective ``per-pod``.

    Examples
    --------
    >>> import workbench as wb
    >>> pairs = [[0, 48, 12, 12], [48, 0, 12, 12], [12, 12, 0, 48], [12, 12, 48, 0]]
    >>> [sorted(pod) for pod in wb.split_gpus(pairs, [2, 2]).pods]
    [[0, 1], [2, 3]]
    """
    bandwidth = matrix if isinstance(matrix, BandwidthMatrix) else BandwidthMatrix(matrix)  # type: ignore[arg-type]
    usable, required = _checked(bandwidth, pods, objective, free, require, avoid)
    n_free = usable.bit_count()
    if n_free < sum(pods):
        return PodGpus((), (), 0.0, objective, "all", bandwidth, n_free)
    proved = "all"
    if n_free <= MAX_SPLIT_DEVICES:
        masks = _in_tables(bandwidth, pods, usable, required, symmetric, objective)
    elif objective == "union" and len(pods) <= 2:
        union = solve_by_numa(bandwidth, usable, sum(pods), required, symmetric, max_ties=1).mask
        masks = [union] if len(pods) == 1 else list(_two(bandwidth, union, pods, symmetric))
        proved = "all" if len(pods) == 1 else "union and slowest pod"
    else:
        raise CapacityError(
            f"{bandwidth.source}: {counted(len(pods), 'pod')}, objective {objective}, "
            f"{counted(n_free, 'free GPU')}: exact up to {MAX_SPLIT_DEVICES} free GPUs, above that for two pods with "
            "the objective union"
        )
    weights = bandwidth.pair_weights_gb_s(symmetric)
    return PodGpus(
        pods=tuple(indices_of(mask) for mask in masks),
        bottlenecks_gb_s=tuple(_bottleneck(weights, mask) for mask in masks),
        union_bottleneck_gb_s=_bottleneck(weights, sum(masks)),
        objective=objective,
        proved=proved,
        matrix=bandwidth,
        n_free=n_free,
    )


def _checked(
    bandwidth: BandwidthMatrix,
    pods: Sequence[int],
    objective: str,
    free: Iterable[int] | None,
    require: Iterable[int] | None,
    avoid: Iterable[int] | None,
) -> tuple[int, int]:
    """Check the arguments of `split_gpus`; returns the masks of the GPUs that may and that must be chosen."""
    if not pods or min(pods) < 1:
        raise InputError("not sizes of pods", source="pods", got=str(list(pods)), expected="one or more, each >= 1")
    if objective not in ("union", "per-pod"):
        raise InputError("unknown objective", source="objective", got=repr(objective), expected="union or per-pod")
    if sum(pods) > len(bandwidth):
        got, expected = f"{counted(sum(pods), 'GPU')} in all", f"at most {len(bandwidth)}"
        raise InputError("the pods do not fit the machine", source=bandwidth.source, got=got, expected=expected)
    usable, required = asked_masks(bandwidth, sum(pods), free, require, avoid)
    if required and objective == "per-pod":
        expected = "the objective union"
        raise InputError("required GPUs bind the union only", source="require", got="per-pod", expected=expected)
    return usable, required


def _in_tables(
    bandwidth: BandwidthMatrix,
    pods: Sequence[int],
    usable: int,
    required: int,
    symmetric: Symmetric,
    objective: PodObjective,
) -> list[int]:
    """Choose the GPUs of each pod where at most 16 GPUs may be used; returns one GPU bit mask per pod.

    `usable` and `required` are masks of the GPUs that may and that must be chosen. On a machine of more than 16 GPUs
    the usable ones are renumbered for the search and the result is translated back.
    """
    solver, names = bandwidth.solver(symmetric), list(range(len(bandwidth)))
    if objective == "union" and len(bandwidth) <= MAX_SPLIT_DEVICES:
        return list(split_by_numa(bandwidth, usable, pods, required, symmetric).masks)
    if len(bandwidth) > MAX_SPLIT_DEVICES:
        names = list(indices_of(usable))
        solver = BottleneckSolver(bandwidth.pair_weights_gb_s(symmetric)[np.ix_(names, names)])
    place = {gpu: i for i, gpu in enumerate(names)}
    free, must = (mask_of(place[gpu] for gpu in indices_of(mask)) for mask in (usable, required))
    if objective == "union":
        masks = list(solver.group(free, pods, must, max_splits=1).masks)
    else:
        # The GPUs that stay free are pods of one: their bottleneck is infinite and never decides.
        left = free.bit_count() - sum(pods)
        masks = solver.split(free, [*pods, *[1] * left])[: len(pods)]
    return [mask_of(names[i] for i in indices_of(mask)) for mask in masks]


def _two(bandwidth: BandwidthMatrix, union: int, pods: Sequence[int], symmetric: Symmetric) -> tuple[int, int]:
    weights = bandwidth.pair_weights_gb_s(symmetric)
    if pods[0] >= pods[1]:
        return split_in_two(weights, union, pods[0])
    second, first = split_in_two(weights, union, pods[1])
    return first, second


def _bottleneck(weights: npt.NDArray[np.float64], mask: int) -> float:
    gpus = indices_of(mask)
    return float(weights[np.ix_(gpus, gpus)].min())
