"""`SimulationExplorer`: a Jupyter widget whose charts of simulations show one time, one policy and one job together."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import ipywidgets
import numpy as np

from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.model.snapshot import ClusterSnapshot
from workbench.report.gantt import draw_gantt
from workbench.report.simulation_moment import jobs_at
from workbench.report.simulation_views import draw_step_times, draw_usage, draw_waiting, run_names
from workbench.report.topology_svg import DrawingPlan, draw_topology
from workbench.simulate.result import SimulationResult

__all__ = ["SimulationExplorer"]

_HOUR = 3600.0
#: Places at which a handle of the slider stops.
_STEPS = 500


class SimulationExplorer(ipywidgets.VBox):  # type: ignore[misc]
    """Jupyter widget that shows simulations of the same jobs in linked charts.

    One slider chooses the time that all charts show, another the instant at which the cluster is drawn: at first the
    busiest one, later the end of the chosen time. A job that is chosen stands out in the Gantt chart and in the
    drawing, where all others are grey, and a line says what became of it.

    Parameters
    ----------
    results : SimulationResult or sequence of SimulationResult
        One simulation, or several of the same jobs; the drawing and the Gantt chart are of the chosen one.
    snapshot : ClusterSnapshot
        The cluster at the start.

    Attributes
    ----------
    time : ipywidgets.FloatRangeSlider
        From when and to when, in hours.
    at : ipywidgets.FloatSlider
        When the cluster is drawn, in hours.
    policy : ipywidgets.Dropdown
        Number of the chosen simulation.
    job : ipywidgets.Combobox
        ``namespace/name`` of the chosen job; empty: none.

    Raises
    ------
    InputError
        No result, results of different jobs, or of another cluster.
    """

    def __init__(self, results: SimulationResult | Sequence[SimulationResult], snapshot: ClusterSnapshot) -> None:
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
        # A slider needs some room even where nothing has happened.
        most = max(result.ended_s for result in self._results) / _HOUR or 1.0
        wide = ipywidgets.Layout(width="600px", max_width="100%")
        self.time = ipywidgets.FloatRangeSlider(
            value=(0.0, most),
            min=0.0,
            max=most,
            step=most / _STEPS,
            description="hours",
            layout=wide,
            readout_format=".2f",
            continuous_update=False,
        )
        self.at = ipywidgets.FloatSlider(
            value=_busiest(self._results[0], most),
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
        self._said, self._usage, self._waiting = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
        self._steps, self._cluster, self._gantt = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
        over_time = [self._usage, self._waiting]
        if any(result.steps for result in self._results):
            over_time.append(self._steps)
        flow = ipywidgets.Layout(flex_flow="row wrap")
        super().__init__(
            [
                ipywidgets.HBox([self.time, self.at, self.policy, self.job], layout=flow),
                self._said,
                ipywidgets.HBox(over_time, layout=flow),
                self._cluster,
                self._gantt,
            ]
        )
        self.add_class("tw-simulation-explorer")
        self.time.observe(self._follow, "value")
        self.at.observe(self._show_one, "value")
        self.policy.observe(self._show_one, "value")
        self.job.observe(self._show_one, "value")
        self._show_all()

    def _follow(self, _: Any) -> None:
        """Show another range of time, and the cluster at its end."""
        self.at.value = self.time.value[1]
        self._show_all()

    def _show_all(self, _: Any = None) -> None:
        between = self._between
        self._usage.value = draw_usage(self._results, between)
        self._waiting.value = draw_waiting(self._results, between)
        if any(result.steps for result in self._results):
            self._steps.value = draw_step_times(self._results, between)
        self._show_one()

    @property
    def _between(self) -> tuple[float, float]:
        since, until = self.time.value
        return since * _HOUR, until * _HOUR

    def _show_one(self, _: Any = None) -> None:
        """Draw what is of one policy: the cluster, the Gantt chart and the line about the chosen job."""
        result, between = self._results[self.policy.value], self._between
        name = self.job.value.strip()
        job = self._number.get(name)
        who = jobs_at(result, self._snapshot, self.at.value * _HOUR, job)
        title = f"{result.policy}: the cluster after {self.at.value:.4g} h"
        self._cluster.value = draw_topology(self._snapshot.topology, who, title, self._plan)
        self._gantt.value = draw_gantt(result, between, job)
        said = _story(result, job) if job is not None else f"no job is called {name}" if name else repr(result)
        self._said.value = f"<p>{escape(said)}</p>"


def _story(result: SimulationResult, number: int) -> str:
    """What became of a job, in a line."""
    job = result.jobs[number]
    parts = [f"{job.gang.key}: submitted at {job.submitted_s / _HOUR:.4g} h"]
    free_s = job.submitted_s
    for attempt in result.attempts:
        if attempt.job == number:
            begin, end = attempt.start_s / _HOUR, attempt.end_s / _HOUR
            nodes = len({node for node in attempt.nodes if node >= 0})
            waited = f"waited {(attempt.start_s - free_s) / _HOUR:.4g} h, " if attempt.start_s > free_s else ""
            ran = "stood" if attempt.outcome == "standing" else "ran"
            parts.append(f"{waited}{ran} {begin:.4g} to {end:.4g} h on {counted(nodes, 'node')} ({attempt.outcome})")
            free_s = attempt.end_s
    if number in result.refused:
        parts.append(f"waits: {result.refused[number]}")
    return "; ".join(parts)


def _busiest(result: SimulationResult, most: float) -> float:
    """The first place of the slider, in hours up to `most`, at which most GPUs are in use; without GPUs most nodes."""
    places = np.linspace(0.0, most, _STEPS + 1) * _HOUR
    in_use = np.zeros(len(places) + 1)
    for attempt in result.attempts:
        since, until = np.searchsorted(places, (attempt.start_s, attempt.end_s))
        amount = attempt.gpus or 1e-6 * len({node for node in attempt.nodes if node >= 0})
        in_use[since] += amount
        in_use[until] -= amount
    return float(places[int(np.cumsum(in_use)[:-1].round(6).argmax())] / _HOUR)
