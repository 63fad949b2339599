"""Terminal tables of results, readable at 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from workbench.evaluate.differences import differences, moves_in_brief
from workbench.evaluate.member_jobs import placed_jobs
from workbench.evaluate.metric import View
from workbench.evaluate.metrics import RunMetrics
from workbench.evaluate.pod_frame import visible_text
from workbench.evaluate.records import VISIBLE_DEVICES, visible_devices
from workbench.evaluate.switch_sharing import SwitchChange
from workbench.formats.review import Review
from workbench.model.best_gpus import BestGpus
from workbench.model.counted import counted, quoted
from workbench.model.explanation import Explanation
from workbench.model.gpu_annotation import shell_line
from workbench.model.links import suspicious_links
from workbench.model.machine_parts import near_lines
from workbench.model.name_list import name_list
from workbench.model.number_text import number_text
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.pod_gpus import PodGpus
from workbench.model.topology import place_name
from workbench.report.layout import SOFT_BREAK
from workbench.report.metric_columns import (
    Column,
    MetricCell,
    ShownMetric,
    groups,
    legend,
    run_cells,
    run_columns,
    session_columns,
)

if TYPE_CHECKING:
    from workbench.evaluate.compare import Comparison
    from workbench.evaluate.lost_places import LostPlace
    from workbench.evaluate.whatif.fix import FixReport
    from workbench.topology.discovery.reconcile import ReconcilePlan

__all__ = [
    "best_gpus_tables",
    "comparison_tables",
    "difference_tables",
    "explanation_tables",
    "listed",
    "metric_table",
    "more_line",
    "new_table",
    "plan_tables",
    "pod_gpus_tables",
    "review_tables",
    "session_tables",
    "text_row",
]

#: Lines listed before the rest is counted; -o json has everything.
_ROWS = 40

#: Characters that the parts of a score may take in a line of 80.
_PART_COLUMNS = 40

#: Moves of one job listed in a line; -o json has all.
_MOVES = 6

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

    Parameters
    ----------
    heads : sequence of str
    rows : sequence of sequence of object
        Cells of each row; numbers are rounded for people.
    title : str
    right : sequence of int
        Indices of the columns aligned right (numbers).
    most : int
        Rows listed; 0: all.
    what : str
        Name of several of the things, such as ``pods``.
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

    Parameters
    ----------
    heads : sequence of str
        Headings of the columns before those of the metrics.
    rows : iterable of (sequence of str, sequence of (str, bool))
        Texts of the first columns, and the cells of the metrics as `shown_cells` returns them.
    title : str
    """
    table = new_table(
        *heads,
        *(column.table_heading for column in columns),
        title=title,
        right=range(len(heads), len(heads) + len(columns)),
    )
    for first, cells in rows:
        table.add_row(*map(_text, first), *(Text(text, style="bold" if best else "") for text, best in cells))
    return [table, *_legend(columns)]


def _text(value: object) -> Text:
    """A value as plain text for rich, so that names from files are not read as markup."""
    return Text(number_text(value))


def text_row(table: Table, *values: object) -> None:
    """Add a row of values to a table as plain text; numbers are rounded for people."""
    table.add_row(*(_text(value) for value in values))


def _of(some: int, all_: int) -> str:
    return str(all_) if some == all_ else f"{some}/{all_}"


def _brief(count: int) -> str:
    """A count as text of at most five characters, rounded if it is large."""
    for unit, size, least in (("G", 10**9, 10**9), ("M", 10**6, 10**6), ("k", 10**3, 10**4)):
        if count >= least:
            return f"{count / size:.3g}{unit}"
    return str(count)


