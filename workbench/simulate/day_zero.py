"""Fill an idle cluster with the pods of a trace, one after another; pods never end. How much can a policy allocate?

Source: the experiment of the FGD study (USENIX ATC'23), docs/fgd.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.errors import InputError
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.pod_trace import PodTrace
from workbench.model.value import Value
from workbench.policies.contract import Policy
from workbench.policies.gpu_sharing.policy import GpuSharingPolicy

if TYPE_CHECKING:
    import pandas

__all__ = ["DayZero", "DayZeroFill", "tuned_arrivals"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


def tuned_arrivals(trace: PodTrace, load: float, rng: np.random.Generator) -> Longs:
    """Draw an order in which pods of a trace arrive until they ask for `load` times the cluster's GPUs.

    `load`: GPU thousandths asked for, as a multiple of those of the cluster; above 0. Returns: ndarray of shape (a,),
    int64: positions in ``trace.gangs``: the pods in a random order, then copies of pods drawn at random if they ask for
    too little; if they ask for too much, pods drawn at random are left out. Raises InputError: no pod of the trace asks
    for a GPU, or the load is not above 0.

    Notes
    -----
    A copy is added until its thousandths per GPU, not those of all its GPUs, would pass the target: the rule of the
    study, whose orders come from another generator and are therefore others.
    """
    asked = trace.gpu_milli
    if not load > 0 or not asked.any():
        got = f"load {load:g}" if asked.any() else "no pod with a GPU"
        raise InputError("nothing to fill the cluster with", source=trace.name or "trace", got=got)
    target = load * _total(trace)
    order = rng.permutation(len(asked))
    total = int(asked.sum())
    if total > target:
        left = list(order)
        while total > target:
            total -= int(asked[left.pop(int(rng.integers(len(left))))])
        return np.array(left, dtype=np.int64)
    of_one = np.array([shape.gpu_milli for shape in trace.shapes])
    copies: list[int] = []
    while True:
        drawn = int(rng.integers(len(asked)))
        if total + of_one[drawn] > target:
            return np.concatenate([order, np.array(copies, dtype=np.int64)])
        copies.append(drawn)
        total += int(asked[drawn])


def _total(trace: PodTrace) -> int:
    return WHOLE_GPU * int(np.bitwise_count(trace.snapshot.gpu_total).sum())


@dataclass(frozen=True, eq=False)
class DayZeroFill(Value):
    """Node and GPUs of each pod of one run, in the order of arrival, and the cluster's state after each arrival.

    Attributes
    ----------
    total : int
        GPU thousandths of the cluster.
    node : ndarray of shape (a,), int32
        Node of each arrival, -1: it found none and is dropped.
    gpus : ndarray of shape (a,), uint64
        Bits of its GPUs.
    arrived, allocated : ndarray of shape (a,), int64
        GPU thousandths that all arrivals so far asked for, and that those with a node hold.
    fragmented : ndarray of shape (a,), float64
        Idle GPU thousandths that a usual pod cannot use, on average.
    """

    policy: str
    total: int
    node: Ints
    gpus: npt.NDArray[np.uint64]
    arrived: Longs
    allocated: Longs
    fragmented: Floats

    def curve(self) -> pandas.DataFrame:
        """State of the cluster by arrived demand: a row per percent of its GPU thousandths, from 0 on.

        Returns: a table with the index ``arrived``, percent, and the columns ``allocated`` and ``fragmented``, percent
        of the cluster's GPU thousandths, and ``fragmented_of_idle``, percent of the idle ones.

        Notes
        -----
        A row is the mean over all arrivals whose demand rounds to it (half to even), those of the rows around it if
        there is none, NaN if there is none there, either. Percents allocated, and those of the idle, are rounded to two
        decimals before, as in the tables of the study.
        """
        import pandas

        percent = np.rint(self.arrived / (self.total / 100)).astype(np.int64)
        idle = np.maximum(self.total - self.allocated, 1)
        n = int(percent.max(initial=0)) + 1
        columns = {
            "allocated": np.round(self.allocated / (self.total / 100), 2),
            "fragmented": self.fragmented / (self.total / 100),
            "fragmented_of_idle": np.round(self.fragmented / idle * 100, 2),
        }
        rows = {name: _means(values, percent, n) for name, values in columns.items()}
        return pandas.DataFrame(rows, index=pandas.RangeIndex(n, name="arrived"))


def _means(values: Floats, percent: Longs, n: int) -> Floats:
    """Mean of the values of each percent, of those around it if there is none; `percent` is ascending.

    Each mean is numpy's of one slice: sums in another order differ in the last bit, which decides roundings.
    """
    start = np.searchsorted(percent, np.arange(-1, n + 2))
    found = np.full(n, np.nan)
    for i in range(n):
        own = slice(start[i + 1], start[i + 2])
        near = slice(start[i], start[i + 3]) if own.start == own.stop else own
        if near.stop > near.start:
            found[i] = values[near].mean()
    return found


class DayZero:
    """A trace made ready to be filled many times, by several policies and in several orders."""

    def __init__(self, trace: PodTrace) -> None:
        self.trace = trace
        self._usual = trace.usual
        snapshot = trace.snapshot
        known: dict[object, int] = {}
        self._accepts: list[npt.NDArray[np.uint8] | None] = []
        self._shapes: list[tuple[int, int, int]] = []
        kind = np.empty(len(trace.gangs), dtype=np.int32)
        for i, (gang, shape) in enumerate(zip(trace.gangs, trace.shapes, strict=True)):
            asked = shape.cpu_milli, shape.gpu_milli, shape.gpus
            condition = gang.roles[0].filter
            number = known.setdefault((asked, condition), len(known))
            if number == len(self._shapes):
                mask = snapshot.filters.mask(condition)
                self._shapes.append(asked)
                self._accepts.append(None if mask.all() else mask.astype(np.uint8))
            kind[i] = number
        self._kind = kind
        self._rows = np.stack([gang.rows_for(snapshot.resources)[0][0] for gang in trace.gangs])
        self._asked = trace.gpu_milli

    def fill(
        self,
        policy: Policy,
        arrivals: Longs,
        *,
        order: Ints | None = None,
        rng: np.random.Generator | None = None,
    ) -> DayZeroFill:
        """Fill the idle cluster with pods, one after another, by one policy.

        Raises InputError: the policy cannot share GPUs, or an arrival is none of the trace's pods.

        Parameters
        ----------
        policy : Policy
            One of those that let pods share GPUs (`fgd`, `headroom`, …).
        arrivals : ndarray of shape (a,), int64
            Positions in ``trace.gangs``.
        order : ndarray of shape (n,), int32, optional
            The nodes in the order in which equals win; None: as the policy's parameters say.
        rng : numpy.random.Generator, optional
            Draws nodes and GPUs for `fgd-random`, and nodes for fresh ties; others read none. None: seed 0.
        """
        check()
        if not isinstance(policy, GpuSharingPolicy):
            expected = "fgd, fgd-random, fgd-best-fit, headroom, … (workbench policies)"
            raise InputError(f"{policy.name} cannot share GPUs", source="policy", expected=expected)
        trace, p = self.trace, len(self._kind)
        if len(arrivals) and not 0 <= arrivals.min() <= arrivals.max() < p:
            raise InputError("a pod that the trace does not have", source="arrivals", expected=f"0 to {p - 1}")
        state = policy.state(trace.snapshot, self._usual, order)
        shapes = zip(self._shapes, self._accepts, strict=True)
        numbers = np.array([state.shape(*shape, accepts) for shape, accepts in shapes], dtype=np.int32)
        drawn = (rng or np.random.default_rng(0)).random((len(arrivals), 2))
        others = np.ascontiguousarray(self._rows[arrivals][:, policy.other_columns(trace.snapshot)])
        filled = state.fill(numbers[self._kind[arrivals]], others, drawn)
        return DayZeroFill(
            policy.name,
            _total(trace),
            filled.node,
            filled.gpus,
            np.cumsum(self._asked[arrivals]),
            filled.allocated,
            filled.fragmented,
        )
