"""Trial placements of Jobs inside HyperNodes: whether a policy places a Job there, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.model.extras import Extra, VolcanoMemory
from workbench.model.gang import Gang, Role
from workbench.model.ledger import Ledger
from workbench.model.placement import Placement, Refusal
from workbench.policies.composed import Composed
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.hyper_job.part import Parts

__all__ = ["JobTrials"]

#: Labels and annotations with which controllers name a pod's Job; no policy reads them.
_NAMING = frozenset({"volcano.sh/job-name", "volcano.sh/template-uid", "scheduling.k8s.io/group-name"})


class JobTrials:
    """Places Jobs inside single HyperNodes of a ledger, without changing it; equal Jobs are placed once.

    `kinds`: kind of each Job; Jobs of one kind differ only in their names and in the identities of their pods.

    `jobs`: the Jobs with pending pods.
    """

    def __init__(self, policy: Composed, jobs: Sequence[Gang], ledger: Ledger) -> None:
        self._policy = policy
        self._ledger = ledger
        self._parts = Parts(ledger)
        self._examples: list[Gang] = []
        self._pods: list[npt.NDArray[np.int64]] = []
        self._results: dict[tuple[int, int], Placement | Refusal] = {}
        # By kind: whether HyperNodes that differ in names and labels alone can share an answer; and such answers.
        self._shared: list[bool] = []
        self._alike: dict[tuple[int, tuple[object, ...]], Placement | Refusal] = {}
        self.kinds = [self._kind_of(job) for job in jobs]

    def fits(self, kind: int, domain: int) -> bool:
        """Whether the policy places a Job of this kind inside a HyperNode."""
        return self.has_room(kind, domain) and isinstance(self.result(kind, domain), Placement)

    def has_room(self, kind: int, domain: int) -> bool:
        """Whether enough pods of a Job fit in a HyperNode, each role counted by itself.

        If False, the policy cannot place the Job there; if True, it may still fail.
        """
        job = self._examples[kind]
        return self.pods_in(kind, domain) >= min(job.min_available - job.ready, job.n_pods)

    def pods_in(self, kind: int, domain: int) -> int:
        """Pods of a Job that fit in a HyperNode, each role counted by itself: never fewer than a policy places."""
        return int(self._pods[kind][domain])

    def result(self, kind: int, domain: int) -> Placement | Refusal:
        """The policy's answer for a Job of this kind inside a HyperNode; node 0 is the HyperNode's first node."""
        known = self._results.get((kind, domain))
        if known is None:
            check()
            like = self._parts.likeness(domain) if self._shared[kind] else None
            known = None if like is None else self._alike.get((kind, like))
            if known is None:
                known = self._policy.place(self._examples[kind], self._parts.of(domain).ledger())
                if like is not None and _names_nothing(known):
                    self._alike[kind, like] = known
            self._results[kind, domain] = known
        return known

    def _kind_of(self, job: Gang) -> int:
        for kind, example in enumerate(self._examples):
            if _alike(example, job):
                return kind
        self._examples.append(job)
        self._pods.append(self._pods_of(job))
        # Labels and remembered HyperNodes select by name.
        selecting = any(role.filter.required or role.filter.any_of for role in job.roles)
        remembers = bool(job.extra(VolcanoMemory).record)
        self._shared.append(not (self._policy.traits.reads_names or selecting or remembers))
        return len(self._examples) - 1

    def _pods_of(self, job: Gang) -> npt.NDArray[np.int64]:
        """Pods of a Job that fit the nodes of each HyperNode, each role counted by itself: int64 (d + 1,)."""
        ledger = self._ledger
        demand = self._policy.node.request(job, ledger, GpuQuestions(self._policy.gpu, ledger), None).demand
        pods = np.zeros(ledger.topology.n_domains + 1, dtype=np.int64)
        for role, each in enumerate(job.roles):
            if each.best_effort:
                pods += each.count
            else:
                fit = demand.capacity(role, demand.idle, each.count)
                pods += np.minimum(ledger.topology.domain_sums(fit[:, np.newaxis])[:, 0], each.count)
        return pods


def _names_nothing(answer: Placement | Refusal) -> bool:
    """Whether an answer inside one HyperNode can be that inside another: it is a placement whose texts name neither."""
    if not isinstance(answer, Placement) or answer.unplaced:
        return False
    texts = [text for notice in answer.warnings for text in (notice.message, notice.subject)]
    texts += [text for written in answer.annotations for item in written.items() for text in item]
    names = (*answer.topology.node_names, *answer.topology.domain_names)
    return not any(name in text for text in texts for name in names)


def _alike(one: Gang, other: Gang) -> bool:
    """Whether two Jobs differ only in names and identities of pods, so that a policy places them alike."""
    if (one.ready, one.min_available, one.constraint, one.sub_groups, one.order, one.tasks_by_priority) != (
        other.ready,
        other.min_available,
        other.constraint,
        other.sub_groups,
        other.order,
        other.tasks_by_priority,
    ):
        return False
    if one.ready or one.min_subgroups != other.min_subgroups or _asked(one) != _asked(other):
        return False
    if one.roles is other.roles:
        return True
    return [_plain(role) for role in one.roles] == [_plain(role) for role in other.roles]


def _asked(gang: Gang) -> dict[type[Extra], Extra]:
    """The extras of a Job except what Volcano remembers of it."""
    return {kind: extra for kind, extra in gang.extras.items() if kind is not VolcanoMemory}


def _plain(role: Role) -> Role:
    """A role without what tells its pods from those of an equal Job."""
    return replace(
        role,
        pod_names=None,
        pod_uids=None,
        pod_resource_versions=None,
        labels=_without_names(role.labels),
        annotations=_without_names(role.annotations),
    )


def _without_names(written: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in written.items() if key not in _NAMING}
