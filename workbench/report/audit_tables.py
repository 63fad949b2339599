"""Terminal tables of what a cluster did beside what policies would have done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from workbench.evaluate.audit import Audit
from workbench.model.counted import counted
from workbench.report.tables import new_table, text_row

__all__ = ["audit_tables"]


def audit_tables(found: Sequence[tuple[str, Audit]]) -> list[Any]:
    """How often each policy agrees with the cluster, and every gang on which one does not.

    Parameters
    ----------
    found : sequence of (str, Audit)
        The name of the session or moment, and what was found there.
    """
    policies = list(dict.fromkeys(told.policy for _, told in found))
    summary = new_table("policy", "jobs", "agree", "verdict", "pods", "HyperNode", right=range(1, 6))
    for policy in policies:
        own = [each for _, each in found if each.policy == policy]
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
    differing = [(name, told) for name, told in found if not told.agrees]
    if not differing:
        return [summary]
    table = new_table("session", "job", "policy", "difference", title=f"{counted(len(differing), 'difference')}")
    for name, told in differing:
        text_row(table, name, told.gang.key, told.policy, told.difference)
    return [summary, Text(), table]
