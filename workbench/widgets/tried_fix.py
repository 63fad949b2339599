"""`TriedFix`: what a fix of a pending job changes in the jobs and the cluster of a comparison."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from workbench.errors import InputError
from workbench.evaluate.whatif.edit import Edit, EditedSession
from workbench.evaluate.whatif.fix import FixReport, JobFix
from workbench.evaluate.whatif.job_edits import JobEdit
from workbench.evaluate.whatif.queue_edits import Withdraw
from workbench.formats.edit_manifests.job_text import commands_beside_text, edit_job_text
from workbench.model.gang import Gang
from workbench.topology.history import Beside

__all__ = ["ClusterSteps", "TriedFix", "fix_record", "try_fix"]


class ClusterSteps(Protocol):
    """Where edits of the compared cluster are made, each a step that can be undone."""

    @property
    def undo_label(self) -> str:
        """Name of the step that `undo` would undo; empty if there is none."""

    def check(self, edits: Sequence[Edit], case: EditedSession) -> None:
        """Raise InputError if these edits of the cluster cannot be made."""

    def make(self, label: str, edits: Sequence[Edit], case: EditedSession, beside: Beside) -> None:
        """Make edits of the cluster as one step, and compare again.

        `label`: name of the step. `edits`: edits of the cluster; those of jobs are none of them. `case`: the session in
        which they were tried. `beside`: undoes what the step has changed besides the cluster.
        """

    def undo(self) -> bool:
        """Undo the last step, and compare again."""


@dataclass(frozen=True)
class TriedFix:
    """Jobs and cluster after a fix.

    `label`: name of the step: ``apply allow tier 2``. `given` (tuple of Gang): Jobs that the text does not have.
    `of_cluster` (tuple of Edit): edits of the cluster, still to be made.
    """

    label: str
    text: str
    given: tuple[Gang, ...]
    of_cluster: tuple[Edit, ...]


def try_fix(fix: JobFix, case: EditedSession, text: str, typed: Collection[str]) -> TriedFix:
    """Make the edits of jobs of a fix in their text, or in the jobs given as values.

    `case`: the session of the comparison. `text`: manifests of the jobs that are typed. `typed`: ``namespace/name`` of
    each of them. Raises InputError: an edit cannot be made in the text.
    """
    of_text = [edit for edit in fix.edits if _job_of(edit) in typed]
    after = case
    for edit in fix.edits:
        if _job_of(edit):
            after = edit.apply(after)
    given = tuple(gang for gang in after.gangs if gang.key not in typed)
    label = f"apply {' and '.join(edit.text for edit in fix.edits)}"
    new_text = edit_job_text(text, [edit.to_dict() for edit in of_text]) if of_text else text
    return TriedFix(label, new_text, given, tuple(edit for edit in fix.edits if not _job_of(edit)))


def fix_record(
    report: FixReport, case: EditedSession, text: str, typed: Collection[str], steps: ClusterSteps
) -> dict[str, Any]:
    """A report as a JSON-ready dict for the page: each fix with its commands, and why it cannot be tried there.

    `case`, `text`, `typed`: as for `try_fix`.
    """
    return {
        "headline": report.headline,
        "holders": [holder.text for holder in report.holders],
        "proved": report.proved,
        "fixes": [
            {
                "text": fix.text,
                "cannot": _cannot(fix, case, text, typed, steps),
                "commands": commands_beside_text(text, [edit.to_dict() for edit in fix.edits]),
            }
            for fix in report.fixes
        ],
    }


def _cannot(fix: JobFix, case: EditedSession, text: str, typed: Collection[str], steps: ClusterSteps) -> str:
    """Why a fix cannot be tried; empty if it can."""
    try:
        steps.check(try_fix(fix, case, text, typed).of_cluster, case)
    except InputError as error:
        return str(error)
    return ""


def _job_of(edit: Edit) -> str:
    """The pending job that an edit changes, as ``namespace/name``; empty for an edit of the cluster."""
    return edit.job if isinstance(edit, JobEdit | Withdraw) else ""
