"""`EmbeddedCluster`: a whole cluster in one process, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import EllipsisType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson

from workbench.control.admission import Webhooks
from workbench.control.breakage import close_nodes, evict_from, fail_gpu, lose_nodes, nodes_at, pods_on_gpu
from workbench.control.event_log import EventLog, LogLine
from workbench.control.kinds import Ref, key_of
from workbench.control.kubelets import Behaviour, Kubelets
from workbench.control.life_views import JobView, LifeTimeline, PodView, job_view, pod_view, timeline_of
from workbench.control.manager import Manager
from workbench.control.memory_store import MemoryStore
from workbench.control.reconcilers.discovery import Discovery
from workbench.control.reconcilers.garbage import GarbageCollector
from workbench.control.reconcilers.hyper_jobs import HyperJobReconciler
from workbench.control.reconcilers.jobs import JobReconciler
from workbench.control.reconcilers.pod_groups import PodGroupReconciler
from workbench.control.reconcilers.replicas import ReplicaReconciler
from workbench.control.reconcilers.statuses import FinishedJobs, HyperNodeStatus, QueueStatus
from workbench.control.saved import SavedCluster, read_saved_file, saved_data
from workbench.control.scheduler import Scheduler
from workbench.control.submission import documents_of, in_order, is_kueue_file, unfollowed, write_object
from workbench.control.views import JobRow, PodRow, job_rows, jobs_of_groups, pod_rows
from workbench.errors import InputError, StoreError, UnknownNameError
from workbench.formats.manifests import Document
from workbench.formats.mend import mended_documents
from workbench.formats.whole_file import write_whole
from workbench.jobs.before_submission import job_notices, unread_notices_of
from workbench.jobs.frameworks.contract import PLACEHOLDER_KEYS, SshKeys
from workbench.model.clock import VirtualClock
from workbench.model.display import Displayed
from workbench.model.no_collection import no_collection
from workbench.model.notice import Notice
from workbench.model.placement import Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Working
from workbench.policies.contract import Policy
from workbench.policies.registry import as_policy

__all__ = ["EmbeddedCluster"]

#: Options to write parameters of any kind in one order.
_ANY_KEYS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY
T = TypeVar("T")


class _CallStart(NamedTuple):
    """The cluster at the beginning of a call that is not finished."""

    version: int
    now: float
    lines: int
    warnings: int
    #: State of the random generator that orders the controllers.
    order: Any


class _Undo(NamedTuple):
    """What undoing a call takes: one value, because an interrupt may come between two assignments."""

    #: The last settled instant, without objects and log, which the store and the event log keep.
    settled: SavedCluster
    #: The call at hand; None between two calls.
    begun: _CallStart | None


class EmbeddedCluster(Working, Displayed):
    """A cluster of Volcano in this process: objects, admission, controllers, a scheduler and fake kubelets.

    Time is virtual: it passes in `run` only, from one event to the next. The same calls give the same objects.

    Parameters
    ----------
    policy : str or Policy
        The scheduler: a name as ``workbench policies`` lists them, or a policy.
    start_seconds, run_seconds : float, optional
        Seconds from the binding of a pod until it runs, and seconds that it then runs; ``run_seconds=None``: it runs
        until it is deleted. A pod's annotations take precedence: ``topology-workbench/start-seconds``,
        ``topology-workbench/run-seconds`` and ``topology-workbench/exit-code``.
    ssh_keys : SshKeys
        The SSH keys of Jobs with the plugin ssh whose arguments contain none; by default a placeholder that no sshd
        accepts.
    order : numpy.random.Generator, optional
        Draws at random which controller works next, because a real cluster promises no order; None: work is done in
        the order in which it arises.

    Examples
    --------
    >>> import workbench as wb
    >>> cluster = wb.EmbeddedCluster("volcano-1.15", run_seconds=60)
    >>> cluster.now
    0.0
    """

    # A call is all or nothing (`_whole`): it changes a store whose changes can be undone, and after an exception new
    # controllers start on the objects as they were before (`_recover`).
    #   start      controllers, kubelets and the scheduler on the stored objects, with what a saved cluster remembers
    #   submit, delete, fail, lose …   change objects, each followed by `settle`: until nothing is left to do now
    #   run, advance   let time pass to the next event, and settle
    #   save, resume   objects, log and what controllers remember, to a file and from one

    def __init__(
        self,
        policy: str | Policy = "volcano",
        *,
        start_seconds: float = 0.0,
        run_seconds: float | None = None,
        ssh_keys: SshKeys = PLACEHOLDER_KEYS,
        order: np.random.Generator | None = None,
    ) -> None:
        self._policy = as_policy(policy)
        self._behaviour = Behaviour(start_seconds, run_seconds)
        self._ssh_keys = ssh_keys
        self._order = order
        self._make()
        self._go_on(SavedCluster(0.0, 0))

    def _make(self) -> None:
        self._clock = VirtualClock()
        self._admission = Webhooks()
        self.store = MemoryStore(self._clock, self._admission)
        self._log = EventLog()
        self._at_work = False

    def _as_saved(self) -> SavedCluster:
        def saved() -> SavedCluster:
            self._manager.listen()
            settled = self._undo.settled
            rested_at = settled.now if settled.version == self.store.version else None
            whole = replace(self._controllers(), rested_at=rested_at, objects=self.store.contents())
            return replace(whole, log=tuple(self._log.lines))

        return self._whole(saved)

    def _controllers(self) -> SavedCluster:
        """What a saved cluster holds besides objects and log."""
        return SavedCluster(
            self.now,
            self.store.version,
            waiting=self._jobs.waiting,
            requests=self._jobs.requests,
            ends=self._kubelets.ends,
            records=self._scheduler.records,
            former=self._scheduler.former,
            start_seconds=self._behaviour.start_seconds,
            run_seconds=self._behaviour.run_seconds,
            session_due=self._scheduler.session_due,
            policy=_described(self._policy),
        )

    def _go_on(self, saved: SavedCluster) -> None:
        """Take over the state of a saved cluster, and start new controllers on its objects."""
        self._clock.now = saved.now
        self.store.replace_all(saved.objects, saved.version)
        self._log.restore(saved.log)
        self._start(saved)
        self._undo = _Undo(replace(saved, objects=(), log=()), None)
        if saved.rested_at is not None and not self._scheduler.session_due:
            # New controllers look at every object once. They do so at the time at which there was nothing to do, so
            # that what is due now is done in the order in which it fell due.
            self._clock.now = min(saved.rested_at, saved.now)
            self.settle()
            self._clock.now = saved.now

    def _whole(self, work: Callable[[], T], *, settles: bool = False) -> T:
        """Do some work on the cluster as a whole, or, after any exception and after Ctrl-C, not at all.

        `settles`: after the work the cluster is settled, and nothing needs to be remembered of what was before. Work
        that a policy does on the cluster in the middle of other work is part of that.
        """
        if self._at_work:
            return work()
        self._recover()
        settled = self._undo.settled
        order = None if self._order is None else self._order.bit_generator.state
        begun = _CallStart(self.store.version, self.now, len(self._log.lines), len(self._admission.warnings), order)
        self._undo = _Undo(settled, begun)
        try:
            self._at_work = True
            result = work()
            self._undo = _Undo(self._controllers() if settles else settled, None)
            return result
        except BaseException:
            self._recover()
            raise
        finally:
            self._at_work = False

    def _recover(self) -> None:
        """Return to the beginning of a call that was broken off.

        The controllers remember what the broken-off call made them do. So new ones start from the last settled instant,
        and are told what happened between that and the call.
        """
        settled, begun = self._undo
        if begun is None:
            return
        self.store.rewind(begun.version)
        del self._log.lines[begun.lines :], self._admission.warnings[begun.warnings :]
        self._log.restore(list(self._log.lines))
        if self._order is not None:
            self._order.bit_generator.state = begun.order
        self._clock.now = begun.now
        untold = self.store.rewind(settled.version)
        self._start(settled)
        self.store.redo(untold)
        self._undo = _Undo(settled, None)

    def _start(self, saved: SavedCluster) -> None:
        """Start new controllers on the stored objects, with what those of a saved cluster remembered."""
        parts = (self.store, self._clock, self._log)
        self._jobs = JobReconciler(*parts, lambda: self._ssh_keys, saved.waiting, saved.requests)
        self._kubelets = Kubelets(*parts, self._behaviour, saved.ends)
        self._scheduler = Scheduler(*parts, self._policy, saved.records, former=saved.former)
        others = (
            HyperJobReconciler,
            PodGroupReconciler,
            ReplicaReconciler,
            QueueStatus,
            HyperNodeStatus,
            Discovery,
            FinishedJobs,
        )
        # What pods do at one moment they do before a controller looks. Garbage is collected first, lest a new Job finds
        # the Service of a deleted one with its name and loses it a moment later. The scheduler sees a cluster at rest.
        made = [one(*parts) for one in others]
        for one in made:
            if isinstance(one, HyperNodeStatus):
                one.counts_all_nodes = self._policy.traits.counts_all_nodes
        controllers = (*made, self._jobs)
        stages = ((self._kubelets,), (GarbageCollector(*parts),), controllers, (self._scheduler,))
        self._manager = Manager(self.store, self._clock, stages, self._order)
        if saved.version:
            self._scheduler.go_on(session_due=saved.session_due or saved.policy != _described(self._policy))

    def _kept(self) -> dict[str, Any]:
        names = ("_policy", "_behaviour", "_ssh_keys", "_order")
        kept = {name: getattr(self, name) for name in names}
        return {**kept, "_saved": self._as_saved(), "_warnings": tuple(self._admission.warnings)}

    def _derive(self) -> None:
        saved, warnings = self.__dict__.pop("_saved"), self.__dict__.pop("_warnings")
        self._make()
        self._admission.warnings += warnings
        self._go_on(saved)

    @property
    def now(self) -> float:
        """Seconds since the start of the cluster."""
        return self._clock.now

    @property
    def log(self) -> Sequence[LogLine]:
        """Lines of the cluster's log, oldest first."""
        return tuple(self._log.lines)

    @property
    def warnings(self) -> Sequence[tuple[Ref, Notice]]:
        """Warnings about what admission accepted although it has no effect or will cause trouble, oldest first."""
        return tuple(self._admission.warnings)

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster at the present time with the pods that run, for `workbench.place`, `compare` and pictures."""

        def observed() -> ClusterSnapshot:
            self._manager.listen()
            return self._scheduler.snapshot

        return self._whole(observed)

    def jobs(self) -> list[JobRow]:
        """The Jobs, and the PodGroups of pods without one; ``pandas.DataFrame(cluster.jobs())`` is a table."""
        return job_rows(self.store, self.snapshot.topology)

    def refusals(self) -> dict[str, Refusal]:
        """What the scheduler said in its last session of each job that it did not place.

        Keys are the ``namespace/name`` of the Job, or of the PodGroup of pods without one, as in the rows of `jobs`.
        All Jobs of a HyperJob share one refusal. A job that was not admitted to its queue has none.
        """
        names = jobs_of_groups(self.store)
        found: dict[str, Refusal] = {}
        for decision in self._scheduler.decisions:
            gang, result = decision.gang, decision.result
            if isinstance(result, Refusal):
                members = [f"{gang.namespace}/{job.name}" for job in gang.jobs if job.gang is not None]
                found |= dict.fromkeys(members or [names.get(gang.key, gang.key)], result)
        return found

    def pods(self) -> list[PodRow]:
        """The pods with their nodes, GPUs and environment; ``pandas.DataFrame(cluster.pods())`` is a table."""
        return pod_rows(self.store)

    def job(self, name: str, namespace: str = "default") -> JobView:
        """One Job with its pods, conditions and events; a notebook shows it as tables.

        `name`: name of a Job, or of a PodGroup of pods without a Job. Raises UnknownNameError: there is none of that
        name.
        """
        return job_view(self.store, self.jobs(), self.pods(), self.log, Ref("Job", namespace, name))

    def pod(self, name: str, namespace: str = "default") -> PodView:
        """One pod beside the template that was submitted; a notebook shows the difference.

        Raises UnknownNameError: there is none of that name.
        """
        return pod_view(self.store, self.pods(), self.log, Ref("Pod", namespace, name))

    def timeline(self) -> LifeTimeline:
        """The phases of all Jobs over time with their warnings; a notebook draws them."""
        groups: dict[Ref, Ref] = {}
        for job in self.store.list("Job"):
            metadata = job["metadata"]
            group = Ref("PodGroup", metadata["namespace"], f"{metadata['name']}-{metadata['uid']}")
            groups[group] = key_of(job)
        for pod in self.pods():
            known = groups.get(Ref("PodGroup", pod.namespace, pod.group))
            if known is not None:
                groups[Ref("Pod", pod.namespace, pod.name)] = known
        return timeline_of(self.log, groups, self.now)

    def submit(self, *sources: str | Path | Mapping[str, Any]) -> list[Ref]:
        """Submit manifests: all of them, or, if one is refused, none.

        Returns identities of the objects in their order. Raises InputError: a source cannot be read, or an object is
        refused; file and document are named.

        `sources`: files and folders, YAML or JSON as text of more than one line, or parsed manifests. Objects that
        another cluster stored (metadata.uid or resourceVersion), such as running pods, are taken over as they are;
        others are created, or replace the object of their name.
        """
        return self.submit_documents(
            [document for number, source in enumerate(sources) for document in documents_of(source, number)]
        )

    def submit_documents(self, written: Sequence[Document]) -> list[Ref]:
        """Submit manifests that were read from files: all of them, or, if one is refused, none.

        Raises InputError: as `submit`.
        """
        mended = mended_documents(written)
        ordered = in_order([document for document, _ in mended])
        not_followed = [one for document, _ in mended for one in unfollowed(document)]
        ordered = [document for document in ordered if not is_kueue_file(document)]
        kept = len(self._admission.warnings)

        def write_all() -> None:
            for document in ordered:
                try:
                    write_object(self.store, document.data)
                except StoreError as error:
                    raise InputError(str(error), source=document.source, where=document.where) from None
            self._admission.warnings[kept:kept] = [
                (key_of(document.data), notice)
                for document, notices in mended
                for notice in (*notices, *job_notices(document.data), *unread_notices_of(document.data))
            ] + not_followed

        self._whole(write_all)
        return [key_of(document.data) for document, _ in mended if not is_kueue_file(document)]

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        """Delete an object and, in time, what it owns.

        `namespace`: ignored for a cluster-scoped kind, such as Node. Raises StoreError: there is no such object.
        """
        key = Ref(kind, namespace, name)
        self.store.delete(key if self.store.get(key) is not None else Ref(kind, "", name))

    def save(self, path: str | Path, *, known: bytes | EllipsisType | None = ...) -> None:
        """Write the state of the cluster to a file, from which `resume` continues.

        `path`: JSON; replaced as a whole, or not at all. `known`: content that the file must still have (None: there
        must be no file), lest the work of another process be lost; left out: whatever is there is replaced. Raises
        InputError: the file cannot be written, or is not as `known` any more.
        """
        data = saved_data(self._as_saved())
        content = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        write_whole(path, content, known=known)

    def resume(self, path: str | Path) -> None:
        """Replace the state of this cluster by one that `save` wrote to a file, and continue from there.

        The saved start_seconds and run_seconds hold, unless this cluster was made with values of its own.

        Raises InputError: no such file, or one that `save` did not write; this cluster is then unchanged.
        """
        saved = read_saved_file(path)
        self._admission.warnings.clear()
        if self._behaviour == Behaviour():
            self._behaviour = Behaviour(saved.start_seconds, saved.run_seconds)
        self._go_on(saved)

    def fail(self, pod: str, namespace: str = "default", exit_code: int = 1) -> None:
        """Let a pod fail at the present time.

        Raises UnknownNameError: no running pod has that name.

        Parameters
        ----------
        pod, namespace
        exit_code : int
            Exit code of its containers; 0: the pod succeeds.
        """
        running = [row for row in self.pods() if row.phase == "Running" and row.namespace == namespace]
        if all(row.name != pod for row in running):
            raise UnknownNameError("running pod", pod, [row.name for row in running])
        self._whole(lambda: self._kubelets.finish(Ref("Pod", namespace, pod), exit_code))

    def lose(self, place: str) -> None:
        """Delete a Node, or every Node of a HyperNode, at the present time; their pods are gone with them.

        `place`: name of a node or a HyperNode. Raises UnknownNameError: neither a node nor a HyperNode has the name.
        """
        self._whole(lambda: lose_nodes(self.store, self._nodes_at(place)))

    def not_ready(self, place: str) -> None:
        """Let a node, or every node of a HyperNode, not be ready: its pods go on, and it takes no new ones.

        `place`: name of a node or a HyperNode. Raises UnknownNameError: neither a node nor a HyperNode has the name.
        """
        self._whole(lambda: close_nodes(self.store, self._log, self.now, self._nodes_at(place)))

    def fail_node(self, place: str) -> None:
        """Let a node, or every node of a HyperNode, fail: it is not ready any more, and its pods are gone.

        `place`: name of a node or a HyperNode. Raises UnknownNameError: neither a node nor a HyperNode has the name.
        """

        def fail() -> None:
            names = self._nodes_at(place)
            close_nodes(self.store, self._log, self.now, names)
            evict_from(self.store, self._log, self.now, names)

        self._whole(fail)

    def fail_gpu(self, place: str, gpu: int) -> None:
        """Let a GPU or NPU of a node, or of every node of a HyperNode, fail: no pod gets it, and those on it fail.

        `place`: name of a node or a HyperNode. `gpu`: number of the GPU on its host, from 0. Raises UnknownNameError:
        neither a node nor a HyperNode has the name; InputError: a node has no healthy GPU of that number.
        """

        def fail() -> None:
            snapshot = self.snapshot
            for node in self._nodes_at(place):
                fail_gpu(self.store, snapshot, node, gpu)
                self._log.say(self.now, Ref("Node", "", node), "FaultyGpu", f"GPU {gpu} failed", warning=True)
                for pod in pods_on_gpu(self.store, node, gpu):
                    self._kubelets.finish(pod, 1)

        self._whole(fail)

    def _nodes_at(self, place: str) -> list[str]:
        return nodes_at(self.store, self.snapshot.topology, place)

    def settle(self) -> None:
        """Let controllers, kubelets and the scheduler work until nothing is left to do at the present time.

        An exception, such as one of the policy, and Ctrl-C leave the cluster as it was before the call.
        """
        # Objects are made by the hundred thousand and stay: without this "control.run" of benchmarks/bench_control.py
        # takes 1.3 times as long.
        with no_collection():
            self._whole(self._manager.settle, settles=True)
            self.store.forget(self._undo.settled.version)

    def run(self, until: float | None = None) -> None:
        """Let virtual time pass, and everything happen that falls due.

        `until`: time to stop at, in seconds since the start; None: stop when no further event is planned.

        Notes
        -----
        What happens at one time happens as a whole: after an exception or Ctrl-C the cluster is as it was before the
        time at hand, and a further call goes on from there as if nothing had been.
        """
        while self.advance(until):
            pass

    def advance(self, until: float | None = None) -> bool:
        """Settle the cluster, then set the clock to the time of the next event.

        Returns False if no event is due by `until`, to which the clock is then set. None: there is no limit.
        """
        self.settle()
        timer = self._manager.next_timer
        if timer is None or (until is not None and timer > until):
            if until is not None:
                self._clock.now = max(self._clock.now, float(until))
            return False
        self._clock.now = max(self._clock.now, timer)
        return True


def _described(policy: Policy) -> str:
    """The name and the parameters of a policy, to tell whether another one would decide alike."""
    return f"{policy.name} {orjson.dumps(dict(policy.parameters), option=_ANY_KEYS, default=str).decode()}"
