"""Extras of a gang or of a snapshot: parts of a request, or of a cluster, that only one scheduler reads.

`Gang.extras` and `ClusterSnapshot.extras` map the class of an extra to its value, so the twin of another scheduler
brings classes of its own and changes nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar, cast

from workbench.errors import InputError
from workbench.model.notice import Notice

__all__ = [
    "EMPTY_EXTRAS",
    "REMAINING_SECONDS",
    "RUN_SECONDS",
    "AscendWish",
    "Extra",
    "FormerPod",
    "Gather",
    "GpuGroup",
    "GpuPlan",
    "KoordinatorWish",
    "PlannedPod",
    "RoleSize",
    "RoleSizes",
    "VolcanoMemory",
    "empty_extra",
    "extras_of",
]

E = TypeVar("E", bound="Extra")

#: Annotation of a running pod: seconds until it ends.
REMAINING_SECONDS = "topology-workbench/remaining-seconds"
#: Annotation of a pod: seconds that it runs, counted from its start.
RUN_SECONDS = "topology-workbench/run-seconds"


@dataclass(frozen=True)
class Extra:
    """Base class of extras: frozen dataclasses in which every field has a default.

    The value with all defaults is the empty extra, which a gang has whose objects request nothing of the kind.

    Examples
    --------
    >>> import workbench as wb
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class RackWish(wb.Extra):
    ...     racks: int = 1
    >>> wb.gang("mine", gpus=8).with_extra(RackWish(2)).extra(RackWish).racks
    2
    """

    def unread(self, policy: str) -> Notice | None:
        """The notice of a policy, given by its name, that does not read the extra; None: a user would miss nothing."""
        return None


class _EmptyExtras(dict["type[Extra]", Extra]):
    """The empty extra of each class that was asked for; asking for another one makes it."""

    def __missing__(self, kind: type[Extra]) -> Extra:
        if not (isinstance(kind, type) and issubclass(kind, Extra)):
            raise InputError(
                "not a class of extras", source="gang", got=repr(kind), expected="a class, as AscendWish is"
            )
        made = self[kind] = kind()
        return made


#: Empty extras by class; read in each placement, so that no call stands before them.
EMPTY_EXTRAS = _EmptyExtras()


def empty_extra(kind: type[E]) -> E:
    """The extra of a class with all defaults; one object for all callers."""
    return cast("E", EMPTY_EXTRAS[kind])


def extras_of(*extras: Extra) -> dict[type[Extra], Extra]:
    """Extras by class, for `Gang.extras`: the last one of each class; empty ones are left out.

    Raises InputError: a value that is no `Extra`.
    """
    for extra in extras:
        if not isinstance(extra, Extra):
            raise InputError("not an extra", source="gang", got=repr(extra), expected="a value, as AscendWish()")
    last = {type(extra): extra for extra in extras}
    return {kind: extra for kind, extra in last.items() if extra != empty_extra(kind)}


@dataclass(frozen=True)
class VolcanoMemory(Extra):
    """What Volcano stored about a job in earlier scheduling sessions.

    Read by the policies whose names begin with ``volcano``.

    `record`: HyperNode this job was allocated in before (annotation volcano.sh/job-allocated-hypernode); empty: none.
    `min_resources`: minResources of the job's PodGroup (existing, or as the controller will make it), base units; None:
    absent. `inqueue`: an earlier session admitted the job: its PodGroup is in the phase Inqueue.

    Examples
    --------
    >>> import workbench as wb
    >>> gang = wb.gang("mine", pods=2, gpus=8).with_extra(wb.VolcanoMemory(record="s0"))
    >>> gang.extra(wb.VolcanoMemory).record
    's0'
    """

    record: str = ""
    min_resources: Mapping[str, int] | None = None
    inqueue: bool = False


@dataclass(frozen=True)
class GpuGroup:
    """Koordinator's GPU topology group: pods of one namespace whose group name label and replica label agree."""

    name: str
    replica: int


@dataclass(frozen=True)
class Gather:
    """One rule of Koordinator's network-topology-spec annotation: gather a gang within one domain of a network layer.

    `layer`: a layer of the ClusterNetworkTopology; for HyperNodes the tier name. `must`: MustGather: all pods in one
    domain of the layer; otherwise PreferGather. `pod_count_multiple`: the number of pods in a domain of the layer must
    be a multiple of this; 1: any number.
    """

    layer: str
    must: bool
    pod_count_multiple: int = 1


