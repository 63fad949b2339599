"""`best_gpus`: choose the k GPUs of one machine whose slowest link is fastest, as the command `workbench gpus` does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError, named_arguments
from workbench.kernels.gpu_sets import BestSubset, indices_of, mask_of
from workbench.kernels.subsets import device_lists, words_of_masks
from workbench.model.allowed_sets import AllowedSets, best_allowed
from workbench.model.bandwidth import BandwidthMatrix, Symmetric
from workbench.model.counted import counted
from workbench.model.display import Displayed
from workbench.model.gpu_annotation import chosen_environment
from workbench.model.gpu_ties import solve_by_numa
from workbench.model.links import suspicious_links
from workbench.model.value import Value

__all__ = ["BestGpus", "asked_masks", "best_gpus", "finite_or_none"]


@dataclass(frozen=True)
class BestGpus(Value, Displayed):
    """Result of `best_gpus`: the chosen GPUs, their bottleneck bandwidth, and what has been proved about them.

    Attributes
    ----------
    gpus : tuple of int
        The chosen set, ascending; empty when fewer than k GPUs are free.
    bottleneck_gb_s : float
        Smallest pair weight inside the set; infinity for one GPU.
    objective : str
        ``raw`` or ``link-class``: what was maximised first.
    ties : tuple of tuple of int
        Sets with exactly the same value in lexicographic order, the chosen set included; the first 100 unless
        `all_ties` was set.
    optimal_sets : int
        Number of sets with the best value; a lower bound when `optimal_sets_complete` is false.
    upper_bound_gb_s : float
        Upper bound on the bottleneck of any k free GPUs, found without the search.
    exact : bool
        The value is proved optimal; always True if a set was chosen.
    tie_break_complete : bool
        False when the budget for choosing among ties ended first.
    bottleneck_pair : tuple of int, optional
        The slowest pair of the chosen set; None for one GPU.
    why_none : str
        A sentence saying why no allowed set could be chosen; empty if one was, or if too few GPUs are free.

    Examples
    --------
    >>> import workbench as wb
    >>> pairs = [[0, 48, 12, 12], [48, 0, 12, 12], [12, 12, 0, 48], [12, 12, 48, 0]]
    >>> best = wb.best_gpus(pairs, 2, free=[0, 2, 3])
    >>> best.gpus, float(best.bottleneck_gb_s)
    ((2, 3), 48.0)
    """

    gpus: tuple[int, ...]
    bottleneck_gb_s: float
    objective: str
    ties: tuple[tuple[int, ...], ...]
    optimal_sets: int
    optimal_sets_complete: bool
    upper_bound_gb_s: float
    exact: bool
    tie_break_complete: bool
    bottleneck_pair: tuple[int, int] | None
    matrix: BandwidthMatrix
    n_free: int
    why_none: str = ""

    @classmethod
    def none(cls, matrix: BandwidthMatrix, objective: str, n_free: int, why: str = "") -> BestGpus:
        """The result where no set can be chosen: too few GPUs are free, or, said by `why`, no allowed set is.

        `objective`: `raw` or `link-class`, what was to be maximised; `n_free`: how many GPUs might be used.
        """
        return cls((), 0.0, objective, (), 0, True, 0.0, False, True, None, matrix, n_free, why)

    @classmethod
    def of(cls, found: BestSubset, matrix: BandwidthMatrix, objective: str, n_free: int) -> BestGpus:
        """The result of a search that found a set.

        `objective`: `raw` or `link-class`, what was maximised first; `n_free`: how many GPUs the search might use.
        """
        return cls(
            gpus=indices_of(found.mask),
            bottleneck_gb_s=found.bottleneck_gb_s,
            objective=objective,
            ties=tuple(map(tuple, device_lists(words_of_masks(found.ties)).tolist())),
            optimal_sets=found.optimal_sets,
            optimal_sets_complete=found.optimal_sets_complete,
            upper_bound_gb_s=found.upper_bound_gb_s,
            exact=found.exact,
            tie_break_complete=found.tie_break_complete,
            bottleneck_pair=found.pair,
            matrix=matrix,
            n_free=n_free,
        )

    @property
    def shortage(self) -> str:
        """A sentence saying why no set of GPUs was chosen; empty if one was."""
        if self.gpus or self.why_none:
            return self.why_none
        return f"no such set: only {self.n_free} of {counted(len(self.matrix), 'GPU is', 'GPUs are')} free"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that give a program the chosen GPUs (`workbench.model.gpu_annotation`); empty without a set."""
        return chosen_environment(self.gpus, self.matrix.labels)

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON-ready dict: the output of `workbench gpus -o json` (docs/commands.md).

        ``suspicious_links`` are those of the whole machine (`workbench.model.links`); ``near_nics`` and ``numa_nodes``
        are told where the matrix knows its machine's parts.
        """
        return {
            "gpus": list(self.gpus),
            "environment": self.environment,
            "bottleneck_gb_s": finite_or_none(self.bottleneck_gb_s),
            "objective": self.objective,
            "ties": [list(tie) for tie in self.ties],
            "optimal_sets": self.optimal_sets if self.optimal_sets_complete else f">{self.optimal_sets}",
            "upper_bound_gb_s": finite_or_none(self.upper_bound_gb_s),
            "exact": self.exact,
            "tie_break_complete": self.tie_break_complete,
            "bottleneck_pair": list(self.bottleneck_pair) if self.bottleneck_pair else None,
            "suspicious_links": [doubt.to_dict() for doubt in suspicious_links(self.matrix)],
            **self.matrix.near(self.gpus),
        }


@named_arguments
def best_gpus(
    matrix: BandwidthMatrix | npt.ArrayLike,
    k: int,
    free: Iterable[int] | None = None,
    require: Iterable[int] | None = None,
    avoid: Iterable[int] | None = None,
    symmetric: Symmetric = "min",
    link_classes: bool = False,
    all_ties: bool = False,
    allowed: Iterable[Iterable[int]] | None = None,
    modules: Iterable[Iterable[int]] | None = None,
) -> BestGpus:
    """Choose the k GPUs whose slowest pair is as fast as possible.

    Returns BestGpus: with no GPU in it when fewer than k are free, or no allowed set is (a fact about the machine's
    state, not an error). Ties: docs/decisions.md, decision 1; by NUMA node first where the matrix knows it. Source:
    Koordinator proposal "GPU topology-aware scheduling", "Pick GPUs of Node"; docs/decisions.md, decision 1.

    Parameters
    ----------
    matrix : BandwidthMatrix or array_like of shape (n, n)
        Bandwidth in GB/s.
    k : int
        How many GPUs, 1 <= k <= n.
    free : iterable of int, optional
        GPUs that may be used; all by default.
    require, avoid : iterable of int, optional
        GPUs that must be in the set, and GPUs that must not.
    symmetric : {"min", "max", "mean"}
        How the two directions of a pair become one weight.
    link_classes : bool
        Maximise the link class first and the measured value second, because measurement noise should not decide.
    all_ties : bool
        List every tie instead of the first 100.
    allowed : iterable of iterable of int, optional
        The only sets that may be chosen, such as the partitions of a fabric manager; all by default.
    modules : iterable of iterable of int, optional
        GPUs that are taken together or not at all, such as the two dies of an Ascend 910C; with k = 1 a part of a
        module may be taken.

    Raises
    ------
    InputError
        k below 1 or above the machine's size, a GPU number out of range, a required GPU that is not free or avoided,
        more required GPUs than k; an empty allowed set, a GPU twice in a set, or in two modules.
    CapacityError
        More than 50,000 sets of k GPUs consist of modules.

    Examples
    --------
    >>> import workbench as wb
    >>> pairs = [[0, 48, 12, 12], [48, 0, 12, 12], [12, 12, 0, 48], [12, 12, 48, 0]]
    >>> wb.best_gpus(pairs, 2, free=[0, 2, 3]).gpus
    (2, 3)
    """
    bandwidth = matrix if isinstance(matrix, BandwidthMatrix) else BandwidthMatrix(matrix)  # type: ignore[arg-type]
    usable, required = asked_masks(bandwidth, k, free, require, avoid)
    objective, n_free = "link-class" if link_classes else "raw", usable.bit_count()
    if n_free < k:
        return BestGpus.none(bandwidth, objective, n_free)
    limits = [
        AllowedSets.of(len(bandwidth), sets, together)
        for sets, together in ((allowed, False), (modules, True))
        if sets is not None
    ]
    max_ties = None if all_ties else 100
    found: BestSubset | str = (
        best_allowed(bandwidth, k, limits, usable, required, symmetric, link_classes, max_ties)
        if limits
        else solve_by_numa(bandwidth, usable, k, required, symmetric, link_classes, max_ties)
    )
    if isinstance(found, str):
        return BestGpus.none(bandwidth, objective, n_free, found)
    return BestGpus.of(found, bandwidth, objective, n_free)


def asked_masks(
    bandwidth: BandwidthMatrix,
    k: int,
    free: Iterable[int] | None,
    require: Iterable[int] | None,
    avoid: Iterable[int] | None,
) -> tuple[int, int]:
    """Check the arguments of `best_gpus` and turn the GPU lists into bit masks (bit i stands for GPU i).

    Raises InputError: `k` does not fit the machine, a GPU number is out of range, or a required GPU is not free or is
    avoided.

    `k`: GPUs wanted. `free`: GPUs that are free; None: all. `require`: GPUs that must be chosen. `avoid`: GPUs that
    must not be chosen.

    Returns
    -------
    usable, required : int
        Masks of the GPUs that may be chosen and of those that must be.
    """
    n = len(bandwidth)
    if not 1 <= k <= n:
        raise InputError("k does not fit the machine", source=bandwidth.source, got=f"k={k}", expected=f"1 to {n} GPUs")
    free_mask = mask_of(_checked("free", free, n)) if free is not None else (1 << n) - 1
    required = mask_of(_checked("require", require or (), n))
    avoided = mask_of(_checked("avoid", avoid or (), n))
    usable = free_mask & ~avoided
    if required & ~usable:
        lost = indices_of(required & ~usable)
        raise InputError(
            "required GPUs are not free",
            source="require",
            got=_names(lost),
            expected="GPUs that are free and not avoided",
        )
    if required.bit_count() > k:
        raise InputError(
            "more GPUs are required than asked for",
            source="require",
            got=str(required.bit_count()),
            expected=f"at most k={k}",
        )
    return usable, required


def _checked(name: str, gpus: Iterable[int], n: int) -> list[int]:
    numbers = list(gpus)
    for gpu in numbers:
        if not isinstance(gpu, int | np.integer) or isinstance(gpu, bool) or not 0 <= gpu < n:
            raise InputError("no such GPU", source=name, got=repr(gpu), expected=f"0 to {n - 1}")
    return numbers


def _names(gpus: Iterable[int]) -> str:
    return ",".join(str(g) for g in gpus)


def finite_or_none(value: float) -> float | None:
    """The bottleneck as JSON has it: None in place of infinity, which means that there is no pair of GPUs."""
    return None if value == float("inf") else value
