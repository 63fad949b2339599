"""Fill nodes whose GPUs pods may share, pod by pod, by one of seven rules, and measure the fragmentation of every node.

Checked interface of the ``gpu_sharing`` kernel.

**Does a pod fit?** CPU and every other resource suffice; the node accepts the shape; and as many GPUs as the pod asks
for have the thousandths free that it asks of each. A pod that asks for whole GPUs needs GPUs that are entirely free.

**Fragmentation** of a node: its idle GPU thousandths that a pod drawn from the typical shapes could not use, on
average. All of them count for a shape without GPUs, for a shape that the node's GPU model excludes, and where the CPU
or the number of GPUs with enough left does not suffice; else those of the GPUs with less left than the shape asks for.

**Rules** give each node that fits an integer score; the largest wins, and among equals the node that comes first in the
order of ties. A share is taken from the GPU with the least left that suffices (ties: the lowest number), whole GPUs are
those with the lowest numbers, unless the rule says otherwise. C and G: idle CPU and GPU thousandths of the node before
the pod, c and g: what the pod asks for; 128,000 and 8,000: the largest node of the study from which the rules are.

- ``random``: node and GPU drawn uniformly from those that fit.
- ``dot-product``: 100 (1 - (C/128000 · c/128000 + G/8000 · g/8000) / 2).
- ``clustering``: 25 (8000 - G) / 8000, and 75 more where all pods with GPUs are of this pod's kind, 50 where some are,
  25 where there are none. Kinds: a share; 1, 2, … whole GPUs. A pod without GPUs scores 0 everywhere.
- ``packing``: on a node without a pod on its GPUs max(33 - n, n), n its number of GPUs. Else the GPUs with the least
  left are looked at: max(50 - k, 33) if k of them are entirely free, otherwise max(100 - p / 10, 50), p the sum of
  their free percents. A pod without GPUs scores 0 everywhere.
- ``best-fit``: 100 (1 - (C - c)/128000/2 - (G - g)/8000/2).
- ``fgd``: 100 / (1 + exp(d/1000)), d the growth of the node's fragmentation; a share is taken from the GPU for which
  the score is largest (ties: the lowest number).
- ``headroom``: our own: as ``fgd`` with the constants of `Weights`; pods without GPUs go where few GPUs are idle; and
  in a cluster that is nearly full a pod waits rather than strand more than a few GPU thousandths.

Source: the study of fragmentation gradient descent (USENIX ATC'23), docs/reference/gpu-sharing.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from workbench._core.gpu_sharing import GpuSharing as Kernel
from workbench.errors import InputError
from workbench.kernels.checks import as_array, check_length, check_range
from workbench.kernels.domains import MAX_QUANTITY

__all__ = ["MAX_GPUS", "RULES", "Filled", "GpuSharing", "SharingNodes", "Typical", "Weights"]

#: Most GPUs of a node.
MAX_GPUS = 64
#: Most models of GPUs in a cluster.
MAX_MODELS = 64
#: Thousandths of a whole GPU.
_WHOLE = 1000

#: Names of the rules; their numbers in the kernel are their positions.
RULES = ("random", "dot-product", "clustering", "packing", "best-fit", "fgd", "headroom")


@dataclass(frozen=True, slots=True)
class Weights:
    """Constants of the rule ``headroom``: steps · (100 / (1 + exp(d / scale)) - 50 - idle · G/8000), rounded.

    Attributes
    ----------
    scale : float
        Growth of fragmentation, in GPU thousandths, that counts as large; above 0.
    steps : float
        Steps of the score per percent: the fewer, the more nodes count as equal; above 0.
    idle : float
        Percents by which eight idle GPUs lower the score of a node for a pod without GPUs; 0 for pods with GPUs.
    reserve : float
        Share of the cluster's GPU thousandths: while fewer are idle, no pod is placed where it strands too much.
    limit : float
        Growth of fragmentation, in GPU thousandths, that is too much then.
    """

    scale: float = 1000.0
    steps: float = 1.0
    idle: float = 0.0
    reserve: float = 0.0
    limit: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class SharingNodes:
    """Nodes as arrays; ``m`` counts resources other than CPU and GPUs.

    Attributes
    ----------
    cpu : ndarray of shape (n,), int64
        Idle thousandths of CPUs.
    others : ndarray of shape (n, m), int64
        Idle amounts of the other resources.
    free : ndarray of shape (n, w), int32
        Free thousandths of each GPU, 0 to 1000; columns beyond a node's GPUs are not read. w is at most `MAX_GPUS`.
    gpus : ndarray of shape (n,), int32
        GPUs of each node.
    model : ndarray of shape (n,), int32
        Number of the node's GPU model, below 64.
    kinds : ndarray of shape (n, w + 1), int32
        Pods on the node by kind: those with a share of a GPU, those with 1, 2, … w whole GPUs.
    order : ndarray of shape (n,), int32
        The nodes in the order in which equals win.
    """

    cpu: NDArray[np.int64]
    others: NDArray[np.int64]
    free: NDArray[np.int32]
    gpus: NDArray[np.int32]
    model: NDArray[np.int32]
    kinds: NDArray[np.int32]
    order: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Typical:
    """Typical shapes of pods as arrays.

    Attributes
    ----------
    cpu : ndarray of shape (t,), int64
        Thousandths of CPUs.
    milli : ndarray of shape (t,), int32
        Thousandths of each GPU.
    count : ndarray of shape (t,), int32
        GPUs; 0: a pod without GPUs.
    models : ndarray of shape (t,), uint64
        Bits of the GPU models that the shape accepts.
    frequency : ndarray of shape (t,), float64
        Shares of the shapes among pods; they are summed in this order.
    """

    cpu: NDArray[np.int64]
    milli: NDArray[np.int32]
    count: NDArray[np.int32]
    models: NDArray[np.uint64]
    frequency: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """Node and GPUs of each pod of a `GpuSharing.fill`, in the order of the pods, and the cluster's state after each.

    Attributes
    ----------
    node : ndarray of shape (p,), int32
        Node of each pod, -1 if it fitted nowhere.
    gpus : ndarray of shape (p,), uint64
        Bits of its GPUs.
    allocated : ndarray of shape (p,), int64
        GPU thousandths that pods placed by this object hold.
    fragmented : ndarray of shape (p,), float64
        Fragmentation of all nodes together, GPU thousandths.
    """

    node: NDArray[np.int32]
    gpus: NDArray[np.uint64]
    allocated: NDArray[np.int64]
    fragmented: NDArray[np.float64]


class GpuSharing:
    """Nodes whose GPUs pods share, filled pod by pod by one rule (see the module).

    Raises InputError: an array of another dtype or shape, a number out of range, an unknown rule.

    Parameters
    ----------
    nodes : SharingNodes
        Copied.
    typical : Typical
        Shapes by which ``fgd`` and ``headroom`` judge placements.
    rule : str
        One of `RULES`.
    measured : Typical, optional
        Shapes by which `fragmented` is measured; None: the same.
    weights : Weights
        Constants of the rule ``headroom``; others read none.
    fresh_ties : bool
        Draw among the nodes with the best score for each pod, instead of taking the first in the order of ties.
    """

    def __init__(
        self,
        nodes: SharingNodes,
        typical: Typical,
        rule: str,
        *,
        measured: Typical | None = None,
        weights: Weights = Weights(),
        fresh_ties: bool = False,
    ) -> None:
        if rule not in RULES:
            raise InputError("no such rule", source="rule", got=rule, expected=", ".join(RULES))
        if not (weights.scale > 0 and weights.steps > 0):
            raise InputError("not above 0", source="weights", got=f"scale {weights.scale:g}, steps {weights.steps:g}")
        cpu = as_array("cpu", nodes.cpu, np.int64, 1)
        n = len(cpu)
        others = as_array("others", nodes.others, np.int64, 2)
        free, kinds = as_array("free", nodes.free, np.int32, 2), as_array("kinds", nodes.kinds, np.int32, 2)
        gpus, model = as_array("gpus", nodes.gpus, np.int32, 1), as_array("model", nodes.model, np.int32, 1)
        order = as_array("order", nodes.order, np.int32, 1)
        columns = (("others", others), ("free", free), ("gpus", gpus), ("model", model), ("kinds", kinds))
        for name, array in (*columns, ("order", order)):
            check_length(name, array, n)
        width = free.shape[1]
        if not 0 < width <= MAX_GPUS:
            raise InputError("wrong number of columns", source="free", got=str(width), expected=f"1 to {MAX_GPUS}")
        if kinds.shape[1] != width + 1:
            got = str(kinds.shape[1])
            raise InputError("wrong number of columns", source="kinds", got=got, expected=str(width + 1))
        check_range("cpu", cpu, -MAX_QUANTITY, MAX_QUANTITY)
        check_range("others", others, -MAX_QUANTITY, MAX_QUANTITY)
        check_range("free", free, 0, _WHOLE)
        check_range("gpus", gpus, 0, width)
        check_range("model", model, 0, MAX_MODELS - 1)
        if n and (np.sort(order) != np.arange(n)).any():
            raise InputError("does not name every node once", source="order")
        t_cpu, t_milli, t_count, t_models, t_frequency = _columns(
            typical if measured is None else _concatenated(typical, measured)
        )
        constants = np.array([weights.scale, weights.steps, weights.idle, weights.reserve, weights.limit])
        self._kernel = Kernel(
            cpu,
            others,
            free,
            gpus,
            model,
            kinds,
            order,
            t_cpu,
            t_milli,
            t_count,
            t_models,
            t_frequency,
            len(typical.cpu),
            RULES.index(rule),
            constants,
            fresh_ties,
        )
        self._n, self._m = n, others.shape[1]
        self._shapes: dict[tuple[int, int, int, bytes | None], int] = {}

    @property
    def fragmented(self) -> float:
        """Fragmentation of all nodes together, GPU thousandths."""
        return self._kernel.fragmented

    @property
    def allocated(self) -> int:
        """GPU thousandths held by the pods that this object placed and that were not given back."""
        return self._kernel.allocated

    def shape(self, cpu: int, milli: int, count: int, accepts: NDArray[np.uint8] | None = None) -> int:
        """Return the number of a pod shape, for `fill`; the same number for the same shape.

        `cpu`: thousandths of CPUs. `milli`: thousandths of each GPU: 1000 for whole ones, and whenever `count` is more
        than 1; not read without GPUs. `count`: number of GPUs, 0 for none. `accepts` (ndarray of shape (n,), uint8): 1
        for each node that accepts the shape; None: all do. Raises InputError: a number out of range.
        """
        if not 0 <= count <= MAX_GPUS or (count and not 0 < milli <= _WHOLE) or (count > 1 and milli != _WHOLE):
            got = f"{count} GPUs, {milli} thousandths of each"
            raise InputError("no shape of a pod", source="shape", got=got, expected="a share of one GPU, or whole GPUs")
        if not 0 <= cpu <= MAX_QUANTITY:
            raise InputError("out of range", source="shape", where="cpu", got=str(cpu), expected=f"0 to {MAX_QUANTITY}")
        if accepts is not None:
            accepts = as_array("accepts", accepts, np.uint8, 1)
            check_length("accepts", accepts, self._n)
        key = (cpu, milli if count else 0, count, None if accepts is None else accepts.tobytes())
        number = self._shapes.get(key)
        if number is None:
            number = self._shapes[key] = self._kernel.add_shape(*key[:3], accepts)
        return number

    def fill(
        self,
        shapes: NDArray[np.int32],
        others: NDArray[np.int64],
        uniform: NDArray[np.float64] | None = None,
    ) -> Filled:
        """Place pods one after another; a pod that fits nowhere is left out.

        Raises InputError: an array of another dtype or shape, an unknown shape.

        Parameters
        ----------
        shapes : ndarray of shape (p,), int32
            Number of each pod's shape (`shape`).
        others : ndarray of shape (p, m), int64
            What each pod asks of the other resources.
        uniform : ndarray of shape (p, 2), float64, optional
            Numbers from 0 up to, but not including, 1: for each pod those that choose its node and its GPU. The rule
            ``random`` reads both, fresh ties the first; others read none. None: zeros.
        """
        shapes = as_array("shapes", shapes, np.int32, 1)
        p = len(shapes)
        others = as_array("others", others, np.int64, 2)
        check_length("others", others, p)
        if others.shape[1] != self._m:
            raise InputError(
                "wrong number of columns", source="others", got=str(others.shape[1]), expected=str(self._m)
            )
        check_range("shapes", shapes, 0, len(self._shapes) - 1)
        check_range("others", others, 0, MAX_QUANTITY)
        if uniform is None:
            uniform = np.zeros((p, 2))
        uniform = as_array("uniform", uniform, np.float64, 2)
        check_length("uniform", uniform, p)
        check_range("uniform", uniform, 0, np.nextafter(1, 0))
        filled = Filled(
            np.empty(p, dtype=np.int32), np.empty(p, dtype=np.uint64), np.empty(p, dtype=np.int64), np.empty(p)
        )
        self._kernel.fill(shapes, others, uniform, filled.node, filled.gpus, filled.allocated, filled.fragmented)
        return filled

    def give_back(self, shape: int, node: int, gpus: int, others: NDArray[np.int64]) -> None:
        """Free what a pod placed by `fill` holds.

        `gpus`: bits of its GPUs. `others` (ndarray of shape (m,), int64): what it holds of the other resources. Raises
        InputError: no such shape or node.
        """
        if not (0 <= shape < len(self._shapes) and 0 <= node < self._n):
            raise InputError("no such shape or node", source="give_back", got=f"shape {shape}, node {node}")
        others = as_array("others", others, np.int64, 1)
        check_length("others", others, self._m)
        self._kernel.give_back(shape, node, gpus, others)

    def scores(self, shape: int) -> NDArray[np.float64]:
        """Score of each node for one more pod of a shape: float64 (n,), NaN where the pod does not fit.

        Resources other than CPU and GPUs are not looked at. ``random`` scores every node 0.
        """
        found = np.empty(self._n)
        self._kernel.scores(shape, found)
        return found


def _concatenated(first: Typical, second: Typical) -> Typical:
    names = [field.name for field in fields(Typical)]
    return Typical(**{name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in names})


def _columns(
    typical: Typical,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.uint64], NDArray[np.float64]]:
    """The checked arrays of typical shapes, in the order in which the kernel takes them."""
    cpu = as_array("typical cpu", typical.cpu, np.int64, 1)
    milli, count = as_array("milli", typical.milli, np.int32, 1), as_array("count", typical.count, np.int32, 1)
    models = as_array("models", typical.models, np.uint64, 1)
    frequency = as_array("frequency", typical.frequency, np.float64, 1)
    for name, array in (("milli", milli), ("count", count), ("models", models), ("frequency", frequency)):
        check_length(name, array, len(cpu))
    check_range("typical cpu", cpu, 0, MAX_QUANTITY)
    check_range("milli", milli, 0, _WHOLE)
    check_range("count", count, 0, MAX_GPUS)
    check_range("frequency", frequency, 0, 1)
    return cpu, milli, count, models, frequency
