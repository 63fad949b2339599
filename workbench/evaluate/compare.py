"""The main job: the same gangs on the same snapshot by several policies, side by side."""

from __future__ import annotations

import dataclasses
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.cancel import check
from workbench.errors import InputError
from workbench.evaluate.metrics import RunMetrics, measure_run
from workbench.evaluate.provenance import Provenance, record_provenance
from workbench.evaluate.records import session_record
from workbench.evaluate.switch_sharing import measure_switches
from workbench.model.display import Displayed
from workbench.model.gang import Gang
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value
from workbench.policies import Policy, get_policy

if TYPE_CHECKING:
    import pandas

__all__ = ["Comparison", "ComparisonRow", "RowError", "compare"]

#: (policies done, policies in all, the one that runs next; empty at the end).
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class RowError:
    """A policy that raised instead of answering; the other rows are not touched by it.

    Attributes
    ----------
    message : str
        Class and text of the exception, one line.
    traceback : str
        As Python prints it, for the author of the policy.
    """

    message: str
    traceback: str


@dataclass(frozen=True, eq=False)
class ComparisonRow(Value):
    """One policy's session.

    Attributes
    ----------
    policy : str
        The name as given, node and GPU part.
    parameters : mapping of str to Any
    decisions : tuple of Decision
        In the order of `Comparison.gangs`; empty where the policy raised. `in_turn` has them as they were taken.
    metrics : RunMetrics, optional
        None where it raised.
    decision_s : float
        Wall-clock seconds of `schedule()`; the only field that differs between two equal runs.
    error : RowError, optional
    """

    policy: str
    parameters: Mapping[str, Any]
    decisions: tuple[Decision, ...]
    metrics: RunMetrics | None
    decision_s: float
    error: RowError | None = None

    @property
    def in_turn(self) -> tuple[Decision, ...]:
        """The decisions in the order in which the policy took them."""
        return tuple(sorted(self.decisions, key=lambda decision: decision.turn))

    @property
    def placements(self) -> tuple[Placement, ...]:
        return tuple(d.result for d in self.decisions if isinstance(d.result, Placement))

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return tuple(d.result for d in self.decisions if isinstance(d.result, Refusal))

    def decision(self, gang: str) -> Decision | None:
        """What became of a gang (``namespace/name``); None where the policy raised."""
        return next((d for d in self.decisions if d.gang.key == gang), None)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Value, Displayed):
    """Several policies on one problem.

    Attributes
    ----------
    gangs : tuple of Gang
    snapshot : ClusterSnapshot
    rows : tuple of ComparisonRow
        One per policy, in input order.
    provenance : Provenance
    """

    gangs: tuple[Gang, ...]
    snapshot: ClusterSnapshot
    rows: tuple[ComparisonRow, ...]
    provenance: Provenance = field(default_factory=Provenance)

    def __repr__(self) -> str:
        parts = [
            f"{row.policy}: " + ("failed" if row.metrics is None else f"{len(row.metrics.placed)} placed")
            for row in self.rows
        ]
        return f"Comparison({len(self.gangs)} jobs; {'; '.join(parts)})"

    @property
    def all_placed(self) -> bool:
        """Every policy placed every gang."""
        return all(row.metrics is not None and not row.metrics.pending for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, each policy in the shape of ``place -o json``; equal for equal inputs but for ``decision_s``."""
        return {
            "provenance": self.provenance.to_dict(),
            "jobs": [gang.key for gang in self.gangs],
            "policies": [_row_dict(row) for row in self.rows],
        }

    def to_dataframe(self) -> pandas.DataFrame:
        """One line per policy and job, in input order.

        Returns
        -------
        pandas.DataFrame
            Columns: policy, job, outcome (``placed``, ``pending``, ``error``), turn (`Decision.turn`), pods,
            hypernode, tier, nodes, leaves, lca_tier, ``pairs_<tier>`` and ``ring_<tier>`` per tier (``node``: the same
            node), bottleneck_gb_s, gpus_stranded, reasons, decision_s (of the whole session). What a line has not is
            missing (NaN). Where switches are measured also switches, shared_switches and pairs_across (of the job, see
            `JobSwitches`).
        """
        import pandas

        return pandas.DataFrame([_line(row, gang) for row in self.rows for gang in self.gangs])

    def to_html(self) -> str:
        """The comparison as an HTML fragment with its pictures, as a notebook shows it."""
        html = self._repr_html_()
        if html is None:
            raise TypeError("no renderer is installed for comparisons; import workbench first")
        return html


def compare(
    gangs: Sequence[Gang],
    snapshot: ClusterSnapshot,
    policies: Sequence[str | Policy],
    progress: Progress | None = None,
    inputs: Mapping[str, str] | None = None,
) -> Comparison:
    """Place the same gangs on the same snapshot by each policy.

    Parameters
    ----------
    gangs : sequence of Gang
    snapshot : ClusterSnapshot
        Every policy starts from it; nothing changes it.
    policies : sequence of str or Policy
        ``NODE[+GPU]`` or a policy object.
    progress : callable, optional
        Called with (done, total, name) before each policy and once at the end.
    inputs : mapping of str to str, optional
        File name to SHA-256 (`Scenario.inputs`), for the provenance.

    Returns
    -------
    Comparison
        A policy that raises while it schedules becomes a row with an error; Ctrl-C and cancelling are not caught.

    Raises
    ------
    UnknownNameError
        A policy is not registered; said before anything runs.
    InputError
        One text instead of a sequence.
    """
    if isinstance(policies, str):
        raise InputError("no list of policies", source="policies", got=repr(policies), expected='["gang", …]')
    chosen = [get_policy(policy) if isinstance(policy, str) else policy for policy in policies]
    rows = []
    for done, policy in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen), policy.name)
        check()
        rows.append(_run(policy, gangs, snapshot))
    if progress is not None:
        progress(len(chosen), len(chosen), "")
    provenance = record_provenance(snapshot, [(p.name, p.parameters) for p in chosen], inputs or {})
    return Comparison(tuple(gangs), snapshot, tuple(_with_switches(rows, snapshot)), provenance)


def _with_switches(rows: Sequence[ComparisonRow], snapshot: ClusterSnapshot) -> list[ComparisonRow]:
    """Every row with the sharing of switches as soon as one policy looked at them."""
    if not any(row.metrics is not None and row.metrics.switches is not None for row in rows):
        return list(rows)
    measured = []
    for row in rows:
        if row.metrics is not None and row.metrics.switches is None:
            metrics = dataclasses.replace(row.metrics, switches=measure_switches(row.decisions, snapshot))
            row = dataclasses.replace(row, metrics=metrics)
        measured.append(row)
    return measured


def _run(policy: Policy, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> ComparisonRow:
    start = time.perf_counter()
    try:
        decisions = tuple(policy.schedule(gangs, snapshot))
        seconds = time.perf_counter() - start
        metrics = measure_run(decisions, snapshot)
    except Exception as error:  # a notebook's policy may raise anything; it must not take the other rows with it
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        failed = RowError(message, "".join(traceback.format_exception(error)))
        return ComparisonRow(policy.name, policy.parameters, (), None, time.perf_counter() - start, failed)
    return ComparisonRow(policy.name, policy.parameters, decisions, metrics, seconds)


def _row_dict(row: ComparisonRow) -> dict[str, Any]:
    return {
        **session_record(row.policy, row.parameters, row.decisions, row.metrics),
        "error": None if row.error is None else row.error.message,
        "decision_s": row.decision_s,
    }


def _line(row: ComparisonRow, gang: Gang) -> dict[str, Any]:
    line: dict[str, Any] = {"policy": row.policy, "job": gang.key}
    decision = row.decision(gang.key)
    if decision is None or row.metrics is None:
        return {
            **line,
            "outcome": "error",
            "reasons": row.error.message if row.error else "",
            "decision_s": row.decision_s,
        }
    result = decision.result
    if isinstance(result, Refusal):
        reasons = "; ".join(reason.message for reason in result.reasons)
        return {
            **line,
            "outcome": "pending",
            "turn": decision.turn,
            "pods": 0,
            "reasons": reasons,
            "decision_s": row.decision_s,
        }
    metrics, sharing = row.metrics.jobs[gang.key], row.metrics.switches
    return {
        **line,
        "outcome": "placed",
        "turn": decision.turn,
        "pods": metrics.n_pods,
        "hypernode": result.hypernode or None,
        "tier": result.tier,
        "nodes": metrics.n_nodes,
        "leaves": metrics.n_leaves,
        "lca_tier": metrics.lca_tier,
        **{f"pairs_{tier}": count for tier, count in metrics.pod_pairs.items()},
        **{f"ring_{tier}": count for tier, count in metrics.ring_crossings.items()},
        "bottleneck_gb_s": metrics.worst_bottleneck_gb_s,
        "gpus_stranded": metrics.gpus_stranded,
        **({} if sharing is None else sharing.jobs[gang.key].to_dict()),
        "reasons": "",
        "decision_s": row.decision_s,
    }