@dataclass(frozen=True)
class KoordinatorWish(Extra):
    """What a gang requests by Koordinator's labels and annotations.

    Read by `koordinator-gpu` and `koordinator-network`.

    Attributes
    ----------
    gpu_group : GpuGroup, optional
        None: the pods belong to no GPU topology group.
    gather : tuple of Gather
        Rules as written; empty: the gang is not gathered in any layer of the network.
    gang_groups : tuple of str
        Keys (``namespace/name``) of the gangs that are placed with this one or not at all, as written, whether the gang
        itself is among them or not; empty: the gang is placed by itself.

    Examples
    --------
    >>> import workbench as wb
    >>> gang = wb.gang("mine", pods=2, gpus=8)
    >>> gang.extra(wb.KoordinatorWish) == wb.KoordinatorWish()
    True
    """

    gpu_group: GpuGroup | None = None
    gather: tuple[Gather, ...] = ()
    gang_groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class FormerPod:
    """Node and rank that a pod of a gang had before a fault, for the policies that reschedule a job after a fault.

    Attributes
    ----------
    node : str
        Name of its node.
    faulty : bool
        The node, or a GPU of the pod there, is broken: the pod must not return to this node.
    mark : int
        Value of the pod's annotation isSharedTor (`workbench.model.switches`); 0 if the pod had none.
    pod : str
        Name of the pod, which keeps its rank; empty: the pending pod with the same rank takes its place.
    unhealthy : bool
        Whether the pod's annotation isHealthy said "1".
    """

    rank: int
    node: str
    faulty: bool = False
    mark: int = 0
    pod: str = ""
    unhealthy: bool = False


@dataclass(frozen=True)
class AscendWish(Extra):
    """What an Ascend job requests about leaf switches; read by the ``switch-affinity`` policies.

    `job_class`: value of the label tor-affinity; empty: none. `framework`: training framework, from the label framework
    or a framework plugin of the job; empty: unknown. `former`: where the gang's pending pods ran before a fault.

    Examples
    --------
    >>> import workbench as wb
    >>> gang = wb.gang("mine", pods=2, gpus=8).with_extra(wb.AscendWish(job_class="large-model-schema"))
    >>> gang.extra(wb.AscendWish).job_class
    'large-model-schema'
    """

    job_class: str = ""
    framework: str = ""
    former: tuple[FormerPod, ...] = ()


@dataclass(frozen=True)
class RoleSize:
    """The field that says how many pods a role has.

    `field`: name of the field: ``replicas``, ``parallelism``, ``size``. `pods`: pods of the role that the object asks
    for, running ones included. `unit`: pods that one step of the field adds. `beside`: what the field counts besides: 1
    for the leader in the ``size`` of a group.
    """

    role: str
    field: str
    pods: int
    unit: int = 1
    beside: int = 0

    def value(self, fewer: int) -> int:
        """Value of the field with `fewer` pods of the role than now."""
        return (self.pods - fewer) // self.unit + self.beside


@dataclass(frozen=True)
class RoleSizes(Extra):
    """Sizes of the roles of a gang whose object is no Volcano Job; empty where tasks have replicas."""

    roles: tuple[RoleSize, ...] = ()

    def of(self, role: str) -> RoleSize | None:
        """The field for a role; None: its number of pods is written as for a Volcano Job, or nowhere."""
        return next((each for each in self.roles if each.role == role), None)


@dataclass(frozen=True)
class PlannedPod:
    """One pod of a GPU plan: the pod's name, its node's name, and its GPUs as a bit mask (bit i: GPU i of the node)."""

    name: str
    node: str
    gpu_mask: int


@dataclass(frozen=True)
class GpuPlan:
    """Nodes and GPUs reserved for the pods of one GPU group; until the plan expires, other groups cannot use the GPUs.

    `pods`: pods of the plan that are not bound yet. `made_at`: ISO 8601 time; empty: unknown, and the plan then never
    expires.

    Source: Koordinator proposal 20230314 "GPU topology-aware scheduling", "main steps".
    """

    namespace: str
    group: GpuGroup
    pods: tuple[PlannedPod, ...]
    made_at: str = ""

    def pod(self, name: str) -> PlannedPod | None:
        """The node and GPUs planned for the pod of that name; None if the plan has no such pod."""
        return next((pod for pod in self.pods if pod.name == name), None)

    def without_pods(self, gone: Collection[tuple[str, str]]) -> GpuPlan:
        """A copy of the plan that leaves out the pods in `gone`, given as (namespace, name)."""
        return replace(self, pods=tuple(pod for pod in self.pods if (self.namespace, pod.name) not in gone))

    def age_s(self, now: str) -> float:
        """Age of the plan in seconds at `now` (ISO 8601); minus infinity if the two times cannot be compared."""
        try:
            return (datetime.fromisoformat(now) - datetime.fromisoformat(self.made_at)).total_seconds()
        except (ValueError, TypeError):
            return -float("inf")
