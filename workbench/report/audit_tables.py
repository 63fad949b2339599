"""Terminal tables of what a cluster did beside what policies would have done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from workbench.evaluate.audit import NOT_TRIED, Audit
from workbench.model.counted import counted
from workbench.report.tables import new_table, text_row

__all__ = ["audit_tables"]

#: Gangs listed; -o json has all.
_ROWS = 40


def audit_tables(
    found: Sequence[tuple[Mapping[str, str], Audit]], said: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[Any]:
    """How often each policy agrees with the cluster, why gangs wait, and every gang on which a policy does not agree.

    Parameters
    ----------
    found : sequence of (mapping of str to str, Audit)
        Where a gang was observed, the same keys for all (``session`` or ``scheduler``), and what was found.
    said : mapping of str to sequence of str
        What the cluster says about each gang that waits, by the gang's key.
    """
    policies = list(dict.fromkeys(told.policy for _, told in found))
    summary = new_table("policy", "jobs", "agree", "verdict", "pods", "HyperNode", right=range(1, 6))
    for policy in policies:
        own = [each for _, each in found if each.policy == policy and each.observed_verdict != NOT_TRIED]
        constrained = [each for each in own if each.equals and each.observed_domain is not None]
        text_row(
            summary,
            policy,
            len(own),
            sum(each.agrees for each in own),
            sum(each.verdict == each.observed_verdict for each in own),
            sum(each.pods == each.observed_pods for each in own),
            f"{sum(each.observed_domain in each.equals for each in constrained)} of {len(constrained)}",
        )
    parts: list[Any] = [summary]
    if found and "scheduler" in found[0][0]:
        parts.append(_gangs([each for each in found if each[1].gang.key not in said], policies))
    if said:
        parts.append(_waiting([told for _, told in found if told.gang.key in said], said))
    differing = [(where, told) for where, told in found if not told.agrees]
    if not differing:
        return parts
    table = new_table(*differing[0][0], "job", "policy", "difference", title=f"{counted(len(differing), 'difference')}")
    for where, told in differing:
        text_row(table, *where.values(), told.gang.key, told.policy, told.difference)
    return [*parts, table]


def _gangs(found: Sequence[tuple[Mapping[str, str], Audit]], policies: Sequence[str]) -> Any:
    """Where each gang is, and where the policies would place it."""
    table = new_table("scheduler", "job", "pods", "is in", *policies, right=(2,))
    rows: dict[str, tuple[str, list[Audit]]] = {}
    for where, told in found:
        rows.setdefault(told.gang.key, (where["scheduler"], []))[1].append(told)
    for scheduler, audits in list(rows.values())[:_ROWS]:
        first = audits[0]
        domains = [told.domain or told.verdict for told in audits]
        text_row(
            table,
            scheduler or "-",
            first.gang.key,
            first.observed_pods,
            first.observed_domain or "-",
            *domains,
        )
    if len(rows) > _ROWS:
        table.caption = f"… and {counted(len(rows) - _ROWS, 'more job')} (-o json has all)"
    return table


def _waiting(audits: Sequence[Audit], said: Mapping[str, Sequence[str]]) -> Any:
    """Why each gang waits: in the cluster's words, and by each policy."""
    table = new_table("job", "says", "what", title=counted(len(said), "job waits", "jobs wait"))
    for key, words in list(said.items())[:_ROWS]:
        lines = [("the cluster", text) for text in words or ["nothing: no condition and no event"]]
        lines += [(told.policy, _outcome(told)) for told in audits if told.gang.key == key]
        for line in lines:
            text_row(table, key, *line)
    if len(said) > _ROWS:
        table.caption = f"… and {counted(len(said) - _ROWS, 'more job')} (-o json has all)"
    return table


def _outcome(told: Audit) -> str:
    if told.pods:
        return f"{counted(told.pods, 'pod')} placed" + (f" in {told.domain}" if told.domain else "")
    if told.advice is not None:
        return f"pending: {told.advice.headline}"
    return "pending: " + "; ".join(reason.message for reason in told.reasons)
