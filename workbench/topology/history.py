"""`History`: undo and redo of changes to a drawn topology."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.topology.draft import Change, Draft

__all__ = ["Beside", "History", "Step"]

#: Steps kept; the oldest are forgotten first.
MAX_STEPS = 500


@dataclass(frozen=True)
class Beside:
    """What an operation changes besides the drawing, such as the text of jobs.

    `undo`, `redo`: called without arguments after the drawing was changed back, or changed again.
    """

    undo: Callable[[], None]
    redo: Callable[[], None]


@dataclass(frozen=True)
class Step:
    """One operation on a drawing.

    `label`: name of the operation in the menu (``move node-3``). `beside`: what it changed besides; None: nothing.
    """

    label: str
    changes: tuple[Change, ...]
    beside: Beside | None = None


class History:
    """A drawn topology with the operations that can be undone and redone.

    `revision`: counts every change of the drawing, undo and redo included.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.revision = 0
        self._done: list[Step] = []
        self._undone: list[Step] = []

    @property
    def undo_label(self) -> str:
        """Name of the operation that `undo` would undo; empty if there is none."""
        return self._done[-1].label if self._done else ""

    @property
    def redo_label(self) -> str:
        """Name of the operation that `redo` would repeat; empty if there is none."""
        return self._undone[-1].label if self._undone else ""

    def do(self, label: str, changes: Sequence[Change], beside: Beside | None = None) -> tuple[Change, ...]:
        """Commit changes as one operation called `label` and return them; without changes nothing is recorded.

        Raises InputError: as `Draft.commit`; then neither the drawing nor the history has changed.

        `beside`: what the operation has changed besides the drawing; it is recorded even without changes of the
        drawing.
        """
        made = tuple(change for change in changes if change.before != change.after)
        if made or beside is not None:
            self.draft.commit(made)
            self._done.append(Step(label, made, beside))
            del self._done[:-MAX_STEPS]
            self._undone.clear()
            self.revision += 1
        return made

    def undo(self) -> tuple[Change, ...]:
        """Undo the last operation and return the changes of the drawing that did so; empty if there are none."""
        if not self._done:
            return ()
        step = self._done.pop()
        back = tuple(change.reversed() for change in reversed(step.changes))
        self.draft.commit(back)
        self._undone.append(step)
        self.revision += 1
        if step.beside is not None:
            step.beside.undo()
        return back

    def forget(self, beside: Beside) -> None:
        """Drop the operations that changed nothing but `beside`: they can no longer be undone or redone."""
        self._done = [step for step in self._done if step.beside is not beside or step.changes]
        self._undone = [step for step in self._undone if step.beside is not beside or step.changes]

    def redo(self) -> tuple[Change, ...]:
        """Repeat the operation undone last and return its changes of the drawing; empty if there are none."""
        if not self._undone:
            return ()
        step = self._undone.pop()
        self.draft.commit(step.changes)
        self._done.append(step)
        self.revision += 1
        if step.beside is not None:
            step.beside.redo()
        return step.changes
