"""HTML of gangs and scenarios, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.model.counted import counted
from workbench.model.gang import Gang, TopologyConstraint
from workbench.model.resources import amount_text
from workbench.model.scenario import Scenario
from workbench.report.html import render
from workbench.report.occupancy import occupancy_of_running
from workbench.report.svg_text import Inserted
from workbench.report.topology_svg import draw_topology

__all__ = ["constraint_text", "gang_html", "scenario_html"]

#: Jobs listed in a notebook; the rest is counted.
_ROWS = 100


def constraint_text(constraint: TopologyConstraint | None) -> str:
    """A topology constraint in a few words, such as ``hard, tier 2``; ``none`` for None."""
    if constraint is None:
        return "none"
    limit = f", tier {constraint.highest_tier}" if constraint.highest_tier is not None else ""
    named = f", tier {constraint.highest_tier_name}" if constraint.highest_tier_name else ""
    return f"{constraint.mode or 'no mode'}{limit}{named}"


def gang_html(gang: Gang) -> str:
    """A gang as an HTML fragment: what each role requests, and the sub-groups."""
    return render(
        "gang.html.j2",
        gang=gang,
        summary=_facts(gang),
        roles=[(role, _requests(role.requests)) for role in gang.roles],
        groups=[(group, constraint_text(group.constraint)) for group in gang.sub_groups[:_ROWS]],
        more=max(0, len(gang.sub_groups) - _ROWS),
    )


def scenario_html(scenario: Scenario) -> str:
    """A scenario as an HTML fragment: the cluster with its running jobs, the pending jobs, and gaps of the input."""
    snapshot = scenario.snapshot
    return render(
        "scenario.html.j2",
        scenario=scenario,
        summary=repr(snapshot),
        picture=Inserted(draw_topology(snapshot.topology, occupancy_of_running(snapshot))),
        gangs=[_row(gang) for gang in scenario.gangs[:_ROWS]],
        more=max(0, len(scenario.gangs) - _ROWS),
    )


def _facts(gang: Gang) -> str:
    parts = [
        counted(gang.n_pods, "pending pod"),
        f"minAvailable {gang.min_available}",
        f"topology {constraint_text(gang.constraint)}",
        f"queue {gang.queue}",
    ]
    if gang.ready:
        parts.insert(1, counted(gang.ready, "pod placed already", "pods placed already"))
    return ", ".join(parts)


def _row(gang: Gang) -> Sequence[Any]:
    asks = "; ".join(f"{role.count} × {_requests(role.requests)}" for role in gang.roles)
    return (gang.key, gang.n_pods, gang.min_available, constraint_text(gang.constraint), gang.queue, asks)


def _requests(requests: Any) -> str:
    return ", ".join(f"{amount_text(name, amount)} {name}" for name, amount in requests.items()) or "nothing"