def _policy(name: str) -> str:
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
    """
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
            _member_rows(jobs, result, metrics, columns)
        else:
            text_row(jobs, key, "pending", "", None, f"0 of {n_pods}", *(None for _ in columns))
    parts.extend(_pods(decisions))
    parts.extend(_switches(switches))
    parts.extend(_reasons(decisions, advice))
    parts.extend(map(Text, _warnings(decisions)))
    return parts


def _member_rows(table: Table, result: Placement, metrics: RunMetrics, columns: Sequence[Column]) -> None:
    """A row for each Job of a HyperJob, below the HyperJob's."""
    jobs = list(placed_jobs(result))
    for job in jobs[:_ROWS]:
        measured = metrics.members.get(f"{result.gang.key}/{job.name}")
        values = (None if measured is None else column.shown(measured) for column in columns)
        outcome, inside = "placed" if job.placed else "pending", job.placement
        text_row(table, f"  {job.name}", outcome, inside.hypernode, inside.tier, job.pods, *values)
    if len(jobs) > _ROWS:
        text_row(table, f"  … and {len(jobs) - _ROWS:,} more Jobs", "", "", "", "", *("" for _ in columns))


def _pods(decisions: Sequence[Decision]) -> list[Any]:
    # A line may end after each underscore of a variable's name.
    visible = [name.replace("_", f"_{SOFT_BREAK}") for name in VISIBLE_DEVICES]
    table = new_table("pod", "node", "GPUs", "rank", *visible, right=(3,))
    listed = left = 0
    for decision in decisions:
        if not isinstance(decision.result, Placement):
            continue
        for pod in decision.result.pods() if listed < _ROWS else ():
            if listed == _ROWS:
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
    parts = listed(("switch", "tor_ip", "before", "after"), rows, most=_ROWS, what="switches") if rows else []
    counts = Counter(switch.before for switch in switches if switch.before == switch.after)
    states = ", ".join(f"{n:,} {state}" for state, n in sorted(counts.items()))
    said = f"{counted(same, 'switch keeps its state', 'switches keep their state', form=',')}: {states}" if same else ""
    return [*parts, *([Text(said)] if said else [])]


def _reasons(decisions: Sequence[Decision], advice: Mapping[str, FixReport] = _NO_ADVICE) -> list[Text]:
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


def _warnings(decisions: Sequence[Decision]) -> list[str]:
    """A line for each warning; jobs that have the same one share a line."""
    jobs: dict[str, list[str]] = {}
    for decision in decisions:
        for warning in dict.fromkeys(map(str, decision.result.warnings)):
            jobs.setdefault(warning, []).append(decision.gang.key)
    return [f"{_jobs(keys)}: warning: {warning}" for warning, keys in jobs.items()]


def _common_warnings(comparison: Comparison) -> list[str]:
    """Warnings that all policies of a comparison give to the same jobs; empty with a single policy."""
    of_policies = [_warnings(row.decisions) for row in comparison.rows if row.metrics is not None and row.error is None]
    if len(of_policies) < 2:
        return []
    return [line for line in of_policies[0] if all(line in others for others in of_policies[1:])]


