"""`OwnSteps`: edits of a cluster that no drawing shows, with their undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from workbench.evaluate.whatif.edit import Edit, EditedSession
from workbench.model.snapshot import ClusterSnapshot
from workbench.topology.draft import Draft
from workbench.topology.history import Beside, History

__all__ = ["OwnSteps"]


class OwnSteps:
    """Steps of a comparer that stands alone; `ClusterSteps` of `workbench.widgets.tried_fix`.

    `cluster`: returns the cluster as it is now. `use`: takes another cluster, and compares again.
    """

    def __init__(self, cluster: Callable[[], ClusterSnapshot], use: Callable[[ClusterSnapshot], None]) -> None:
        self._cluster, self._use = cluster, use
        self._history = History(Draft())

    @property
    def undo_label(self) -> str:
        """Name of the step that `undo` would undo; empty if there is none."""
        return self._history.undo_label

    def check(self, edits: Sequence[Edit], case: EditedSession) -> None:
        """Every edit can be made in a snapshot."""

    def make(self, label: str, edits: Sequence[Edit], case: EditedSession, beside: Beside) -> None:
        """Make edits of the cluster as one step, and compare again.

        `label`: name of the step. `case`: the session of the comparison. `beside`: undoes what the step has changed
        besides the cluster.
        """
        before = self._cluster()
        after = replace(case, snapshot=before)
        for edit in edits:
            after = edit.apply(after)

        def undo() -> None:
            beside.undo()
            self._use(before)

        def redo() -> None:
            beside.redo()
            self._use(after.snapshot)

        self._history.do(label, (), Beside(undo, redo))
        self._use(after.snapshot)

    def undo(self) -> bool:
        """Undo the last step, and compare again; returns False if there is none."""
        known = bool(self._history.undo_label)
        self._history.undo()
        return known
