"""Terminal tables of single commands, such as `cost`, `fix`, `kind`, `policies` and `topology formats`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from workbench.formats.review import Review
from workbench.model.best_gpus import BestGpus
from workbench.model.gpu_annotation import shell_line
from workbench.model.links import suspicious_links
from workbench.model.machine_parts import near_lines
from workbench.model.number_text import number_text
from workbench.model.pod_gpus import PodGpus
from workbench.report.layout import SOFT_BREAK
from workbench.report.tables import ROWS, listed, more_line, new_table, text_row

if TYPE_CHECKING:
    from workbench.evaluate.cost.job_cost import Interval, JobCost
    from workbench.evaluate.rank_order import RankOrder
    from workbench.evaluate.whatif.fix import FixReport
    from workbench.topology.discovery.reconcile import ReconcilePlan
    from workbench.topology.presets import Preset

__all__ = [
    "best_gpus_tables",
    "cost_tables",
    "doctor_tables",
    "fix_tables",
    "format_tables",
    "made_cluster_tables",
    "plan_tables",
    "pod_gpus_tables",
    "policy_tables",
    "preset_tables",
    "rank_tables",
    "review_tables",
]

#: Holders of what a job lacks, and pods of a job with new ranks, that are listed; -o json has all.
_HOLDERS, _RANKS = 12, 40


def cost_tables(cost: JobCost) -> list[Any]:
    """Terminal tables of one job: its step, its kinds of parallelism, what each tier adds, and what is left out."""
    step = new_table("per step", "nothing hidden", "as hidden as can be", title=f"{cost.job} as {cost.shape}")
    text_row(step, "communication", _interval(cost.exposed), _interval(cost.hidden))
    if cost.step is not None:
        text_row(step, "with compute", _interval(cost.step[1]), _interval(cost.step[0]))
    parts = new_table(
        "parallel", "collective", "ranks", "nodes", "calls", "MB", "ms per step", "GB/s", "from", right=(2, 3, 4, 5, 7)
    )
    for part in cost.parts:
        exchange = part.exchange
        text_row(
            parts,
            exchange.kind,
            exchange.collective,
            part.ranks,
            part.nodes,
            exchange.calls,
            _rounded(exchange.size / 1e6),
            _interval(part.time),
            _rounded(part.gb_s),
            part.basis,
        )
    found: list[Any] = [step, parts]
    if cost.tiers:
        rows = [(tier.tier, tier.hypernodes, _rounded(tier.gb_s), _rounded(tier.added_ms)) for tier in cost.tiers]
        heads = ("tier", "HyperNodes", "GB/s per GPU", "adds, ms per step")
        found += listed(heads, rows, title="tiers", right=range(4))
    speed = f"{_rounded(cost.gb_s)} GB/s ({_rounded(cost.low_gb_s)} to {_rounded(cost.high_gb_s)}) per rank"
    found.append(Text(f"{speed}. Calibration {cost.calibration}, machine {cost.machine}."))
    found.append(Text(f"Left out: {'; '.join(cost.left_out)}."))
    return found


def _interval(time: Interval) -> str:
    return f"{_rounded(time.ms)} ms ({_rounded(time.low_ms)} to {_rounded(time.high_ms)})"


def _rounded(number: float) -> str:
    """Three significant digits, without an exponent as long as the number is one that people read."""
    short = float(f"{number:.3g}")
    if abs(short) >= 1e12:
        return f"{short:g}"
    return f"{short:,.0f}" if abs(short) >= 100 else f"{short:,.4g}"


def doctor_tables(checks: Sequence[tuple[str, str, str]]) -> Any:
    """A table of checks, each given as state (ok, note or problem), subject and text."""
    return listed(("state", "about", "what"), checks)[0]


def fix_tables(report: FixReport, commands: Sequence[Sequence[str]] = ()) -> list[Any]:
    """A report as text and tables: the headline, who holds what is missing, the fixes with their commands.

    `commands`: for each fix the commands that make it in a live cluster; empty: they are not shown.
    """
    parts: list[Any] = [Text(f"{report.job} is pending by {report.policy}: {report.cause}")]
    if report.holders:
        rows = [(one.of, one.job, one.state, one.pods or "–", ", ".join(one.amount_texts)) for one in report.holders]
        parts += listed(("held", "by", "state", "pods", "amounts"), rows, right=(3,), most=_HOLDERS)
    if not report.fixes:
        parts.append(Text("no change that was tried helps"))
    for number, fix in enumerate(report.fixes, start=1):
        parts.append(Text(f"{number}. {fix.text}"))
        # A command that is broken into lines could not be copied from a terminal.
        lines = commands[number - 1] if commands else ()
        parts += [Text(f"   {line}", no_wrap=True, overflow="ignore") for line in lines]
    if report.fixes and not report.proved:
        parts.append(Text("not every smaller change could be tried"))
    parts.append(Text(""))
    return parts


def made_cluster_tables(rows: Sequence[Mapping[str, str]]) -> list[Any]:
    """A table of clusters, each given by name, engine, context, kubeconfig and state; a line where there are none."""
    if not rows:
        return ["no cluster: 'workbench kind up' makes one"]
    heads = ("name", "engine", "context", "state", "kubeconfig")
    return listed(heads, [[row[head] for head in heads] for row in rows])


def rank_tables(orders: Iterable[RankOrder]) -> list[Any]:
    """Terminal tables of new ranks: each job's ring crossings before and after, and the pods whose rank changes."""
    found = list(orders)
    parts: list[Any] = []
    if found:
        keys = list(found[0].before)
        heads = [key if key == "node" else f"tier {key}" for key in keys]
        rings = new_table("job", "ranks", *heads, title="ring crossings", right=range(2, 2 + len(keys)))
        for order in found:
            text_row(rings, order.job, "as placed", *(order.before[key] for key in keys))
            if order.changed:
                text_row(rings, "", "by HyperNode", *(order.after[key] for key in keys))
        parts.append(rings)
    for order in found:
        if not order.changed:
            continue
        rows = [
            (pod, node, was, rank)
            for rank, (pod, node, was) in enumerate(zip(order.pods, order.nodes, order.ranks_before, strict=True))
            if was != rank
        ]
        columns = ("pod", "node", "rank", "new rank")
        parts += listed(columns, rows, title=order.job, right=(2, 3), most=_RANKS, what="pods")
    return parts


