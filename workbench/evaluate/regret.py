"""`regret`: the bandwidth that GPU policies lose against the best choice, over many states of one machine.

A state is a set of free GPUs. This module chooses the states, calls the policies and makes the statistics; the best
choice and the bottlenecks are computed in `workbench.kernels`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.cancel import ProgressOption, check, reported
from workbench.errors import InputError, InternalError, named_arguments
from workbench.evaluate.provenance import version
from workbench.kernels.gpu_sets import mask_of
from workbench.kernels.states import MAX_TABLE_DEVICES, best_bottlenecks, bottlenecks
from workbench.kernels.subsets import device_lists, words_of_masks
from workbench.model.arrays import Floats, Words
from workbench.model.bandwidth import BandwidthMatrix, Symmetric
from workbench.model.counted import counted
from workbench.model.deferred import DeferredModule
from workbench.model.display import Displayed
from workbench.model.notice import Notice
from workbench.model.value import Value
from workbench.policies import get_gpu_policy
from workbench.policies.gpu.base import GpuPolicy, NodeGpus

if TYPE_CHECKING:
    import pandas
else:
    pandas = DeferredModule("pandas")

__all__ = ["DEFAULT_POLICIES", "EVERY_STATE_UP_TO", "NEAR", "PolicyRegret", "Regret", "RegretLine", "regret"]


DEFAULT_POLICIES = ("gpu-bottleneck", "gpu-best-effort", "gpu-lowest-index")

#: Machines up to this size are asked about in every state by default: 5,110 questions for policies written in Python.
EVERY_STATE_UP_TO = 10

#: A bottleneck of at least this part of the optimum counts as near: a smaller difference than between link classes is
#: noise.
NEAR = 0.9

#: Sizes asked for on machines above `MAX_TABLE_DEVICES`.
_LARGE_SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, eq=False)
class PolicyRegret(Value):
    """The choices of one GPU policy in every state of a machine, and their bottlenecks.

    `chosen` (ndarray of shape (m, s, w), uint64): mask of the chosen GPUs for each state and size; 0 if the policy
    refuses or too few GPUs are free. `bottleneck_gb_s` (ndarray of shape (m, s), float64): bottleneck of each choice;
    NaN if the policy refuses or too few GPUs are free.
    """

    policy: str
    parameters: Mapping[str, Any]
    chosen: Words
    bottleneck_gb_s: Floats
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class RegretLine:
    """Summary of one policy's choices of k GPUs over all states of a machine with at least k free GPUs.

    Attributes
    ----------
    states : int
        Number of states with at least k free GPUs.
    refused : int
        Number of states where the policy refuses although k GPUs are free; the numbers below leave them out.
    optimal : int
        Number of states where the answer has exactly the best bottleneck.
    near : int
        Number of states where the answer has at least 90 % of the best bottleneck.
    mean_ratio, worst_ratio : float or None
        Bottleneck over the best one; None where every state is refused.
    worst_free, worst_gpus : tuple of int
        The first state with the worst ratio, and the answer there.
    """

    policy: str
    k: int
    states: int
    refused: int
    optimal: int
    near: int
    mean_ratio: float | None
    worst_ratio: float | None
    worst_free: tuple[int, ...]
    worst_gpus: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "k": self.k,
            "states": self.states,
            "refused": self.refused,
            "optimal": self.optimal,
            "near": self.near,
            "mean_ratio": self.mean_ratio,
            "worst_ratio": self.worst_ratio,
            "worst_free": list(self.worst_free),
            "worst_gpus": list(self.worst_gpus),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Regret(Value, Displayed):
    """The choices of several GPU policies on one machine beside the best choice, for many sets of free GPUs.

    Attributes
    ----------
    symmetric : {"min", "max", "mean"}
        Direction rule of the optimum and of every bottleneck in the table.
    states : ndarray of shape (m, w), uint64
        Bit mask of the free GPUs in each state, ascending.
    every_state : bool
        Whether `states` are all states of the machine, not a sample.
    sizes : tuple of int
        Numbers of GPUs that were asked for.
    optimum_gb_s : ndarray of shape (m, s), float64
        Best bottleneck of each state and size; NaN where fewer GPUs are free.
    rows : tuple of PolicyRegret
        The choices of each policy, in input order.

    Examples
    --------
    >>> import workbench as wb
    >>> pairs = [[0, 48, 12, 12], [48, 0, 12, 12], [12, 12, 0, 48], [12, 12, 48, 0]]
    >>> found = wb.regret(pairs, ["gpu-lowest-index"], sizes=[2], states=[[0, 2, 3]])
    >>> [line.worst_gpus for line in found.lines]
    [(0, 2)]
    """

    matrix: BandwidthMatrix
    symmetric: Symmetric
    states: Words
    every_state: bool
    sizes: tuple[int, ...]
    optimum_gb_s: Floats
    rows: tuple[PolicyRegret, ...]

    def __repr__(self) -> str:
        kind = "every state" if self.every_state else "sampled states"
        return (
            f"Regret({counted(len(self.matrix), 'GPU')}, {counted(len(self.states), 'state')} ({kind}), "
            f"{counted(len(self.rows), 'policy', 'policies')})"
        )

    def ratios(self, row: PolicyRegret) -> Floats:
        """Bottleneck over the best one for each state and size: float64 of shape (m, s), 1 if equal, NaN without a
        choice.
        """
        ratio = np.full(self.optimum_gb_s.shape, np.nan)
        known = ~np.isnan(row.bottleneck_gb_s)
        np.divide(
            row.bottleneck_gb_s,
            self.optimum_gb_s,
            out=ratio,
            where=known & np.isfinite(self.optimum_gb_s) & (self.optimum_gb_s > 0),
        )
        ratio[row.bottleneck_gb_s == self.optimum_gb_s] = 1.0  # also 0 and infinity, which have no quotient
        return ratio

    @cached_property
    def lines(self) -> tuple[RegretLine, ...]:
        """Summary lines, policies in input order, numbers of GPUs ascending."""
        return tuple(self._line(row, s) for row in self.rows for s in range(len(self.sizes)))

    def _line(self, row: PolicyRegret, s: int) -> RegretLine:
        possible = ~np.isnan(self.optimum_gb_s[:, s])
        ratio = self.ratios(row)[:, s]
        served = ~np.isnan(ratio)
        worst = int(np.nanargmin(ratio)) if served.any() else -1
        return RegretLine(
            policy=row.policy,
            k=self.sizes[s],
            states=int(possible.sum()),
            refused=int((possible & ~served).sum()),
            optimal=int((row.bottleneck_gb_s[:, s] == self.optimum_gb_s[:, s]).sum()),
            near=int((ratio[served] >= NEAR).sum()),
            mean_ratio=float(ratio[served].mean()) if worst >= 0 else None,
            worst_ratio=float(ratio[worst]) if worst >= 0 else None,
            worst_free=_gpus(self.states[worst]) if worst >= 0 else (),
            worst_gpus=_gpus(row.chosen[worst, s]) if worst >= 0 else (),
        )

    def to_dict(self) -> dict[str, Any]:
        """The summary and its provenance as a JSON-ready dict."""
        return {
            "version": version(),
            "matrix": {"source": self.matrix.source, "sha256": self.matrix.checksum, "gpus": len(self.matrix)},
            "symmetric": self.symmetric,
            "states": len(self.states),
            "every_state": self.every_state,
            "policies": [
                {
                    "policy": row.policy,
                    "parameters": dict(row.parameters),
                    "warnings": [each.to_dict() for each in row.warnings],
                }
                for row in self.rows
            ],
            "regret": [line.to_dict() for line in self.lines],
        }

    def to_dataframe(self) -> pandas.DataFrame:
        """The summary as a table with one row per policy and number of GPUs."""
        import pandas

        return pandas.DataFrame([line.to_dict() for line in self.lines])


@named_arguments
def regret(
    matrix: BandwidthMatrix | object,
    policies: Sequence[str | GpuPolicy] = DEFAULT_POLICIES,
    *,
    sizes: Iterable[int] | None = None,
    symmetric: Symmetric = "min",
    states: Iterable[Iterable[int]] | None = None,
    samples: int = 200,
    seed: int = 0,
    progress: ProgressOption = None,
) -> Regret:
    """Ask GPU policies for k GPUs in many states of one machine, and compare their bottlenecks with the best possible
    ones.

    Raises UnknownNameError: no such policy; InputError: a size or a GPU outside the machine, no state, no policy.

    Parameters
    ----------
    matrix : BandwidthMatrix or array_like of shape (n, n)
    policies : sequence of str or GpuPolicy
        Names as in the registry, or policies made by `get_gpu_policy`.
    sizes : iterable of int, optional
        Numbers of GPUs to choose, 1 to n; 2 to n - 1 by default, powers of two on machines of more than 16 GPUs.
    symmetric : {"min", "max", "mean"}
        How the two directions of a pair become one weight.
    states : iterable of iterables of int, optional
        Free GPUs of each state. By default every state of a machine of up to 10 GPUs; of a larger one `samples`
        random states (the number of free GPUs uniform, then which ones), from ``numpy.random.default_rng(seed)``.
    samples, seed : int
        Number of random states, and the seed that they are drawn from.
    progress : bool or callable, optional
        True: show a bar. A function is called with (policies done, number of policies, name of the next policy).

    Notes
    -----
    The optimum is the raw bottleneck of docs/decisions.md, decision 1: a table of all states up to 16 GPUs, a search
    per state above.

    Examples
    --------
    >>> import workbench as wb
    >>> pairs = [[0, 48, 12, 12], [48, 0, 12, 12], [12, 12, 0, 48], [12, 12, 48, 0]]
    >>> found = wb.regret(pairs, ["gpu-lowest-index"], sizes=[2], states=[[0, 2, 3]])
    >>> found.to_dataframe()["mean_ratio"].tolist()
    [0.25]
    """
    bandwidth = matrix if isinstance(matrix, BandwidthMatrix) else BandwidthMatrix(matrix)  # type: ignore[arg-type]
    n = len(bandwidth)
    wanted = _sizes(n, sizes)
    masks, every = _states(n, states, samples, seed)
    asked = [get_gpu_policy(policy) if isinstance(policy, str) else policy for policy in policies]
    if not asked:
        raise InputError("no policy given", source="policies", expected="names of GPU policies")
    weights = bandwidth.pair_weights_gb_s(symmetric)
    words = words_of_masks(masks, (n + 63) // 64)
    optimum = _optimum(bandwidth, symmetric, masks, words, wanted)
    rows = []
    with reported(progress) as step:
        for done, policy in enumerate(asked):
            if step is not None:
                step(done, len(asked), policy.name)
            rows.append(_ask(policy, bandwidth, weights, masks, words, wanted))
        if step is not None:
            step(len(asked), len(asked), "")
    return Regret(bandwidth, symmetric, words, every, wanted, optimum, tuple(rows))


def _sizes(n: int, sizes: Iterable[int] | None) -> tuple[int, ...]:
    if sizes is not None:
        wanted = tuple(sorted(set(sizes)))
    elif n <= MAX_TABLE_DEVICES:
        wanted = tuple(range(2, max(n, 3)))
    else:
        wanted = tuple(k for k in _LARGE_SIZES if k < n)
    if not wanted or wanted[0] < 1 or wanted[-1] > n:
        raise InputError("no such size", source="sizes", got=str(list(wanted)), expected=f"1 to {n} GPUs")
    return wanted


def _states(n: int, states: Iterable[Iterable[int]] | None, samples: int, seed: int) -> tuple[list[int], bool]:
    if states is not None:
        masks = sorted({mask_of(free) for free in states})
        if not masks or masks[-1] >> n:
            raise InputError("no state of this machine", source="states", expected=f"sets of GPUs 0 to {n - 1}")
        return masks, len(masks) >= (1 << n) - 1
    if n <= EVERY_STATE_UP_TO:
        return list(range(1, 1 << n)), True
    if samples < 1:
        raise InputError("no states", source="samples", got=str(samples), expected="at least 1")
    rng = np.random.default_rng(seed)
    drawn = {
        mask_of(rng.choice(n, size=int(count), replace=False).tolist())
        for count in rng.integers(2, n, size=samples, endpoint=True)
    }
    return sorted(drawn), False


def _optimum(
    bandwidth: BandwidthMatrix, symmetric: Symmetric, masks: list[int], words: Words, sizes: tuple[int, ...]
) -> Floats:
    weights = bandwidth.pair_weights_gb_s(symmetric)
    if len(bandwidth) <= MAX_TABLE_DEVICES:
        table = best_bottlenecks(weights)
        return np.ascontiguousarray(table[words[:, 0].astype(np.intp)][:, list(sizes)])
    choose = bandwidth.solver(symmetric).choose
    best = words_of_masks([choose(mask, k) for mask in masks for k in sizes], words.shape[1])
    best = best.reshape(len(masks), len(sizes), words.shape[1])
    return _values(weights, best, words, sizes, refused=False)


def _ask(
    policy: GpuPolicy,
    bandwidth: BandwidthMatrix,
    weights: Floats,
    masks: list[int],
    words: Words,
    sizes: tuple[int, ...],
) -> PolicyRegret:
    n_free = np.bitwise_count(words).sum(axis=1)
    chosen = np.zeros((len(masks), len(sizes), words.shape[1]), dtype=np.uint64)
    questions: list[tuple[NodeGpus, Sequence[int], int]] = []
    for s, k in enumerate(sizes):
        here = np.flatnonzero(n_free >= k)
        bulk = None
        if words.shape[1] == 1:
            bulk = policy.choose_singles(
                bandwidth, np.ascontiguousarray(words[here, 0]), np.full(len(here), k, dtype=np.int32)
            )
        if bulk is not None:
            chosen[here, s, 0] = bulk
            continue
        for i in here.tolist():
            check()
            gpus = NodeGpus(masks[i], bandwidth)
            answer = policy.choose(gpus, (k,)) if policy.fits(gpus, (k,)) else None
            if answer is not None:
                chosen[i, s] = words_of_masks(answer, words.shape[1])[0]
            questions.append((gpus, (k,), 1))
    count = np.bitwise_count(chosen).sum(axis=2)
    if (chosen & ~words[:, None, :]).any() or ((count != 0) & (count != np.array(sizes))).any():
        raise InternalError(f"{policy.name} chose GPUs that are not free, or not as many as were asked for")
    values = _values(weights, chosen, words, sizes, refused=True)
    return PolicyRegret(policy.name, policy.parameters, chosen, values, tuple(policy.warnings(questions)))


def _values(weights: Floats, chosen: Words, words: Words, sizes: tuple[int, ...], refused: bool) -> Floats:
    """Bottleneck of each chosen GPU set: float64 of shape (states, sizes).

    NaN if too few GPUs are free and, with `refused`, if the policy refused.
    """
    flat = np.ascontiguousarray(chosen.reshape(-1, words.shape[1]))
    values = bottlenecks(weights, flat).reshape(chosen.shape[:2])
    possible = np.bitwise_count(words).sum(axis=1)[:, None] >= np.array(sizes)
    values[~possible] = np.nan
    if refused:
        values[~chosen.any(axis=2)] = np.nan
    return values


def _gpus(words: Words) -> tuple[int, ...]:
    return tuple(device_lists(words.reshape(1, -1))[0].tolist())
