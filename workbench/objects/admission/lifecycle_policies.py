"""Admission of the lifecycle policies of a Job or task: entries that Volcano's webhook refuses.

Source: docs/reference/volcano-jobs.md, section 3.2, "Policies (per list)".
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.model.release import Release
from workbench.objects.admission.schema import Fault
from workbench.objects.lifecycle_policy import ANY_EVENT, USER_ACTIONS, USER_EVENTS, LifecyclePolicy

__all__ = ["policy_findings"]


def policy_findings(policies: Sequence[LifecyclePolicy], where: str, release: Release) -> list[Fault]:
    """Violations in a list of lifecycle policies of a Volcano Job or task.

    Reported are the first violation of an entry, and the event ``*`` beside other events.

    `where`: path of the list. `release`: 1.13 does not know RestartPartition.
    """
    actions = [name for name in USER_ACTIONS if release is Release.V1_15 or name != "RestartPartition"]
    valid = f" valid events are [{' '.join(USER_EVENTS)}], valid actions are [{' '.join(actions)}];"
    events: set[str] = set()
    exit_codes: set[int] = set()
    found = []
    for position, policy in enumerate(policies):
        text = _error(policy, actions, events, exit_codes)
        if text:
            found.append(Fault(f"{where}[{position}]", text + valid))
            break
    if ANY_EVENT in events and len(events) > 1:
        found.append(Fault(where, f"if there's * here, no other policy should be here{valid}"))
    return found


def _error(policy: LifecyclePolicy, actions: Sequence[str], events: set[str], exit_codes: set[int]) -> str:
    """The violation in one lifecycle policy, or an empty text; its events and exit code are added to the two sets.

    `actions` are the allowed actions; `events` and `exit_codes` hold those of the earlier policies of the list.
    """
    if policy.events and policy.exit_code is not None:
        return "must not specify event and exitCode simultaneously"
    if policy.exit_code is not None:
        # The action of such an entry is not looked at, as in the cluster.
        if policy.exit_code == 0:
            return "0 is not a valid error code"
        if policy.exit_code in exit_codes:
            return f"duplicate exitCode {policy.exit_code}"
        exit_codes.add(policy.exit_code)
        return ""
    if not policy.events:
        return "either event and exitCode should be specified"
    for event in policy.events:
        if event not in USER_EVENTS:
            return f'Invalid value: "{event}": invalid policy event'
        if policy.action not in actions:
            return f'Invalid value: "{policy.action}": invalid policy action'
        if event in events:
            return f"duplicate event {event}  across different policy"
        events.add(event)
    return ""
