"""`compare`: place the same gangs on the same snapshot by several policies, and set the results side by side."""

from __future__ import annotations

import dataclasses
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy.ma  # noqa: F401 - np.unique imports it at its first call, which would count as the time of a policy

from workbench.cancel import Progress, ProgressOption, reported
from workbench.errors import InputError, UnknownNameError, named_arguments
from workbench.evaluate.beside import beside_each_other
from workbench.evaluate.cost.plan import CommunicationPlan
from workbench.evaluate.metric import Metric, MetricValue
from workbench.evaluate.metrics import RunMetrics, measure_run
from workbench.evaluate.policy_choices import chosen_policies
from workbench.evaluate.provenance import Provenance, record_provenance
from workbench.evaluate.records import session_record
from workbench.evaluate.switch_sharing import switches_matter
from workbench.evaluate.usual_policies import USUAL_POLICIES
from workbench.evaluate.whatif.advice import SessionAdvice, advise_session
from workbench.model.counted import counted
from workbench.model.deferred import DeferredModule
from workbench.model.display import Displayed, Plotted
from workbench.model.gang import Gang
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.scenario import Scenario, session_of
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value
from workbench.policies import Policy

if TYPE_CHECKING:
    import pandas
else:
    pandas = DeferredModule("pandas")


__all__ = ["Comparison", "ComparisonRow", "RowError", "compare"]


@dataclass(frozen=True)
class RowError:
    """The error of a policy that raised an exception; the other policies of the comparison are not affected.

    `message`: class and text of the exception, one line. `traceback`: as Python prints it, for the author of the
    policy.
    """

    message: str
    traceback: str


