"""Terminal tables of results, readable at 80 columns."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from workbench.evaluate.member_jobs import placed_jobs
from workbench.evaluate.metric import View
from workbench.evaluate.metrics import RunMetrics
from workbench.evaluate.records import VISIBLE_DEVICES, visible_devices, visible_text
from workbench.evaluate.switch_sharing import SwitchChange
from workbench.model.counted import counted, name_list, quoted
from workbench.model.explanation import Explanation
from workbench.model.number_text import number_text
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.topology import place_name
from workbench.report.layout import SOFT_BREAK
from workbench.report.metric_columns import Column, MetricCell, ShownMetric, legend, session_columns

if TYPE_CHECKING:
    from workbench.evaluate.whatif.fix import FixReport

__all__ = [
    "ROWS",
    "cell_text",
    "explanation_tables",
    "legend_lines",
    "listed",
    "metric_table",
    "more_line",
    "new_table",
    "plain_text",
    "policy_text",
    "reason_lines",
    "session_tables",
    "text_row",
    "warning_lines",
]

#: Lines listed before the rest is counted; -o json has everything.
ROWS = 40
#: Characters that the parts of a score may take in a line of 80.
_PART_COLUMNS = 40
_NO_ADVICE: Mapping[str, Any] = {}


def new_table(*headers: str, title: str = "", right: Sequence[int] = ()) -> Table:
    """An empty terminal table in the common style; `right` holds the indices of the columns aligned right (numbers)."""
    table = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold")
    table.pad_edge, table.collapse_padding = False, True
    for i, header in enumerate(headers):
        table.add_column(header, justify="right" if i in right else "left", overflow="fold")
    return table


def listed(
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    title: str = "",
    right: Sequence[int] = (),
    most: int = 0,
    what: str = "",
) -> list[Any]:
    """A terminal table with a row per thing, and a line that counts those that are left out.

    `heads`, `rows`: headings, and the cells of each row; numbers are rounded for people. `right`: indices of the
    columns aligned right (numbers). `most`: rows listed; 0: all. `what`: name of several of the things: ``pods``.
    """
    table = new_table(*heads, title=title, right=right)
    for row in rows[:most] if most else rows:
        text_row(table, *row)
    return [table, *(more_line(len(rows) - most, what) if most else [])]


def metric_table(
    heads: Sequence[str],
    columns: Sequence[ShownMetric],
    rows: Iterable[tuple[Sequence[str], Sequence[tuple[str, bool]]]],
    title: str,
) -> list[Any]:
    """Terminal table of metrics of simulations, and the legend of its columns.

    `heads`: headings of the columns before those of the metrics. `rows`: texts of the first columns, and the cells of
    the metrics as `shown_cells` returns them.
    """
    table = new_table(
        *heads,
        *(column.table_heading for column in columns),
        title=title,
        right=range(len(heads), len(heads) + len(columns)),
    )
    for first, cells in rows:
        table.add_row(*map(plain_text, first), *(Text(text, style="bold" if best else "") for text, best in cells))
    return [table, *legend_lines(columns)]


def plain_text(value: object) -> Text:
    """A value as plain text for rich, so that names from files are not read as markup."""
    return Text(number_text(value))


def text_row(table: Table, *values: object) -> None:
    """Add a row of values to a table as plain text; numbers are rounded for people."""
    table.add_row(*(plain_text(value) for value in values))


def _of(some: int, all_: int) -> str:
    return str(all_) if some == all_ else f"{some}/{all_}"


def _brief(count: int) -> str:
    """A count as text of at most five characters, rounded if it is large."""
    for unit, size, least in (("G", 10**9, 10**9), ("M", 10**6, 10**6), ("k", 10**3, 10**4)):
        if count >= least:
            return f"{count / size:.3g}{unit}"
    return str(count)


def policy_text(name: str) -> str:
    """A policy's name as text that may be wrapped before its GPU part (``+GPU``)."""
    return name.replace("+", f"{SOFT_BREAK}+")


def more_line(n: int, what: str) -> list[Text]:
    """A line that counts the rows that a table leaves out; none if there are none."""
    return [Text(f"… and {n:,} more{f' {what}' if what else ''} (-o json lists all)")] if n > 0 else []


