"""`MatrixLoader`: a Jupyter widget that reads a pasted printout, shows the machine and chooses k GPUs."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from workbench.cancel import finish
from workbench.errors import InputError, WorkbenchError
from workbench.evaluate.gpu_choices import PolicyChoice
from workbench.formats.matrices.base import MatrixReading
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.best_gpus import BestGpus
from workbench.model.counted import counted
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
from workbench.widgets.messages import one_line, text_in
from workbench.widgets.panel import STATIC, Panel
from workbench.widgets.worker import Worker

__all__ = ["Assign", "MatrixLoader"]

#: Gives a matrix to nodes by name (None: the selection) and returns the names of the nodes that got it.
Assign = Callable[[BandwidthMatrix, Collection[str] | None], list[str]]

_FIRST_K = 2

#: Seconds to wait for a view: within this time it is part of the answer; later views are sent when ready, and can be
#: cancelled.
_PROMPT_S = 0.5


@dataclass(frozen=True)
class _Answered:
    """A bandwidth matrix with a question and its answers; `printout` and `notes` belong to the text of the matrix."""

    matrix: BandwidthMatrix
    question: Question
    best: BestGpus
    choices: tuple[PolicyChoice, ...]
    printout: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=lambda: {"notes": [], "format": "", "block": "", "blocks": []})

    @classmethod
    def of(cls, matrix: BandwidthMatrix, question: Question, *reading: dict[str, Any]) -> _Answered:
        """Compute the answers to a question about a matrix; `reading` tells of the text it was read from."""
        return cls(matrix, question, *answer_question(matrix, question), *reading)


class MatrixLoader(Panel):
    """Jupyter widget that loads a bandwidth matrix and finds the best k GPUs.

    `matrix` (BandwidthMatrix or array_like of shape (n, n)): in GB/s; without it the widget waits for a file, a paste
    or a drop. `assign`: gives the matrix to nodes and names them, as `TopologyEditor.assign` does; without it nothing
    can be assigned.

    Attributes
    ----------
    matrix : BandwidthMatrix, optional
        The loaded matrix; None: none was loaded yet.
    question : Question, optional
        The question: k, the state of each GPU, the direction rule.
    best : BestGpus, optional
        The exact answer.
    choices : tuple of PolicyChoice
        The GPUs that each registered GPU policy chooses; empty before there is an answer.

    Examples
    --------
    >>> import workbench as wb
    >>> loader = wb.MatrixLoader(wb.BandwidthMatrix([[0, 48], [48, 0]]))
    >>> len(loader.matrix)
    2
    """

    # A printout (`load`, `_load`, `_block`) gives a matrix and a first question; each click changes the question
    # (`_toggle`, `_change`), which a `Worker` answers (`_ask`); the page gets the answer as `_view`. Further handlers
    # choose pairs and assign the matrix.

    _esm = STATIC / "matrix.js"
    handlers = {
        "state": "_state",
        "load": "_load",
        "block": "_block",
        "change": "_change",
        "toggle": "_toggle",
        "pair": "_pair",
        "assign": "_assign_to",
        "cancel": "_cancel",
    }

    def __init__(self, matrix: BandwidthMatrix | npt.ArrayLike | None = None, assign: Assign | None = None) -> None:
        super().__init__()
        self._assign = assign
        self._answered: _Answered | None = None
        #: The question of the running search.
        self._asked: tuple[BandwidthMatrix, Question, tuple[dict[str, Any], ...]] | None = None
        self._worker = Worker(lambda: self.tell("view", self._view()))
        if matrix is not None:
            matrix = matrix if isinstance(matrix, BandwidthMatrix) else BandwidthMatrix(matrix)  # type: ignore[arg-type]
            self._answered = _Answered.of(matrix, self._question_of(matrix))

    @property
    def matrix(self) -> BandwidthMatrix | None:
        return None if self._answered is None else self._answered.matrix

    @property
    def question(self) -> Question | None:
        return None if self._answered is None else self._answered.question

    @property
    def best(self) -> BestGpus | None:
        return None if self._answered is None else self._answered.best

    @property
    def choices(self) -> tuple[PolicyChoice, ...]:
        return self._answered.choices if self._answered is not None else ()

    def load(self, text: str, name: str = "pasted text") -> BandwidthMatrix:
        """Load a printout as if it had been pasted into the page.

        Raises InputError: as `workbench.formats.matrix.load_matrix`; the previous matrix is kept.
        """
        body = {"text": text, "name": name}
        reading = read_printout(body)
        self._worker.cancel()
        self._answered = _Answered.of(reading.matrix, self._question_of(reading.matrix), body, _notes(reading))
        self.tell("view", self._view())
        return reading.matrix

    def close(self) -> None:
        """Cancel a running search, and remove the widget from the page."""
        self._worker.cancel()
        super().close()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the running search; returns False if it does not finish within the given number of seconds."""
        return self._worker.wait(seconds)

    # ---- requests of the page ----

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._view()

    def _load(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            reading = read_printout(body)
        except WorkbenchError as error:
            # An answer, not a failure: the page keeps the text and shows the line.
            return {"error": one_line(str(error)), "line": error_line(error)}
        return self._ask(reading.matrix, self._question_of(reading.matrix), body, _notes(reading))

    def _block(self, body: dict[str, Any]) -> dict[str, Any]:
        """Choose another table of the printout; the question is kept, because the GPUs are the same."""
        known = self._known()
        printout = {**known.printout, "block": body.get("block")}
        reading = read_printout(printout)
        same = len(reading.matrix) == len(known.matrix)
        question = known.question if same else self._question_of(reading.matrix)
        return self._ask(reading.matrix, question, printout, _notes(reading))

    def _change(self, body: dict[str, Any]) -> dict[str, Any]:
        matrix, question, reading = self._asking()
        return self._ask(matrix, question.changed(body), *reading)

    def _toggle(self, body: dict[str, Any]) -> dict[str, Any]:
        matrix, question, reading = self._asking()
        return self._ask(matrix, toggled(question, body.get("gpus"), body.get("how", "free")), *reading)

    def _cancel(self, body: dict[str, Any]) -> dict[str, Any]:
        """Cancel the running search; the previous answer remains."""
        self._worker.cancel()
        self._asked = None
        return self._view()

    def _pair(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"text": pair_text(self._known().matrix, body.get("from"), body.get("to"))}

    def _assign_to(self, body: dict[str, Any]) -> dict[str, Any]:
        matrix = self._known().matrix
        if self._assign is None:
            raise InputError("nothing to assign it to", source="widget", expected="MatrixLoader(assign=editor.assign)")
        names = [name for name in text_in(body, "names").replace(",", " ").split() if name]
        return {"nodes": self._assign(matrix, names or None)}

    # ---- the answer ----

    def _question_of(self, matrix: BandwidthMatrix) -> Question:
        """The first question for a new matrix, with as much of the previous question as fits its size."""
        before = self.question
        k = min(before.k if before is not None else _FIRST_K, len(matrix))
        question = Question(k, ("free",) * len(matrix))
        if before is not None:
            question = question.changed({"symmetric": before.symmetric, "link_classes": before.link_classes})
        return question

    def _asking(self) -> tuple[BandwidthMatrix, Question, tuple[dict[str, Any], ...]]:
        """Matrix, question and reading notes to which a click on the page applies.

        They are those of the running search, or else of the last answer.
        """
        known = self._known()
        if self._asked is not None and self._worker.busy:
            return self._asked
        return known.matrix, known.question, (known.printout, known.notes)

    def _ask(self, matrix: BandwidthMatrix, question: Question, *reading: dict[str, Any]) -> dict[str, Any]:
        """Search for the answer to a question and store it; if that fails or is cancelled, nothing changes.

        Returns the view; or ``busy`` with the question, if the view will be sent later.
        """
        found: list[dict[str, Any] | Exception] = []
        delivery: dict[str, str] = {}
        begun, told = time.monotonic(), 0
        text = f"searching for the best {question.k} of {counted(len(matrix), 'GPU')}"

        def tick() -> None:
            nonlocal told
            seconds = int(time.monotonic() - begun)
            if delivery and seconds > told:
                told = seconds
                self.tell("searching", {"text": f"{text}, {seconds} s"})

        def work() -> None:
            try:
                answered = _Answered.of(matrix, question, *reading)
                view = self._view(answered)
            except Exception as error:
                finish()
                found.append(error)
            else:
                finish()
                self._answered = answered
                found.append(view)
            if delivery.setdefault("by", "answer") == "news":
                self._tell_found(found[0])

        self._asked = (matrix, question, reading)
        self._worker.start(work, tick)
        try:
            self._worker.wait(_PROMPT_S)
        except KeyboardInterrupt:
            self._worker.cancel()
            raise
        if delivery.setdefault("by", "news") == "news":
            return {"busy": text}
        if isinstance(found[0], Exception):
            raise found[0]
        # Also to views in other tabs of the browser, which did not ask.
        self.tell("view", found[0])
        return found[0]

    def _tell_found(self, found: dict[str, Any] | Exception) -> None:
        if isinstance(found, Exception):
            error = traceback.format_exception(found)
            text = "" if isinstance(found, WorkbenchError) else "".join(error)
            self.tell("failed", {"message": one_line(str(found)), "traceback": text})
        else:
            self.tell("view", found)

    def _known(self) -> _Answered:
        if self._answered is None:
            raise InputError("no matrix yet", source="widget", expected="a printout, loaded before")
        return self._answered

    def _view(self, known: _Answered | None = None) -> dict[str, Any]:
        can_assign = {"can_assign": self._assign is not None}
        known = known or self._answered
        if known is None:
            return {"n": 0, **can_assign}
        view = matrix_view(known.matrix, known.question, known.best, known.choices)
        return {**view, **known.notes, **can_assign}


def _notes(reading: MatrixReading) -> dict[str, Any]:
    return {
        "notes": reading_notes(reading),
        "format": f"{reading.format}, {reading.kind}",
        "block": reading.block,
        "blocks": list(reading.blocks),
    }