@dataclass(frozen=True, eq=False)
class ComparisonRow(Value):
    """The result of one policy in a comparison: its decisions and their metrics, or its error.

    Attributes
    ----------
    policy : str
        The policy's name as given, node part and GPU part.
    decisions : tuple of Decision
        Decisions in the order of `Comparison.gangs`; empty if the policy raised. `in_turn` has them in the policy's
        order.
    metrics : RunMetrics, optional
        Metrics of the session; None if the policy raised.
    decision_s : float
        Wall-clock seconds of `schedule()`; the only field that differs between two equal runs.
    advice : SessionAdvice
        What is missing for pending jobs and what would help, by ``namespace/name``; only for the first jobs
        (`most_advised` of `compare`). Its note counts the others.
    """

    policy: str
    parameters: Mapping[str, Any]
    decisions: tuple[Decision, ...]
    metrics: RunMetrics | None
    decision_s: float = field(compare=False)
    error: RowError | None = None
    advice: SessionAdvice = field(default_factory=SessionAdvice)

    @property
    def in_turn(self) -> tuple[Decision, ...]:
        """The decisions in the order in which the policy took them (`Decision.turn`)."""
        return tuple(sorted(self.decisions, key=lambda decision: decision.turn))

    @property
    def placements(self) -> tuple[Placement, ...]:
        return tuple(d.result for d in self.decisions if isinstance(d.result, Placement))

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return tuple(d.result for d in self.decisions if isinstance(d.result, Refusal))

    def decision(self, gang: str) -> Decision | None:
        """The decision on the gang named ``namespace/name``; None if the policy raised an exception."""
        return next((d for d in self.decisions if d.gang.key == gang), None)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Value, Displayed, Plotted, Mapping[str, ComparisonRow]):
    """The results of several policies for the same gangs on the same snapshot, by the name of the policy.

    `rows` (tuple of ComparisonRow): one result per policy, in input order.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("mine", pods=2, gpus=8))
    >>> comparison = tree.compare(["binpack", "spread"])
    >>> {policy: row.placements[0].n_placed for policy, row in comparison.items()}
    {'binpack': 2, 'spread': 2}
    >>> comparison.to_dataframe()["outcome"].tolist()
    ['placed', 'placed']
    """

    gangs: tuple[Gang, ...]
    snapshot: ClusterSnapshot
    rows: tuple[ComparisonRow, ...]
    provenance: Provenance = field(default_factory=Provenance)

    def __getitem__(self, policy: str) -> ComparisonRow:
        for row in self.rows:
            if row.policy == policy:
                return row
        raise UnknownNameError("policy of the comparison", str(policy), list(self))

    def __iter__(self) -> Iterator[str]:
        return (row.policy for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        parts = [
            f"{row.policy}: " + ("failed" if row.metrics is None else f"{len(row.metrics.placed)} placed")
            for row in self.rows
        ]
        return f"Comparison({counted(len(self.gangs), 'job')}; {'; '.join(parts)})"

    @property
    def all_placed(self) -> bool:
        """Whether every policy placed every gang."""
        return all(row.metrics is not None and not row.metrics.pending for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as a JSON-ready dict, each policy in the form of ``place -o json``.

        Equal for equal inputs, except for ``decision_s``.
        """
        return {
            "provenance": self.provenance.to_dict(),
            "jobs": [gang.key for gang in self.gangs],
            "policies": [_row_dict(row) for row in self.rows],
        }

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics of whole runs that were measured for at least one policy, in their display order."""
        return _distinct(metric for row in self.rows if row.metrics is not None for metric in row.metrics.metrics)

    @property
    def job_metrics(self) -> tuple[Metric, ...]:
        """Metrics of single jobs that were measured for at least one policy, in their display order."""
        return _distinct(metric for row in self.rows if row.metrics is not None for metric in row.metrics.job_metrics)

    def to_dataframe(self, per: Literal["job", "run"] = "job") -> pandas.DataFrame:
        """The comparison as a table with one row per policy and job, or one row per policy, in input order.

        `per`: {"job", "run"}.

        Returns
        -------
        pandas.DataFrame
            Per job the columns policy, job, outcome (``placed``, ``pending``, ``error``), turn (`Decision.turn`), pods,
            hypernode, tier, one column per metric of a job (see `workbench.evaluate.metric_table`), reasons, and
            decision_s (of the whole session). Per run the columns policy, outcome (``ran``, ``error``), one column per
            metric of a run, reasons, decision_s. A metric by tier has a column per tier, such as ``pairs_1``, with
            ``node`` for the same node. Values that a line does not have are NaN. ``attrs["provenance"]`` has the
            provenance.
        """
        import pandas

        if per not in ("job", "run"):
            raise InputError("no such kind of line", source="per", got=repr(per), expected="job or run")
        if per == "run":
            frame = pandas.DataFrame([_run_line(row) for row in self.rows])
        else:
            frame = pandas.DataFrame([_job_line(row, gang) for row in self.rows for gang in self.gangs])
        frame.attrs["provenance"] = self.provenance.to_dict()
        return frame

    def to_html(self) -> str:
        """The comparison with its pictures as an HTML fragment, as a notebook shows it."""
        html = self._repr_html_()
        if html is None:
            raise TypeError("no renderer is installed for comparisons; import workbench first")
        return html


@named_arguments
def compare(
    gangs: Sequence[Gang] | Scenario,
    snapshot: ClusterSnapshot | Scenario | Sequence[str | Policy] | None = None,
    policies: Sequence[str | Policy] = USUAL_POLICIES,
    progress: ProgressOption = None,
    inputs: Mapping[str, str] | None = None,
    most_advised: int | None = None,
    communication: CommunicationPlan | None = None,
    names: Sequence[str] | None = None,
    jobs: int = 1,
    advised: Collection[str] | None = None,
) -> Comparison:
    """Place the same gangs on the same snapshot by each policy.

    A policy that raises while it schedules becomes a row with an error; Ctrl-C and cancelling are not caught.

    Parameters
    ----------
    gangs : sequence of Gang, or Scenario
        A scenario stands for its gangs and its snapshot: ``compare(scenario, ["binpack", "volcano"])``.
    snapshot : ClusterSnapshot or Scenario, optional
        Every policy starts from it; nothing changes it. Left out where `gangs` is a scenario.
    policies : sequence of str or Policy
        Names ``NODE[+GPU]``, policy objects, or functions decorated with `workbench.policy`; ``field`` stands for the
        twin of each scheduler. By default `USUAL_POLICIES`. Of several with one name, the second is ``NAME (2)``.
    progress : bool or callable, optional
        True: show a bar. A function is called with (done, total, name) before each policy and once at the end.
    inputs : mapping of str to str, optional
        File name to SHA-256 (`Scenario.inputs`), for the provenance; by default the scenario's.
    most_advised : int, optional
        Pending jobs of each policy for which changes that would help are tried, the first ones first; None: all, as far
        as the budget of work reaches.
    communication : CommunicationPlan, optional
        Adds the cost of communication of the jobs that it names to the metrics, and its sources to the provenance.
    names : sequence of str, optional
        What the row of each policy is called, such as its configuration; by default by the policy.
    jobs : int
        Policies that run at a time, each in a process of its own; the result is the same for any number.
    advised : collection of str, optional
        ``namespace/name`` of the jobs for which changes that would help are tried; None: all.

    Raises
    ------
    UnknownNameError
        A policy is not registered; raised before any policy runs.
    InputError
        No gangs or no snapshot, `policies` is no sequence, `communication` does not fit the topology or lacks a speed.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> comparison = wb.compare([wb.gang("mine", pods=3, gpus=8)], tree, ["binpack", "volcano-1.15"])
    >>> comparison
    Comparison(1 job; binpack: 1 placed; volcano-1.15: 1 placed)
    >>> comparison["binpack"].metrics["placed"]
    1
    """
    if isinstance(gangs, Scenario) and snapshot is not None and not isinstance(snapshot, ClusterSnapshot | Scenario):
        policies, snapshot = snapshot, None
    if inputs is None:
        inputs = next((each.inputs for each in (gangs, snapshot) if isinstance(each, Scenario)), {})
    some, cluster = session_of(gangs, snapshot)
    chosen = chosen_policies(policies)
    called = _called(chosen, names)
    if communication is not None:
        communication.check(cluster.topology)
    named = zip(_numbered(called), chosen, strict=True)
    advise = partial(advise_session, snapshot=cluster, most=most_advised, jobs=advised)
    calls = [partial(_run, name, policy, some, cluster, advise, communication) for name, policy in named]
    sessions = _reported(calls, jobs, _shared(some, cluster, chosen), chosen, progress)
    # A policy that uses switches brings their metrics for all.
    switches = any(switches_matter(row.decisions, cluster) for row in sessions if row.error is None)
    rows = tuple(_measured(row, cluster, switches, communication) for row in sessions)
    priced = None if communication is None else communication.to_dict()
    asked = [(name, policy.parameters) for name, policy in zip(called, chosen, strict=True)]
    return Comparison(some, cluster, rows, record_provenance(cluster, asked, inputs, priced))


def _reported(
    calls: Sequence[Callable[[], ComparisonRow]],
    jobs: int,
    shared: Sequence[object],
    policies: Sequence[Policy],
    progress: ProgressOption,
) -> list[ComparisonRow]:
    """The results of the calls, one for each policy; `progress` is told before each starts, and at the end."""
    with reported(progress) as step:
        told = (lambda number: None) if step is None else partial(_told, step, policies)
        answers = beside_each_other(calls, jobs, shared, told)
        if step is not None:
            step(len(policies), len(policies), "")
    return answers


def _called(policies: Sequence[Policy], names: Sequence[str] | None) -> Sequence[str]:
    """The name of each policy's row; raises InputError unless there is a name for each."""
    if names is None:
        return [policy.name for policy in policies]
    if len(names) != len(policies):
        raise InputError("not a name for each policy", source="names", got=str(len(names)), expected=str(len(policies)))
    return names


def _told(step: Progress, policies: Sequence[Policy], number: int) -> None:
    step(number, len(policies), policies[number].name)


def _shared(gangs: Sequence[Gang], snapshot: ClusterSnapshot, policies: Sequence[Policy]) -> list[object]:
    """Values that the sessions of all policies read, and to which their decisions refer."""
    roles = [role for gang in gangs for role in gang.roles]
    return [snapshot, snapshot.topology, *policies, *gangs, *roles]


def _numbered(given: Sequence[str]) -> list[str]:
    """The names, with a number where an earlier one is equal."""
    seen: Counter[str] = Counter()
    names = []
    for name in given:
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _run(
    name: str,
    policy: Policy,
    gangs: Sequence[Gang],
    snapshot: ClusterSnapshot,
    advise: Callable[[Policy, Sequence[Decision]], SessionAdvice],
    communication: CommunicationPlan | None,
) -> ComparisonRow:
    """The session of one policy with its advice, without metrics."""
    start = time.perf_counter()
    try:
        decisions = tuple(policy.schedule(gangs, snapshot))
    except Exception as error:  # a notebook's policy may raise anything; it must not take the other rows with it
        from workbench.evaluate.cost.cost_model import SPEEDS

        if isinstance(error, InputError) and error.source == SPEEDS:
            # `LeastCost` prices placements while it chooses among them.
            raise
        return _failed(name, policy.parameters, error, time.perf_counter() - start)
    seconds = time.perf_counter() - start
    if communication is not None:
        # A missing speed is an input error, not a failure of the policy whose placement needs it.
        communication.check_speeds(d.result for d in decisions if isinstance(d.result, Placement))
    try:
        advice = advise(policy, decisions)
    except (
        Exception
    ):  # the policy answered what it was asked: that it fails on a cluster that might be takes nothing away
        advice = SessionAdvice()
    return ComparisonRow(name, policy.parameters, decisions, None, seconds, advice=advice)


def _measured(
    row: ComparisonRow, snapshot: ClusterSnapshot, switches: bool, communication: CommunicationPlan | None
) -> ComparisonRow:
    """A row with the metrics of its decisions; one with an error as it is."""
    if row.error is not None:
        return row
    try:
        return dataclasses.replace(row, metrics=measure_run(row.decisions, snapshot, switches, communication))
    except Exception as error:
        return _failed(row.policy, row.parameters, error, row.decision_s)


def _failed(name: str, parameters: Mapping[str, Any], error: Exception, seconds: float) -> ComparisonRow:
    message = f"{type(error).__name__}: {error}".splitlines()[0]
    failed = RowError(message, "".join(traceback.format_exception(error)))
    return ComparisonRow(name, parameters, (), None, seconds, failed)


def _row_dict(row: ComparisonRow) -> dict[str, Any]:
    return {
        **session_record(
            row.policy, row.parameters, row.decisions, row.metrics, row.advice, advice_note=row.advice.note
        ),
        "error": None if row.error is None else row.error.message,
        "decision_s": row.decision_s,
    }


def _job_line(row: ComparisonRow, gang: Gang) -> dict[str, Any]:
    line: dict[str, Any] = {"policy": row.policy, "job": gang.key}
    decision = row.decision(gang.key)
    if decision is None or row.metrics is None:
        return {**line, "outcome": "error", **_end_of_line(row, row.error.message if row.error else "")}
    result = decision.result
    line |= {"outcome": "placed" if decision.placed else "pending", "turn": decision.turn, "pods": 0}
    if isinstance(result, Refusal):
        return {**line, **_end_of_line(row, "; ".join(reason.message for reason in result.reasons))}
    measured = row.metrics.jobs[gang.key]
    line |= {"hypernode": result.hypernode or None, "tier": result.tier}
    return {**line, **_columns(measured.metrics, measured.values), **_end_of_line(row, "")}


def _run_line(row: ComparisonRow) -> dict[str, Any]:
    if row.metrics is None:
        line = {"policy": row.policy, "outcome": "error"}
        return {**line, **_end_of_line(row, row.error.message if row.error else "")}
    line = {"policy": row.policy, "outcome": "ran"}
    return {**line, **_columns(row.metrics.metrics, row.metrics.values), **_end_of_line(row, "")}


def _end_of_line(row: ComparisonRow, reasons: str) -> dict[str, Any]:
    return {"reasons": reasons, "decision_s": row.decision_s}


def _distinct(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    return tuple({metric.key: metric for metric in metrics}.values())


def _columns(metrics: Sequence[Metric], values: Mapping[str, MetricValue]) -> dict[str, Any]:
    """Values of metrics by DataFrame column: one column per metric, or one per key if the value is a mapping."""
    columns: dict[str, Any] = {}
    for metric in metrics:
        value, name = values[metric.key], metric.column or metric.key
        columns |= (
            {f"{name}_{key}": each for key, each in value.items()} if isinstance(value, Mapping) else {name: value}
        )
    return columns
