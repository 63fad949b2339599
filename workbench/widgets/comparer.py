"""`PlacementComparer`: a Jupyter widget that places the same jobs by several policies and shows the results side by
side.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from workbench.cancel import finish
from workbench.errors import InputError, WorkbenchError
from workbench.evaluate.compare import Comparison, compare
from workbench.evaluate.policy_choices import make_policy, on_new_policy, policy_choices, with_config
from workbench.evaluate.usual_policies import FIELD, USUAL_POLICIES, with_field
from workbench.formats.manifest_text import line_of
from workbench.formats.scheduler_conf import parse_config
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.scenario import Scenario
from workbench.model.scheduler_config import SchedulerConfig
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.fields import shown
from workbench.report.html import explanation_html
from workbench.report.topology_svg import Drawing, DrawingPlan
from workbench.topology.history import Beside
from workbench.widgets.comparison_view import comparison_view, picture_plan, pictures, result_line
from workbench.widgets.finished_comparison import FinishedComparison, exported, repeat_command
from workbench.widgets.job_text import gangs_of, job_yaml, with_file
from workbench.widgets.messages import one_line, text_in
from workbench.widgets.own_steps import OwnSteps
from workbench.widgets.panel import STATIC, Panel
from workbench.widgets.tried_fix import ClusterSteps, fix_record, try_fix
from workbench.widgets.worker import Worker, WorkProgress

__all__ = ["PlacementComparer"]

#: Names in a command for a cluster and for jobs that no file holds.
_CLUSTER_FILE, _JOBS_FILE = "cluster.yaml", "jobs.yaml"

#: Names and parameters of policies.
_Chosen = Sequence[tuple[str, Mapping[str, Any]]]


class PlacementComparer(Panel):
    """Jupyter widget that compares policies on a cluster and its jobs.

    Parameters
    ----------
    scenario : Scenario, optional
        Cluster and jobs, from `workbench.load`.
    policies : sequence of str, or "field"
        ``NODE[+GPU]`` or whole policies, shown side by side; ``field`` stands for the twin of each scheduler.
    config : SchedulerConfig, optional
        The configuration of every policy that reads one; by default each has its own.

    Attributes
    ----------
    gangs : tuple of Gang
        Gangs handed in as values, then the gangs of the job text.
    jobs_changed : list of callable
        Functions called without arguments after the jobs changed.
    ended : list of callable
        Functions called with the outcome in one line (`result_line`) after a comparison ended, or why none can run.
    steps : ClusterSteps
        Where a fix of a pending job changes the cluster, one step to undo each.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("mine", pods=2, gpus=8))
    >>> comparer = wb.PlacementComparer(tree, ["binpack", "spread"])
    >>> len(comparer.snapshot.topology.node_names)
    8
    """

    # Overview:
    #   from Python   choose, configure, take_jobs, use: each sets what is compared, then `run`
    #   run           a `Worker` compares and draws in the background; pictures go out as deltas (`_since`), and causes
    #                 of pending jobs follow (`_tell_causes`)
    #   from the page one handler for each message, below `_state`: settings, cards, fixes as steps to undo

    _esm = STATIC / "comparer.js"
    handlers = {
        "state": "_state",
        "choices": "_choices",
        "choose": "_choose",
        "configure": "_configure",
        "jobs": "_jobs",
        "add_file": "_add_file",
        "form": "_form",
        "cancel": "_cancel",
        "step": "_step",
        "card": "_card",
        "explain": "_explain",
        "apply": "_apply",
        "undo_apply": "_undo_apply",
        "differences": "_differences",
        "export": "_export",
        "command": "_command",
    }

    def __init__(
        self,
        scenario: Scenario | None = None,
        policies: Sequence[str] | str = USUAL_POLICIES,
        config: SchedulerConfig | None = None,
    ) -> None:
        super().__init__()
        self._chosen: list[tuple[str, dict[str, Any]]] = []
        self._worker = Worker(lambda: self.tell(*self._idle))
        #: Sent to the page when the work has stopped without a result.
        self._idle: tuple[str, dict[str, Any]] = ("cancelled", {})
        #: Works out the causes of pending jobs after a comparison.
        self._causes = Worker()
        self.steps: ClusterSteps = OwnSteps(self._now, self._use_step)
        self._forget = on_new_policy(self._registered)
        self._cluster: Callable[[], ClusterSnapshot] | None = None
        if scenario is not None:
            snapshot = scenario.snapshot
            self._cluster = lambda: snapshot
        #: Files that the cluster and the given jobs were read from; empty: none hold them as they are now.
        self._files = tuple(scenario.inputs) if scenario is not None else ()
        self._given: tuple[Gang, ...] = tuple(scenario.gangs) if scenario is not None else ()
        self._typed: tuple[Gang, ...] = ()
        self._typed_notes: tuple[Notice, ...] = ()
        self._text = ""
        self.jobs_changed: list[Callable[[], None]] = []
        self.ended: list[Callable[[str], None]] = []
        self._chosen = _each([(name, {}) for name in ([policies] if isinstance(policies, str) else policies)])
        self._config = config
        _check(_configured(self._chosen, config))
        self._last: FinishedComparison | None = None
        #: Whether jobs, cluster and policies are still those of the last comparison.
        self._is_current = False
        #: Number of the last result, and its pictures as every open page shows them.
        self._number = 0
        self._shown: Sequence[Drawing | None] = ()
        self._plan: DrawingPlan | None = None

    @property
    def snapshot(self) -> ClusterSnapshot | None:
        """The cluster on which jobs are placed; None if none was given yet."""
        return self._cluster() if self._cluster is not None else None

    @property
    def comparison(self) -> Comparison | None:
        """The last comparison that ran to its end; None before the first."""
        return None if self._last is None else self._last.comparison

    @property
    def gangs(self) -> tuple[Gang, ...]:
        """Gangs that are compared: those passed as values, then those of the job text."""
        return self._given + self._typed

    @property
    def given(self) -> tuple[Gang, ...]:
        """Jobs that were passed as values, so that the job text does not contain them."""
        return self._given

    @property
    def policies(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and parameters of each compared policy."""
        return list(self._chosen)

    @property
    def config(self) -> SchedulerConfig | None:
        """The scheduler configuration for every compared policy that reads one.

        None means each policy's own default.
        """
        return self._config

    @property
    def text(self) -> str:
        """The job text as it was last entered, even if it has an error."""
        return self._text

    def choose(self, chosen: _Chosen) -> None:
        """Replace the compared policies by `chosen` (names and parameters; ``field``: the twin of each scheduler).

        Raises UnknownNameError or InputError, with nothing changed, if one of them cannot be made.
        """
        each = _each(chosen)
        _check(_configured(each, self._config))
        self._chosen = each
        self.run()

    def configure(self, config: SchedulerConfig | None) -> None:
        """Use a scheduler configuration for every compared policy that reads one; None means each policy's own default.

        Raises InputError: None of the policies reads one, or one of them cannot be made with it; nothing has changed
        then.
        """
        with_it = _configured(self._chosen, config)
        _check(with_it)
        if config is not None and with_it == self._chosen:
            got = ", ".join(name for name, _ in self._chosen) or "no policy"
            expected = "a policy with the parameter config, such as volcano-1.15"
            raise InputError("no compared policy reads a configuration", source="comparer", got=got, expected=expected)
        self._config = config
        self.tell("configured", self._config_view())
        self.run()

    def take_jobs(self, text: str) -> tuple[int, str]:
        """Replace the job text; its jobs are placed together with those that were passed as values.

        Returns: line and message of the first error, in which case the previous jobs are kept; (0, "") without an
        error.
        """
        self._text = text
        try:
            self._read_jobs(text)
        except InputError as error:
            self._is_current = False
            self._tell_ended("the jobs have an error")
            return line_of(text, error), str(error.at(source="jobs"))
        self._tell_jobs()
        self.run()
        return 0, ""

    def _read_jobs(self, text: str) -> None:
        """Take the jobs of a text in place of the typed ones; nothing has changed after an InputError."""
        gangs, notes = gangs_of(text) if text.strip() else ((), ())
        taken = {gang.key for gang in self._given}
        twice = next((gang.key for gang in gangs if gang.key in taken), None)
        if twice is not None:
            raise InputError(f"{twice}: a job of this name is there already")
        self._typed, self._typed_notes = gangs, notes

    def use(
        self, snapshot: ClusterSnapshot | Callable[[], ClusterSnapshot], gangs: Sequence[Gang] | None = None
    ) -> None:
        """Compare on another cluster and, if `gangs` is given, with other jobs.

        A function given as `snapshot` is called in the background when the cluster is first needed.
        """
        self._files = ()
        self._cluster = cache(snapshot) if callable(snapshot) else lambda: snapshot
        if gangs is not None:
            self._given = tuple(gangs)
            self._tell_jobs()
        self.run()

    def _tell_jobs(self) -> None:
        for told in self.jobs_changed:
            told()

    def _tell_ended(self, line: str) -> None:
        for told in self.ended:
            told(line)

    def run(self) -> None:
        """Start a new comparison in the background; a comparison that is running is cancelled."""
        cluster, gangs, notes = self._cluster, self.gangs, self._typed_notes
        self._is_current = False
        self._causes.cancel()
        if cluster is None or not gangs or not self._chosen:
            missing = "cluster" if cluster is None else "job" if not gangs else "policy"
            self._idle = ("nothing", {"missing": missing})
            self._worker.cancel()
            self._last, self._shown = None, ()
            self.tell(*self._idle)
            self._tell_ended(f"no {missing} yet")
            return
        chosen, config = [(name, dict(parameters)) for name, parameters in self._chosen], self._config

        def noted() -> ClusterSnapshot:
            snapshot = cluster()
            return replace(snapshot, gaps=(*snapshot.gaps, *notes)) if notes else snapshot

        known = {"total": len(chosen), "done": 0, "policy": chosen[0][0]}
        progress = WorkProgress(lambda now: self.tell("progress", now), known)
        self._worker.start(lambda: self._compare(gangs, noted, chosen, config, progress), progress.look)

    def cancel(self) -> bool:
        """Cancel the running comparison; returns False if none is running."""
        self._idle = ("cancelled", {})
        stopped = self._worker.cancel()
        if stopped:
            # Sent again when the work has ended, because it may be sending its progress at this moment.
            self.tell(*self._idle)
        return stopped

    def close(self) -> None:
        """Cancel running work, and remove the widget from the page."""
        self._forget()
        self._worker.cancel()
        self._causes.cancel()
        super().close()

    def wait(self, seconds: float | None = None, causes: bool = True) -> None:
        """Wait until the running comparison has finished, and the causes of pending jobs are known.

        `seconds`: longest time to wait for each of the two; None: however long they take. `causes`: wait for the
        causes, too.
        """
        self._worker.wait(seconds)
        if causes:
            self._causes.wait(seconds)

    def _registered(self, name: str) -> None:
        """Offer a policy that a notebook cell has registered; compare again if it is among the chosen policies."""
        self.tell("choices", {"choices": policy_choices()})
        if any(name == chosen.partition("+")[0] for chosen, _ in self._chosen):
            self.run()

    def _compare(
        self,
        gangs: Sequence[Gang],
        cluster: Callable[[], ClusterSnapshot],
        chosen: _Chosen,
        config: SchedulerConfig | None,
        progress: WorkProgress,
    ) -> None:
        def step(done: int, total: int, name: str) -> None:
            progress.now({"total": total, "done": done, "policy": name})

        try:
            chosen = _configured(chosen, config)
            policies = [make_policy(name, parameters) for name, parameters in chosen]
            comparison = compare(gangs, cluster(), policies, step, most_advised=0)
            plan = picture_plan(comparison, self._plan)
            view, drawn = comparison_view(comparison, plan), pictures(comparison, plan)
        except Exception as error:
            finish()
            text = "" if isinstance(error, WorkbenchError) else traceback.format_exc()
            self.tell("failed", {"message": one_line(str(error)), "traceback": text})
            self._tell_ended("the comparison failed")
            return
        finish()
        told = self._since(drawn)
        finished = FinishedComparison(self._number, comparison, chosen, plan)
        self._last, self._plan, self._is_current = finished, plan, True
        self.tell("result", {**view, **told})
        self._tell_ended(result_line(comparison))
        self._causes.start(lambda: self._tell_causes(finished))

    def _tell_causes(self, finished: FinishedComparison) -> None:
        """Tell the page why jobs are pending, cell by cell."""
        for policy, job, text in finished.causes():
            self.tell("cause", {"number": finished.number, "policy": policy, "job": job, "text": text})

    def _since(self, drawn: Sequence[Drawing | None]) -> dict[str, Any]:
        """The new pictures `drawn` as a JSON-ready message, each relative to the picture that the page already shows.

        In the message ``since`` is the number of the earlier result; 0 means that the picture is complete.
        """
        before, shown = self._number, [*self._shown, *([None] * len(drawn))]
        self._number, self._shown = before + 1, drawn
        return {
            "number": self._number,
            "pictures": [
                None if new is None else {"since": before if old is not None else 0, **new.parts(old)}
                for old, new in zip(shown, drawn)
            ],
        }

    # ---- requests of the page ----

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        # A view that was just opened has no picture yet.
        self._shown = ()
        self.run()
        return {
            "choices": policy_choices(),
            **self._chosen_view(),
            "text": self._text,
            **self._config_view(),
        }

    def _chosen_view(self) -> dict[str, Any]:
        return {"chosen": [{"name": name, "parameters": parameters} for name, parameters in self._chosen]}

    def _config_view(self) -> dict[str, Any]:
        return {"config": None if self._config is None else self._config.source or "config"}

    def _choices(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"choices": policy_choices()}

    def _choose(self, body: dict[str, Any]) -> dict[str, Any]:
        chosen = body.get("chosen")
        if not isinstance(chosen, list) or not all(
            isinstance(c, dict) and isinstance(c.get("name"), str) and isinstance(c.get("parameters") or {}, dict)
            for c in chosen
        ):
            raise InputError(
                "no list of policies", source="comparer", got=shown(chosen), expected="names and parameters"
            )
        self.choose([(c["name"], c.get("parameters") or {}) for c in chosen])
        return self._chosen_view()

    def _configure(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("text") is None:
            self.configure(None)
        else:
            name = text_in(body, "name") or "configuration"
            self.configure(parse_config(text_in(body, "text").encode(), name))
        return {}

    def _jobs(self, body: dict[str, Any]) -> dict[str, Any]:
        line, message = self.take_jobs(text_in(body, "text"))
        return {"line": line, "message": one_line(message), "jobs": [gang.key for gang in self._typed]}

    def _add_file(self, body: dict[str, Any]) -> dict[str, Any]:
        name = text_in(body, "name") or "file"
        return {"text": with_file(text_in(body, "text"), text_in(body, "file"), name)}

    def _form(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"text": job_yaml(body)}

    def _cancel(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"cancelled": self.cancel()}

    def _finished(self) -> FinishedComparison:
        if self._last is None:
            raise InputError("nothing is compared yet", source="comparer", expected="a comparison that ran to its end")
        return self._last

    def _step(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._finished().step(body)

    def _card(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._finished().card(body)

    def _explain(self, body: dict[str, Any]) -> dict[str, Any]:
        finished = self._finished()
        row, job = finished.row_in(body), text_in(body, "job")
        explanation, report = finished.explain(row, job)
        answer: dict[str, Any] = {"html": explanation_html(explanation)}
        if report is not None:
            answer["fix"] = fix_record(report, finished.case(job), self._text, self._typed_keys(), self.steps)
        return answer

    def _typed_keys(self) -> set[str]:
        return {gang.key for gang in self._typed}

    def _now(self) -> ClusterSnapshot:
        """The cluster on which jobs are placed."""
        if self._cluster is None:
            raise InputError("there is no cluster yet", source="comparer")
        return self._cluster()

    def _use_step(self, snapshot: ClusterSnapshot) -> None:
        """Compare on the cluster after a step was made or undone."""
        self.use(snapshot)

    def _apply(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make the edits of a fix in the jobs and the cluster, as one step to undo; the comparison runs again."""
        finished = self._finished()
        row, job, number = finished.row_in(body), text_in(body, "job"), body.get("fix")
        report = finished.reports.get((row, job))
        if not self._is_current or report is None:
            raise InputError("this belongs to an earlier comparison", source="comparer", expected="ask why again")
        if type(number) is not int or not 0 <= number < len(report.fixes):
            raise InputError("no such fix", source="comparer", got=shown(number), expected="a fix of the report")
        case = finished.case(job)
        tried = try_fix(report.fixes[number], case, self._text, self._typed_keys())
        self.steps.check(tried.of_cluster, case)
        before, after = (self._text, self._given), (tried.text, tried.given)
        self._take_back(before, after)
        self.steps.make(
            tried.label,
            tried.of_cluster,
            case,
            Beside(lambda: self._take_back(after, before), lambda: self._take_back(before, after)),
        )
        return {"label": tried.label}

    def _take_back(self, now: tuple[str, tuple[Gang, ...]], then: tuple[str, tuple[Gang, ...]]) -> None:
        """Replace text and given jobs `now` by those of `then`; what was edited in between stays as it is."""
        given_before = self._given
        if self._given == now[1]:
            self._given = then[1]
        if self._text == now[0] != then[0]:
            try:
                self._read_jobs(then[0])
            except InputError:
                self._given = given_before
                raise
            self._text = then[0]
            self.tell("job_text", {"text": self._text})
        self._tell_jobs()

    def _undo_apply(self, body: dict[str, Any]) -> dict[str, Any]:
        """Undo a fix, if it is the last step."""
        label, last = text_in(body, "label"), self.steps.undo_label
        if last != label:
            raise InputError(f"{last or 'nothing'} is to be undone first", source="comparer", got=label)
        return {"done": self.steps.undo()}

    def _differences(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._finished().differences()

    def _export(self, body: dict[str, Any]) -> dict[str, Any]:
        return exported(self._finished().comparison, body.get("kind"))

    def _command(self, body: dict[str, Any]) -> dict[str, Any]:
        files, to_save = _inputs_of(self._files, bool(self._typed or (self._given and not self._files)))
        return {"text": repeat_command(files, _configured(self._chosen, self._config)), "to_save": to_save}


def _inputs_of(files: Sequence[str], with_jobs: bool) -> tuple[list[str], list[str]]:
    """Files for a shell command, and those of them that the user must save first: the drawing and the typed jobs."""
    known = [name for name in files if name != "-"]
    to_save = [*(() if known else [_CLUSTER_FILE]), *([_JOBS_FILE] if with_jobs else [])]
    return [*known, *to_save], to_save


def _each(chosen: _Chosen) -> list[tuple[str, dict[str, Any]]]:
    """The policies with the twin of each scheduler in the place of ``field``, but for those that are there already."""
    names = with_field([name for name, _ in chosen if name == "field" or name in FIELD])
    twins = [name for name in names if name not in {other for other, _ in chosen}]
    found: list[tuple[str, dict[str, Any]]] = []
    for name, parameters in chosen:
        found += [(twin, {}) for twin in twins] if name == "field" else [(name, dict(parameters))]
    return found


def _check(chosen: _Chosen) -> None:
    """Raise the error of the first policy in `chosen` that cannot be made."""
    for name, parameters in chosen:
        make_policy(name, parameters)


def _configured(chosen: _Chosen, config: SchedulerConfig | None) -> list[tuple[str, dict[str, Any]]]:
    """Names and parameters with which the policies run; policies that read a scheduler configuration get `config`."""
    if config is None:
        return [(name, dict(parameters)) for name, parameters in chosen]
    return [(name, with_config(name, parameters, config)) for name, parameters in chosen]
