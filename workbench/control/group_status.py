"""The status that Volcano's scheduler writes on a PodGroup when a session ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.control.store import Object
from workbench.objects.pod import Pod

__all__ = ["group_status", "with_condition"]

_UNSCHEDULABLE, _SCHEDULED = "Unschedulable", "Scheduled"


def group_status(status: Mapping[str, Any], min_member: int, pods: Iterable[Pod]) -> dict[str, Any]:
    """Return the phase and the counters of a PodGroup's status after a scheduling session.

    Returns the fields ``phase``, ``running``, ``succeeded`` and ``failed``; None for a counter that is 0.

    `status`, `min_member`, `pods`: the status before, with the conditions of this session (`with_condition`);
    spec.minMember; the group's pods.

    Notes
    -----
    A group is Running once minMember of its pods have a node or succeeded, and Completed when all of these pods have
    ended. Before that, an admitted group (Inqueue) keeps its phase and any other is Pending. A group is Unknown while
    some of its pods run and the session could not place the rest.
    """
    counts = Counter(_state(pod) for pod in pods)
    allocated = counts["bound"] + counts["running"] + counts["succeeded"]
    before = status.get("phase") or ""
    if counts["running"] and _is_true(status, _UNSCHEDULABLE):
        phase = "Unknown"
    elif allocated >= min_member and allocated:
        phase = "Completed" if counts["succeeded"] + counts["failed"] == allocated else "Running"
    else:
        phase = "Inqueue" if before == "Inqueue" else "Pending"
    counters = {name: counts[name] or None for name in ("running", "succeeded", "failed")}
    return {"phase": phase, **counters}


def _state(pod: Pod) -> str:
    if pod.finished:
        return pod.phase.lower()
    if pod.terminating or not pod.spec.node_name:
        return "waiting"
    return "running" if pod.phase == "Running" else "bound"


def _is_true(status: Mapping[str, Any], kind: str) -> bool:
    return any(one.get("type") == kind and one.get("status") == "True" for one in status.get("conditions") or ())


def with_condition(status: Mapping[str, Any], scheduled: bool, message: str, now: str) -> list[Object]:
    """Return the conditions of a PodGroup after a session decided on it.

    A condition that stays as it was keeps its lastTransitionTime.

    `status`, `scheduled`, `message`: the status before; whether the gang got its nodes; if not, why. `now`: the present
    time, as Kubernetes writes it.
    """
    true, reason = (_SCHEDULED, "tasks in gang are ready to be scheduled") if scheduled else (_UNSCHEDULABLE, message)
    made: dict[str, Any] = {"type": true, "status": "True", "reason": "NotEnoughResources", "message": reason}
    if scheduled:
        del made["message"]
        made["reason"] = reason
    found: list[Object] = []
    for one in status.get("conditions") or ():
        if one.get("type") == true:
            same = all(one.get(name) == value for name, value in made.items())
            made["lastTransitionTime"] = one.get("lastTransitionTime") if same else now
        elif one.get("status") == "True":
            found.append({**one, "status": "False", "lastTransitionTime": now})
        else:
            found.append(one)
    return [*found, {"lastTransitionTime": now, **made}]
