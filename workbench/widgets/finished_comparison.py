"""A comparison that ran to its end: what its page asks and saves of it, and `repeat_command`, which repeats it."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.cancel import check
from workbench.errors import InputError
from workbench.evaluate.compare import Comparison
from workbench.evaluate.policy_choices import make_policy, policy_choices
from workbench.evaluate.whatif.advice import advise
from workbench.evaluate.whatif.edit import EditedSession
from workbench.evaluate.whatif.fix import FixReport
from workbench.model.explanation import Explanation, Recorder
from workbench.model.placement import Refusal
from workbench.model.scheduler_config import SchedulerConfig
from workbench.objects.fields import shown
from workbench.report.csv_text import csv_text
from workbench.report.html import report_html
from workbench.report.png import has_font, to_png
from workbench.report.side_by_side import comparison_svg
from workbench.report.topology_svg import DrawingPlan
from workbench.widgets.comparison_view import brief_cause, differences_view, occupancy_after, picture_after
from workbench.widgets.messages import text_in
from workbench.widgets.place_card import PictureWalk, card_of

__all__ = ["FinishedComparison", "exported", "repeat_command"]

#: Pending cells whose causes are worked out after a comparison; the others say what the policy said.
_MOST_CAUSES = 40


class FinishedComparison:
    """A comparison that ran to its end, and the answers to what its page asks about it.

    `reports`: reports on pending jobs, by row and job, as far as they are made; None: the policy failed on a changed
    cluster. `number`: number of the result, which the page knows. `ran`: name and parameters of the policy of each row.
    `plan`: layout of the pictures.
    """

    def __init__(
        self, number: int, comparison: Comparison, ran: Sequence[tuple[str, Mapping[str, Any]]], plan: DrawingPlan
    ) -> None:
        self.number, self.comparison = number, comparison
        self.reports: dict[tuple[int, str], FixReport | None] = {}
        self._ran, self._plan = ran, plan
        #: The places of the pictures, once somebody points at one.
        self._walk: PictureWalk | None = None

    def causes(self) -> Iterator[tuple[int, str, str]]:
        """Work out why jobs are pending: row of the policy, job, and the cause in a few words, cell by cell."""
        comparison = self.comparison
        pending = [
            (at, decision.gang.key)
            for at, row in enumerate(comparison.rows)
            for decision in row.decisions
            if row.error is None and isinstance(decision.result, Refusal)
        ]
        for at, job in pending[:_MOST_CAUSES]:
            if (at, job) not in self.reports:
                policy = make_policy(*self._ran[at])
                report = advise(policy, comparison.gangs, comparison.snapshot, comparison.rows[at].decisions, job)
                check()
                self.reports[at, job] = report
            found = self.reports[at, job]
            if found is not None:
                yield at, job, brief_cause(found)

    def row_in(self, body: dict[str, Any]) -> int:
        row, n = body.get("policy"), len(self.comparison.rows)
        if type(row) is not int or not 0 <= row < n:
            raise InputError("no such policy", source="comparer", got=shown(row), expected=f"0 to {n - 1}")
        return row

    @staticmethod
    def _steps(body: dict[str, Any]) -> int:
        steps = body.get("steps", 0)
        if type(steps) is not int or steps < 0:
            raise InputError("no number of decisions", source="comparer", got=shown(steps), expected="0 or more")
        return steps

    def step(self, body: dict[str, Any]) -> dict[str, Any]:
        """The picture of every policy after the same number of decisions; None for a policy that raised."""
        comparison, steps = self.comparison, self._steps(body)
        return {
            "pictures": [
                None if row.error is not None else picture_after(comparison, i, steps, self._plan).parts()
                for i, row in enumerate(comparison.rows)
            ]
        }

    def card(self, body: dict[str, Any]) -> dict[str, Any]:
        """The card of a place in the picture of a policy, and where the arrow keys lead; without a name the first."""
        comparison, row, steps = self.comparison, self.row_in(body), self._steps(body)
        if self._walk is None:
            self._walk = PictureWalk(comparison.snapshot.topology, self._plan.layout)
        named = body.get("name") is not None
        place = self._walk.find(body.get("kind"), text_in(body, "name")) if named else self._walk.start
        if place is None:
            raise InputError("no such place", source="comparer", got=shown(body.get("name")), expected="a place")
        kind, name = place
        card = card_of(kind, name, self._walk, comparison.snapshot, occupancy_after(comparison, row, steps))
        return {"kind": kind, "name": name, **card, "around": self._walk.around(kind, name)}

    def explain(self, row: int, job: str) -> tuple[Explanation, FixReport | None]:
        """Why the policy of a row decided on a job as it did, and what would help if the job is pending.

        Raises InputError: no job of this name was compared.
        """
        comparison = self.comparison
        at = next((i for i, gang in enumerate(comparison.gangs) if gang.key == job), None)
        if at is None:
            raise InputError("no such job", source="comparer", got=job, expected="a job of the comparison")
        policy = make_policy(*self._ran[row])
        recorder, gangs, snapshot = Recorder(), comparison.gangs, comparison.snapshot
        decisions = policy.schedule(gangs, snapshot, {at: recorder})
        if (row, job) not in self.reports:
            pending = isinstance(decisions[at].result, Refusal)
            self.reports[row, job] = advise(policy, gangs, snapshot, decisions, job) if pending else None
        return recorder.explanation(decisions[at]), self.reports[row, job]

    def case(self, job: str) -> EditedSession:
        """The session of the comparison, with one job in question."""
        return EditedSession(tuple(self.comparison.gangs), self.comparison.snapshot, job)

    def differences(self) -> dict[str, Any]:
        """The number of the result, and the jobs that not all policies place on the same nodes."""
        return {"number": self.number, **differences_view(self.comparison)}


def exported(comparison: Comparison, kind: object) -> dict[str, Any]:
    """A comparison as a file for the page: name, type, and its text, or its bytes in base64.

    Raises InputError: the kind is none of html, csv, svg and png.
    """
    if kind == "html":
        return {"name": "comparison.html", "type": "text/html", "text": report_html(comparison)}
    if kind == "csv":
        return {"name": "comparison.csv", "type": "text/csv", "text": csv_text(comparison.to_dataframe())}
    if kind == "svg":
        return {"name": "comparison.svg", "type": "image/svg+xml", "text": comparison_svg(comparison)}
    if kind == "png":
        image = base64.b64encode(to_png(comparison_svg(comparison))).decode()
        note = "" if has_font() else "no font was found where the kernel runs: the picture has no letters"
        return {"name": "comparison.png", "type": "image/png", "base64": image, "note": note}
    raise InputError("no such form", source="comparer", got=shown(kind), expected="html, csv, svg or png")


def repeat_command(files: Sequence[str], chosen: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The shell command ``workbench compare FILES --policies … --set …`` for a comparison.

    Raises InputError: no command repeats the comparison, because it has a policy twice, a parameter with different
    values for two policies, or a policy that is defined in a notebook.

    `files`: files with the cluster and the jobs. `chosen`: names and parameters with which the policies ran.
    """
    names = [name for name, _ in chosen]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise _unsaid(f"{twice} is compared twice", "each policy once")
    here = {choice["name"] for choice in policy_choices() if choice["source"] == "__main__"}
    own = next((name for name in names if here & set(name.split("+"))), None)
    if own is not None:
        raise _unsaid(f"{own} is defined in this notebook", "policies that are installed")
    given = {key: value for _, parameters in chosen for key, value in parameters.items()}
    for name, parameters in chosen:
        wanted = make_policy(name, parameters).parameters
        made = make_policy(name, {key: value for key, value in given.items() if key in wanted}).parameters
        unlike = next((key for key in wanted if made[key] != wanted[key]), None)
        if unlike is not None:
            raise _unsaid(
                f"{unlike} is {_written(wanted[unlike])} for {name}, another value elsewhere",
                "one value for every policy that has the parameter",
            )
    settings = [part for key, value in given.items() for part in ("--set", f"{key}={_written(value)}")]
    return shlex.join(["workbench", "compare", *files, "--policies", ",".join(names), *settings])


def _unsaid(got: str, expected: str) -> InputError:
    return InputError("no command repeats this comparison", source="comparer", got=got, expected=expected)


def _written(value: object) -> str:
    """A parameter value as ``--set`` takes it: a configuration's file name, a table as name=number,…"""
    if isinstance(value, SchedulerConfig):
        return value.source or "volcano-scheduler.conf"
    if isinstance(value, Mapping):
        return ",".join(f"{key}={number}" for key, number in value.items())
    return str(value)
