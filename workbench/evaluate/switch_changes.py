"""`switch_changes`: state of every leaf switch (ToR) before and after a scheduling session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from workbench.model.placement import Decision, Placement
from workbench.model.snapshot import ClusterSnapshot

__all__ = ["SwitchChange", "after_session", "switch_changes"]


@dataclass(frozen=True)
class SwitchChange:
    """State of one leaf switch before and after a scheduling session.

    Attributes
    ----------
    switch : str
        Name of the switch.
    address : str
        The switch's address (tor_ip); empty if unknown.
    before, after : str
        ``idle``, ``exclusive``, ``shared/healthy`` or ``shared/unhealthy``.
    """

    switch: str
    address: str
    before: str
    after: str

    def to_dict(self) -> dict[str, Any]:
        """The change as a JSON-ready dict."""
        return asdict(self)


def after_session(snapshot: ClusterSnapshot, decisions: Sequence[Decision]) -> ClusterSnapshot:
    """The snapshot as it is once every placed gang of a session is running."""
    for decision in decisions:
        if isinstance(decision.result, Placement):
            snapshot = snapshot.with_placement(decision.result)
    return snapshot


def switch_changes(before: ClusterSnapshot, after: ClusterSnapshot) -> tuple[SwitchChange, ...]:
    """State of every leaf switch in two snapshots of one cluster, in configuration order; empty without switches."""
    old, new = before.ledger().switches, after.ledger().switches
    if old is None or new is None:
        return ()
    table = old.table
    rows = zip(table.names, table.addresses, old.states().names(), new.states().names(), strict=True)
    return tuple(SwitchChange(*row) for row in rows)
