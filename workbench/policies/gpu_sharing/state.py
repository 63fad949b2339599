"""From ledgers, gangs and typical shapes to the arrays of the GPU sharing kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.errors import InputError
from workbench.kernels.gpu_sharing import MAX_GPUS, MAX_MODELS, SharingNodes, Typical
from workbench.model.arrays import Ints, Words
from workbench.model.cluster_facts import ClusterFacts
from workbench.model.gang import Role
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.ledger import Ledger
from workbench.model.resources import CPU
from workbench.model.typical_shapes import TypicalShape, TypicalShapes

__all__ = ["GpuModels", "kinds_of", "other_columns", "shape_of", "sharing_nodes", "typical_arrays"]


@dataclass(frozen=True, eq=False)
class GpuModels:
    """The GPU models of a cluster's nodes, read from a label.

    `names`: in the order of their numbers. Nodes without the label have the model "". `of_node`: ndarray of shape (n,),
    int32; number of each node's model.
    """

    label: str
    names: tuple[str, ...]
    of_node: Ints

    @classmethod
    def of(cls, snapshot: ClusterFacts, label: str) -> GpuModels:
        """Read the models of the nodes of a snapshot. Raises InputError: more than 64 models."""
        codes, values = snapshot.labels.columns.get(label, (np.full(snapshot.n_nodes, -1, dtype=np.int32), ()))
        without = bool((codes < 0).any())
        names = (*values, "") if without else tuple(values)
        if len(names) > MAX_MODELS:
            expected = f"at most {MAX_MODELS}"
            raise InputError("too many GPU models", source=f"label {label}", got=str(len(names)), expected=expected)
        return cls(label, names, np.where(codes < 0, len(values), codes).astype(np.int32))

    def mask(self, models: Sequence[str]) -> int:
        """Bits of the named models; all of them if none is named. Names that no node has are passed over."""
        if not models:
            return (1 << MAX_MODELS) - 1
        return sum(1 << number for number, name in enumerate(self.names) if name in models)


def shape_of(role: Role, label: str) -> TypicalShape:
    """The shape of a role's pods; their GPU models are those that their node selector or affinity lists for `label`."""
    models: tuple[str, ...] = ()
    if role.n_gpus or role.gpu_milli:
        for requirement in role.filter.required:
            if requirement.key == label and requirement.operator == "In":
                models = requirement.values
    milli = role.gpu_milli or (WHOLE_GPU if role.n_gpus else 0)
    return TypicalShape(role.requests.get(CPU, 0), milli, role.n_gpus or int(role.gpu_milli > 0), models)


def typical_arrays(shapes: TypicalShapes, share: float, models: GpuModels, exponent: float | None = None) -> Typical:
    """The most frequent shapes as arrays of the kernel.

    `share`: share of pods that the shapes make up (`TypicalShapes.frequencies`). `exponent`: weigh each shape by its
    frequency times this power of the GPUs that it asks for, and shapes without GPUs with 0; the weights add up to 1.
    None: by frequency alone.
    """
    listed = shapes.frequencies(share)
    frequency = np.array([each for _, each in listed], dtype=np.float64)
    if exponent is not None:
        gpus = np.array([shape.gpus * shape.gpu_milli / WHOLE_GPU for shape, _ in listed], dtype=np.float64)
        frequency = np.where(gpus > 0, frequency * np.maximum(gpus, 1e-9) ** exponent, 0.0)
        frequency = frequency / max(frequency.sum(), 1e-9)
    return Typical(
        cpu=np.array([shape.cpu_milli for shape, _ in listed], dtype=np.int64),
        milli=np.array([shape.gpu_milli for shape, _ in listed], dtype=np.int32),
        count=np.array([shape.gpus for shape, _ in listed], dtype=np.int32),
        models=np.array([models.mask(shape.models) for shape, _ in listed], dtype=np.uint64),
        frequency=frequency,
    )


def other_columns(resources: Sequence[str]) -> list[int]:
    """Columns of the resources other than CPU, GPU resources among them: they bound how many whole GPUs are given."""
    return [column for column, name in enumerate(resources) if name != CPU]


def sharing_nodes(ledger: Ledger, models: GpuModels, kinds: Ints, order: Ints) -> SharingNodes:
    """The nodes of a ledger as arrays of the kernel.

    `kinds`: ndarray of shape (n, w + 1), int32; pods on each node by kind (`kinds_of`). `order`: ndarray of shape (n,),
    int32; the nodes in the order in which equals win. A GPU that is missing between others, or broken, counts as one
    that is in use.
    """
    resources = ledger.snapshot.resources
    cpu = resources.index(CPU) if CPU in resources else None
    idle = np.zeros(len(ledger.idle), dtype=np.int64) if cpu is None else ledger.idle[:, cpu].copy()
    width = kinds.shape[1] - 1
    free = np.zeros((len(ledger.idle), width), dtype=np.int32)
    milli = ledger.gpu_milli_free[:, :width]
    free[:, : milli.shape[1]] = milli
    return SharingNodes(
        cpu=idle,
        others=np.ascontiguousarray(ledger.idle[:, other_columns(resources)]),
        free=free,
        gpus=_highest_bits(ledger.snapshot.gpu_total),
        model=models.of_node,
        kinds=kinds,
        order=order,
    )


def kinds_of(ledger: Ledger) -> Ints:
    """Pods on each node by kind, int32 (n, w + 1): those with a share of a GPU, those with 1, 2, … w whole GPUs.

    Counted are the running pods of the ledger's snapshot and those that the ledger's log remembers. How many pods share
    GPUs of a node does not matter: it is at least 1 if some do.

    Raises InputError: a machine with more than 64 GPUs.
    """
    snapshot = ledger.snapshot
    width = max(int(_highest_bits(snapshot.gpu_total).max(initial=0)), 1)
    if width > MAX_GPUS:
        raise InputError("too many GPUs on a node", source="snapshot", got=str(width), expected=f"at most {MAX_GPUS}")
    kinds = np.zeros((snapshot.n_nodes, width + 1), dtype=np.int32)
    for pod in snapshot.running:
        if pod.node >= 0 and pod.gpu_mask:
            kinds[pod.node, 0 if pod.gpu_milli else pod.gpu_mask.bit_count()] += 1
    for nodes, rows, words in ledger.since(0):
        if words is not None:
            whole = np.bitwise_count(words).sum(axis=1).astype(np.int64)
            given_back = bool((rows < 0).any())
            np.add.at(kinds, (nodes[whole > 0], whole[whole > 0]), -1 if given_back else 1)
    if ledger.gpu_shares is not None:
        kinds[:, 0] = np.maximum(kinds[:, 0], (ledger.gpu_shares > 0).any(axis=1))
    return kinds


def _highest_bits(words: Words) -> Ints:
    """Number of the highest bit of each row, plus 1; 0 without bits: int32 (n,)."""
    n, width = words.shape
    bits = np.unpackbits(words.view(np.uint8).reshape(n, 8 * width), axis=1, bitorder="little")
    highest: Ints = ((bits * np.arange(1, 64 * width + 1, dtype=np.int32)).max(axis=1, initial=0)).astype(np.int32)
    return highest
