"""`MatrixLoader`: bring a printout, see the machine, choose k GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from workbench.errors import InputError
from workbench.formats.matrix import parse_matrix
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import BestGpus, best_gpus
from workbench.report.heatmap import draw_heatmap
from workbench.widgets.panel import STATIC, Panel

__all__ = ["MatrixLoader", "matrix_view"]


class MatrixLoader(Panel):
    """Load a bandwidth matrix and ask which k GPUs are best.

    Parameters
    ----------
    matrix : BandwidthMatrix or array_like of shape (n, n), optional
        In GB/s; without it the widget waits for a file, a paste or a drop.
    assign : callable, optional
        Gives the matrix to nodes and names them, as `TopologyEditor.assign` does.

    Attributes
    ----------
    matrix : BandwidthMatrix, optional
    best : BestGpus, optional
        The set that is shown.
    """

    _esm = STATIC / "matrix.js"
    handlers = {"state": "_state", "load": "_load", "choose": "_choose"}

    def __init__(
        self,
        matrix: BandwidthMatrix | npt.ArrayLike | None = None,
        assign: Callable[[BandwidthMatrix], list[str]] | None = None,
    ) -> None:
        super().__init__()
        self._assign = assign
        self.matrix: BandwidthMatrix | None = None
        self.best: BestGpus | None = None
        if matrix is not None:
            self.matrix = matrix if isinstance(matrix, BandwidthMatrix) else BandwidthMatrix(matrix)  # type: ignore[arg-type]

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._choose({"k": 2}) if self.matrix is not None else {}

    def _load(self, body: dict[str, Any]) -> dict[str, Any]:
        text, name = str(body.get("text", "")), str(body.get("name", "pasted text"))
        self.matrix = parse_matrix(text.encode(), name)
        return self._choose({"k": body.get("k", 2)})

    def _choose(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.matrix is None:
            raise InputError("no matrix yet", source="widget", expected="a printout, loaded before")
        self.best, view = matrix_view(self.matrix, body)
        return view


def matrix_view(matrix: BandwidthMatrix, body: dict[str, Any]) -> tuple[BestGpus, dict[str, Any]]:
    """The best set for what the page asks, and what the page draws.

    Parameters
    ----------
    matrix : BandwidthMatrix
    body : dict
        ``k`` (clipped to the machine's size) and ``free`` (list of int; all by default).
    """
    k = min(max(int(body.get("k", 2)), 1), len(matrix))
    free = body.get("free")
    best = best_gpus(matrix, k, free=free)
    return best, {
        "n": len(matrix),
        "labels": list(matrix.labels),
        "k": k,
        "free": list(range(len(matrix))) if free is None else sorted(free),
        "best": best.to_dict(),
        "heatmap": draw_heatmap(matrix, best.gpus, best.bottleneck_pair, matrix.source),
    }