def session_tables(
    policy: str,
    decisions: Sequence[Decision],
    metrics: RunMetrics,
    switches: Sequence[SwitchChange] = (),
    advice: Mapping[str, FixReport] = _NO_ADVICE,
    *,
    wide: bool = False,
) -> list[Any]:
    """Terminal tables of one scheduling session: jobs, their pods, leaf switches, and reasons of pending pods.

    Parameters
    ----------
    policy : str
        Name of the policy, used as the title.
    switches : sequence of SwitchChange
        Only those that changed are listed.
    advice : mapping of str to FixReport
        Why pending jobs wait and what would help, by ``namespace/name``; shown before the policy's own reasons.
    wide : bool
        Whether every pod and every Job of a HyperJob has a row; else the first ones, with the number of the others.
    """
    most = sys.maxsize if wide else ROWS
    topology = next((d.result.topology for d in decisions if isinstance(d.result, Placement)), None)
    columns = session_columns(metrics, topology)
    heads = [column.table_heading for column in columns]
    jobs = new_table(
        "job", "outcome", "HyperNode", "tier", "pods", *heads, title=policy, right=range(3, 5 + len(heads))
    )
    parts: list[Any] = [jobs] if decisions else [Text(f"{policy}: no job to place")]
    for decision in decisions:
        key, n_pods, result = decision.gang.key, decision.gang.n_pods, decision.result
        if isinstance(result, Placement):
            pods = f"{result.n_placed} of {n_pods}" if result.unplaced else n_pods
            values = (column.shown(metrics.jobs[key]) for column in columns)
            text_row(jobs, key, "placed", result.hypernode, result.tier, pods, *values)
            _member_rows(jobs, result, metrics, columns, most)
        else:
            text_row(jobs, key, "pending", "", None, f"0 of {n_pods}", *(None for _ in columns))
    parts.extend(_pods(decisions, most))
    parts.extend(_switches(switches))
    parts.extend(reason_lines(decisions, advice))
    parts.extend(map(Text, warning_lines(decisions)))
    return parts


def _member_rows(table: Table, result: Placement, metrics: RunMetrics, columns: Sequence[Column], most: int) -> None:
    """A row for each Job of a HyperJob, below the HyperJob's."""
    jobs = list(placed_jobs(result))
    for job in jobs[:most]:
        measured = metrics.members.get(f"{result.gang.key}/{job.name}")
        values = (None if measured is None else column.shown(measured) for column in columns)
        outcome, inside = "placed" if job.placed else "pending", job.placement
        text_row(table, f"  {job.name}", outcome, inside.hypernode, inside.tier, job.pods, *values)
    if len(jobs) > most:
        text_row(table, f"  … and {len(jobs) - most:,} more Jobs", "", "", "", "", *("" for _ in columns))


def _pods(decisions: Sequence[Decision], most: int) -> list[Any]:
    # A line may end after each underscore of a variable's name.
    visible = [name.replace("_", f"_{SOFT_BREAK}") for name in VISIBLE_DEVICES]
    table = new_table("pod", "node", "GPUs", "rank", *visible, right=(3,))
    listed = left = 0
    for decision in decisions:
        if not isinstance(decision.result, Placement):
            continue
        for pod in decision.result.pods() if listed < most else ():
            if listed == most:
                break
            environment = visible_devices(pod)
            seen = (visible_text(environment, name) for name in VISIBLE_DEVICES)
            text_row(table, pod.name, pod.node, ",".join(map(str, pod.gpus)), pod.rank, *seen)
            listed += 1
        left += decision.result.n_placed
    return [table, *more_line(left - listed, "pods")] if listed else []


def _switches(switches: Sequence[SwitchChange]) -> list[Any]:
    """Terminal table of the leaf switches whose state changed, and the number of the others."""
    if not switches:
        return []
    changed = [switch for switch in switches if switch.before != switch.after]
    same = len(switches) - len(changed)
    rows = [(switch.switch, switch.address, switch.before, switch.after) for switch in changed]
    parts = listed(("switch", "tor_ip", "before", "after"), rows, most=ROWS, what="switches") if rows else []
    counts = Counter(switch.before for switch in switches if switch.before == switch.after)
    states = ", ".join(f"{n:,} {state}" for state, n in sorted(counts.items()))
    said = f"{counted(same, 'switch keeps its state', 'switches keep their state', form=',')}: {states}" if same else ""
    return [*parts, *([Text(said)] if said else [])]


