"""`by_loss` and `loss_sentence`: running gangs by how much farther apart they sit than necessary."""

from __future__ import annotations

from collections.abc import Collection

from workbench.evaluate.audit.loss import MeetingPlace
from workbench.evaluate.audit.observed import Audit
from workbench.model.counted import counted

__all__ = ["by_loss", "loss_sentence"]

#: Gangs that a sentence names; the rest is counted.
_NAMED = 5


def by_loss(audits: Collection[Audit]) -> list[Audit]:
    """Gangs with the largest loss first: by pairs beyond, then by tiers lost, then by ``namespace/name``."""

    def loss(told: Audit) -> tuple[bool, int, int, bytes]:
        tiers = told.is_in.tier - told.could_be_in.tier if told.is_in and told.could_be_in else 0
        return not told.could_be_closer, -told.pairs_beyond, -max(tiers, 0), told.gang.key.encode()

    return sorted(audits, key=loss)


def loss_sentence(audits: Collection[Audit], *, recorded: bool = False) -> str:
    """How many placed gangs could be closer by one policy, and which, the largest loss first.

    Parameters
    ----------
    audits : collection of Audit
        Of gangs that have nodes, all by one policy.
    recorded : bool
        Whether the gangs were placed in recorded sessions; otherwise they run now.
    """
    closer = [told for told in by_loss(audits) if told.could_be_closer]
    of = counted(len(audits), "recorded placement" if recorded else "running gang")
    could = "could have been closer" if recorded else "could be closer"
    if not closer:
        return f"none of {of} {could}"
    moves = [f"{told.gang.key} {_name(told.is_in)} → {_name(told.could_be_in)}" for told in closer[:_NAMED]]
    more = f" and {len(closer) - _NAMED:,} more" if len(closer) > _NAMED else ""
    return f"{len(closer)} of {of} {could}: {', '.join(moves)}{more}"


def _name(place: MeetingPlace | None) -> str:
    return "" if place is None else place.name
