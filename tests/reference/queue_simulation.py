"""The oracle of Kueue's open queues: every scheduling cycle on a cluster read anew, with plain lists of workloads.

Every pod of a job is needed, and nodes take what Kueue assigns to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from workbench.model.kueue_queues import QueuedWorkload, WorkloadAdmission
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.kueue.cycle.cluster import CycleCluster
from workbench.policies.kueue.cycle.turns import Fate, run_cycle
from workbench.policies.kueue.query import Gates
from workbench.policies.kueue.queued.reading import read_cluster
from workbench.simulate import SimulatedJob

__all__ = ["QueueOracle"]

#: What workloads that are parked together have in common.
Like = tuple[object, ...]


def like(workload: QueuedWorkload) -> Like:
    """Queue, priority and pod sets of a workload."""
    sets = [(each.name, each.count, sorted(each.requests.items()), each.topology) for each in workload.pod_sets]
    return workload.cluster_queue, workload.priority, str(sets)


@dataclass
class QueueOracle:
    """Jobs in ClusterQueues.

    Attributes
    ----------
    snapshot : ClusterSnapshot
    jobs : sequence of SimulatedJob
    attempts : list of (int, float, float, tuple of str)
        Number of the job, start, end and the node of each pod, in the order of starts.
    """

    snapshot: ClusterSnapshot
    jobs: Sequence[SimulatedJob]
    attempts: list[tuple[int, float, float, tuple[str, ...]]] = field(default_factory=list)
    _waiting: dict[str, QueuedWorkload] = field(default_factory=dict)
    _parked: set[str] = field(default_factory=set)
    _hopeless: set[Like] = field(default_factory=set)
    _for_nodes: set[Like] = field(default_factory=set)
    _tried: dict[str, object] = field(default_factory=dict)
    # By key: the workload with its admission, and when it ends.
    _running: dict[str, tuple[QueuedWorkload, float]] = field(default_factory=dict)
    _starts: dict[str, tuple[float, tuple[str, ...]]] = field(default_factory=dict)
    _evicted: dict[str, float] = field(default_factory=dict)

    def run(self) -> list[tuple[int, float, float, tuple[str, ...]]]:
        """Let all jobs arrive, run and end; returns `attempts`."""
        numbers = sorted(range(len(self.jobs)), key=lambda i: (self.jobs[i].submitted_s, i))
        self._place_of = {self.jobs[i].gang.key: place for place, i in enumerate(numbers)}
        self._number = {job.gang.key: i for i, job in enumerate(self.jobs)}
        arriving = [self.jobs[i] for i in numbers]
        while arriving or self._running:
            times = [job.submitted_s for job in arriving[:1]] + [end for _, end in self._running.values()]
            now = min(times)
            for key in [key for key, (_, end) in self._running.items() if end == now]:
                self._end(key, now)
            while arriving and arriving[0].submitted_s == now:
                self._arrive(arriving.pop(0).gang.key)
            while self._cycles(now):
                pass
        return sorted(self.attempts, key=lambda one: (one[1], one[0]))

    def _arrive(self, key: str) -> None:
        gang = self.jobs[self._number[key]].gang
        workload = read_cluster(self.snapshot, Gates()).workload(gang, self._place_of[key])
        self._waiting[key] = workload
        if like(workload) in self._hopeless:
            self._parked.add(key)

    def _end(self, key: str, now: float) -> None:
        workload, _ = self._running.pop(key)
        start, nodes = self._starts.pop(key)
        self.attempts.append((self._number[key], start, now, nodes))
        cohorts = {queue.spec.name: queue.spec.cohort or queue.spec.name for queue in self._cluster().queues.values()}
        tree = cohorts[workload.cluster_queue]
        self._hopeless = {
            each for each in self._hopeless if cohorts[str(each[0])] != tree and each not in self._for_nodes
        }
        self._parked = {each for each in self._parked if like(self._waiting[each]) in self._hopeless}
        self._for_nodes.clear()

    def _cluster(self) -> CycleCluster:
        cluster = read_cluster(self.snapshot, Gates()).cluster
        for workload, _ in self._running.values():
            holding = cluster.holding(workload)
            assert holding is not None
            cluster.hold(holding)
        return cluster

    def _cycles(self, now: float) -> bool:
        """Cycles until they bring nothing more; whether jobs were stopped for others, so that they go on."""
        before: list[object] = []
        while True:
            heads: dict[str, QueuedWorkload] = {}
            for key in sorted(self._waiting.keys() - self._parked, key=self._order):
                heads.setdefault(self._waiting[key].cluster_queue, self._waiting[key])
            if not heads:
                return False
            turns = run_cycle(self._cluster(), [heads[name] for name in sorted(heads)], self._tried)
            victims = sorted({key for turn in turns for key in turn.victims})
            for turn in turns:
                key = turn.workload.key
                self._tried[key] = turn.tried
                if turn.admission is not None:
                    self._start(key, turn.admission, now)
                elif turn.fate is Fate.PARKED:
                    self._parked.add(key)
                    self._hopeless.add(like(turn.workload))
                    if turn.for_nodes:
                        self._for_nodes.add(like(turn.workload))
                    same = [each for each, other in self._waiting.items() if like(other) == like(turn.workload)]
                    self._parked.update(same)
            if victims:
                return self._evict(victims, now)
            state = [(turn.workload.key, str(turn.tried)) for turn in turns]
            if any(turn.fate is not Fate.REQUEUED for turn in turns):
                before.clear()
            elif state in before:
                return False
            else:
                before.append(state)

    def _order(self, key: str) -> tuple[int, float, str]:
        workload = self._waiting[key]
        return -workload.priority, workload.created or 0.0, key

    def _start(self, key: str, admission: WorkloadAdmission, now: float) -> None:
        workload = replace(self._waiting.pop(key), admission=admission, reserved_at=now)
        self._tried.pop(key)
        self._running[key] = workload, now + self.jobs[self._number[key]].duration_s
        domains = [each.assignment.domains for each in admission.pod_sets if each.assignment is not None]
        hosts = tuple(values[-1] for some in domains for values, count in some for _ in range(count))
        self._starts[key] = now, hosts

    def _evict(self, victims: Sequence[str], now: float) -> bool:
        if any(self._evicted.get(key, -1.0) >= now for key in victims):
            return False
        for key in victims:
            self._evicted[key] = now
            self._end(key, now)
            self._arrive(key)
        return True
