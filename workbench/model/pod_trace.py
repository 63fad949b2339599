"""`PodTrace`: a cluster and the pods that were submitted to it, as a public trace records them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Floats
from workbench.model.counted import counted
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.typical_shapes import TypicalShape, TypicalShapes
from workbench.model.value import Value

__all__ = ["PodTrace"]


@dataclass(frozen=True, eq=False, repr=False)
class PodTrace(Value):
    """An idle cluster, and pods with the times at which they were submitted and ended.

    Attributes
    ----------
    snapshot : ClusterSnapshot
        The cluster without any pod.
    gangs : tuple of Gang
        A gang of one pod each, sorted by name.
    shapes : tuple of TypicalShape
        CPU, GPUs and GPU models of each pod.
    submitted_s : ndarray of shape (p,), float64
        Seconds since the start of the trace.
    duration_s : ndarray of shape (p,), float64
        Seconds from submission to the end; NaN: the trace does not say.
    row : ndarray of shape (p,), int64
        Row of each pod in its file, from 0: orders of arrival name pods by it.
    inputs : mapping of str to str
        SHA-256 of each file, by its name.
    notes : tuple of Notice
        Notices about values that were interpreted or ignored.
    """

    snapshot: ClusterSnapshot
    gangs: tuple[Gang, ...]
    shapes: tuple[TypicalShape, ...]
    submitted_s: Floats
    duration_s: Floats
    row: npt.NDArray[np.int64]
    name: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Notice, ...] = ()

    @property
    def gpu_milli(self) -> npt.NDArray[np.int64]:
        """Thousandths of GPUs that each pod asks for in total: int64 of shape (p,)."""
        return np.array([shape.gpus * shape.gpu_milli for shape in self.shapes], dtype=np.int64)

    @property
    def usual(self) -> TypicalShapes:
        """The shapes of all pods with their counts."""
        return TypicalShapes.of(self.shapes)

    def __repr__(self) -> str:
        return f"PodTrace({self.name}: {counted(len(self.gangs), 'pod')} on {counted(self.snapshot.n_nodes, 'node')})"
