"""`Edit`: one change to a pending job or to the cluster, applied to a session so that it can be run again.

`Effect` is what a fix, a set of edits, does to another job.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from workbench.model.gang import Gang, MemberJob, Role
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value

__all__ = ["CLASSES", "REPLICATED", "Edit", "EditedSession", "Effect", "every_role", "restarts", "set_of_replica"]

#: Classes of edits in the default order of preference: changes to the job that cost it nothing; changes to queues and
#: to the order of jobs; waiting, and repairing nodes; a smaller job; ending running gangs; new nodes.
CLASSES = ("job", "queue", "wait", "shrink", "evict", "nodes")


@dataclass(frozen=True, eq=False)
class EditedSession(Value):
    """A scheduling session with one job in question: its gangs and its cluster, before or after edits.

    `job`: ``namespace/name`` of the job in question.
    """

    gangs: tuple[Gang, ...]
    snapshot: ClusterSnapshot
    job: str

    @cached_property
    def position(self) -> int:
        """Index of the job in `gangs`."""
        return next(i for i, gang in enumerate(self.gangs) if gang.key == self.job)

    @property
    def gang(self) -> Gang:
        """The job in question."""
        return self.gangs[self.position]

    @cached_property
    def own_keys(self) -> frozenset[str]:
        """Keys under which running pods belong to the job: its own, and those of the Jobs of a HyperJob."""
        return frozenset({self.job, *(f"{self.gang.namespace}/{part.name}" for part in self.gang.jobs)})

    def with_gang(self, gang: Gang) -> EditedSession:
        """The session with another version of the job."""
        at = self.position
        return dataclasses.replace(self, gangs=(*self.gangs[:at], gang, *self.gangs[at + 1 :]))

    @cached_property
    def siblings(self) -> tuple[int, ...]:
        """Positions in `gangs` of the other replicas of the job's LeaderWorkerSet, which has one template for all."""
        return tuple(i for i, gang in enumerate(self.gangs) if i != self.position and self.is_sibling(gang.key))

    def is_sibling(self, key: str) -> bool:
        """Whether a gang, ``namespace/name``, is another replica of the LeaderWorkerSet that the job is one of."""
        of_set, _, number = key.rpartition("-")
        return self.own_set == of_set and bool(of_set) and number.isdigit() and key != self.job

    @property
    def own_set(self) -> str:
        """``namespace/name`` of the LeaderWorkerSet that the job is a replica of; empty: of none."""
        return self.job.rpartition("-")[0] if self.gang.kind == REPLICATED else ""

    def with_snapshot(self, snapshot: ClusterSnapshot) -> EditedSession:
        """The session with another state of the cluster."""
        snapshot.share_derived(self.snapshot)
        return dataclasses.replace(self, snapshot=snapshot)

    def without(self, gangs: frozenset[str]) -> EditedSession:
        """The session without some pending gangs, named ``namespace/name``; the job in question stays."""
        kept = tuple(gang for gang in self.gangs if gang.key == self.job or gang.key not in gangs)
        return dataclasses.replace(self, gangs=kept)


#: The kind of which each replica is a job, all from one template.
REPLICATED = "LeaderWorkerSet"
#: Label of a pod with the name of the LeaderWorkerSet that made it.
_SET_LABEL = "leaderworkerset.sigs.k8s.io/name"


def set_of_replica(pod: RunningPod) -> str:
    """``namespace/name`` of the LeaderWorkerSet of which a pod's gang is one replica; empty: of none."""
    of_set = f"{pod.namespace}/{pod.labels.get(_SET_LABEL, '')}"
    return of_set if pod.gang.rpartition("-")[0] == of_set else ""


class Edit(ABC):
    """One change to the pending job or to the cluster. Subclasses are frozen dataclasses and compare by value.

    `kind`: stable word in kebab case. `category`: one of `CLASSES`.
    """

    kind: ClassVar[str]
    category: ClassVar[str]
    old: Any
    new: Any

    @abstractmethod
    def apply(self, case: EditedSession) -> EditedSession:
        """The session with the change made; unchanged objects are shared with the given session."""

    @property
    @abstractmethod
    def subject(self) -> str:
        """The object that changes, as ``job NAMESPACE/NAME``, ``queue NAME``, ``HyperNode NAME`` or ``nodes``."""

    @property
    def before(self) -> Any:
        """The present value as JSON-ready data, for the key ``from``; an edit with the attribute `old` has it there."""
        return self.old

    @property
    def after(self) -> Any:
        """The new value as JSON-ready data, for the key ``to``; an edit with the attribute `new` has it there."""
        return self.new

    @property
    @abstractmethod
    def text(self) -> str:
        """What to do, in the imperative: ``allow tier 2``."""

    @property
    def details(self) -> Mapping[str, Any]:
        """Further keys of `to_dict`, such as the names of the nodes; empty for most edits."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """The edit as a JSON-ready dict with the keys kind, subject, from, to, class, text and those of `details`."""
        return {
            "kind": self.kind,
            "subject": self.subject,
            "from": self.before,
            "to": self.after,
            "class": self.category,
            "text": self.text,
            **self.details,
        }


def every_role(gang: Gang, change: Callable[[Role], Role]) -> Gang:
    """A gang with each of its roles changed, those of the Jobs of a HyperJob too."""
    members = tuple(
        part if part.gang is None else MemberJob(part.name, every_role(part.gang, change), part.record)
        for part in gang.jobs
    )
    return dataclasses.replace(gang, roles=tuple(map(change, gang.roles)), jobs=members)


@dataclass(frozen=True)
class Effect:
    """The effect of a fix on another job.

    Attributes
    ----------
    job : str
        ``namespace/name``.
    effect : {"ends", "waits", "starts", "withdrawn", "restarts"}
        The running gang ends; the job would have been placed and now waits; it would have waited and is now placed; it
        was pending and leaves the session; it runs and is made anew, because its object's template changes.
    pods, gpus : int
        Pods and GPUs that end or restart; 0 for the other effects.
    """

    job: str
    effect: str
    pods: int = 0
    gpus: int = 0

    @property
    def harms(self) -> bool:
        """Whether the other job is worse off."""
        return self.effect != "starts"

    def to_dict(self) -> dict[str, Any]:
        """The effect as a JSON-ready dict; ``pods`` and ``gpus`` only for a gang that ends or restarts."""
        loss = {"pods": self.pods, "gpus": self.gpus} if self.effect in ("ends", "restarts") else {}
        return {"job": self.job, "effect": self.effect, **loss}


def restarts(case: EditedSession) -> list[Effect]:
    """Running replicas of the job's LeaderWorkerSet, which are made anew when its template changes."""
    gangs = case.snapshot.running_index.gangs.items()
    running = [(key, pods) for key, pods in gangs if case.is_sibling(key)]
    return [Effect(key, "restarts", len(pods), sum(pod.gpu_mask.bit_count() for pod in pods)) for key, pods in running]
