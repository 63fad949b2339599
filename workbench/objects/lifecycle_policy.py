"""Lifecycle policies of a Volcano Job and its tasks (which action follows which event), and the field dependsOn.

Source: docs of Volcano's API types (names only); behaviour in docs/lifecycle.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.objects.fields import child, get_int, get_map, get_maps, get_text, get_text_list
from workbench.objects.quantity import read_duration

__all__ = [
    "ANY_EVENT",
    "USER_ACTIONS",
    "USER_EVENTS",
    "DependsOn",
    "LifecyclePolicy",
    "read_depends_on",
    "read_lifecycle_policies",
]

ANY_EVENT = "*"

#: Events and actions that a user may write into a policy; the controller itself has more.
USER_EVENTS = (
    ANY_EVENT,
    "PodFailed",
    "PodEvicted",
    "PodPending",
    "Unknown",
    "TaskCompleted",
    "TaskFailed",
    "JobUpdated",
)
USER_ACTIONS = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)


@dataclass(frozen=True)
class LifecyclePolicy:
    """One entry of the field ``policies`` of a Volcano Job or task: the action that follows an event or exit code.

    `action`: action of the policy, such as ``RestartJob``; empty if absent. `events`: events that trigger the action:
    the field ``events``, then ``event``, each event once. `exit_code`: exit code that triggers the action; None:
    absent. `timeout`: seconds by which the action is delayed; None: absent.
    """

    action: str = ""
    events: tuple[str, ...] = ()
    exit_code: int | None = None
    timeout: float | None = None


@dataclass(frozen=True)
class DependsOn:
    """The field dependsOn of a Volcano Job's task: tasks that must be ready before the task's pods are created.

    `any_of`: one ready task is enough (iteration ``any``); makes no difference if `names` has one entry.
    """

    names: tuple[str, ...]
    any_of: bool = False


def read_lifecycle_policies(data: Mapping[str, Any], where: str) -> tuple[LifecyclePolicy, ...]:
    """Read the field ``policies`` of a Volcano Job's spec or task; raises InputError for a field of the wrong type.

    `where` is the path of `data`, for error messages.
    """
    return tuple(_policy(item, path) for path, item in get_maps(data, "policies", where))


def _policy(item: Mapping[str, Any], path: str) -> LifecyclePolicy:
    events = get_text_list(item, "events", path)
    single = get_text(item, "event", path)
    return LifecyclePolicy(
        action=get_text(item, "action", path),
        events=tuple(dict.fromkeys([*events, *([single] if single else [])])),
        exit_code=get_int(item, "exitCode", path),
        timeout=_seconds(item, path),
    )


def _seconds(item: Mapping[str, Any], path: str) -> float | None:
    if item.get("timeout") is None:
        return None
    try:
        return read_duration(get_text(item, "timeout", path))
    except InputError as error:
        raise error.at(where=child(path, "timeout")) from None


def read_depends_on(data: Mapping[str, Any], where: str) -> DependsOn | None:
    """Read the field ``dependsOn`` of a Volcano Job's task; None if absent.

    `where` is the task's path, for error messages.
    """
    if data.get("dependsOn") is None:
        return None
    depends, where = get_map(data, "dependsOn", where), child(where, "dependsOn")
    return DependsOn(tuple(get_text_list(depends, "name", where)), get_text(depends, "iteration", where) == "any")
