"""`SubGroups`: divide the pods of one gang into sub-groups by their labels, as Volcano's subGroupPolicy demands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.jobs.sub_groups import match_index, match_values, sub_job_id
from workbench.model.gang import SubGroup
from workbench.objects.partition import SubGroupPolicy
from workbench.objects.pod import Pod

__all__ = ["SubGroups", "min_sub_groups"]


def min_sub_groups(policies: Iterable[SubGroupPolicy]) -> dict[str, int]:
    """Number of sub-groups that must be ready, by the name of the policy.

    Policies without such a minimum are left out.
    """
    return {policy.name: policy.min_sub_groups for policy in policies if policy.min_sub_groups > 0}


@dataclass
class _Members:
    policy: SubGroupPolicy
    values: tuple[str, ...]
    pods: list[int] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    succeeded: list[Mapping[str, int]] = field(default_factory=list)
    failed: list[Mapping[str, int]] = field(default_factory=list)
    gated: list[Mapping[str, int]] = field(default_factory=list)


class SubGroups:
    """Collects the pods of one gang into sub-groups.

    `policies`: policies in the order of the object; a pod belongs to the first policy that captures it. `succeeded`:
    requests of each pod that succeeded and that no policy captures. `failed`, `gated`: requests of each pod that
    failed, or waits behind a scheduling gate, and that no policy captures.
    """

    def __init__(self, policies: Sequence[SubGroupPolicy]) -> None:
        self._policies = policies
        self._found: dict[str, _Members] = {}
        self.succeeded: list[Mapping[str, int]] = []
        self.failed: list[Mapping[str, int]] = []
        self.gated: list[Mapping[str, int]] = []
        self._not_tried: list[tuple[Pod, Mapping[str, str]]] = []

    def add_started(self, pod: Pod, labels: Mapping[str, str]) -> None:
        """Add a pod that is not pending: it is running, succeeded, failed or gated.

        Failed and gated pods form no sub-group. `labels` are the labels by which the pod is assigned to a sub-group.
        """
        if pod.phase == "Failed" or (pod.waits and pod.gated):
            self._not_tried.append((pod, labels))
        if not pod.counts:
            return
        members = self._members(labels)
        if not pod.runs:
            (self.succeeded if members is None else members.succeeded).append(pod.spec.requests)
        elif members is not None:
            members.running.append(pod.metadata.name)

    def add_pending(self, position: int, labels: Mapping[str, str]) -> None:
        """Add the pending pod at `position` of the gang, with the labels by which it is assigned to a sub-group."""
        members = self._members(labels)
        if members is not None:
            members.pods.append(position)

    def _members(self, labels: Mapping[str, str]) -> _Members | None:
        """The collected pods of the sub-group to which these labels belong; None if no policy captures such a pod."""
        named = self._named(labels)
        return None if named is None else self._found.setdefault(named[0], named[1])

    def _named(self, labels: Mapping[str, str]) -> tuple[str, _Members] | None:
        """Name and new, empty collection of the sub-group of pods with these labels; None: no policy captures them."""
        for policy in self._policies:
            values = match_values(policy, labels)
            if values:
                return sub_job_id("", policy.name, values).removeprefix("/"), _Members(policy, values)
        return None

    def _add_not_tried(self) -> None:
        for pod, labels in self._not_tried:
            named = self._named(labels)
            part: SubGroups | _Members | None = self if named is None else self._found.get(named[0])
            if part is not None:
                (part.failed if pod.finished else part.gated).append(pod.spec.requests)
        self._not_tried = []

    def make(self) -> tuple[SubGroup, ...]:
        """The sub-groups, sorted by policy, match index and name; call it after all pods have been added.

        Afterwards the attributes `failed` and `gated` are complete.
        """
        self._add_not_tried()
        order = {policy.name: i for i, policy in enumerate(self._policies)}
        groups = [
            SubGroup(
                name=name,
                pods=tuple(members.pods),
                constraint=members.policy.constraint,
                min_available=members.policy.size,
                policy=members.policy.name,
                match_index=match_index(members.values),
                running=tuple(sorted(members.running, key=str.encode)),
                succeeded=tuple(members.succeeded),
                failed=tuple(members.failed),
                gated=tuple(members.gated),
            )
            for name, members in self._found.items()
        ]
        return tuple(sorted(groups, key=lambda g: (order[g.policy], g.match_index, g.name.encode())))
