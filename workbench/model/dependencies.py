"""`unmet_dependency`: whether a gang waits for pods that are created only after the gang itself runs."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.model.counted import counted
from workbench.model.gang import Gang, Role
from workbench.model.notice import Notice

__all__ = ["unmet_dependency"]


def unmet_dependency(gang: Gang, present: Sequence[int] | None = None, *, sub_groups: bool = True) -> Notice | None:
    """Notice that a gang can never start, because it needs pods that exist only once other pods of the gang run.

    Volcano creates the pods of a task with dependsOn after the tasks that it names run, and counts them in minAvailable
    all the same.

    Returns None if the gang has enough pods without those that are held back. ``numbers`` are the pods that can exist
    at first (``valid``), the pods that the gang needs (``needed``), and the largest minAvailable with which it can
    start (``lower_to``); the last is absent where no minAvailable helps.

    `gang`: not the gang of a HyperJob, whose Jobs start one by one. `present`: pods of each role that count or wait for
    a node, those that are held back included; None: no pod runs. `sub_groups`: whether the scheduler knows sub-groups,
    and so counts those that must be ready.
    """
    held = [role for role in gang.roles if role.n_held_back]
    if not held:
        return None
    every = [role.count + role.succeeded for role in gang.roles] if present is None else present
    valid = gang.ready + gang.n_pods - sum(role.n_held_back for role in held)
    needed, minimums = gang.min_available, sum(role.min_available or 0 for role in gang.roles)
    short = [
        role
        for role, count in zip(gang.roles, every, strict=True)
        if role.n_held_back and count - role.n_held_back < (role.min_available or 0)
    ]
    numbers = {"count": max(needed - valid, 0), "valid": valid, "needed": needed}
    # The minimums of tasks count only where minAvailable is not below their sum.
    lower_to = min(valid, minimums - 1) if short else valid
    if lower_to > 0:
        numbers["lower_to"] = lower_to
    helps = f"; lower minAvailable to {lower_to}" if lower_to > 0 else f"; remove dependsOn from {_names(held)}"
    if valid < needed:
        only = f"only {valid}" if valid else "none"
        text = f"{only} of the {counted(needed, 'pod')} that minAvailable counts can exist before the job starts"
        return Notice("depends-on", f"{_created(held)}, so {text}{helps}", numbers=numbers)
    if needed >= minimums and short:
        text = f"minAvailable {needed} also waits for the minimum of each task, and {_names(short)} cannot meet it"
        numbers["count"] = sum(role.min_available or 0 for role in short)
        return Notice("depends-on", f"{_created(held)}, so {text} before the job starts{helps}", numbers=numbers)
    if sub_groups and (policy := _policy_without_groups(gang)):
        text = f"fewer than the {counted(gang.min_subgroups[policy], 'sub-group')} that {policy} needs can exist"
        text = f"{_created(held)}, so {text} before the job starts; remove minPartitions or dependsOn of {policy}"
        numbers.pop("lower_to", None)
        numbers["count"] = gang.min_subgroups[policy]
        return Notice("depends-on", text, numbers=numbers)
    return None


def _policy_without_groups(gang: Gang) -> str:
    """The first sub-group policy that needs sub-groups of which all pods are held back; empty if there is none."""
    role_of_pod = gang.role_of_pod
    missing = dict(gang.min_subgroups)
    for group in gang.sub_groups:
        waits = all(gang.roles[int(role_of_pod[pod])].n_held_back == _pods(gang, pod) for pod in group.pods)
        exists = group.running or group.succeeded or group.failed or group.gated
        if group.policy in missing and (exists or not waits):
            missing[group.policy] -= 1
    return next((policy for policy, count in missing.items() if count > 0), "")


def _pods(gang: Gang, pod: int) -> int:
    """Number of pending pods in the role of the pod at a position of the gang."""
    return gang.roles[int(gang.role_of_pod[pod])].count


def _created(held: Sequence[Role]) -> str:
    """When the pods of roles are created: ``task b is created only after a runs (dependsOn)``."""
    parts = []
    for role in held:
        word = " or " if role.depends_on_any else " and "
        run = "run" if len(role.depends_on) > 1 and not role.depends_on_any else "runs"
        parts.append(f"{role.name} is created only after {word.join(role.depends_on)} {run}")
    tail = f" and {len(parts) - 3} more tasks wait likewise" if len(parts) > 4 else ""
    shown = parts[:3] if tail else parts
    return f"task {', task '.join(shown)}{tail} (dependsOn)"


def _names(roles: Sequence[Role]) -> str:
    return ", ".join(role.name for role in roles)
