"""The scheduler of the embedded cluster: places pending pods by a policy and writes the result to the store."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from workbench.cluster.changes import ClusterObject, ObjectChange, added, deleted, read_change
from workbench.cluster.state import ClusterState
from workbench.control.event_log import EventLog
from workbench.control.former_pods import FormerPods
from workbench.control.group_status import group_status, with_condition
from workbench.control.hyper_gangs import HyperGangs
from workbench.control.kinds import Ref
from workbench.control.reconciler import Reconciler, controller_of
from workbench.control.scheduler_settings import SchedulerSettings
from workbench.control.store import Binding, Object, Store, StoreChange, phase_of
from workbench.control.switch_maps import SwitchMaps
from workbench.control.visible_devices import device_annotations
from workbench.errors import InputError
from workbench.jobs.gangs import Workload
from workbench.model.clock import Clock
from workbench.model.counted import counted, quoted
from workbench.model.extras import FormerPod, VolcanoMemory, extras_of
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement, Unplaced
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import place_name
from workbench.objects.device_info import DEVICE_INFO_PREFIX
from workbench.objects.kinds import ClusterObjects
from workbench.objects.pod import Pod, read_pod
from workbench.objects.pod_group import (
    ALLOCATED_HYPERNODE_ANNOTATION,
    GROUP_NAME_ANNOTATION,
    KOORDINATOR_GROUPS,
    PodGroup,
    read_koordinator_pod_group,
    read_pod_group,
)
from workbench.policies.contract import Policy, SessionPolicy, schedulers_of

__all__ = ["Scheduler"]

_SESSION = "session"

#: PodGroups that are no Volcano ones, by `Ref.kind`: they say how many pods of a gang must start, and are not written.
_OTHER_GROUPS = tuple(f"PodGroup.{group}" for group in KOORDINATOR_GROUPS)
#: Fields of a pod's spec that may change while it waits: Kueue takes its gate away and selects the nodes.
_CHANGING = ("schedulingGates", "nodeSelector", "affinity", "tolerations", "priority")
#: Phases of a PodGroup that the scheduler has not admitted.
_WAITS = ("", "Pending")


class Scheduler(Reconciler):
    """Admits PodGroups, places their pods by a policy, binds them and writes the status of PodGroups.

    `records`: what the scheduler remembers of the gangs that it placed. `session_due`: whether something changed since
    the last session that could let a waiting pod start.

    Parameters
    ----------
    store, clock, log
        As for `workbench.control.reconciler.Reconciler`.
    policy : Policy
        Any registered policy.
    records : mapping of str to str
        What the scheduler of a saved cluster remembered of placed gangs
        (`workbench.model.placement.Placement.records`).
    names : collection of str, optional
        Values of schedulerName that ask for this scheduler. Pods and PodGroups of others are not touched; their
        running pods take up resources. None: the names that `workbench.jobs.schedulers.OWN_SCHEDULERS` lists, those of
        the scheduler that the policy follows, and all PodGroups, because no other scheduler is there.
    settings : SchedulerSettings, optional
        Makes `policy` anew when its configuration in the cluster changes; None: the policy stays as it is.
    former : iterable of (Ref, FormerPod)
        Deleted pods that the scheduler of a saved cluster remembered, each with its PodGroup (`FormerPods.known`).

    Notes
    -----
    A session takes place when something changed that could let a waiting pod start; like the real scheduler it reads
    pods, PodGroups, nodes and queues, and no Job, except that HyperJobs are decided as one gang (`HyperGangs`).
    """

    # Overview:
    #   observe      follow the objects (`ClusterState`); note whether a change could let a waiting pod start
    #   reconcile    a session, if one is due:
    #     _waiting     the gangs that wait, HyperJobs as one gang
    #     _admit       ask the policy which PodGroups it admits, and write their phase
    #     policy       decides on those that may start
    #     _carry_out   bind pods, or write why not, and what the next session has to remember
    #   _write_status  then bring the counts of PodGroups up to date

    kinds = frozenset(
        {"Node", "HyperNode", "Device", "Pod", "PodGroup", "Queue", "PriorityClass", "HyperJob", "Job", "ConfigMap"}
    ) | frozenset(("Namespace", *_OTHER_GROUPS))

    def __init__(
        self,
        store: Store,
        clock: Clock,
        log: EventLog,
        policy: Policy,
        records: Mapping[str, str] = MappingProxyType({}),
        names: Collection[str] | None = None,
        settings: SchedulerSettings | None = None,
        former: Iterable[tuple[Ref, FormerPod]] = (),
    ) -> None:
        super().__init__(store, clock, log)
        self.policy = policy
        self._decisions: list[Decision] | None = []
        self._names = names
        self._settings = settings
        taken = True if names is not None else schedulers_of([policy])
        self._state = ClusterState(ClusterObjects(), source="the cluster", any_scheduler=taken)
        self._changes: dict[Ref, ObjectChange] = {}
        self._pods: dict[Ref, Pod] = {}
        self._members: dict[Ref, dict[Ref, None]] = {}
        self._touched: dict[Ref, None] = {}
        self._hyper_gangs = HyperGangs()
        self._switches = SwitchMaps()
        self._former = FormerPods(former)
        self.session_due = False
        self.records = records

    @property
    def former(self) -> tuple[tuple[Ref, FormerPod], ...]:
        """Deleted pods that are remembered, each with its PodGroup."""
        return self._former.known

    @property
    def decisions(self) -> list[Decision]:
        """The decisions of the last session; after `go_on` what it would decide as things stand, without effect."""
        if self._decisions is None:
            snapshot, workload = self._observed()
            groups = self._groups()
            ours = [gang for gang in workload.gangs if self._takes(gang)]
            admitted = {key for key, group in groups.items() if group.phase not in _WAITS}
            waiting, _ = self._waiting(ours, admitted, groups, snapshot)
            self._decisions = self.policy.schedule(waiting, snapshot) if waiting else []
        return self._decisions

    def go_on(self, *, session_due: bool) -> None:
        """Go on where another scheduler with this policy stopped, which is not there to tell its last decisions.

        `session_due`: whether a session was due when it stopped.
        """
        self.session_due = session_due
        self._decisions = None

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now: what a session that begins at this moment would see."""
        return self._observed()[0]

    def observed(self) -> tuple[ClusterSnapshot, Sequence[Gang]]:
        """The cluster as it is now, and the gangs that wait."""
        snapshot, workload = self._observed()
        return snapshot, workload.gangs

    # -----------------------------------------------------------------------------------------------------------------
    # what changed
    # -----------------------------------------------------------------------------------------------------------------

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Note a change for the next session, if it could matter to one."""
        key = change.key
        if key.kind == "Pod":
            self._pod_changed(change)
        elif key.kind == "PodGroup":
            self._group_changed(change)
        elif key.kind in _OTHER_GROUPS:
            group = None if change.after is None else read_koordinator_pod_group(change.after)
            self._note(Ref("PodGroup", key.namespace, key.name), group)
            self.session_due = True
        elif key.kind in ("HyperJob", "Job"):
            if not self._hyper_gangs.observe(change):
                return []
            self.session_due = True
        elif key.kind == "ConfigMap":
            if not (self._policy_changed(change) or self._table_changed(change) or self._npus_changed(change)):
                return []
            self.session_due = True
        else:
            data = change.before if change.after is None else change.after
            assert data is not None
            read = read_change(data, gone=change.after is None)
            if read is not None:
                self._changes[key] = read
                self.session_due = True
        return [_SESSION]

    def _pod_changed(self, change: StoreChange) -> None:
        key, known = change.key, self._pods.get(change.key)
        data = change.after or change.before
        assert data is not None
        group = _group_of(data)
        if group is not None:
            self._touched[group] = None
        if change.after is None:
            self._pods.pop(key, None)
            if group is not None:
                members = self._members.get(group, {})
                members.pop(key, None)
                if not members:
                    self._members.pop(group, None)
                self._former.deleted(group, data)
            self._note(key, None)
            self.session_due = True
            return
        pod = _read_pod(change, known)
        self._pods[key] = pod
        if group is not None:
            self._members.setdefault(group, {})[key] = None
        self._note(key, pod)
        # Binding a pod and its start free nothing and add nothing that waits.
        self.session_due |= known is None or pod.finished or pod.pending or pod.terminating

    def _group_changed(self, change: StoreChange) -> None:
        key, before, after = change.key, change.before, change.after
        group = None if after is None else read_pod_group(after)
        self._note(key, group)
        if after is None:
            # Its pods may stay, and a Job that starts anew makes a PodGroup of the same name for them.
            self._former.forget(key)
            return
        self._touched[key] = None
        self.session_due |= before is None or before["spec"] != after["spec"] or phase_of(after) in _WAITS

    def _policy_changed(self, change: StoreChange) -> bool:
        """Take note of a ConfigMap; returns whether it changed the policy."""
        if self._settings is None:
            return False
        try:
            policy = self._settings.changed_policy(change)
        except InputError as error:
            self._say(change.key, "NotRead", str(error), warning=True)
            return False
        if policy is None:
            return False
        self.policy = policy
        self._say(change.key, "Configured", f"policy {policy.name} follows it")
        for notice in policy.warnings:
            self._say(change.key, "NotModelled", notice.message, warning=True)
        return True

    def _table_changed(self, change: StoreChange) -> bool:
        """Take note of a ConfigMap; returns whether the table of leaf switches changed."""
        try:
            return self._switches.observe(change)
        except InputError as error:
            self._say(change.key, "NotRead", str(error), warning=True)
            return True

    def _npus_changed(self, change: StoreChange) -> bool:
        """Take note of a ConfigMap; returns whether other NPUs of a node are faulty now.

        Ascend's device plugin writes its ConfigMaps every few minutes, mostly with the NPUs that were there. While one
        cannot be read, the last one that could counts.
        """
        node = change.key.name.removeprefix(DEVICE_INFO_PREFIX)
        if node == change.key.name:
            return False
        try:
            read = deleted("DeviceInfo", node) if change.after is None else read_change(change.after)
        except InputError as error:
            self._say(change.key, "NotRead", str(error), warning=True)
            return False
        assert read is not None
        noted = self._changes.get(change.key)
        known = self._state.objects.device_infos.get(read.key) if noted is None else noted.value
        if read.value == known:
            return False
        self._changes[change.key] = read
        return True

    def _note(self, key: Ref, value: ClusterObject | None) -> None:
        self._changes[key] = deleted(key.kind, f"{key.namespace}/{key.name}") if value is None else added(value)

    # -----------------------------------------------------------------------------------------------------------------
    # a session
    # -----------------------------------------------------------------------------------------------------------------

    def reconcile(self, key: Hashable) -> float | None:
        """Run a session if one is due, and bring the status of PodGroups up to date."""
        if self.session_due:
            self.session_due = False
            try:
                self._session()
            except BaseException:
                self.session_due = True
                raise
        while self._touched:
            group = next(iter(self._touched))
            self._write_status(group)
            del self._touched[group]
        return None

    def _observed(self) -> tuple[ClusterSnapshot, Workload]:
        """The cluster after all changes so far, and its gangs."""
        changes, self._changes = list(self._changes.values()), {}
        snapshot, workload = self._state.apply(changes, self.clock.stamp)
        snapshot = replace(snapshot, records=self.records) if self.records else snapshot
        snapshot = self._switches.added_to(snapshot, self._state.objects.nodes)
        exclusive = self._hyper_gangs.exclusive(self._state.objects.pod_groups, snapshot.running, snapshot.topology)
        return (replace(snapshot, exclusive=exclusive) if exclusive else snapshot), workload

    def _session(self) -> None:
        snapshot, workload = self._observed()
        groups = self._groups()
        ours = [gang for gang in workload.gangs if self._takes(gang)]
        admitted = self._admit(ours, snapshot, groups)
        waiting, held = self._waiting(ours, admitted, groups, snapshot)
        for hyper_job, why in held:
            self._say(hyper_job, "WaitsForJobs", why, warning=True)
        self._decisions = self.policy.schedule(waiting, snapshot) if waiting else []
        for decision in sorted(self._decisions, key=lambda one: one.turn):
            self._carry_out(decision)
            if isinstance(decision.result, Placement) and self.policy.traits.publishes_switches:
                snapshot = snapshot.with_placement(decision.result)
        if self.policy.traits.publishes_switches:
            owners = {key: group.metadata.controller for key, group in groups.items()}
            named = {key: owner.name for key, owner in owners.items() if owner is not None and owner.kind == "Job"}
            self._switches.publish(self.store, snapshot, named)

    def _groups(self) -> dict[str, PodGroup]:
        """The PodGroups that this scheduler decides on."""
        return {key: group for key, group in self._state.objects.pod_groups.items() if self._is_ours(_group_ref(key))}

    def _waiting(
        self, ours: Sequence[Gang], admitted: set[str], groups: Mapping[str, PodGroup], snapshot: ClusterSnapshot
    ) -> tuple[list[Gang], list[tuple[Ref, str]]]:
        """The gangs of a session, and the HyperJobs that wait for a Job, each with the reason."""
        may_start = [self._as_admitted(gang) for gang in ours if self._may_start(gang, admitted)]
        may_start = [self._former.added_to(gang, snapshot) for gang in may_start]
        return self._hyper_gangs.with_hyper_jobs(may_start, groups, self._members)

    def _is_ours(self, group: Ref) -> bool:
        """Whether this scheduler decides on a PodGroup: its pods ask for it, or, without pods, its Job does.

        PodGroups of Koordinator only say how many pods must start; nobody decides on them.
        """
        known = self._state.objects.pod_groups.get(f"{group.namespace}/{group.name}")
        if known is not None and known.koordinator:
            return False
        if self._names is None:
            return True
        pods = self._members.get(group)
        if pods:
            return any(self._pods[pod].spec.scheduler in self._names for pod in pods)
        stored = self.store.get(group)
        owner = None if stored is None else controller_of(stored)
        if owner is None or owner.get("kind") != "Job":
            return False
        job = self.store.get(Ref("Job", group.namespace, str(owner.get("name"))))
        return job is not None and ((job.get("spec") or {}).get("schedulerName") or "volcano") in self._names

    def _takes(self, gang: Gang) -> bool:
        if self._names is None:
            return True
        if gang.kind == "PodGroup":
            return self._is_ours(_group_ref(gang.key))
        pods = (self._pods.get(Ref("Pod", gang.namespace, pod.name)) for pod in gang.pods())
        return all(pod is not None and pod.spec.scheduler in (self._names or ()) for pod in pods)

    def _admit(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, groups: Mapping[str, PodGroup]) -> set[str]:
        """Ask the policy which PodGroups it admits, and write their phase; return the keys of the admitted ones."""
        with_pods = {gang.key: gang for gang in gangs if gang.kind == "PodGroup"}
        asked = [with_pods.get(key) or _without_pods(group) for key, group in groups.items()]
        refused = self.policy.admit(asked, snapshot) if isinstance(self.policy, SessionPolicy) else [None] * len(asked)
        admitted = set()
        for gang, why in zip(asked, refused, strict=True):
            group = groups[gang.key]
            key = Ref("PodGroup", gang.namespace, gang.name)
            if group.phase not in _WAITS:
                admitted.add(gang.key)
            elif why is None:
                admitted.add(gang.key)
                self.store.patch_status(key, {"phase": "Inqueue"})
                self._say(key, "Inqueue", f"admitted to queue {group.queue}")
            else:
                self.store.patch_status(key, {"phase": "Pending"})
                self._say(key, "NotAdmitted", why.message, warning=True)
        return admitted

    def _may_start(self, gang: Gang, admitted: set[str]) -> bool:
        return gang.kind != "PodGroup" or gang.key in admitted

    def _as_admitted(self, gang: Gang) -> Gang:
        if gang.kind != "PodGroup" or gang.extra(VolcanoMemory).inqueue:
            return gang
        return gang.with_extra(replace(gang.extra(VolcanoMemory), inqueue=True))

    def _carry_out(self, decision: Decision) -> None:
        gang, result = decision.gang, decision.result
        key = Ref(gang.kind if gang.jobs else "PodGroup", gang.namespace, gang.name)
        if isinstance(result, Placement):
            bound = self._bind(key, gang, result)
            self.records = {**self.records, **result.records}
            where = f" inside {place_name(result.hypernode)} (tier {result.tier})" if result.has_record else ""
            if bound:
                self._say(key, "Scheduled", f"{bound} of {gang.n_pods} waiting pods have a node{where}")
            why = _unplaced_text(result.unplaced)
        else:
            why = "; ".join(map(quoted, result.reasons))
            self._say(key, "Unschedulable", why, warning=True)
        placement = result if isinstance(result, Placement) else None
        if gang.jobs:
            self._write_jobs(gang, placement, why)
            return
        record = None
        if placement is not None and placement.n_placed and placement.records and self.policy.traits.annotates_group:
            record = placement.records.get(gang.key, "")
        self._write_decision(key, placement is not None and placement.n_placed > 0, why, record)

    def _bind(self, key: Ref, gang: Gang, placement: Placement) -> int:
        """Bind the pods of a placement; returns how many the cluster bound."""
        bindings = []
        for one in placement.pods():
            pod, annotations = Ref("Pod", gang.namespace, one.name), one.annotations
            if self._names is not None and pod in self._pods:
                annotations |= device_annotations(annotations, len(self._pods[pod].spec.container_gpus))
            bindings.append(Binding(pod, one.node, annotations))
        failures = [error for error in self.store.bind_all(bindings) if error is not None]
        if failures:
            # What the cluster refused is seen as it is at the next session, which decides anew.
            self.session_due = True
            text = f"{len(failures)} of {counted(len(bindings), 'pod')} could not be bound: {failures[0]}"
            self._say(key, "FailedBinding", text, warning=True)
        return len(bindings) - len(failures)

    def _write_jobs(self, gang: Gang, placement: Placement | None, why: str) -> None:
        """Write the decision on a HyperJob to the PodGroups of its Jobs, each with the HyperNode that its Job holds."""
        groups = self._hyper_gangs.groups_of(gang, self._state.objects.pod_groups)
        for part in gang.sub_groups:
            key = Ref("PodGroup", *groups[part.name].split("/"))
            if placement is None:
                self._write_decision(key, False, why, None)
                continue
            placed = any(placement.node[position] >= 0 for position in part.pods)
            unplaced = [one for one in placement.unplaced if one.position in part.pods]
            record = placement.exclusive.get(f"{gang.key}/{part.name}")
            self._write_decision(key, placed, _unplaced_text(unplaced), record)

    def _write_decision(self, key: Ref, placed: bool, why: str, record: str | None) -> None:
        """Write the condition of a PodGroup after a decision, and the HyperNode recorded unless that is None."""
        self._touched[key] = None
        known = self.store.get(key)
        if known is None:
            return
        if record is not None:
            known = self.store.patch(key, {"metadata": {"annotations": {ALLOCATED_HYPERNODE_ANNOTATION: record}}})
        status = known.get("status") or {}
        self.store.patch_status(key, {"conditions": with_condition(status, placed, why, self.clock.stamp)})

    def _write_status(self, key: Ref) -> None:
        stored = self.store.get(key)
        if stored is None:
            return
        if not self._is_ours(key):
            return
        pods = [self._pods[pod] for pod in self._members.get(key, ())]
        status = stored.get("status") or {}
        self.store.patch_status(key, group_status(status, (stored.get("spec") or {}).get("minMember") or 0, pods))


def _read_pod(change: StoreChange, known: Pod | None) -> Pod:
    """Read the pod after a change; what is known of its containers and labels is reused if they did not change."""
    before, after = change.before, change.after
    assert after is not None
    if known is None or before is None or before["spec"].get("containers") is not after["spec"].get("containers"):
        return read_pod(after)
    if any(before["spec"].get(name) != after["spec"].get(name) for name in _CHANGING):
        return read_pod(after)
    metadata, status = after["metadata"], after.get("status") or {}
    if metadata.get("labels") is not before["metadata"].get("labels"):
        return read_pod(after)
    node = str(after["spec"].get("nodeName") or "")
    gates = tuple(str(gate.get("name") or "") for gate in after["spec"].get("schedulingGates") or ())
    return replace(
        known,
        metadata=replace(
            known.metadata,
            annotations=metadata.get("annotations") or {},
            resource_version=metadata["resourceVersion"],
        ),
        spec=known.spec if node == known.spec.node_name else replace(known.spec, node_name=node),
        phase=str(status.get("phase") or "Pending"),
        deleted=bool(metadata.get("deletionTimestamp")),
        gated=bool(gates),
        gates=gates,
    )


def _group_of(pod: Object) -> Ref | None:
    metadata = pod["metadata"]
    name = (metadata.get("annotations") or {}).get(GROUP_NAME_ANNOTATION)
    return Ref("PodGroup", metadata["namespace"], name) if name else None


def _group_ref(key: str) -> Ref:
    return Ref("PodGroup", *key.split("/"))


def _without_pods(group: PodGroup) -> Gang:
    """A gang without pods for a PodGroup that has no pending pod; admission reads only the PodGroup's minResources."""
    return Gang(
        namespace=group.metadata.namespace,
        name=group.metadata.name,
        roles=(),
        min_available=group.min_member or 0,
        queue=group.queue,
        kind="PodGroup",
        created=group.metadata.created,
        uid=group.metadata.uid,
        extras=extras_of(VolcanoMemory(group.record, group.min_resources, group.phase not in _WAITS)),
    )


def _unplaced_text(unplaced: Sequence[Unplaced]) -> str:
    if not unplaced:
        return ""
    reasons: Sequence[Notice] = unplaced[0].reasons
    n = len(unplaced)
    return f"{counted(n, 'pod stays', 'pods stay')} pending: {'; '.join(map(quoted, reasons))}"
