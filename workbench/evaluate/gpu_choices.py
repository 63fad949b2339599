"""`gpu_choices`: the GPUs that each registered GPU policy would choose on one machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.cancel import check
from workbench.errors import InputError, WorkbenchError
from workbench.kernels.gpu_sets import indices_of, mask_of
from workbench.model.bandwidth import BandwidthMatrix, Symmetric
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.policies import get_gpu_policy, list_policies
from workbench.policies.gpu.base import NodeGpus

__all__ = ["PolicyChoice", "gpu_choices", "set_bottleneck_gb_s", "slowest_of"]


@dataclass(frozen=True)
class PolicyChoice:
    """The GPUs that one GPU policy chooses for one pod on a machine.

    `policy`: name of the GPU policy. `gpus` (tuple of int): chosen GPUs, ascending; empty if the policy refuses.
    `bottleneck_gb_s`: bottleneck of the chosen GPUs; infinity for one GPU, 0 if the policy refuses. `notices` (tuple of
    Notice): reasons of a refusal, or warnings of the policy.
    """

    policy: str
    gpus: tuple[int, ...]
    bottleneck_gb_s: float
    notices: tuple[Notice, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The choice as a JSON-ready dict; infinity becomes None."""
        value = None if np.isinf(self.bottleneck_gb_s) else self.bottleneck_gb_s
        notices = [notice.to_dict() for notice in self.notices]
        return {"policy": self.policy, "gpus": list(self.gpus), "bottleneck_gb_s": value, "notices": notices}


def gpu_choices(
    matrix: BandwidthMatrix, k: int, free: Iterable[int] | None = None, symmetric: Symmetric = "min"
) -> tuple[PolicyChoice, ...]:
    """Ask every registered GPU policy for k GPUs of one machine.

    `k`: GPUs of one pod, 1 <= k <= n. `free`: GPUs that may be used; all by default. `symmetric` ({"min", "max",
    "mean"}): direction rule for measuring the bottleneck of a choice; the choices themselves follow the policies' own
    rules and default parameters. Returns: one choice per policy, sorted by name. A policy that fails or refuses has an
    empty set and a notice with the reason. Raises InputError: k below 1 or above the machine's size, a GPU number out
    of range.
    """
    n = len(matrix)
    if not 1 <= k <= n:
        raise InputError("k does not fit the machine", source=matrix.source, got=f"k={k}", expected=f"1 to {n} GPUs")
    numbers = range(n) if free is None else sorted(set(free))
    if numbers and not (numbers[0] >= 0 and numbers[-1] < n):
        raise InputError("no such GPU", source="free", got=f"{numbers[0]} to {numbers[-1]}", expected=f"0 to {n - 1}")
    gpus = NodeGpus(mask_of(numbers), matrix)
    names = [info.name for info in list_policies() if info.kind == "gpu"]
    return tuple(_ask(name, gpus, matrix, k, symmetric) for name in names)


def _ask(name: str, gpus: NodeGpus, matrix: BandwidthMatrix, k: int, symmetric: Symmetric) -> PolicyChoice:
    check()
    try:
        policy = get_gpu_policy(name)
        if gpus.free.bit_count() < k:
            left = gpus.free.bit_count()
            return _refused(
                name,
                Notice("insufficient", counted(left, "GPU is free", "GPUs are free"), numbers={"count": left}),
            )
        masks = policy.choose(gpus, (k,)) if policy.fits(gpus, (k,)) else None
        warnings = tuple(policy.warnings([(gpus, (k,), 1)]))
    except WorkbenchError as error:
        return _refused(name, Notice("policy-failed", str(error)))
    except Exception as error:  # a policy of another package must not take the others' answers away
        return _refused(name, Notice("policy-failed", f"{type(error).__name__}: {error}"))
    if masks is None:
        return _refused(name, Notice("refused", f"refuses {k} of these GPUs", numbers={"count": k}))
    chosen = indices_of(masks[0])
    return PolicyChoice(name, chosen, set_bottleneck_gb_s(matrix, chosen, symmetric), warnings)


def _refused(name: str, why: Notice) -> PolicyChoice:
    return PolicyChoice(name, (), 0.0, (why,))


def set_bottleneck_gb_s(matrix: BandwidthMatrix, gpus: Iterable[int], symmetric: Symmetric = "min") -> float:
    """Bottleneck bandwidth of a set of GPUs: the smallest weight of any pair (docs/decisions.md, decision 1).

    Infinity for one GPU.

    `symmetric` ({"min", "max", "mean"}): how the two directions of a pair become one weight.
    """
    inside = list(gpus)
    return float(matrix.pair_weights_gb_s(symmetric)[np.ix_(inside, inside)].min()) if inside else 0.0


def slowest_of(matrix: BandwidthMatrix, gpus: Iterable[int], symmetric: Symmetric = "min") -> tuple[int, int] | None:
    """The pair of GPUs with the smallest weight in a set, ascending; None if the set has fewer than two GPUs.

    Ties: lowest indices.

    `symmetric` ({"min", "max", "mean"}): how the two directions of a pair become one weight.
    """
    inside = sorted(gpus)
    if len(inside) < 2:
        return None
    block = matrix.pair_weights_gb_s(symmetric)[np.ix_(inside, inside)]
    i, j = np.unravel_index(int(block.argmin()), block.shape)
    return inside[int(i)], inside[int(j)]
