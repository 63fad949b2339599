"""`PodRules`: what a pod asks of its node beside room: affinity to other pods, spreading, preferred nodes.

The fields are those of a pod's spec. What excludes nodes by their own labels and taints is a
`workbench.model.labels.NodeFilter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from workbench.model.labels import Requirement

__all__ = ["NO_RULES", "NodePreference", "PodAffinityTerm", "PodRules", "PodSelector", "SpreadConstraint"]


@dataclass(frozen=True)
class PodSelector:
    """Pods selected by namespace and labels.

    `labels`: conditions on a pod's labels, all of which must hold; an empty tuple selects every pod, None selects none.
    `namespaces`: namespaces of the pods, in byte order. `namespace_labels`: conditions on the labels of further
    namespaces; an empty tuple: all namespaces, None: no further ones.
    """

    labels: tuple[Requirement, ...] | None = None
    namespaces: tuple[str, ...] = ()
    namespace_labels: tuple[Requirement, ...] | None = None

    def selects(self, labels: Mapping[str, str], namespace: str, namespace_labels: Mapping[str, str]) -> bool:
        """Whether a pod with these labels in this namespace, which has labels of its own, is selected."""
        if self.labels is None or not all(one.holds(labels) for one in self.labels):
            return False
        if namespace in self.namespaces:
            return True
        return self.namespace_labels is not None and all(one.holds(namespace_labels) for one in self.namespace_labels)


@dataclass(frozen=True)
class PodAffinityTerm:
    """One term of a pod's affinity or anti-affinity to other pods.

    Attributes
    ----------
    topology_key : str
        Label key of nodes: nodes with one value of it are one domain.
    selector : PodSelector
        Pods to be near to, or away from. Without namespaces and namespace labels: those of the pod's own namespace.
    weight : int
        Weight of a preferred term; 0 for a required one.
    match_keys, mismatch_keys : tuple of str
        Labels whose values the selected pods share with the pod, or must not share (matchLabelKeys, mismatchLabelKeys).
    """

    topology_key: str
    selector: PodSelector
    weight: int = 0
    match_keys: tuple[str, ...] = ()
    mismatch_keys: tuple[str, ...] = ()

    def resolved(self, namespace: str, labels: Mapping[str, str]) -> PodAffinityTerm:
        """The term of a pod in a namespace with labels: its selector is complete, and the label keys are used up."""
        selector = self.selector
        if not selector.namespaces and selector.namespace_labels is None:
            selector = replace(selector, namespaces=(namespace,))
        if selector.labels is not None:
            more = [Requirement(key, "In", (labels[key],)) for key in self.match_keys if key in labels]
            more += [Requirement(key, "NotIn", (labels[key],)) for key in self.mismatch_keys if key in labels]
            selector = replace(selector, labels=(*selector.labels, *more)) if more else selector
        return PodAffinityTerm(self.topology_key, selector, self.weight)


@dataclass(frozen=True)
class SpreadConstraint:
    """One of a pod's topologySpreadConstraints.

    Attributes
    ----------
    topology_key : str
        Label key of nodes: nodes with one value of it are one domain.
    hard : bool
        Whether the constraint excludes nodes (DoNotSchedule); otherwise it lowers their score (ScheduleAnyway).
    labels : tuple of Requirement, optional
        Pods of the pod's namespace that are counted; None: no pod.
    min_domains : int
        With fewer domains the smallest count is taken to be 0.
    honor_affinity : bool
        Count only nodes that the pod's node selector and required node affinity accept (nodeAffinityPolicy Honor).
    honor_taints : bool
        Count only nodes whose taints the pod tolerates (nodeTaintsPolicy Honor).
    match_keys : tuple of str
        Labels whose values the counted pods share with the pod (matchLabelKeys).
    """

    topology_key: str
    max_skew: int = 1
    hard: bool = True
    labels: tuple[Requirement, ...] | None = None
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    match_keys: tuple[str, ...] = ()

    def resolved(self, labels: Mapping[str, str]) -> SpreadConstraint:
        """The constraint of a pod with these labels, with the label keys turned into requirements."""
        if not self.match_keys:
            return self
        more = [Requirement(key, "In", (labels[key],)) for key in self.match_keys if key in labels]
        selected = None if self.labels is None else (*self.labels, *more)
        return replace(self, labels=selected, match_keys=())


@dataclass(frozen=True)
class NodePreference:
    """A preferred node affinity term: nodes that meet all requirements gain the weight; without any, none does."""

    weight: int
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True)
class PodRules:
    """What a pod asks of its node beside room, labels and taints, as written in its spec.

    `affinity`, `anti_affinity`: required terms.
    """

    preferred_nodes: tuple[NodePreference, ...] = ()
    affinity: tuple[PodAffinityTerm, ...] = ()
    anti_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()

    def resolved(self, namespace: str, labels: Mapping[str, str]) -> PodRules:
        """The rules of a pod in a namespace with labels: complete selectors, no label keys (`PodAffinityTerm`)."""

        def each(terms: tuple[PodAffinityTerm, ...]) -> tuple[PodAffinityTerm, ...]:
            return tuple(term.resolved(namespace, labels) for term in terms)

        return PodRules(
            self.preferred_nodes,
            each(self.affinity),
            each(self.anti_affinity),
            each(self.preferred_affinity),
            each(self.preferred_anti_affinity),
            tuple(one.resolved(labels) for one in self.spread),
        )

    @property
    def names_pods(self) -> bool:
        """Whether the pod has affinity or anti-affinity to other pods, required or preferred."""
        return bool(self.affinity or self.anti_affinity or self.preferred_affinity or self.preferred_anti_affinity)


#: The rules of a pod that has none.
NO_RULES = PodRules()
