"""`MatrixLoader`: bring a printout, see the machine, choose k GPUs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy.typing as npt

from workbench.errors import InputError, WorkbenchError
from workbench.evaluate.gpu_choices import GpuChoice
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import BestGpus
from workbench.widgets.matrix_view import (
    Question,
    answer_question,
    error_line,
    matrix_view,
    pair_text,
    read_printout,
    reading_notes,
    toggled,
)
from workbench.widgets.panel import STATIC, Panel

__all__ = ["Assign", "MatrixLoader"]

#: Gives a matrix to nodes by name (None: what is selected) and names those that have it now.
Assign = Callable[[BandwidthMatrix, Collection[str] | None], list[str]]

_FIRST_K = 2


class MatrixLoader(Panel):
    """Load a bandwidth matrix and ask which k GPUs are best.

    Parameters
    ----------
    matrix : BandwidthMatrix or array_like of shape (n, n), optional
        In GB/s; without it the widget waits for a file, a paste or a drop.
    assign : callable, optional
        Gives the matrix to nodes and names them, as `TopologyEditor.assign` does; without it nothing can be assigned.

    Attributes
    ----------
    matrix : BandwidthMatrix, optional
    question : Question, optional
        What is asked: k, the state of each GPU, the direction rule.
    best : BestGpus, optional
        The exact answer.
    choices : tuple of GpuChoice
        What each registered GPU policy would choose.
    """

    _esm = STATIC / "matrix.js"
    handlers = {
        "state": "_state",
        "load": "_load",
        "block": "_block",
        "change": "_change",
        "toggle": "_toggle",
        "pair": "_pair",
        "assign": "_assign_to",
    }

    def __init__(self, matrix: BandwidthMatrix | npt.ArrayLike | None = None, assign: Assign | None = None) -> None:
        super().__init__()
        self._assign = assign
        self._printout: dict[str, Any] = {}
        self._notes: dict[str, Any] = {"notes": [], "format": "", "block": "", "blocks": []}
        self.matrix: BandwidthMatrix | None = None
        self.question: Question | None = None
        self.best: BestGpus | None = None
        self.choices: tuple[GpuChoice, ...] = ()
        if matrix is not None:
            self._use(matrix if isinstance(matrix, BandwidthMatrix) else BandwidthMatrix(matrix))  # type: ignore[arg-type]

    def load(self, text: str, name: str = "pasted text") -> BandwidthMatrix:
        """Take a printout, as the page does with a paste.

        Raises
        ------
        InputError
            As `workbench.formats.matrix.load_matrix`; the matrix from before stays.
        """
        matrix = self._read({"text": text, "name": name})
        self.tell("view", self._view())
        return matrix

    # ---- what the page asks ----

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._view()

    def _load(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            self._read(body)
        except WorkbenchError as error:
            # An answer, not a failure: the page keeps the text and shows the line.
            return {"error": str(error), "line": error_line(error)}
        return self._view()

    def _block(self, body: dict[str, Any]) -> dict[str, Any]:
        """Another table of the same printout: the same GPUs, so the question stays."""
        question = self._known()[1]
        self._read({**self._printout, "block": body.get("block")})
        if len(question.states) == len(self._known()[1].states):
            return self._ask(question)
        return self._view()

    def _change(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._ask(self._known()[1].changed(body))

    def _toggle(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._ask(toggled(self._known()[1], body.get("gpus"), body.get("how", "free")))

    def _pair(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"text": pair_text(self._known()[0], body.get("from"), body.get("to"))}

    def _assign_to(self, body: dict[str, Any]) -> dict[str, Any]:
        matrix, _ = self._known()
        if self._assign is None:
            raise InputError("nothing to assign it to", source="widget", expected="MatrixLoader(assign=editor.assign)")
        names = [name for name in str(body.get("names", "")).replace(",", " ").split() if name]
        return {"nodes": self._assign(matrix, names or None)}

    # ---- the answer ----

    def _read(self, body: dict[str, Any]) -> BandwidthMatrix:
        reading = read_printout(body)
        self._use(reading.matrix)
        self._printout = body
        self._notes = {
            "notes": reading_notes(reading),
            "format": f"{reading.format}, {reading.kind}",
            "block": reading.block,
            "blocks": list(reading.blocks),
        }
        return reading.matrix

    def _use(self, matrix: BandwidthMatrix) -> None:
        before = self.question
        k = min(before.k if before is not None else _FIRST_K, len(matrix))
        question = Question(k, ("free",) * len(matrix))
        if before is not None:
            question = question.changed({"symmetric": before.symmetric, "link_classes": before.link_classes})
        self.best, self.choices = answer_question(matrix, question)
        self.matrix, self.question = matrix, question

    def _ask(self, question: Question) -> dict[str, Any]:
        """Answer first, remember then: a question that cannot be answered changes nothing."""
        matrix, _ = self._known()
        self.best, self.choices = answer_question(matrix, question)
        self.question = question
        return self._view()

    def _known(self) -> tuple[BandwidthMatrix, Question]:
        if self.matrix is None or self.question is None:
            raise InputError("no matrix yet", source="widget", expected="a printout, loaded before")
        return self.matrix, self.question

    def _view(self) -> dict[str, Any]:
        can_assign = {"can_assign": self._assign is not None}
        if self.matrix is None or self.question is None or self.best is None:
            return {"n": 0, **can_assign}
        return {**matrix_view(self.matrix, self.question, self.best, self.choices), **self._notes, **can_assign}