def reason_lines(decisions: Sequence[Decision], advice: Mapping[str, FixReport] = _NO_ADVICE) -> list[Text]:
    """Lines of text about pending jobs (the advice, then the policy's reasons) and about pods left pending."""
    lines = []
    for decision in decisions:
        key, result = decision.gang.key, decision.result
        if isinstance(result, Refusal):
            lines += _why_pending(key, result, advice.get(key))
        elif result.unplaced:
            why = "; ".join(reason.message for reason in result.unplaced[0].reasons)
            lines.append(
                Text(
                    f"{key}: "
                    f"{counted(len(result.unplaced), 'pod beyond minAvailable has', 'pods beyond minAvailable have')}"
                    f" no node: {why}"
                )
            )
    return lines


def _why_pending(key: str, refusal: Refusal, report: FixReport | None) -> list[Text]:
    """Lines of text about one pending job, the report's headline first; no line says what one before it says.

    HyperNodes are listed only if none that the job may use has room for all pods needed.
    """
    told = [report.headline] if report is not None else []
    lines = [f"{key} is pending: {headline}" for headline in told]
    for reason in refusal.reasons:
        if report is None or reason not in report.quoted:
            lines.append(f"{'  when it was tried' if report else f'{key} is pending'}: {quoted(reason)}")
        told.append(reason.message)
    for miss in refusal.nearest_misses if refusal.nearest is not None else ():
        held = f"holds {miss.holds} of {miss.needs}"
        if miss.holds and not any(f"{miss.place} {held}" in text for text in told):
            # The virtual top is no HyperNode of a tier.
            tier = "" if miss.domain.startswith("<") else f" on tier {miss.tier}"
            lines.append(f"  nearest{tier}: {place_name(miss.domain)} {held}")
    return list(map(Text, lines))


def warning_lines(decisions: Sequence[Decision]) -> list[str]:
    """A line for each warning; jobs that have the same one share a line."""
    jobs: dict[str, list[str]] = {}
    for decision in decisions:
        for warning in dict.fromkeys(map(str, decision.result.warnings)):
            jobs.setdefault(warning, []).append(decision.gang.key)
    return [f"{_jobs(keys)}: warning: {warning}" for warning, keys in jobs.items()]


def _jobs(keys: Sequence[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{counted(len(keys), 'job', form=',')} ({name_list(keys)})"


def legend_lines(columns: Sequence[Column | ShownMetric]) -> list[Text]:
    """The line below a table that says what its columns mean; none if that is clear."""
    found = legend(columns, View.TABLE)
    return [Text(found, style="dim")] if found else []


def cell_text(column: Column, cell: MetricCell) -> Text:
    """A metric's value as short text for a terminal, bold if it is the best of all policies."""
    if cell.whole is not None and isinstance(cell.value, int):
        text = _of(cell.value, cell.whole)
    elif column.key and isinstance(cell.value, int):
        text = _brief(cell.value)
    else:
        text = cell.interval if cell.ends else number_text(cell.value)
    return Text(text, style="bold" if cell.best else "")


def explanation_tables(explanation: Explanation) -> list[Any]:
    """Terminal table of the HyperNodes and nodes that a policy considered, in its order."""
    parts: list[Any] = [Text(f"{explanation.decision.gang.key}: what was considered", style="bold")]
    parts += [Text(note) for note in explanation.notes]
    considered = (
        ("HyperNode", explanation.domains),
        ("inner HyperNode", explanation.inner),
        ("node", explanation.nodes),
    )
    for kind, candidates in considered:
        if not candidates:
            continue
        of_score = list(dict.fromkeys(name for c in candidates[:ROWS] for name in c.parts))
        # Columns where they leave room for the reasons, words behind the reasons elsewhere.
        narrow = kind == "node" and sum(max(len(name), 5) + 2 for name in of_score) <= _PART_COLUMNS
        columns = of_score if narrow else []
        tiers = () if kind == "node" else ("tier",)
        owners = ("for",) if kind == "inner HyperNode" else ()
        heads = (kind, *owners, *tiers, "kept", "score", *columns)
        numbers = [i for i, head in enumerate(heads) if i and head not in ("for", "kept")]
        table = new_table(*heads, "why", right=numbers)
        for c in candidates[:ROWS]:
            tier = (c.tier,) if tiers else ()
            scores = ", ".join(f"{name} {number_text(v)}" for name, v in c.parts.items() if name not in columns)
            why = "; ".join(filter(None, (c.why, scores)))
            values = (c.parts.get(name) for name in columns)
            owner = (c.owner,) if owners else ()
            text_row(table, c.name, *owner, *tier, "yes" if c.kept else "no", c.score, *values, why)
        parts += [table, *more_line(len(candidates) - ROWS, f"{kind}s")]
    return parts