def policy_tables(policies: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Terminal tables of policies: names with meanings, every parameter, rules that are not followed."""
    table = new_table("policy", "kind", "meaning", "source")
    parameters = new_table("policy", "parameter", "takes", "meaning")
    # Names that users type are never cut.
    parameters.columns[1].no_wrap = True
    for info in policies:
        text_row(table, info["name"], info["kind"], info["meaning"], info["source"])
        for parameter in info["parameters"]:
            default = "" if parameter["default"] in (None, "") else f", by default {parameter['default']}"
            takes = _breakable(f"{parameter['range']}{default}")
            text_row(parameters, _breakable(info["name"]), parameter["name"], takes, _breakable(parameter["meaning"]))
    left = new_table("policy", "does not follow the design documents in (volcano-documents does)")
    for info in policies:
        for rule in info["departs"]:
            text_row(left, _breakable(info["name"]), _breakable(rule))
    return [table, parameters, left]


def _breakable(text: str) -> str:
    """The text with places inside names, after punctuation, at which it may be wrapped."""
    return re.sub(r"(?<=\w)([-_./(])(?=\w)", rf"\1{SOFT_BREAK}", text)


def preset_tables(presets: Mapping[str, Preset]) -> list[Any]:
    """Terminal tables of the presets of `topology generate`, and of what their parameters mean."""
    meanings = [
        (preset.name, name, _default(parameter.default), parameter.meaning)
        for preset in presets.values()
        for name, parameter in preset.parameters.items()
    ]
    heads, title = ("kind", "parameter", "default", "meaning"), "parameters (--set PARAMETER=VALUE)"
    kinds = listed(("kind", "makes"), [(preset.name, preset.meaning) for preset in presets.values()])
    return [*kinds, *listed(heads, meanings, title=title)]


def format_tables(formats: Iterable[tuple[str, bool, bool, str]]) -> list[Any]:
    """Terminal table of the formats of `topology convert`: name, whether it can be read and written, title."""
    rows = [(name, "yes" if read else "", "yes" if written else "", title) for name, read, written, title in formats]
    return listed(("format", "read", "written", "what it is"), rows)


def _default(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


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
    shown = " ".join(ties) if len(ties) <= ROWS else " ".join(ties[:ROWS]) + " …"
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
    parts = listed(heads, rows, right=(2, 3), most=ROWS, what="HyperNodes") if rows else []
    return [*parts, Text(plan.summary)]


def review_tables(review: Review, stdin: bytes | str | None = None) -> list[Any]:
    """Terminal table of objects that admission refuses, completes or warns about; the others are only counted.

    `stdin` is the content of the file ``stdin``, for the lines of violations.
    """
    said: dict[int, list[str]] = {}
    for one, fault, place, _ in review.located(stdin):
        said.setdefault(id(one), []).append(f"{fault.sentence} ({place})")
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
        if listed <= ROWS:
            text_row(table, one.key, "accepted" if verdict.allowed else "refused", ";\n".join(texts))
    parts: list[Any] = [table] if listed else []
    return [*parts, *more_line(listed - ROWS, "objects"), Text(f"{review.summary}, {plain:,} as they are")]
