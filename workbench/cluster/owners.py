"""`Owners`: the objects of a cluster grouped by the gang they belong to, updated as objects change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.jobs.membership import Mentions, job_of_group, jobs_named_by, mentions_of
from workbench.jobs.pods import group_of_lone_pod
from workbench.jobs.top_owners import top_mentions, top_owner_of
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.pod import Pod

__all__ = ["Owners", "Unit", "deployments_in"]

_NONE = Mentions()
#: Begins the names of Deployments and StatefulSets in `Unit.objects`.
_DEPLOYMENT = "Deployment "


@dataclass
class Unit:
    """All objects of a cluster that belong to gangs of one key (``namespace/name``).

    These are the Job, the Deployment, the top owners, the PodGroups and the lone pods with the key, all objects between
    a top owner and its pods, and all pods of these. All gangs of a LeaderWorkerSet, which have other keys, are one unit
    under the key of the set.

    `pods`: keys (``namespace/name``) of the unit's pods. `groups`: keys of the PodGroups: those that were made for the
    Job, and the one with the unit's key if no Job has it. `objects`: deployments, top owners and what is between these
    and their pods, each as ``Kind namespace/name``; the kind ``Deployment`` stands for StatefulSets, too.
    """

    pods: dict[str, None] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    objects: dict[str, None] = field(default_factory=dict)


def deployments_in(unit: Unit) -> list[str]:
    """Keys of the Deployments and StatefulSets of a unit."""
    return [name.removeprefix(_DEPLOYMENT) for name in unit.objects if name.startswith(_DEPLOYMENT)]


class Owners:
    """The objects of a cluster grouped into units, one for each gang key (``namespace/name``), updated as objects
    change.

    The key of a unit is the key of its gang, so that every look-up by a gang's key stays inside one unit.

    `cluster`: the objects; the caller changes them and then calls `update`.
    """

    def __init__(self, cluster: ClusterObjects) -> None:
        self.units: dict[str, Unit] = {}
        self._cluster = cluster
        self._unit_of_pod: dict[str, str] = {}
        self._unit_of_group: dict[str, str] = {}
        self._jobs_of_groups: dict[str, str] = {}
        # PodGroups of Koordinator, whose pods are theirs only while they exist.
        self._koordinator: set[str] = set()
        #: What each pod names as its owner, by the pod's key.
        self.mentions: dict[str, Mentions] = {}
        self._jobs_named: dict[str, tuple[str, ...]] = {}
        # By the key of what is mentioned, whatever its kind.
        self._pods_mentioning: dict[str, dict[str, None]] = {}
        self._groups_naming: dict[str, dict[str, None]] = {}
        # Of Deployments and top owners, by ``Kind namespace/name``: their units, and the top owners that they name.
        self._unit_of_object: dict[str, str] = {}
        self._tops_named: dict[str, tuple[str, ...]] = {}
        self._objects_naming: dict[str, dict[str, None]] = {}
        # Of each key that a Job or a Deployment has: which of the two exist.
        self._existing: dict[str, tuple[bool, bool]] = {}

    def update(
        self, pods: Iterable[str], groups: Iterable[str], others: Iterable[str], tops: Iterable[str] = ()
    ) -> set[str]:
        """Update the units after objects of the cluster have changed.

        `pods`, `groups`, `others`: keys of the pods, the PodGroups, and the Jobs and Deployments that were added,
        modified or deleted. `tops`: the top owners that were, each as ``Kind namespace/name``. Returns set of str: keys
        of the units whose gangs must be made again; a unit without objects has been removed.
        """
        changed = set(others)
        moving, moving_groups = dict.fromkeys(pods), dict.fromkeys(groups)
        changed |= self._place_objects([*tops, *map(_DEPLOYMENT.__add__, others)], moving)
        for key in others:
            # A PodGroup may ask for the uid of its Job, too.
            moving_groups.update(self._groups_naming.get(key, {}))
            if self._came_or_went(key):
                moving.update(self._pods_mentioning.get(key, {}))
        for key in moving_groups:
            before = self._jobs_of_groups.get(key), key in self._koordinator
            changed |= self._place_group(key)
            if (self._jobs_of_groups.get(key), key in self._koordinator) != before:
                moving.update(self._pods_mentioning.get(key, {}))
            # A top owner takes minimum and queue from the PodGroup that its pods name.
            changed |= {
                self._unit_of_pod[pod] for pod in self._pods_mentioning.get(key, {}) if pod in self._unit_of_pod
            }
        for key in moving:
            changed |= self._place_pod(key)
        for key in changed:
            unit = self.units.get(key)
            if unit is not None and not (unit.pods or unit.groups or unit.objects or key in self._cluster.jobs):
                del self.units[key]
            elif unit is None and key in self._cluster.jobs:
                self.units[key] = Unit()
        return changed

    def _place_objects(self, names: Iterable[str], moving: dict[str, None]) -> set[str]:
        """Find the units of Deployments and top owners anew; pods that may belong to another one come into `moving`."""
        changed: set[str] = set()
        todo, seen = list(names), set()
        for name in todo:
            if name in seen:
                continue
            seen.add(name)
            before, after = self._unit_of_object.pop(name, ""), self._unit_of_object_now(name)
            _forget(self._objects_naming, self._tops_named.pop(name, ()), name)
            if before:
                del self.units[before].objects[name]
            if after:
                self._tops_named[name] = named = top_mentions(self._metadata_of(name))
                for top in named:
                    self._objects_naming.setdefault(top, {})[name] = None
                self._unit_of_object[name] = after
                self.units.setdefault(after, Unit()).objects[name] = None
            changed |= {unit for unit in (before, after) if unit}
            if before != after:
                moving.update(self._pods_mentioning.get(name.removeprefix(_DEPLOYMENT), {}))
                todo += self._objects_naming.get(name, {})
        return changed

    def _unit_of_object_now(self, name: str) -> str:
        """Unit of a Deployment or a top owner, by its name; empty if it does not exist."""
        cluster = self._cluster
        if name.startswith(_DEPLOYMENT):
            key = name.removeprefix(_DEPLOYMENT)
            if key not in cluster.deployments:
                return ""
            top = top_owner_of(top_mentions(cluster.deployments[key].metadata), cluster.top_owners)
            return _key_of(top) if top else key
        return _key_of(top_owner_of((name,), cluster.top_owners))

    def _metadata_of(self, name: str) -> Metadata:
        if name.startswith(_DEPLOYMENT):
            return self._cluster.deployments[name.removeprefix(_DEPLOYMENT)].metadata
        return self._cluster.top_owners[name].metadata

    def _came_or_went(self, key: str) -> bool:
        """Whether a Job or Deployment with this key was created or deleted since the last update."""
        before = self._existing.pop(key, (False, False))
        now = key in self._cluster.jobs, key in self._cluster.deployments
        if any(now):
            self._existing[key] = now
        return now != before

    def _place_group(self, key: str) -> set[str]:
        group = self._cluster.pod_groups.get(key)
        before, after = self._unit_of_group.pop(key, ""), ""
        self._jobs_of_groups.pop(key, None)
        self._koordinator.discard(key)
        _forget(self._groups_naming, self._jobs_named.pop(key, ()), key)
        if before:
            del self.units[before].groups[key]
        if group is not None:
            self._jobs_named[key] = named = tuple(set(jobs_named_by(group)))
            for name in named:
                self._groups_naming.setdefault(name, {})[key] = None
            job = job_of_group(group, self._cluster)
            if group.koordinator:
                self._koordinator.add(key)
            if job:
                self._jobs_of_groups[key] = job
            after = self._unit_of_group[key] = job or key
            self.units.setdefault(after, Unit()).groups[key] = None
        return {unit for unit in (before, after) if unit}

    def _place_pod(self, key: str) -> set[str]:
        pod = self._cluster.pods.get(key)
        before, after = self._unit_of_pod.pop(key, ""), ""
        known, mentions = self.mentions.pop(key, _NONE), _NONE if pod is None else mentions_of(pod)
        if mentions != known:
            _forget(self._pods_mentioning, _names(known), key)
            for name in _names(mentions):
                self._pods_mentioning.setdefault(name, {})[key] = None
        if pod is not None:
            self.mentions[key] = mentions
            after = self._unit_of_pod[key] = self._unit_of(key, pod, mentions)
        if before != after:
            if before:
                del self.units[before].pods[key]
            if after:
                self.units.setdefault(after, Unit()).pods[key] = None
        return {unit for unit in (before, after) if unit}

    def _unit_of(self, key: str, pod: Pod, mentions: Mentions) -> str:
        # A pod that admission refuses belongs to nothing, and is counted all the same where it is gated.
        if f"Pod {key}" in self._cluster.refused:
            return key
        kind, owner = mentions.owner(self._cluster, self._jobs_of_groups)
        if owner:
            return _key_of(owner) if kind == "TopOwner" else owner
        group = group_of_lone_pod(pod, [])
        name = group if isinstance(group, str) else group.name
        return f"{pod.metadata.namespace}/{name}" if name else key


def _forget(index: dict[str, dict[str, None]], names: Iterable[str], key: str) -> None:
    """Remove `key` from the entries of `index` with these names, and each entry that becomes empty."""
    for name in names:
        del index[name][key]
        if not index[name]:
            del index[name]


def _names(mentions: Mentions) -> set[str]:
    return {*mentions.jobs, *mentions.tops, mentions.group, mentions.gang, mentions.deployment} - {""}


def _key_of(name: str) -> str:
    """The ``namespace/name`` of an object by its ``Kind namespace/name``; empty for an empty text."""
    return name.partition(" ")[2]
