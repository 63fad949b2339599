"""Tables of an embedded cluster: its Jobs, its pods and what happened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from rich.table import Table

from workbench.control.event_log import LogLine
from workbench.control.kinds import Ref
from workbench.control.views import JobRow, PodRow
from workbench.model.counted import counted, name_list
from workbench.model.number_text import instant_text
from workbench.report.layout import SOFT_BREAK
from workbench.report.tables import listed, new_table, text_row

__all__ = ["job_table", "log_table", "pod_table", "short_name", "summary"]

#: Rows of a table before the rest is counted; -o json has everything.
_ROWS = 40

#: A uid in the name of a PodGroup: its beginning is enough to tell two apart.
_UID = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

_PHASES = ("pending", "running", "succeeded", "failed")


def short_name(key: Ref | str) -> str:
    """Kind and name of an object, or a sentence about it, with uids inside names cut to eight characters."""
    return _UID.sub(r"\1…", str(key))


def summary(now: float, jobs: Sequence[JobRow]) -> str:
    """One sentence on the state of a cluster: the time, and its Jobs by phase."""
    phases = ", ".join(f"{count} {phase}" for phase, count in Counter(row.phase for row in jobs).items())
    return f"{instant_text(now)} s: {counted(len(jobs), 'job')}{f' ({phases})' if phases else ''}"


def job_table(
    jobs: Sequence[JobRow], rows: int = _ROWS, headlines: Mapping[str, str] = MappingProxyType({})
) -> list[Table | str]:
    """A table of a cluster's Jobs with the numbers of their pods by phase, and below it why some Jobs wait.

    `rows`: largest number of Jobs to list; those that wait or run come first. `headlines`: for jobs that wait, by
    ``namespace/name``: what is missing and what would help, shown before the scheduler's reason; not for a Job that can
    never start, whose reason says both.
    """
    order = ("Pending", "Inqueue", "Restarting", "Unknown", "Failed", "Running")
    shown = sorted(jobs, key=lambda row: order.index(row.phase) if row.phase in order else len(order))[:rows]
    table = new_table("job", "phase", "pods", "inside", "tier")
    for row in shown:
        pods = ", ".join(f"{getattr(row, phase)} {phase}" for phase in _PHASES if getattr(row, phase))
        tier = "" if row.tier is None else row.tier
        text_row(table, f"{row.namespace}/{row.name}", row.phase, pods or "none", row.hypernode or "-", tier)
    parts: list[Table | str] = [table]
    if len(jobs) > rows:
        parts.append(f"and {counted(len(jobs) - rows, 'job')} more (-o json has all)")
    # The Jobs of a HyperJob wait for the same, each under its own name.
    waiting: dict[tuple[str, str], list[str]] = {}
    for row in (row for row in shown if row.waits_for):
        key = f"{row.namespace}/{row.name}"
        headline = "" if row.never_starts else headlines.get(key, "")
        waiting.setdefault(("" if headline in row.waits_for else headline, row.waits_for), []).append(key)
    for (headline, reason), keys in waiting.items():
        who = f"{keys[0]} waits" if len(keys) == 1 else f"{counted(len(keys), 'job')} wait ({name_list(keys)})"
        parts.append(f"{who}: {headline or reason}")
        if headline and reason not in headline:
            parts.append(f"  when it was tried: {reason}")
    return parts


def pod_table(pods: Sequence[PodRow], rows: int = _ROWS) -> list[Table | str]:
    """The pods of a cluster with node and GPUs. `rows`: largest number of pods to list."""
    cells = [
        (f"{row.namespace}/{row.name}", row.phase, row.node or "-", ",".join(map(str, row.gpus)) or "-") for row in pods
    ]
    return listed(("pod", "phase", "node", "GPUs"), cells, most=rows, what="pods")


def log_table(lines: Sequence[LogLine], rows: int = _ROWS) -> list[Table | str]:
    """The last events of a cluster's log; an event that an object meets again and again is one row with a count.

    `rows`: number of rows that the table shows, the newest ones.
    """
    table = new_table("seconds", "event", "object", "what happened", right=(0,))
    shown = _repeated(lines)
    for line, times, last in shown[-rows:]:
        name = short_name(line.key).replace("/", f"/{SOFT_BREAK}")
        until = f", the last at {instant_text(last)} s" if last > line.at else ""
        again = f" ({times} times{until})" if times > 1 else ""
        text_row(table, instant_text(line.at), line.reason, name, f"{line.message}{again}")
    left = sum(times for _, times, _ in shown[:-rows])
    return [*([f"{counted(left, 'event')} before these (-o json has all)"] if left else []), table]


def _repeated(lines: Sequence[LogLine]) -> list[tuple[LogLine, int, float]]:
    """Each event with how often it came and its last time; another event about the object begins a new count."""
    found: list[tuple[LogLine, int, float]] = []
    newest: dict[Ref, int] = {}
    for line in lines:
        at = newest.get(line.key)
        if at is not None and (found[at][0].reason, found[at][0].message) == (line.reason, line.message):
            found[at] = (found[at][0], found[at][1] + 1, line.at)
        else:
            newest[line.key] = len(found)
            found.append((line, 1, line.at))
    return found
