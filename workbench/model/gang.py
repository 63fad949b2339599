"""`Gang`: the pods of a job, which must be placed together.

A `Gang` describes *pending* pods as roles with a count; objects for single pods are made on demand. Gangs are made from
Jobs, JobSets and their like, PodGroups and Deployments in `workbench.jobs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.model.display import Displayed
from workbench.model.extras import EMPTY_EXTRAS, Extra, VolcanoMemory, extras_of
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.labels import NodeFilter
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number
from workbench.model.pod_rules import NO_RULES, PodRules
from workbench.model.resources import ASSUMED, is_gpu_resource, request_rows
from workbench.model.value import Value, kept

__all__ = [
    "ANY_NODE",
    "Gang",
    "MemberJob",
    "PodRef",
    "Role",
    "SubGroup",
    "TopologyConstraint",
    "lower_minimum",
    "needed_of_jobs",
    "pod_index",
]

#: The filter of a pod that states no condition.
ANY_NODE = NodeFilter()
#: Kinds whose networkTopology is a field that the API server fills in and keeps.
_STORES_CONSTRAINT = ("Job", "PodGroup")
E = TypeVar("E", bound=Extra)


@dataclass(frozen=True)
class TopologyConstraint:
    """The field networkTopology of a Job or PodGroup, as written.

    Each Volcano release fills in its own defaults later (docs/decisions.md, decision 10).

    `mode`: {"hard", "soft", ""}; mode of the constraint; empty if networkTopology has no mode. `highest_tier`:
    highestTierAllowed; None: absent. `highest_tier_name`: highestTierName (Volcano 1.15); None: absent. Empty names no
    tier, but 1.13 does not know the field even so.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.TopologyConstraint("hard", highest_tier=2)
    TopologyConstraint(mode='hard', highest_tier=2, highest_tier_name=None)
    """

    mode: Literal["hard", "soft", ""] = "hard"
    highest_tier: int | None = None
    highest_tier_name: str | None = None


@dataclass(frozen=True)
class Role(Value):
    """Pending pods of one kind in a gang: those of a task of a Volcano Job, or the replicas of a Deployment.

    Raises InputError: `pod_uids` or `pod_resource_versions` of another length than `count`; `gpu_milli` out of range or
    together with whole GPUs.

    Attributes
    ----------
    count : int
        Number of pending pods.
    requests : mapping of str to int
        Per pod, base units (`workbench.model.resources`).
    container_gpus : tuple of int
        Whole GPUs of each container, in container order.
    min_available : int, optional
        Minimum of this role (minAvailable of the task); None: no minimum of its own.
    succeeded : int
        Number of pods that succeeded: they hold no resources and count towards the minimum.
    first_index : int
        Index of the first pending pod in the role (pods before it exist already).
    pod_names : tuple of str, optional
        Names of existing pods; None: ``<gang>-<role>-<index>``.
    pod_uids, pod_resource_versions : tuple of str, optional
        metadata.uid and metadata.resourceVersion of each pending pod, in order; empty for one that does not exist yet.
        None: no pod of the role has one.
    assumed : mapping of str to int
        CPU and memory that Kubernetes' scores assume beyond `requests`: 100m and 200 MiB for each container that
        requests none.
    gpu_milli : int
        Thousandths of one GPU that each pod requests, 1 to 999, sharing the GPU with other pods; 0: whole GPUs only,
        which are in `requests`.
    depends_on : tuple of str
        Roles whose pods must run before further pods of this role are created (dependsOn of a Volcano Job's task);
        empty: nothing holds the pods back, or those roles run already.
    depends_on_any : bool
        One of the roles in `depends_on` is enough (iteration ``any``); otherwise all of them must run.
    n_created : int
        Pending pods that exist in the cluster already; read only if `depends_on` is not empty.
    rules : PodRules
        Affinity to other pods, spreading, preferred nodes.
    n_gpus : int
        Whole GPUs of one pod.
    best_effort : bool
        No request at all: never handled by allocate, triggers no topology logic.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.Role("worker", 4, {"cpu": 8000, "nvidia.com/gpu": 8}).n_gpus
    8
    """

    name: str
    count: int
    requests: Mapping[str, int]
    container_gpus: tuple[int, ...] = ()
    min_available: int | None = None
    filter: NodeFilter = ANY_NODE
    priority: int = 0
    first_index: int = 0
    pod_names: tuple[str, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    succeeded: int = 0
    assumed: Mapping[str, int] = field(default_factory=dict)
    pod_uids: tuple[str, ...] | None = None
    pod_resource_versions: tuple[str, ...] | None = None
    gpu_milli: int = 0
    depends_on: tuple[str, ...] = ()
    depends_on_any: bool = False
    n_created: int = 0
    rules: PodRules = NO_RULES
    n_gpus: int = field(init=False, repr=False, compare=False)
    best_effort: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Once for all placements: a gang may have a hundred roles.
        gpus = sum(amount for name, amount in self.requests.items() if is_gpu_resource(name))
        object.__setattr__(self, "n_gpus", gpus)
        object.__setattr__(self, "best_effort", not (self.gpu_milli or any(self.requests.values())))
        if self.gpu_milli and (gpus or not 0 < self.gpu_milli < WHOLE_GPU):
            raise InputError(
                "no share of a GPU",
                source=f"role {self.name}, gpu_milli",
                got=f"{self.gpu_milli} thousandths" + (f" beside {gpus} whole GPUs" if gpus else ""),
                expected=f"1 to {WHOLE_GPU - 1} without whole GPUs, or 0",
            )
        if self.pod_uids is not None or self.pod_resource_versions is not None:
            self._check_identities()

    @property
    def n_held_back(self) -> int:
        """Pending pods that are created only after pods of other roles run (`depends_on`)."""
        return max(self.count - self.n_created, 0) if self.depends_on else 0

    def _check_identities(self) -> None:
        for name in ("pod_uids", "pod_resource_versions"):
            given = getattr(self, name)
            if given is not None and len(given) != self.count:
                raise InputError(
                    "one entry per pending pod is needed; give a role with other pods None",
                    source=f"role {self.name}, {name}",
                    got=f"{len(given)} entries",
                    expected=str(self.count),
                )


@dataclass(frozen=True)
class SubGroup:
    """Pods of a gang that must be closer together than the whole gang, such as one partition of a task.

    Attributes
    ----------
    pods : tuple of int
        Positions in the gang of the sub-group's pending pods.
    min_available : int
        Pods that the sub-group needs; its running and succeeded pods count.
    exclusive_domain : bool
        Whether no other sub-group may use the HyperNode in which the sub-group is placed.
    policy : str
        Entry of subGroupPolicy from which the sub-group was made; the sub-groups of one policy count together
        (`Gang.min_subgroups`).
    match_index : int
        Sort key among the sub-groups of the gang, compared before the name.
    running : tuple of str
        Names of its pods that have a node already, in byte order.
    succeeded : tuple of mapping of str to int
        Requests of each pod that succeeded, base units: such a pod holds no resources and counts towards
        `min_available`.
    failed, gated : tuple of mapping of str to int
        Requests of each pod that failed, or that waits behind a scheduling gate, base units: such a pod is a task of
        the sub-group, but is not tried and does not count towards `min_available`.

    Examples
    --------
    >>> import workbench as wb
    >>> import dataclasses
    >>> halves = [wb.SubGroup(f"half-{i}", (2 * i, 2 * i + 1), wb.TopologyConstraint("hard", 1), 2) for i in range(2)]
    >>> gang = dataclasses.replace(wb.gang("mine", pods=4, gpus=8), sub_groups=tuple(halves), sub_grouped=True)
    >>> wb.place(gang, wb.generate_scenario("three-level-tree")).to_dataframe()["node"].tolist()
    ['node0', 'node1', 'node2', 'node3']
    """

    name: str
    pods: tuple[int, ...]
    constraint: TopologyConstraint | None
    min_available: int
    exclusive_domain: bool = False
    policy: str = ""
    match_index: int = 0
    running: tuple[str, ...] = ()
    succeeded: tuple[Mapping[str, int], ...] = ()
    failed: tuple[Mapping[str, int], ...] = ()
    gated: tuple[Mapping[str, int], ...] = ()


@dataclass(frozen=True)
class MemberJob:
    """One Job of a HyperJob.

    `gang`: pending pods of the Job, as its own gang; None: none is pending, so the Job has started or ended. `record`:
    HyperNode that holds the Job according to its PodGroup; empty: unknown.
    """

    name: str
    gang: Gang | None
    record: str = ""


def needed_of_jobs(jobs: Sequence[Gang], needed: int) -> tuple[int, dict[str, int] | None]:
    """Pods and minResources that a HyperJob needs to start: those of its smallest waiting Jobs.

    `jobs`: the Jobs with pending pods. `needed`: how many of them must start.

    Returns
    -------
    min_available : int
        Pods, running ones of all the Jobs included.
    min_resources : dict of str to int, or None
        None if one of the smallest Jobs has none.
    """
    smallest = sorted(jobs, key=lambda gang: gang.min_available - gang.ready)[:needed]
    pods = sum(gang.ready for gang in jobs) + sum(max(gang.min_available - gang.ready, 0) for gang in smallest)
    total: dict[str, int] = {}
    for gang in smallest:
        resources = gang.extra(VolcanoMemory).min_resources
        if resources is None:
            return pods, None
        for name, amount in resources.items():
            total[name] = total.get(name, 0) + amount
    return pods, total


@dataclass(frozen=True)
class PodRef:
    """One pending pod of a gang: its position in the gang, its role and its index inside the role.

    `uid` and `resource_version` are those of the pod in the cluster; both are empty for a pod that does not exist yet.
    """

    position: int
    name: str
    role: Role
    role_number: int
    index: int
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Gang(Value, Displayed):
    """Pods that are placed together or not at all, such as those of a Volcano Job.

    Raises InputError: `order` does not name each pod once, or there are `sub_groups` without `sub_grouped`.

    Attributes
    ----------
    roles : tuple of Role
        In the order of the object; pods are numbered role by role.
    min_available : int
        minAvailable of the Job or minMember of the PodGroup, counting running pods.
    constraint : TopologyConstraint, optional
        Topology constraint of the gang as a whole; None if it has none.
    priority : int
        Priority of the job; jobs of higher priority come first.
    sub_groups : tuple of SubGroup
        A pod that is in none of them belongs to the gang directly.
    min_subgroups : mapping of str to int
        Number of sub-groups of each policy that must be ready; a missing policy requires none.
    sub_grouped : bool
        The object has sub-group policies, even if no pod belongs to one.
    kind : str
        Kind of the object from which the gang was made.
    ready : int
        Pods of the gang that are placed already and count towards `min_available`.
    succeeded : tuple of mapping of str to int
        Requests of each succeeded pod that belongs to no sub-group, base units.
    failed, gated : tuple of mapping of str to int
        Requests of each pod that failed, or that waits behind a scheduling gate, and belongs to no sub-group, base
        units.
    created : str
        When the PodGroup or the object itself was created, as the API writes it (UTC); empty: not created yet.
    order : tuple of str
        Names of the pods in the order in which they are tried within one priority; empty: by index, then role by role.
    tasks_by_priority : bool
        Pods of a role with a higher priority are tried first.
    notes : tuple of Notice
        Remarks made while the object was read; every decision shows them as warnings.
    uid, resource_version : str
        metadata.uid and metadata.resourceVersion of the object it came from, so that an action can be conditional;
        empty: the object does not exist yet, or pods of no common object make up the gang.
    jobs : tuple of MemberJob
        Jobs of a HyperJob, in order; empty for any other gang. The roles and sub-groups are those of the Jobs with
        pending pods, Job by Job. The Jobs go to HyperNodes of one tier, one Job to each.
    extras : mapping of type to Extra
        Requests that only one scheduler reads (`workbench.model.extras`), by their class; `extra` reads one.
    n_pods : int
        Pending pods.
    n_not_tried : int
        Pods that failed or wait behind a scheduling gate: tasks of the job that no policy places.
    tried_roles : tuple of int
        Roles that request something, in the order their pods are tried: higher pod priority first if the scheduler
        counts it, then the order of the gang.
    best_effort_roles : tuple of int
        Roles without any request.
    shares_gpus : bool
        Whether some pending pod asks for a part of a GPU (`Role.gpu_milli`).
    assumes : bool
        Whether scores assume cpu or memory of some pending pod beyond its request.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.gang("mine", pods=4, gpus=8, tier=2).constraint
    TopologyConstraint(mode='hard', highest_tier=2, highest_tier_name=None)
    """

    # Fields first; then arrays with an entry per pod (`role_start`, `role_of_pod`, `rows_for`, …), made once; then
    # names of pods and pods as objects, made when they are asked for.

    namespace: str
    name: str
    roles: tuple[Role, ...]
    min_available: int
    constraint: TopologyConstraint | None = None
    queue: str = "default"
    priority: int = 0
    sub_groups: tuple[SubGroup, ...] = ()
    min_subgroups: Mapping[str, int] = field(default_factory=dict)
    sub_grouped: bool = False
    kind: str = "Job"
    ready: int = 0
    succeeded: tuple[Mapping[str, int], ...] = ()
    failed: tuple[Mapping[str, int], ...] = ()
    gated: tuple[Mapping[str, int], ...] = ()
    created: str = ""
    order: tuple[str, ...] = ()
    tasks_by_priority: bool = True
    notes: tuple[Notice, ...] = ()
    uid: str = ""
    resource_version: str = ""
    jobs: tuple[MemberJob, ...] = ()
    extras: Mapping[type[Extra], Extra] = field(default_factory=dict)
    n_pods: int = field(init=False)
    n_not_tried: int = field(init=False)
    tried_roles: tuple[int, ...] = field(init=False)
    best_effort_roles: tuple[int, ...] = field(init=False)
    shares_gpus: bool = field(init=False)
    assumes: bool = field(init=False)

    def __post_init__(self) -> None:
        self._count()
        if self.order and (len(self.order) != self.n_pods or set(self.order) != set(self._every_name)):
            raise InputError(
                "order names other pods than the roles; give a gang with other roles order=(), too",
                source=f"gang {self.key}",
                got=f"{len(self.order)} names",
                expected=f"each of {counted(self.n_pods, 'pod')} once",
            )
        if self.sub_groups and not self.sub_grouped:
            raise InputError(
                "a gang with sub-groups, but without sub-group policies",
                source=f"gang {self.key}",
                got=f"{counted(len(self.sub_groups), 'sub-group')}, sub_grouped=False",
                expected="sub_grouped=True",
            )

    def _count(self) -> None:
        """Set the attributes that the constructor derives from the roles: `n_pods` to `assumes`, in one pass."""
        n_pods, n_not_tried, shares, assumes = 0, len(self.failed) + len(self.gated), False, False
        tried: list[int] = []
        best_effort: list[int] = []
        for i, role in enumerate(self.roles):
            n_pods += role.count
            (best_effort if role.best_effort else tried).append(i)
            shares = shares or bool(role.gpu_milli and role.count)
            assumes = assumes or bool(role.assumed)
        for group in self.sub_groups:
            n_not_tried += len(group.failed) + len(group.gated)
        if self.tasks_by_priority and len(tried) > 1:
            tried.sort(key=lambda i: -self.roles[i].priority)
        object.__setattr__(self, "n_pods", n_pods)
        object.__setattr__(self, "n_not_tried", n_not_tried)
        object.__setattr__(self, "tried_roles", tuple(tried))
        object.__setattr__(self, "best_effort_roles", tuple(best_effort))
        object.__setattr__(self, "shares_gpus", shares)
        object.__setattr__(self, "assumes", assumes)

    @property
    def key(self) -> str:
        """The gang's identifier: ``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    def extra(self, kind: type[E]) -> E:
        """The gang's extra of a class; the empty one of the class if the gang has none."""
        found = self.extras.get(kind)
        return cast("E", EMPTY_EXTRAS[kind] if found is None else found)

    def with_extra(self, *extras: Extra) -> Gang:
        """A copy of the gang with these extras, each in place of the one of its class."""
        return replace(self, extras=extras_of(*self.extras.values(), *extras))

    @property
    def stored(self) -> bool:
        """Whether the gang's Job or PodGroup was read from a cluster, as opposed to a manifest not yet submitted.

        Defaults are already written into the topology constraint of a stored object, so no Volcano release fills them
        in again.
        """
        return self.kind in _STORES_CONSTRAINT and bool(self.uid or self.resource_version)

    def __hash__(self) -> int:
        # Caches of policies look gangs up: the name alone is quick, and tells gangs apart.
        return hash((self.namespace, self.name))

    def __repr__(self) -> str:
        roles = " + ".join(f"{role.count} {role.name}" for role in self.roles)
        if self.jobs:
            waiting = sum(job.gang is not None for job in self.jobs)
            roles = f"{counted(self.n_pods, 'pod')} of {counted(waiting, 'Job')}"
        wish = f", {self.constraint.mode or 'no mode'}" if self.constraint else ""
        return f"Gang({self.key}: {roles}, min_available {self.min_available}{wish})"

    @kept
    def role_start(self) -> npt.NDArray[np.int64]:
        """Position of the first pending pod of each role in the gang, then the total number of pods: int64 of shape
        (roles + 1,).
        """
        return np.array([0, *accumulate(role.count for role in self.roles)], dtype=np.int64)

    @kept
    def role_of_pod(self) -> npt.NDArray[np.int32]:
        """Role number of each pod, int32 of shape (n_pods,)."""
        if len(self.roles) == 1:
            return np.zeros(self.n_pods, dtype=np.int32)
        return np.repeat(np.arange(len(self.roles), dtype=np.int32), [role.count for role in self.roles])

    @property
    def gpu_milli_of_pod(self) -> npt.NDArray[np.int16]:
        """Thousandths that each pod holds of each of its GPUs: int16 of shape (n_pods,), 1000 for whole GPUs."""
        return np.array([role.gpu_milli or WHOLE_GPU for role in self.roles], dtype=np.int16)[self.role_of_pod]

    def rows_for(self, columns: tuple[str, ...]) -> tuple[npt.NDArray[np.int64], tuple[tuple[str, ...], ...]]:
        """Requests of one pod of each role, as an array with the given resource columns.

        `columns`: resource names, the columns of a snapshot (`ClusterSnapshot.resources`).

        Returns
        -------
        rows : ndarray of shape (roles, len(columns)), int64
            Base units (milli-CPU, bytes, counts); read-only and cached per `columns`.
        missing : tuple of tuple of str
            For each role, the requested resources that have no column.
        """
        known = self.__dict__.setdefault("_rows", {})
        found: tuple[npt.NDArray[np.int64], tuple[tuple[str, ...], ...]] | None = known.get(columns)
        if found is None:
            found = known[columns] = request_rows(columns, [role.requests for role in self.roles])
            found[0].flags.writeable = False
        return found

    @cached_property
    def assumed(self) -> npt.NDArray[np.int64]:
        """CPU and memory that scheduler scores assume of one pod of each role beyond its request: int64 of shape
        (roles, 2).
        """
        rows = [[role.assumed.get(name, 0) for name in ASSUMED] for role in self.roles]
        return np.array(rows, dtype=np.int64).reshape(len(self.roles), len(ASSUMED))

    def pod(self, position: int) -> PodRef:
        """The pending pod at a position of the gang, 0 <= position < n_pods."""
        number = int(self.role_of_pod[position])
        role = self.roles[number]
        offset = position - int(self.role_start[number])
        (name,) = self._names(role, [offset])
        uid = role.pod_uids[offset] if role.pod_uids else ""
        version = role.pod_resource_versions[offset] if role.pod_resource_versions else ""
        return PodRef(position, name, role, number, role.first_index + offset, uid, version)

    def pod_names(self, positions: npt.NDArray[np.intp]) -> list[str]:
        """Names of the pending pods at the given positions, which must be ascending."""
        names = []
        at = positions.searchsorted(self.role_start).tolist()
        for number, role in enumerate(self.roles):
            mine = positions[at[number] : at[number + 1]]
            names += self._names(role, (mine - self.role_start[number]).tolist())
        return names

    @property
    def _every_name(self) -> list[str]:
        return self.pod_names(np.arange(self.n_pods))

    def _names(self, role: Role, offsets: list[int]) -> list[str]:
        """Names of pending pods of `role`, given their offsets within the role."""
        if role.pod_names:
            return [role.pod_names[i] for i in offsets]
        before, first = f"{self.name}-{role.name}-", role.first_index
        indices = [first + i for i in offsets] if first else offsets
        return [f"{before}{index}" for index in indices]

    def pods(self) -> Iterator[PodRef]:
        """Every pending pod of the gang, role by role in the order of `roles`."""
        return (self.pod(i) for i in range(self.n_pods))


def pod_index(name: str) -> int | None:
    """The number after the last hyphen of a pod's name, its index in its task; None if the name has no such number.

    A name with fewer than two hyphens has none, and the number must fit 64 bits. Source: Volcano, which reads the index
    of a pod with Go's Atoi.
    """
    parts = name.split("-")
    return whole_number(parts[-1]) if len(parts) > 2 else None


def lower_minimum(least: int, by: int, started: int) -> int:
    """A lower minimum of a gang: not below the pods that have started and one more, unless it was already.

    `least`: the minimum so far. `by`: number of pods that the gang loses. `started`: pods that count towards the
    minimum already.
    """
    return max(least - by, min(started + 1, least))
