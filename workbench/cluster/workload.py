"""`LiveWorkload`: the gangs of a cluster and the pods that hold resources, updated as objects change."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from workbench.cluster.owners import Owners, Unit, deployments_in
from workbench.jobs.gangs import Workload, read_unit
from workbench.jobs.hyper_job.gangs import join_hyper_jobs
from workbench.jobs.job_labels import JobLabels
from workbench.jobs.membership import Membership
from workbench.jobs.object_notes import ObjectNotes
from workbench.jobs.owned.rules import gang_name_of_pod
from workbench.jobs.roles import Priorities
from workbench.jobs.schedulers import OtherSchedulers, TakenSchedulers
from workbench.jobs.top_owners import top_owner_of
from workbench.model.gang import Gang
from workbench.model.kueue_names import WORKLOAD
from workbench.model.notice import Notice
from workbench.objects.gang_request import GangRequest, with_requests
from workbench.objects.kinds import ClusterObjects
from workbench.objects.pod import Pod
from workbench.objects.pod_group import PodGroup

__all__ = ["Held", "LiveWorkload"]

T = TypeVar("T")

#: Pods that hold resources with the key of their gang, by the pods' keys.
Held = dict[str, tuple[Pod, str]]

_NOTHING = Workload((), (), ())

#: Queue and job-wide labels of a gang; None for each that it does not have.
_Said = tuple[str | None, JobLabels | None]
_SILENT: _Said = (None, None)


@dataclass(frozen=True)
class _Read:
    """Gangs, pods and notices made from the objects of one unit (all objects with one gang key)."""

    workload: Workload
    others: OtherSchedulers
    holding: Held


class LiveWorkload:
    """The gangs of a cluster and its pods that hold resources, recomputed only where objects changed.

    The values equal the result of `workbench.jobs.gangs.read_workload`. Objects are grouped into units by gang
    (`Unit`), and only units with a changed object are read again.

    `cluster`: the objects; the caller changes them and then calls `update`. `any_scheduler`: as in `read_workload`.
    `queues`, `labels`: as in `Workload`; replaced, never changed. `gangs`: as in `Workload`.
    """

    # An update, of the objects whose keys were touched:
    #   1. the units they belong to (`workbench.cluster.owners`): a top owner with all that names it
    #   2. read each of these units anew (`_read_unit`): its gangs, notices and pods that hold resources
    #   3. replace what it said before by what it says now (`_replace`), in totals and sorted keys
    # `gangs_and_notices` puts the gangs of all units together.

    def __init__(self, cluster: ClusterObjects, any_scheduler: TakenSchedulers) -> None:
        self.queues: dict[str, str] = {}
        self.labels: dict[str, JobLabels] = {}
        self.gangs: tuple[Gang, ...] = ()
        self._cluster = cluster
        self._any_scheduler = any_scheduler
        self._owners = Owners(cluster)
        self._read: dict[str, _Read] = {}
        self._pending: list[tuple[bytes, bytes, str]] = []
        # Of gangs that are not called as their unit, as the groups of a LeaderWorkerSet: the unit.
        self._unit_of_gang: dict[str, str] = {}
        self._others = OtherSchedulers(any_scheduler)
        self._gated = 0

    def update(
        self,
        pods: Iterable[str],
        groups: Iterable[str],
        others: Iterable[str],
        tops: Iterable[str],
        everything: bool = False,
    ) -> tuple[Held, Held]:
        """Update the gangs and pods after objects of the cluster have changed.

        `pods`, `groups`, `others`, `tops`: as for `Owners.update`. `everything`: whether something that all gangs
        depend on changed, so that every unit is read again.

        Returns
        -------
        before, after : Held
            Pods that hold resources and may have changed, or whose gang's queue or labels may have: before and after.
        """
        changed = self._owners.update(pods, groups, others, tops)
        if everything:
            changed |= self._owners.units.keys()
        priorities = Priorities(self._cluster.priority_classes)
        before: Held = {}
        after: Held = {}
        retold: dict[str, _Said] = {}
        regrouped = False
        for key in changed:
            old = self._read.pop(key, None)
            unit = self._owners.units.get(key)
            new = None if unit is None else self._read_unit(key, unit, priorities)
            if new is not None:
                self._read[key] = new
            regrouped |= self._replace(key, old, new)
            before.update(old.holding if old else {})
            after.update(new.holding if new else {})
            was, now = _said(old), _said(new)
            retold |= {gang: now.get(gang, _SILENT) for gang in {*was, *now} if was.get(gang) != now.get(gang)}
            for gang in {*was, *now} - {key}:
                _put(self._unit_of_gang, gang, key if gang in now else None)
        if retold:
            self._retell(retold)
        if regrouped:
            gangs = [gang for *_, key in self._pending for gang in self._read[key].workload.gangs]
            if self._unit_of_gang:
                gangs.sort(key=lambda gang: (gang.namespace.encode(), gang.name.encode(), gang.kind))
            self.gangs = tuple(gangs)
        kept = [
            key
            for key, (pod, gang) in before.items()
            if key in after and after[key][0] is pod and after[key][1] == gang and gang not in retold
        ]
        for key in kept:
            del before[key], after[key]
        return before, after

    def gangs_and_notices(self) -> tuple[tuple[Gang, ...], tuple[Notice, ...]]:
        """All gangs and notices, where notices about single objects are attached to the objects' gangs.

        Jobs of a HyperJob are joined to one gang, and the extras of `GangRequest` objects are added. If there are such
        notes or objects, the cost grows with the number of gangs.
        """
        cluster = self._cluster
        if not cluster.notes and not cluster.hyper_jobs and not cluster.requests:
            return self.gangs, self._others.notes()
        made = {
            key: list(self._groups_of(unit).values())[-1]
            for key, unit in self._owners.units.items()
            if key in cluster.jobs and unit.groups
        }
        others = OtherSchedulers(self._any_scheduler)
        others.add(self._others)
        joined = join_hyper_jobs(cluster, self.gangs, made, Priorities(cluster.priority_classes), others)
        told = ObjectNotes(cluster.notes, Membership(pod_group_of_job=made))
        gangs = tuple(map(told.added_to, with_requests(joined, cluster.requests.values())))
        return gangs, (*others.notes(), *told.left())

    def members_of(self, key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """As `ClusterState.members_of`."""
        unit = self._owners.units.get(self._unit_of_gang.get(key, key))
        if unit is None:
            return (), ()
        pods = self._pods_of(unit)
        if key in self._unit_of_gang:
            pods = {name: pod for name, pod in pods.items() if self._gang_of(pod) == key}
        return tuple(pods), tuple({**unit.groups, **dict.fromkeys(self._named_groups(unit, pods))})

    @property
    def gated(self) -> int:
        """Number of pods that wait behind a scheduling gate, as `Workload.gated`."""
        return self._gated

    def _pods_of(self, unit: Unit) -> dict[str, Pod]:
        return {name: self._cluster.pods[name] for name in unit.pods}

    def _gang_of(self, pod: Pod) -> str:
        """Key of the gang of a pod of a top owner."""
        owners = self._cluster.top_owners
        owner = owners[top_owner_of(self._owners.mentions[pod.metadata.key].tops, owners)]
        return f"{owner.metadata.namespace}/{gang_name_of_pod(owner, pod)}"

    def _named_groups(self, unit: Unit, pods: Mapping[str, Pod]) -> set[str]:
        """PodGroups that pods of top owners name."""
        if not any(name in self._cluster.top_owners for name in unit.objects):
            return set()
        groups, mentions = self._cluster.pod_groups, self._owners.mentions
        return {key for name in pods for key in mentions[name].pod_groups if key in groups}

    def _groups_of(self, unit: Unit) -> dict[str, PodGroup]:
        """PodGroups of a unit by key, in the order of the cluster; if two were made for one Job the last counts."""
        groups = self._cluster.pod_groups
        names: Iterable[str] = unit.groups if len(unit.groups) < 2 else [name for name in groups if name in unit.groups]
        return {name: groups[name] for name in names}

    def _read_unit(self, key: str, unit: Unit, priorities: Priorities) -> _Read:
        cluster, pods = self._cluster, self._pods_of(unit)
        groups = self._groups_of(unit)
        groups |= {name: cluster.pod_groups[name] for name in sorted(self._named_groups(unit, pods), key=str.encode)}
        part = ClusterObjects(
            pods=pods,
            pod_groups=groups,
            jobs={key: cluster.jobs[key]} if key in cluster.jobs else {},
            deployments=_existing(cluster.deployments, deployments_in(unit)),
            top_owners=_existing(cluster.top_owners, unit.objects),
            requests=self._workloads_of(unit) if cluster.requests else {},
            refused=self._refused_of(key, groups, unit) if cluster.refused else {},
        )
        others = OtherSchedulers(self._any_scheduler)
        workload = read_unit(part, priorities, others, self._owners.mentions)
        return _Read(workload, others, {pod.metadata.key: (pod, gang) for pod, gang in workload.holding})

    def _workloads_of(self, unit: Unit) -> dict[str, GangRequest]:
        """Workloads of Kueue that pods of a unit name."""
        pods, found = (self._cluster.pods[name] for name in unit.pods), {}
        for pod in pods:
            key = f"Workload {pod.metadata.namespace}/{pod.metadata.annotations.get(WORKLOAD, '')}"
            if key in self._cluster.requests:
                found[key] = self._cluster.requests[key]
        return found

    def _refused_of(self, key: str, groups: Iterable[str], unit: Unit) -> dict[str, str]:
        names = [
            f"Job {key}",
            *unit.objects,
            *(f"PodGroup {name}" for name in groups),
            *(f"Pod {name}" for name in unit.pods),
        ]
        refused = self._cluster.refused
        return {name: refused[name] for name in names if name in refused}

    def _retell(self, gangs: Mapping[str, _Said]) -> None:
        self.queues, self.labels = dict(self.queues), dict(self.labels)
        for key, (queue, labels) in gangs.items():
            _put(self.queues, key, queue)
            _put(self.labels, key, labels)

    def _replace(self, key: str, old: _Read | None, new: _Read | None) -> bool:
        """Replace what the objects of one gang key add to the totals and to the sorted list of keys with gangs.

        Returns whether the gangs of `key` (``namespace/name``) changed. `old` and `new` are what was read of its
        objects before and now; None: there were none, or there are none now.
        """
        if old is not None:
            self._others.remove(old.others)
        if new is not None:
            self._others.add(new.others)
        before, after = (each.workload if each else _NOTHING for each in (old, new))
        self._gated += after.gated - before.gated
        if bool(before.gangs) != bool(after.gangs):
            namespace, _, name = key.partition("/")
            place = (namespace.encode(), name.encode(), key)
            if after.gangs:
                insort(self._pending, place)
            else:
                del self._pending[bisect_left(self._pending, place)]
        return before.gangs != after.gangs


def _said(read: _Read | None) -> dict[str, _Said]:
    """Queue and job-wide labels of each gang of a unit; None for each that a gang does not have."""
    if read is None:
        return {}
    queues, labels = read.workload.queues, read.workload.labels
    return {key: (queues.get(key), labels.get(key)) for key in {*queues, *labels}}


def _existing(objects: Mapping[str, T], names: Iterable[str]) -> dict[str, T]:
    return {name: objects[name] for name in names if name in objects}


def _put(said: dict[str, T], key: str, value: T | None) -> None:
    if value is None:
        said.pop(key, None)
    else:
        said[key] = value
