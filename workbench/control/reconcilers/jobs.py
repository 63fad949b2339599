"""The controller of Volcano Jobs: carries out what the rules of a Job's life (`workbench.jobs.lifecycle`) demand."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from workbench.control.event_log import EventLog
from workbench.control.job_requests import SYNCHRONISE, DelayedAction, JobRequests
from workbench.control.kinds import Ref
from workbench.control.reconciler import Reconciler, controller_of
from workbench.control.retries import MOST_RETRIES
from workbench.control.store import InNamespace, Object, Store, StoreChange, job_phase
from workbench.errors import InputError, StoreError
from workbench.jobs.create_pod import create_pod
from workbench.jobs.frameworks.contract import PLACEHOLDER_KEYS, SshKeys
from workbench.jobs.frameworks.registry import JobOutcome, on_job_add, on_job_delete, on_job_update, on_pod_create
from workbench.jobs.lifecycle.events import job_request
from workbench.jobs.lifecycle.next_status import NextStep, next_status
from workbench.jobs.lifecycle.observed import GroupState, Observed, PodState, read_pod_state
from workbench.jobs.lifecycle.request import (
    SYNC,
    Action,
    CreatePod,
    DeletePod,
    DeletePodGroup,
    JobRequest,
    KeepPodGroup,
    RecordEvent,
    RunHooks,
    answer_to,
)
from workbench.jobs.pod_group_of_job import pod_group_of_job, updated_pod_group
from workbench.jobs.roles import Priorities
from workbench.jobs.stored_job import as_stored, claims_of
from workbench.jobs.task_pods import OUT_OF_SYNC_ANNOTATION, tasks_of
from workbench.model.clock import Clock
from workbench.objects.job import Job, read_job
from workbench.objects.job_status import JobStatus, job_status_manifest, read_job_status
from workbench.objects.pod_group import read_pod_group
from workbench.objects.pod_group_manifest import pod_group_manifest
from workbench.objects.queue import PriorityClass, read_priority_class

__all__ = ["JobReconciler"]

_TERMINATE = JobRequest(action="TerminateJob")


class _KnownJob(NamedTuple):
    """A Job as read from one state of its manifest; `manifest` has the names that its controller fills in."""

    source: Object
    manifest: Object
    job: Job


class JobReconciler(Reconciler):
    """Creates and deletes the pods, the PodGroup and the plugins' objects of Jobs, and writes the Jobs' status.

    Parameters
    ----------
    store, clock, log
        As for `workbench.control.reconciler.Reconciler`.
    ssh_keys : callable
        Gives the keys of a Job with the plugin ssh whose arguments contain none.
    waiting : iterable of DelayedAction
        Actions that waited for their time when the cluster was saved.
    requests : iterable of (Ref, JobRequest)
        Requests to begin with, with their Jobs: those that nobody had handled when the cluster was saved.

    Notes
    -----
    One request is handled per turn, so that the next one sees what this one has changed. Requests that only
    synchronise are handled together. A request that fails, for instance because a plugin's hook does, changes no status
    and is made again up to 15 times (`workbench.control.retries.Retries`); then the Job is terminated.
    """

    # Overview:
    #   observe      a change of a Job, pod, PodGroup, claim or command becomes a request of its Job
    #   reconcile    the next request, or a delayed action that is due
    #   _handle      ask `workbench.jobs.lifecycle` for the next step; carry out its actions (`_carry_out`: pods,
    #                claims, PodGroup, hooks of plugins); write the status
    #   _retry       a request that failed is tried again later; after too many times the Job is terminated

    kinds = frozenset({"Job", "Pod", "PodGroup", "Command", "PersistentVolumeClaim"})

    def __init__(
        self,
        store: Store,
        clock: Clock,
        log: EventLog,
        ssh_keys: Callable[[], SshKeys] = lambda: PLACEHOLDER_KEYS,
        waiting: Iterable[DelayedAction] = (),
        requests: Iterable[tuple[Ref, JobRequest]] = (),
    ) -> None:
        super().__init__(store, clock, log)
        self._ssh_keys = ssh_keys
        self._requests = JobRequests(waiting, requests)
        self._pods: dict[Ref, dict[str, PodState]] = {}
        self._commands: dict[Ref, list[Ref]] = {}
        self._read: dict[Ref, _KnownJob] = {}

    @property
    def waiting(self) -> list[DelayedAction]:
        """The actions that wait for their time, by Job."""
        return self._requests.waiting

    @property
    def requests(self) -> list[tuple[Ref, JobRequest]]:
        """The requests that are not handled yet, by Job, those of a Job in the order in which they arose."""
        return self._requests.unhandled

    # -----------------------------------------------------------------------------------------------------------------
    # what changed
    # -----------------------------------------------------------------------------------------------------------------

    def observe(self, change: StoreChange) -> Iterable[Hashable]:
        """Turn a change of a Job, of its pods or PodGroup, or a command into requests."""
        match change.key.kind:
            case "Job":
                return self._job_changed(change)
            case "Pod":
                return self._pod_changed(change)
            case "PodGroup":
                return self._group_changed(change)
            case "Command":
                return self._commanded(change)
        return self._claim_changed(change)

    def _ask(self, key: Ref, request: JobRequest) -> list[Ref]:
        self._requests.add(key, request)
        return [key]

    def _job_changed(self, change: StoreChange) -> Iterable[Ref]:
        before, after = change.before, change.after
        if after is None:
            self._requests.forget(change.key)
            self._pods.pop(change.key, None)
            self._read.pop(change.key, None)
            # Nothing is due any more at the time of its delayed actions.
            return [change.key]
        if change.existing:
            # Its requests and delayed actions, if any, come with it.
            return [change.key]
        if before is not None and before["spec"] is after["spec"] and job_phase(before) == job_phase(after):
            return []
        return self._ask(change.key, SYNCHRONISE)

    def _pod_changed(self, change: StoreChange) -> Iterable[Ref]:
        key = _job_of(change)
        if key is None:
            return []
        pods = self._pods.setdefault(key, {})
        before = pods.get(change.key.name)
        after = None if change.after is None else read_pod_state(change.after)
        if after is None:
            pods.pop(change.key.name, None)
        else:
            pods[change.key.name] = after
        if self.store.get(key) is None or (before is None and after is None) or change.existing:
            return []
        request = job_request(self._job(key).job, before, after, pods.values())
        return [] if request is None else self._ask(key, request)

    def _group_changed(self, change: StoreChange) -> Iterable[Ref]:
        key = _job_of(change)
        if key is None or self.store.get(key) is None or change.existing:
            return []
        before, after = (None if one is None else GroupState.read(one) for one in (change.before, change.after))
        if before is not None and after is not None and before.phase == after.phase:
            return []
        return self._ask(key, job_request(self._job(key).job, before, after) or SYNCHRONISE)

    def _commanded(self, change: StoreChange) -> Iterable[Ref]:
        data = change.after
        target = {} if data is None else data.get("target") or {}
        if data is None or target.get("kind") != "Job":
            return []
        key = Ref("Job", change.key.namespace, str(target.get("name")))
        self._commands.setdefault(key, []).append(change.key)
        if self.store.get(key) is None:
            return [key]
        self._say(key, "CommandIssued", f"Start to execute command {data.get('action')}, and clean it up")
        return self._ask(key, JobRequest("CommandIssued", action=str(data.get("action") or SYNC)))

    def _claim_changed(self, change: StoreChange) -> Iterable[Ref]:
        """If a volume claim was created, request a synchronisation of the Jobs with claims in its namespace."""
        if change.before is not None or change.after is None:
            return []
        jobs = [Ref("Job", change.key.namespace, job["metadata"]["name"]) for job in self._jobs(change.key.namespace)]
        return [key for one in jobs if self._job(one).job.claims for key in self._ask(one, SYNCHRONISE)]

    def _jobs(self, namespace: str) -> Iterable[Object]:
        return self.store.list("Job", namespace)

    # -----------------------------------------------------------------------------------------------------------------
    # what to do
    # -----------------------------------------------------------------------------------------------------------------

    def reconcile(self, key: Hashable) -> float | None:
        """Handle the oldest request of a Job, or a delayed action that has become due."""
        assert isinstance(key, Ref)
        self._delete_commands(key)
        stored = self.store.get(key)
        if stored is None or stored["metadata"].get("deletionTimestamp"):
            self._requests.drop(key)
            return None
        request = self._next_request(key)
        if request is not None:
            try:
                self._handle(key, stored, request)
            except BaseException:
                # The API server did not answer, others wrote at the same time, or Ctrl-C: the request is tried again.
                self._requests.put_back(key, request)
                raise
        return self._requests.next_time(key, self.clock.now)

    def _delete_commands(self, key: Ref) -> None:
        """Delete the commands for a Job, which have become requests."""
        for command in self._commands.get(key, ()):
            if self.store.get(command) is not None:
                self.store.delete(command)
        self._commands.pop(key, None)

    def _next_request(self, key: Ref) -> JobRequest | None:
        def acts(requests: Sequence[JobRequest]) -> Iterator[bool]:
            job, version = self._job(key).job, read_job_status(self.store.get(key) or {}).version
            return (answer_to(job, version, one).action != SYNC for one in requests)

        return self._requests.take(key, self.clock.now, acts)

    def _handle(self, key: Ref, stored: Object, request: JobRequest) -> None:
        read = self._job(key)
        group = self.store.get(_group_key(key, stored))
        claims = self.store.list("PersistentVolumeClaim", key.namespace) if read.job.claims else ()
        observed = Observed(
            status=read_job_status(stored),
            pods=tuple(self._pods.get(key, {}).values()),
            pod_group=None if group is None else GroupState.read(group),
            claims=frozenset(claim["metadata"]["name"] for claim in claims),
            delayed=self._requests.delayed(key),
            now=self.clock.stamp,
        )
        step = next_status(read.job, observed, request)
        self._requests.delay(key, step.delayed, self.clock.now)
        status = self._carry_out_all(key, read, step)
        if status is None:
            self._retry(key, stored, request)
            return
        self._requests.succeeded(key, request)
        before, after = observed.status.phase, status.phase
        if before != after:
            self._say(key, after, f"{_because(request)}{before or 'new'} → {after}")
        written = job_status_manifest(status)
        self.store.patch_status(key, {**dict.fromkeys(stored.get("status") or {}), **written})

    def _retry(self, key: Ref, stored: Object, request: JobRequest) -> None:
        """Plan a retry of a request that failed, or terminate the Job if none is left."""
        if self._requests.failed(key, request, self.clock.now):
            return
        self._say(key, "FailedSync", f"no success after {MOST_RETRIES} retries: the Job is terminated", warning=True)
        if request != _TERMINATE:
            self._handle(key, stored, _TERMINATE)

    def _carry_out_all(self, key: Ref, read: _KnownJob, step: NextStep) -> JobStatus | None:
        """Carry out the actions of a step; returns the status to write, or None if one of them failed."""
        status = step.status
        pods: list[Object] = []
        for action in step.actions:
            try:
                if isinstance(action, CreatePod):
                    # All pods are prepared before the first is created: none is created if a plugin refuses one.
                    pods = pods or [
                        self._made_pod(key, read, one) for one in step.actions if isinstance(one, CreatePod)
                    ]
                    self._create_pod(key, pods.pop(0))
                else:
                    status = self._carry_out(key, read, action, status)
            except (InputError, StoreError) as error:
                if isinstance(error, StoreError) and error.reason in ("Conflict", "NotFound"):
                    raise
                of_hooks = isinstance(action, RunHooks) and action.moment != "delete"
                text = f"Execute plugin when job add failed, err: {error}" if of_hooks else str(error)
                self._say(key, "PluginError" if of_hooks else "FailedSync", text, warning=True)
                return None
        return status

    def _carry_out(self, key: Ref, read: _KnownJob, action: Action, status: JobStatus) -> JobStatus:
        match action:
            case DeletePod():
                self._delete_pod(Ref("Pod", key.namespace, action.name))
            case KeepPodGroup():
                self._keep_group(key, read)
            case DeletePodGroup():
                group = _group_key(key, read.manifest)
                if self.store.get(group) is not None:
                    self.store.delete(group)
            case RunHooks():
                outcome = self._hooks(key, read, action)
                return replace(status, controlled_resources=outcome.controlled)
            case RecordEvent():
                self._say(key, action.reason, action.message, warning=True)
        return status

    def _made_pod(self, key: Ref, read: _KnownJob, action: CreatePod) -> Object:
        task = next(task for task in tasks_of(read.manifest) if task["name"] == action.task)
        # The status tells the version and the number of restarts, which the pod carries.
        job = {**read.manifest, "status": (self.store.get(key) or {}).get("status") or {}}
        pod = create_pod(job, task["template"], task, action.index)
        return dict(on_pod_create(pod, job, job["spec"]["plugins"]))

    def _create_pod(self, key: Ref, pod: Object) -> None:
        if self.store.get(Ref("Pod", key.namespace, pod["metadata"]["name"])) is None:
            self.store.create(pod)

    def _delete_pod(self, pod: Ref) -> None:
        if self.store.get(pod) is not None:
            self.store.patch(pod, {"metadata": {"annotations": {OUT_OF_SYNC_ANNOTATION: "true"}}})
            self.store.delete(pod)

    def _keep_group(self, key: Ref, read: _KnownJob) -> None:
        stored = self.store.get(_group_key(key, read.manifest))
        priorities = Priorities(_priority_classes(self.store))
        if stored is None:
            self.store.create(pod_group_manifest(pod_group_of_job(read.job, priorities)))
            return
        group = read_pod_group(stored)
        made = updated_pod_group(group, read.job, priorities)
        if made != group:
            self.store.update({**stored, "spec": {**stored["spec"], **pod_group_manifest(made)["spec"]}})

    def _hooks(self, key: Ref, read: _KnownJob, action: RunHooks) -> JobOutcome:
        job = {**read.manifest, "status": (self.store.get(key) or {}).get("status") or {}}
        plugins, stored = job["spec"]["plugins"], InNamespace(self.store, key.namespace)
        match action.moment:
            case "add":
                keys = self._ssh_keys() if "ssh" in plugins else PLACEHOLDER_KEYS
                outcome = on_job_add(job, plugins, stored, keys)
                self._create_claims(key, read)
            case "update":
                outcome = on_job_update(job, plugins, stored)
            case _:
                outcome = on_job_delete(job, plugins, stored)
        for one in outcome.actions:
            if one.verb == "create":
                self.store.create(one.manifest)
            elif one.verb == "update":
                self.store.update(one.manifest)
            else:
                self.store.delete(Ref(one.kind, key.namespace, one.name))
        return outcome

    def _create_claims(self, key: Ref, read: _KnownJob) -> None:
        for claim in claims_of(read.manifest):
            if self.store.get(Ref("PersistentVolumeClaim", key.namespace, claim["metadata"]["name"])) is None:
                self.store.create(claim)

    def _job(self, key: Ref) -> _KnownJob:
        """The Job as last read; read again only after its spec, labels or annotations changed."""
        stored = self.store.get(key)
        assert stored is not None
        known = self._read.get(key)
        if known is not None and _same_but_status(known.source, stored):
            return known
        read = _KnownJob(stored, as_stored(stored), read_job(stored))
        self._read[key] = read
        return read


def _job_of(change: StoreChange) -> Ref | None:
    """The Job that controls the changed object; None if none does."""
    owner = controller_of(change.after or change.before or {"metadata": {}})
    if owner is None or owner.get("kind") != "Job":
        return None
    return Ref("Job", change.key.namespace, str(owner.get("name") or ""))


def _group_key(key: Ref, job: Object) -> Ref:
    return Ref("PodGroup", key.namespace, f"{key.name}-{job['metadata']['uid']}")


def _same_but_status(one: Object, other: Object) -> bool:
    left, right = one["metadata"], other["metadata"]
    same = one["spec"] is other["spec"] and left["uid"] == right["uid"]
    return same and all(left.get(name) == right.get(name) for name in ("labels", "annotations"))


def _because(request: JobRequest) -> str:
    cause = request.action or ("" if request == SYNCHRONISE else request.event)
    return f"{cause}{f' of {request.pod}' if request.pod else ''}: " if cause else ""


def _priority_classes(store: Store) -> dict[str, PriorityClass]:
    return {one["metadata"]["name"]: read_priority_class(one) for one in store.list("PriorityClass")}
