"""`PodShape`: what filters and scores read of a pod. Pods of one role of a gang have one shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from workbench.model.gang import ANY_NODE, Gang, Role
from workbench.model.labels import NodeFilter, Requirement
from workbench.model.pod_counts import PodKind, pod_labels
from workbench.model.pod_rules import NO_RULES, PodRules
from workbench.model.running_pod import RunningPod
from workbench.model.value import Value

__all__ = ["PodShape"]

#: Kinds whose pods belong to a ReplicaSet or StatefulSet.
_OWNERS = ("Deployment", "ReplicaSet", "StatefulSet")


@dataclass(frozen=True, eq=False)
class PodShape(Value):
    """What filters and scores read of a pod.

    Attributes
    ----------
    requests : mapping of str to int
        Base units, overhead included (`workbench.model.resources`).
    assumed : mapping of str to int
        CPU and memory that scores assume beyond `requests`: 100m and 200 MiB for each container without a request.
    filter : NodeFilter
        Node selector, required node affinity, tolerations.
    rules : PodRules
        As written.
    owner : tuple of Requirement
        Selector of the ReplicaSet or StatefulSet that owns the pod; empty: none does.
    resolved : PodRules
        The rules with complete selectors.
    """

    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, int] = field(default_factory=dict)
    assumed: Mapping[str, int] = field(default_factory=dict)
    filter: NodeFilter = ANY_NODE
    rules: PodRules = NO_RULES
    terminating: bool = False
    owner: tuple[Requirement, ...] = ()

    @classmethod
    def of_role(cls, gang: Gang, role: Role) -> PodShape:
        """The shape of the pods of a role of a gang.

        Pods of a Deployment or StatefulSet are selected by an owner; the labels of the pod template stand for its
        selector.
        """
        owner: tuple[Requirement, ...] = ()
        if gang.kind in _OWNERS:
            owner = tuple(Requirement(key, "In", (role.labels[key],)) for key in sorted(role.labels))
        return cls(
            gang.namespace, pod_labels(gang, role), role.requests, role.assumed, role.filter, role.rules, owner=owner
        )

    @classmethod
    def of_running(cls, pod: RunningPod) -> PodShape:
        """The shape of a running pod, which has no filter any more."""
        return cls(pod.namespace, pod.labels, pod.requests, pod.assumed, rules=pod.rules, terminating=pod.terminating)

    @cached_property
    def resolved(self) -> PodRules:
        return self.rules.resolved(self.namespace, self.labels) if self.rules != NO_RULES else NO_RULES

    @cached_property
    def kind(self) -> PodKind:
        return PodKind.of(self.namespace, self.labels, self.rules, terminating=self.terminating)
