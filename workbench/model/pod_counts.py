"""`PodCounts`: how many pods of each kind every node holds, counted as the rules of other pods select them.

Rules select by labels, also by those that the controller of a job writes on its pods (`pod_labels`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from workbench.model.arrays import Longs
from workbench.model.extras import Extra
from workbench.model.gang import Gang, Role
from workbench.model.pod_rules import NO_RULES, PodRules, PodSelector
from workbench.model.value import Working

__all__ = ["JOB_LABEL", "NAMESPACE_NAME", "ROLE_LABEL", "Count", "Namespaces", "PodCounts", "PodKind", "pod_labels"]


#: Label that the API server gives every namespace.
NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True)
class Namespaces(Extra):
    """Namespaces of a cluster that are known; an extra of the snapshot.

    `labels`: labels of each namespace by its name. Of a namespace that is not in it only the label with its name,
    kubernetes.io/metadata.name, is known.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.model.pod_counts import Namespaces
    >>> snapshot = wb.generate_scenario("three-level-tree").snapshot
    >>> snapshot.with_extra(Namespaces({"ml": {"team": "x"}})).extra(Namespaces).labels
    {'ml': {'team': 'x'}}
    """

    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


#: Counts that are kept up to date at once; a further one starts anew.
_MOST_COUNTS = 256


@dataclass(frozen=True)
class PodKind:
    """What the rules of other pods read of a pod that has a node.

    `labels`: in byte order of the keys. `rules`: its own terms about other pods, complete (`PodRules.resolved`);
    nothing else.
    """

    namespace: str
    labels: tuple[tuple[str, str], ...] = ()
    rules: PodRules = NO_RULES
    terminating: bool = False

    @classmethod
    def of(
        cls, namespace: str, labels: Mapping[str, str], rules: PodRules = NO_RULES, *, terminating: bool = False
    ) -> PodKind:
        """The kind of a pod, terminating or not, in a namespace, with labels and the rules of its spec.

        `rules`: as written.
        """
        if rules.names_pods:
            own = rules.resolved(namespace, labels)
            terms = (own.affinity, own.anti_affinity, own.preferred_affinity, own.preferred_anti_affinity)
            rules = PodRules((), *terms)
        else:
            rules = NO_RULES
        return cls(namespace, tuple(sorted(labels.items())), rules, terminating)


@dataclass(frozen=True)
class Count:
    """Pods that are counted together: those that all of some selectors select.

    `terminating`: whether terminating pods are counted, too.
    """

    selectors: tuple[PodSelector, ...]
    terminating: bool = True


class PodCounts(Working):
    """Numbers of pods of each kind on the nodes of a cluster, kept up to date while pods come and go.

    `namespaces`: labels of each namespace; a missing one has the label with its name only.
    """

    def __init__(self, n_nodes: int, namespaces: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._n = n_nodes
        self._namespaces = {} if namespaces is None else namespaces
        self._kinds: dict[PodKind, dict[int, int]] = {}
        # Dense arrays of the kinds whose pods have rules about other pods.
        self._with_rules: dict[PodKind, Longs] = {}
        self._counts: dict[Count, Longs] = {}
        # Per kind the arrays that count its pods.
        self._arrays: dict[PodKind, list[Longs]] = {}

    def _derive(self) -> None:
        # A copy counts anew, because the lists refer to the arrays of the original.
        self._kinds = {kind: dict(nodes) for kind, nodes in self._kinds.items()}
        self._with_rules = {kind: array.copy() for kind, array in self._with_rules.items()}
        self._counts, self._arrays = {}, {}

    def add(self, kind: PodKind, nodes: Iterable[int], sign: int = 1) -> None:
        """Count a pod of a kind on each of some nodes; a node listed twice gets two. With `sign` -1 the pods leave.

        `sign`: {1, -1}.
        """
        counts = self._kinds.get(kind)
        if counts is None:
            counts = self._kinds[kind] = {}
            if kind.rules != NO_RULES:
                self._with_rules[kind] = np.zeros(self._n, dtype=np.int64)
        arrays = self._arrays.get(kind)
        if arrays is None:
            arrays = [array for count, array in self._counts.items() if self._counts_kind(count, kind)]
            if kind in self._with_rules:
                arrays.append(self._with_rules[kind])
            self._arrays[kind] = arrays
        for node in nodes:
            counts[node] = counts.get(node, 0) + sign
            if not counts[node]:
                del counts[node]
            for array in arrays:
                array[node] += sign
        if not counts:
            # Jobs come and go, each with labels of its own.
            self._kinds.pop(kind)
            self._arrays.pop(kind)
            self._with_rules.pop(kind, None)

    def of(self, count: Count) -> Longs:
        """Number of pods on each node that are counted: int64 of shape (n,); not to be changed, changes with `add`."""
        found = self._counts.get(count)
        if found is None:
            if len(self._counts) >= _MOST_COUNTS:
                # Jobs come and go, each with selectors of its own.
                self._counts, self._arrays = {}, {}
            found = self._counts[count] = np.zeros(self._n, dtype=np.int64)
            for kind, nodes in self._kinds.items():
                if self._counts_kind(count, kind):
                    if kind in self._arrays:
                        self._arrays[kind].append(found)
                    for node, pods in nodes.items():
                        found[node] += pods
        return found

    def with_rules(self) -> Iterator[tuple[PodKind, Longs]]:
        """Each kind with rules about other pods, and how many pods of it every node holds: int64 of shape (n,)."""
        return iter(self._with_rules.items())

    def selects(self, selector: PodSelector, kind: PodKind) -> bool:
        """Whether a selector selects the pods of a kind."""
        own = self._namespaces.get(kind.namespace)
        return selector.selects(
            dict(kind.labels), kind.namespace, {NAMESPACE_NAME: kind.namespace} if own is None else own
        )

    def _counts_kind(self, count: Count, kind: PodKind) -> bool:
        if kind.terminating and not count.terminating:
            return False
        return all(self.selects(selector, kind) for selector in count.selectors)


#: Label of a pod that names its Volcano Job.
JOB_LABEL = "volcano.sh/job-name"
#: Label of a pod that names its role (task).
ROLE_LABEL = "volcano.sh/task-spec"

#: By the kind of object: labels with the name of the object, and labels with the name of the role.
_WRITTEN: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Job": ((JOB_LABEL,), (ROLE_LABEL,)),
    "BatchJob": (("batch.kubernetes.io/job-name", "job-name"), ()),
    "JobSet": (("jobset.sigs.k8s.io/jobset-name",), ("jobset.sigs.k8s.io/replicatedjob-name",)),
    "RayCluster": (("ray.io/cluster",), ("ray.io/group",)),
}


def pod_labels(gang: Gang, role: Role) -> Mapping[str, str]:
    """Labels that every pod of a role carries: those of its template and those of its controller.

    Affinity to the pods of a job usually selects by the latter. Labels that differ from pod to pod, such as an index,
    are left out, and so are those of kinds whose objects are not named like their gang.
    """
    of_object, of_role = _WRITTEN.get(gang.kind, ((), ()))
    if not of_object:
        return role.labels
    written = dict.fromkeys(of_object, gang.name) | dict.fromkeys(of_role, role.name)
    if gang.kind == "Job":
        written |= {"volcano.sh/job-namespace": gang.namespace, "volcano.sh/queue-name": gang.queue}
    return {**role.labels, **written}
