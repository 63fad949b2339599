"""Runner of recorded sessions on a real API server, by the code of `workbench live compare --recorded`."""

from __future__ import annotations

from typing import Any

from workbench.evaluate.audit import audit_session
from workbench.formats.recorded_moment import Record
from workbench.formats.recorded_volcano import VolcanoSession
from workbench.policies import get_policy

__all__ = ["check"]

Json = dict[str, Any]


def check(session: Json, policy: str) -> None:
    """Verdict, number of pods and HyperNode of every job; what the next one finds is where the real scheduler put them.

    The real scheduler took one of equal HyperNodes at random: it must be one of those that explain our choice.
    """
    recorded = VolcanoSession.read(str(session.get("seed")), session, Record("session", "recorded"))
    scheduler = get_policy(policy, config=recorded.config)
    wrong = {}
    for moment in recorded.moments():
        (told,) = audit_session(moment.scenario.gangs, moment.scenario.snapshot, moment.nodes, scheduler)
        if not told.agrees:
            wrong[told.gang.key] = told.difference
        elif told.tied_hypernodes and told.observed_domain is not None:
            assert told.observed_domain in told.tied_hypernodes
    assert not wrong, wrong
