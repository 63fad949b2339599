"""HTML of an embedded cluster, its Jobs and its pods, for notebooks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from workbench.control.cluster import EmbeddedCluster
from workbench.control.event_log import LogLine
from workbench.control.life_views import JobView, PodView
from workbench.control.views import JobRow
from workbench.model.number_text import instant_text
from workbench.report.cluster_tables import short_name, summary
from workbench.report.html import render
from workbench.report.occupancy import occupancy_of_running
from workbench.report.svg_text import Inserted
from workbench.report.topology_svg import draw_topology

__all__ = ["cluster_html", "job_life_html", "pod_life_html"]

#: Rows of each table of a notebook; the rest is counted.
_ROWS = 100

_UID_AT_THE_END = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def cluster_html(cluster: EmbeddedCluster) -> str:
    """A cluster as an HTML fragment: a picture of what runs where, the Jobs, and the last events."""
    snapshot, jobs, log = cluster.snapshot, cluster.jobs(), cluster.log
    who = occupancy_of_running(snapshot)
    # A scheduler knows Jobs by their PodGroups, whose names end in the Job's uid.
    who = replace(who, jobs=tuple(_UID_AT_THE_END.sub("", name) for name in who.jobs))
    return render(
        "cluster.html.j2",
        summary=summary(cluster.now, jobs),
        picture=Inserted(draw_topology(snapshot.topology, who)) if snapshot.n_nodes else "",
        jobs=[_job_row(row) for row in jobs[:_ROWS]],
        more=max(0, len(jobs) - _ROWS),
        waits=[(f"{row.namespace}/{row.name}", row.waits_for) for row in jobs[:_ROWS] if row.waits_for],
        events=_event_rows(log[-_ROWS:]),
        earlier=max(0, len(log) - _ROWS),
    )


def job_life_html(view: JobView) -> str:
    """A Job of a cluster as an HTML fragment: its pods, the conditions of its PodGroup, and its events."""
    pods = [
        (pod.name, pod.phase, pod.node or "none", ", ".join(map(str, pod.gpus)) or "-") for pod in view.pods[:_ROWS]
    ]
    conditions = [
        (str(one.get("type")), str(one.get("status")), str(one.get("message") or one.get("reason") or ""))
        for one in view.conditions
    ]
    return render(
        "job_life.html.j2",
        row=_job_row(view.row),
        kind=view.row.kind,
        pods=pods,
        more=max(0, len(view.pods) - _ROWS),
        conditions=conditions,
        events=_event_rows(view.events[-_ROWS:]),
        earlier=max(0, len(view.events) - _ROWS),
    )


def pod_life_html(view: PodView) -> str:
    """A pod as an HTML fragment: where it is, and what was added to the template that was submitted."""
    classes = {"+": "added", "-": "removed", "@": "place"}
    lines = [(classes.get(line[:1], "same"), line) for line in view.diff[2:]]
    return render("pod_life.html.j2", row=view.row, lines=lines, events=_event_rows(view.events))


def _job_row(row: JobRow) -> tuple[object, ...]:
    inside = f"{row.hypernode} (tier {row.tier})" if row.hypernode else "-"
    return (f"{row.namespace}/{row.name}", row.phase, row.pending, row.running, row.succeeded, row.failed, inside)


def _event_rows(lines: Sequence[LogLine]) -> list[tuple[str, str, str, str, bool]]:
    return [
        (f"{instant_text(line.at)} s", line.reason, short_name(line.key), line.message, line.warning) for line in lines
    ]