def _jobs(keys: Sequence[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{counted(len(keys), 'job', form=',')} ({name_list(keys)})"


def comparison_tables(comparison: Comparison) -> list[Any]:
    """Terminal tables of a comparison: one line per policy, then the pending jobs and their reasons."""
    columns = run_columns(comparison, View.TABLE)
    heads = [column.table_heading for column in columns]
    table = new_table("policy", *heads, "ms", right=range(1, len(heads) + 2))
    details: list[Any] = []
    common = _common_warnings(comparison)
    for row, cells in zip(comparison.rows, run_cells(comparison, columns), strict=True):
        if row.metrics is None or row.error is not None:
            text_row(table, row.policy, "failed")
            details.append(Text(f"{row.policy} failed: {row.error.message if row.error else ''}"))
            continue
        table.add_row(_text(_policy(row.policy)), *map(_cell, columns, cells), f"{row.decision_s * 1000:.1f}")
        warnings = [line for line in _warnings(row.decisions) if line not in common]
        if lines := [*_reasons(row.decisions, row.advice), *map(Text, warnings)]:
            details += [Text(f"{row.policy}:"), *(Text("  ").append_text(line) for line in lines)]
    if common:
        details += [Text("every policy:"), *(Text(f"  {line}") for line in common)]
    of_groups = [part for group in groups(comparison, View.TABLE) for part in _group_table(comparison, group)]
    return [table, *_legend(columns), *of_groups, *details]


def job_tables(comparison: Comparison, job: str) -> list[Any]:
    """Terminal table of one job of a comparison: a line per policy, then why policies leave it pending.

    Parameters
    ----------
    job : str
        ``namespace/name`` of one of its gangs.
    """
    rows = [row for row in comparison.rows if row.metrics is not None]
    first = next((row.metrics for row in rows if row.metrics is not None and job in row.metrics.jobs), None)
    columns = () if first is None else session_columns(first, comparison.snapshot.topology)
    heads = [column.table_heading for column in columns]
    table = new_table(
        "policy", "outcome", "HyperNode", "tier", "pods", *heads, title=job, right=range(3, 5 + len(heads))
    )
    failed = []
    for row in comparison.rows:
        decision = row.decision(job)
        if decision is None or row.metrics is None:
            failed.append(Text(f"{row.policy} failed: {row.error.message if row.error else ''}"))
            continue
        result, n_pods = decision.result, decision.gang.n_pods
        if isinstance(result, Placement):
            pods = f"{result.n_placed} of {n_pods}" if result.unplaced else n_pods
            values = (column.shown(row.metrics.jobs[job]) for column in columns)
            text_row(table, _policy(row.policy), "placed", result.hypernode, result.tier, pods, *values)
        else:
            blank = (None for _ in columns)
            text_row(table, _policy(row.policy), "pending", "", None, f"0 of {n_pods}", *blank)
    return [table, *failed, *map(Text, _pending_lines(comparison, [job]))]


def difference_tables(comparison: Comparison, lost: Sequence[LostPlace] = ()) -> list[Any]:
    """Terminal table of the jobs that not every policy places on the same nodes, and the pods that move.

    Moves are relative to the first policy of the comparison. `lost` says to which jobs these lost their places.
    """
    found = differences(comparison)
    policies = [row.policy for row in comparison.rows]
    alike = len(comparison.gangs) - len(found)
    parts: list[Any] = []
    if found:
        table = new_table("job", *(_policy(name) for name in policies))
        for one in found[:_ROWS]:
            text_row(table, one.job, *one.outcomes)
        parts = [table, *more_line(len(found) - _ROWS, "jobs")]
    for one in found[:_ROWS]:
        for policy, moves in zip(policies, map(moves_in_brief, one.moves), strict=True):
            if moves:
                listed = ", ".join(move.text for move in moves[:_MOVES])
                more = f" and {counted(len(moves) - _MOVES, 'more move')}" if len(moves) > _MOVES else ""
                parts.append(Text(f"{one.job}, {policies[0]} → {policy}: {listed}{more}"))
    parts += [Text(one.text) for one in lost]
    parts += [Text(line) for line in _pending_lines(comparison, [one.job for one in found[:_ROWS]])]
    differ = {one.job for one in found}
    pending = [
        gang.key for gang in comparison.gangs if gang.key not in differ and _pending_everywhere(comparison, gang.key)
    ]
    said = f"{counted(alike - len(pending), 'job is', 'jobs are', form=',')} on the same nodes by every policy"
    if pending:
        listed = ", ".join(pending[:_ROWS]) + (" …" if len(pending) > _ROWS else "")
        said += f"; pending by every policy: {listed}"
    return [*parts, Text(said), *(Text(line) for line in _pending_lines(comparison, pending[:_ROWS]))]


def _pending_lines(comparison: Comparison, jobs: Sequence[str]) -> Iterator[str]:
    """What is missing for each pending job, and what would help; policies that say the same are named together."""
    for job in jobs:
        said: dict[str, list[str]] = {}
        for row in comparison.rows:
            if job in row.advice:
                said.setdefault(row.advice[job].headline, []).append(_policy(row.policy))
        for headline, policies in said.items():
            yield f"{job} is pending by {', '.join(policies)}: {headline}"


def _pending_everywhere(comparison: Comparison, job: str) -> bool:
    decisions = [row.decision(job) for row in comparison.rows]
    return all(decision is not None and not decision.placed for decision in decisions)


def _group_table(comparison: Comparison, group: str) -> list[Any]:
    """Terminal table of the metrics of a group with a line per policy, and the number of jobs that it left pending."""
    columns = run_columns(comparison, View.TABLE, group)
    heads = [column.table_heading for column in columns]
    table = new_table("policy", "pending", *heads, title=group, right=range(1, len(heads) + 2))
    for row, cells in zip(comparison.rows, run_cells(comparison, columns), strict=True):
        if row.metrics is not None:
            pending = _text(len(row.metrics.pending))
            table.add_row(_text(_policy(row.policy)), pending, *map(_cell, columns, cells))
    priced = comparison.provenance.communication if group == "communication" else None
    return [table, *_legend(columns), *([] if priced is None else [_basis(priced)])]


def _basis(priced: Mapping[str, Any]) -> Text:
    """Line below prices of communication: what they rest on, and what they leave out."""
    calibration = priced["calibration"]
    sources = counted(len(calibration["sources"]), "source")
    basis = f"Machine {priced['machine']}, calibration {calibration['name']} ({sources}; -o json names them)"
    return Text(f"{basis}. Left out: {'; '.join(priced['left_out'])}.")


def _legend(columns: Sequence[Column | ShownMetric]) -> list[Text]:
    found = legend(columns, View.TABLE)
    return [Text(found, style="dim")] if found else []


def _cell(column: Column, cell: MetricCell) -> Text:
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
        of_score = list(dict.fromkeys(name for c in candidates[:_ROWS] for name in c.parts))
        # Columns where they leave room for the reasons, words behind the reasons elsewhere.
        narrow = kind == "node" and sum(max(len(name), 5) + 2 for name in of_score) <= _PART_COLUMNS
        columns = of_score if narrow else []
        tiers = () if kind == "node" else ("tier",)
        owners = ("for",) if kind == "inner HyperNode" else ()
        heads = (kind, *owners, *tiers, "kept", "score", *columns)
        numbers = [i for i, head in enumerate(heads) if i and head not in ("for", "kept")]
        table = new_table(*heads, "why", right=numbers)
        for c in candidates[:_ROWS]:
            tier = (c.tier,) if tiers else ()
            scores = ", ".join(f"{name} {number_text(v)}" for name, v in c.parts.items() if name not in columns)
            why = "; ".join(filter(None, (c.why, scores)))
            values = (c.parts.get(name) for name in columns)
            owner = (c.owner,) if owners else ()
            text_row(table, c.name, *owner, *tier, "yes" if c.kept else "no", c.score, *values, why)
        parts += [table, *more_line(len(candidates) - _ROWS, f"{kind}s")]
    return parts


def best_gpus_tables(best: BestGpus) -> list[Any]:
    """Terminal tables of the result of `best_gpus`; only the reason if no GPUs were chosen."""
    doubts = suspicious_links(best.matrix)
    if not best.gpus:
        return [Text(best.shortage), *(Text(f"suspicious: {doubt.message}") for doubt in doubts)]
    facts = best.to_dict()
    table = new_table("", "")
    table.show_header = False
    text_row(table, "GPUs", ", ".join(map(str, best.gpus)))
    text_row(table, "to copy", shell_line(best.environment))
    pair = ""
    if best.bottleneck_pair:
        i, j = best.bottleneck_pair
        kind = f" ({best.matrix.link_types[i][j]})" if best.matrix.link_types else ""
        pair = f", pair {i}-{j}{kind}"
    text_row(table, "bottleneck", f"{number_text(best.bottleneck_gb_s)} GB/s{pair}")
    text_row(table, "objective", f"{best.objective}, {'proved optimal' if best.exact else 'not proved'}")
    text_row(table, "upper bound", f"{number_text(best.upper_bound_gb_s)} GB/s")
    ties = [f"{{{','.join(map(str, tie))}}}" for tie in facts["ties"]]
    shown = " ".join(ties) if len(ties) <= _ROWS else " ".join(ties[:_ROWS]) + " …"
    text_row(table, "best sets", f"{facts['optimal_sets']}: {shown}")
    if not best.tie_break_complete:
        text_row(table, "note", "the budget for choosing among the ties ended first")
    for doubt in doubts:
        text_row(table, "suspicious", doubt.message)
    return [table, *map(Text, near_lines(facts))]


def pod_gpus_tables(found: PodGpus) -> list[Any]:
    """Terminal table of the result of `split_gpus`: each pod's GPUs and bottleneck, and the bottleneck of
    all together.
    """
    table = new_table("pod", "GPUs", "GB/s", right=(0, 2), title=f"objective {found.objective}")
    for i, (pod, value) in enumerate(zip(found.pods, found.bottlenecks_gb_s, strict=True)):
        text_row(table, i, ", ".join(map(str, pod)), value)
    text_row(table, "all", ", ".join(map(str, found.gpus)), found.union_bottleneck_gb_s)
    proved = "" if found.proved == "all" else f"; proved: {found.proved}"
    doubts = [Text(f"suspicious: {doubt.message}") for doubt in suspicious_links(found.matrix)]
    near = map(Text, near_lines(found.matrix.near(found.gpus)))
    return [table, Text(f"GB/s: slowest pair{proved}", style="dim"), *doubts, *near]


def plan_tables(plan: ReconcilePlan) -> list[Any]:
    """Terminal table of the HyperNodes that discovery creates, updates or deletes; unchanged ones are only counted."""
    made = [(h, "create") for h in plan.create] + [(h, "update") for h in plan.update]
    rows: list[tuple[object, ...]] = [(h.name, what, h.tier, len(h.members)) for h, what in made]
    rows += [(name, "delete", "", "") for name in plan.delete]
    rows += [(c.name, f"conflict: {repr(c.owner) if c.owner else 'made by hand'}", "", "") for c in plan.conflicts]
    heads = ("HyperNode", "what", "tier", "members")
    parts = listed(heads, rows, right=(2, 3), most=_ROWS, what="HyperNodes") if rows else []
    return [*parts, Text(plan.summary)]


def review_tables(review: Review, stdin: bytes | str | None = None) -> list[Any]:
    """Terminal table of objects that admission refuses, completes or warns about; the others are only counted.

    `stdin` is the content of the file ``stdin``, for the lines of violations.
    """
    said: dict[int, list[str]] = {}
    for one, fault, place, _ in review.located(stdin):
        said.setdefault(id(one), []).append(f"{fault.said} ({place})")
    table = new_table("object", "verdict", "what")
    plain = listed = 0
    for one in review.objects:
        verdict = one.verdict
        filled = [f"{path} = {value}" for path, value in verdict.defaults.items()]
        texts = said.get(id(one)) or (["; ".join(filled)] if filled else [])
        texts += [f"warning: {text}" for text in verdict.warnings]
        if not texts:
            plain += 1
            continue
        listed += 1
        if listed <= _ROWS:
            text_row(table, one.key, "accepted" if verdict.allowed else "refused", ";\n".join(texts))
    n = len(review.objects)
    summary = f"{n - review.refused:,} of {counted(n, 'object', form=',')} accepted by Volcano ({review.release.value})"
    parts: list[Any] = [table] if listed else []
    return [*parts, *more_line(listed - _ROWS, "objects"), Text(f"{summary}, {plain:,} as they are")]
