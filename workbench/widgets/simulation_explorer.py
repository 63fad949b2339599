"""`SimulationExplorer`: a Jupyter widget whose charts of simulations show one time, one policy and one job together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import ipywidgets
import numpy as np

from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.model.number_text import duration_text, span_text, time_unit
from workbench.model.scenario import Scenario, snapshot_of
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.fields import shown
from workbench.report.gantt import draw_gantt
from workbench.report.simulation_moment import attempts_at, jobs_at, stretches_of
from workbench.report.simulation_views import draw_reasons, draw_step_times, draw_usage, draw_waiting, run_names
from workbench.report.topology_svg import DrawingPlan, draw_topology
from workbench.simulate.result import SimulationResult
from workbench.simulate.waiting import WaitingJob, meaning_of, waiting_at
from workbench.widgets.messages import text_in
from workbench.widgets.panel import STATIC, Panel

__all__ = ["SimulationCharts", "SimulationExplorer"]

#: Jobs that wait that are listed; the rest is counted.
_LISTED = 40
#: What a job did in an attempt, and how that ended, by its outcome.
_RAN = {"standing": "held nodes without working"}
_ENDED = {"stopped": " until a fault", "grown": " until more pods joined", "running": ", and runs on"}
#: Places at which a handle of the slider stops.
_STEPS = 500


class SimulationExplorer(ipywidgets.VBox):  # type: ignore[misc]
    """Jupyter widget that shows simulations of the same jobs in linked charts.

    One slider chooses the time that all charts show, another the instant at which the cluster is drawn: at first the
    busiest one, later the end of the chosen time. Charts over time share one crosshair. A job is named in the box, or
    by a click on its bar, on a node that it holds or on its line among the jobs that wait; a click into a chart shows
    the cluster at that instant, and names the job that has waited longest then, or that holds the most GPUs. The named
    job has a colour everywhere, also while it waits; all others are pale, and a line says what became of it. All of
    it works by keys: Tab reaches charts, bars, nodes and jobs, arrows move between them and along the axis, Enter
    names, Escape names nobody.

    `results`: one simulation, or several of the same jobs; the drawing and the Gantt chart are of the chosen one.
    `snapshot`: the cluster at the start. Raises InputError: no result, results of different jobs, or of another
    cluster.

    Attributes
    ----------
    time : ipywidgets.FloatRangeSlider
        From when and to when, in hours; in minutes or seconds where all simulations are shorter.
    at : ipywidgets.FloatSlider
        When the cluster is drawn, in the same unit.
    policy : ipywidgets.Dropdown
        Number of the chosen simulation.
    job : ipywidgets.Combobox
        ``namespace/name`` of the chosen job; empty: none.
    charts : SimulationCharts
        The charts below the controls.

    Examples
    --------
    >>> import workbench as wb
    >>> job = wb.SimulatedJob(wb.gang("mine", pods=2, gpus=8), 0.0, 60.0)
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> explorer = wb.SimulationExplorer(wb.simulate(tree, [job], "binpack"), tree)
    >>> type(explorer).__name__
    'SimulationExplorer'
    """

    # Controls (time, job, result) → `_show` draws what they ask for, and sends what has changed. A click names a job or
    # an instant (`name`, `point`, `point_at_nodes`), which are controls, too.

    def __init__(
        self, results: SimulationResult | Sequence[SimulationResult], snapshot: ClusterSnapshot | Scenario
    ) -> None:
        snapshot = snapshot_of(snapshot)
        self._results = (results,) if isinstance(results, SimulationResult) else tuple(results)
        if not self._results:
            raise InputError("no simulation to show", source="results", expected="at least one SimulationResult")
        keys = tuple(job.gang.key for job in self._results[0].jobs)
        for result in self._results:
            if tuple(job.gang.key for job in result.jobs) != keys:
                raise InputError("simulations of different jobs", source="results", got=repr(result))
            if result.node_names != snapshot.topology.node_names:
                raise InputError("a simulation of another cluster", source="results", got=repr(result))
        self._snapshot, self._plan = snapshot, DrawingPlan(snapshot.topology)
        self._number = {key: i for i, key in enumerate(keys)}
        #: What the charts over time show: policy, range of time, and job.
        self._drawn: tuple[int, tuple[float, float], int | None] | None = None
        #: Summary of a policy's result, made once: one of 1,000 jobs takes longer than all charts.
        self._summary = cache(lambda policy: repr(self._results[policy]))
        longest = max(result.end_s for result in self._results)
        self._unit = time_unit(longest)
        # A slider needs some room even where nothing has happened.
        most = longest / self._unit.seconds or 1.0
        wide = ipywidgets.Layout(width="600px", max_width="100%")
        self.time = ipywidgets.FloatRangeSlider(
            value=(0.0, most),
            min=0.0,
            max=most,
            step=most / _STEPS,
            description=self._unit.plural,
            layout=wide,
            readout_format=".2f",
            continuous_update=False,
        )
        self.at = ipywidgets.FloatSlider(
            value=_busiest(self._results[0], most, self._unit.seconds),
            min=0.0,
            max=most,
            step=most / _STEPS,
            description="cluster at",
            layout=wide,
            readout_format=".2f",
            continuous_update=False,
        )
        self.policy = ipywidgets.Dropdown(
            options=[(name, i) for i, name in enumerate(run_names(self._results))], value=0, description="policy"
        )
        self.job = ipywidgets.Combobox(
            options=list(keys), value="", placeholder="namespace/name", description="job", continuous_update=False
        )
        self.charts = SimulationCharts(self)
        flow = ipywidgets.Layout(flex_flow="row wrap")
        super().__init__([ipywidgets.HBox([self.time, self.at, self.policy, self.job], layout=flow), self.charts])
        self.add_class("tw-simulation-explorer")
        self.time.observe(self._follow, "value")
        self.at.observe(self._show, "value")
        self.policy.observe(self._show, "value")
        self.job.observe(self._show, "value")
        self._show()

    def _follow(self, _: Any) -> None:
        """Show another range of time, and the cluster at its end."""
        if self.at.value == self.time.value[1]:
            self._show()
        else:
            self.at.value = self.time.value[1]

    @property
    def _between(self) -> tuple[float, float]:
        since, until = self.time.value
        return since * self._unit.seconds, until * self._unit.seconds

    @property
    def _result(self) -> SimulationResult:
        chosen: int = self.policy.value
        return self._results[chosen]

    def _show(self, _: Any = None) -> None:
        """Draw what the controls ask for; the page receives only what has changed."""
        result, between, name = self._result, self._between, self.job.value.strip()
        job, at_s = self._number.get(name), self.at.value * self._unit.seconds
        who = jobs_at(result, self._snapshot, at_s, job)
        title = f"{result.policy}: the cluster after {duration_text(at_s)}"
        waiting = waiting_at(result, at_s)
        about = self._summary(self.policy.value)
        story = _text_of_job(result, job) if job is not None else f"no job is called {name}" if name else about
        changed: dict[str, Any] = {
            "cluster": draw_topology(self._snapshot.topology, who, title, self._plan),
            "said": {
                "story": story,
                "title": f"{counted(len(waiting), 'job waits', 'jobs wait')} after {duration_text(at_s)}",
                "jobs": [self._line(one, at_s, job) for one in waiting[:_LISTED]],
                "named": job is not None,
                "more": f"and {len(waiting) - _LISTED:,} more" if len(waiting) > _LISTED else "",
            },
        }
        # The others do not depend on when the cluster is drawn.
        if self._drawn != (self.policy.value, between, job):
            self._drawn = self.policy.value, between, job
            changed["charts"] = [{"chart": chart, "svg": svg} for chart, svg in self._over_time(job).items()]
            changed["gantt"] = draw_gantt(result, between, job)
        self.charts.show(**changed)

    def _over_time(self, job: int | None) -> dict[str, str]:
        """The charts over time by name, with the time that a job waited and ran."""
        result, between = self._result, self._between
        stretches = [] if job is None else stretches_of(result, job)
        found = {
            "usage": draw_usage(self._results, between, stretches),
            "waiting": draw_waiting(self._results, between, stretches),
        }
        if result.refusals:
            policy = run_names(self._results)[self.policy.value]
            found["reasons"] = draw_reasons(result, between, stretches, policy)
        if any(one.steps for one in self._results):
            found["steps"] = draw_step_times(self._results, between)
        return found

    def _line(self, one: WaitingJob, at_s: float, job: int | None) -> dict[str, Any]:
        """A job that waits: how long by now, and why."""
        result = self._result
        at_the_end = at_s >= result.ended_s and one.job in result.refused
        why = result.refused[one.job] if at_the_end else meaning_of(one.code).rstrip(".")
        waited = duration_text(min(at_s, result.ended_s) - one.since_s)
        text = f"{waited}: {why if at_the_end else why[:1].lower() + why[1:]}"
        return {"job": result.jobs[one.job].gang.key, "text": text, "named": one.job == job}

    def name(self, job: str) -> None:
        """Name a job in every chart, by ``namespace/name``; the job that is named, or empty text: no job.

        Raises InputError: no job of that name.
        """
        if job and job not in self._number:
            raise InputError("no such job", source="explorer", got=job, expected="a job of the simulations")
        self.job.value = "" if job == self.job.value else job

    def point(self, chart: str, time_s: float) -> None:
        """Show the cluster at a point of a chart, and name the job that stands for it.

        `chart`: ``waiting`` or ``reasons``: the job that has waited longest then is named. ``usage``: the job that
        holds the most GPUs then (ties: the smallest name). Another chart names nobody. `time_s`: in seconds.
        """
        time_s = min(max(time_s, 0.0), self.at.max * self._unit.seconds)
        result, named = self._result, ""
        if chart in ("waiting", "reasons"):
            named = next((result.jobs[one.job].gang.key for one in waiting_at(result, time_s)), "")
        elif chart == "usage":
            there = attempts_at(result, time_s)
            keys = [(-one.gpus, result.jobs[one.job].gang.key.encode(), one.job) for one in there]
            named = result.jobs[min(keys)[2]].gang.key if keys else ""
        with self.hold_trait_notifications():
            self.at.value = time_s / self._unit.seconds
        if named:
            self.job.value = named

    def point_at_nodes(self, square: str) -> None:
        """Name a job on the nodes of a square of the drawing: the first, or the one after the job that is named.

        `square`: label of the square; one that is free names nobody.
        """
        nodes = set(self._plan.nodes_of(square))
        there = attempts_at(self._result, self.at.value * self._unit.seconds)
        jobs = list(dict.fromkeys(one.job for one in there if nodes & set(one.nodes)))
        keys = [self._result.jobs[number].gang.key for number in jobs]
        after = keys.index(self.job.value) + 1 if self.job.value in keys else 0
        self.job.value = keys[after] if after < len(keys) else ""


class SimulationCharts(Panel):
    """The charts of an explorer, whose page asks it to name jobs and to show instants.

    `charts`: name (``chart``) and ``svg`` of each chart over time. `cluster`, `gantt`: SVG of the cluster and of the
    Gantt chart. `said`: what became of the named job (``story``), and the jobs that wait.
    """

    _esm = STATIC / "explorer.js"
    handlers = {"state": "_state", "name": "_name", "point": "_point", "cell": "_cell"}

    def __init__(self, explorer: SimulationExplorer) -> None:
        super().__init__()
        self._explorer = explorer
        self.charts: list[dict[str, str]] = []
        self.cluster = self.gantt = ""
        self.said: dict[str, Any] = {}

    def show(self, **changed: Any) -> None:
        """Show other pictures or another text: values of attributes by their names."""
        for name, value in changed.items():
            setattr(self, name, value)
        self.tell("shown", changed)

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"charts": self.charts, "cluster": self.cluster, "gantt": self.gantt, "said": self.said}

    def _name(self, body: dict[str, Any]) -> dict[str, Any]:
        self._explorer.name(text_in(body, "job"))
        return {}

    def _point(self, body: dict[str, Any]) -> dict[str, Any]:
        seconds = body.get("seconds")
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds != seconds:
            raise InputError("no time", source="explorer", got=shown(seconds), expected="seconds")
        self._explorer.point(text_in(body, "chart"), float(seconds))
        return {}

    def _cell(self, body: dict[str, Any]) -> dict[str, Any]:
        self._explorer.point_at_nodes(text_in(body, "cell"))
        return {}


def _text_of_job(result: SimulationResult, number: int) -> str:
    """What became of a job, in a line."""
    job = result.jobs[number]
    parts = []
    free_s = job.submitted_s
    for attempt in result.attempts:
        if attempt.job == number:
            nodes = len({node for node in attempt.nodes if node >= 0})
            waited = f"waited {duration_text(attempt.start_s - free_s)}, " if attempt.start_s > free_s else ""
            ran = _RAN.get(attempt.outcome, "ran")
            end = _ENDED.get(attempt.outcome, "")
            parts.append(f"{waited}{ran} {span_text(attempt.start_s, attempt.end_s)} on {counted(nodes, 'node')}{end}")
            free_s = attempt.end_s
    if number in result.refused:
        parts.append(f"waits {duration_text(result.ended_s - free_s)} by the end: {result.refused[number]}")
    elif not parts:
        parts.append("had not arrived by the end")
    return f"{job.gang.key}: submitted at {duration_text(job.submitted_s)}; {'; '.join(parts)}"


def _busiest(result: SimulationResult, most: float, unit_s: float) -> float:
    """The first place of the slider at which most GPUs are in use, in units of `unit_s` seconds; without GPUs nodes."""
    places = np.linspace(0.0, most, _STEPS + 1) * unit_s
    in_use = np.zeros(len(places) + 1)
    for attempt in result.attempts:
        since, until = np.searchsorted(places, (attempt.start_s, attempt.end_s))
        amount = attempt.gpus or 1e-6 * len({node for node in attempt.nodes if node >= 0})
        in_use[since] += amount
        in_use[until] -= amount
    return float(places[int(np.cumsum(in_use)[:-1].round(6).argmax())] / unit_s)
