"""The jobs of one session of Volcano, in their order, and what its actions share: the ledger and the queues.

Source: Volcano, plugins priority, gang and drf (the order of the jobs in a queue).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.model.arrays import Floats, Ints, Longs, Words
from workbench.model.explanation import Recorder, Recorders
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.placement import Placement, Refusal
from workbench.model.scheduler_config import SchedulerConfig
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.volcano.parts.plugins import enabled
from workbench.policies.volcano.session.policy import VolcanoPolicy
from workbench.policies.volcano.session.queues import Queues, dominant_share
from workbench.policies.volcano.session.rounds import Rounds

__all__ = ["SessionJob", "SessionState", "job_key"]


class SessionJob:
    """One gang in a session, with the state of its placement and the decision on it.

    `resources`: names of the snapshot's resource columns. `recorder`: receives the candidates that the job's rounds
    consider; None: no explanation is wanted.

    Attributes
    ----------
    rows : ndarray of shape (roles, r), int64
        Request of one pod of each role.
    allocated : ndarray of shape (r,), float64
        Resources of the job's pods, including those placed in this session.
    rounds : Rounds, optional
        The job's rounds; None before the first.
    declined : Declined, optional
        The reasons why the job gets nothing.
    answer : Assignment, optional
        The job's answer, set when its rounds are over.
    words : ndarray of shape (n_pods, w), uint64, optional
        GPUs of the job's pods, as bits; None: no pod has any.
    deals : int
        Number of rounds in which the job was given GPUs.
    left_out : tuple of Notice
        Why the job's queue gets no further round.
    result : Placement or Refusal, optional
        The result of a HyperJob, which is decided in one round; None: none yet, or another job.
    decided : int
        Position of the job's verdict (it may start or not) among all verdicts of the session; -1: none yet.
    """

    def __init__(self, gang: Gang, resources: tuple[str, ...], recorder: Recorder | None) -> None:
        self.gang = gang
        self.recorder = recorder
        self.rows: Longs = gang.rows_for(resources)[0]
        self.allocated: Floats = np.zeros(len(resources))
        self.ready = False
        self.rounds: Rounds | None = None
        self.declined: Declined | None = None
        self.answer: Assignment | None = None
        self.words: Words | None = None
        self.deals = 0
        self.left_out: tuple[Notice, ...] = ()
        self.result: Placement | Refusal | None = None
        self.decided = -1
        self.warnings: tuple[Notice, ...] = ()

    @property
    def pending(self) -> Longs:
        """Summed requests of the job's pending pods."""
        counts = np.array([role.count for role in self.gang.roles], dtype=np.int64)
        asked: Longs = counts @ self.rows
        return asked


class SessionState:
    """What the actions of one session share: its jobs, the ledger from which they take, the queues that count it.

    `whole`: the policy in whose name the decisions are given; chooses GPUs. `policy`: the node part of `whole`: places
    one job's pods in one round. `recorders`: by position in `gangs`, as in `Policy.schedule`. `ledger`: free resources
    of the nodes, without those of the pods placed so far in the session. `opened`: as `Request.opened`. `jobs`: in the
    order of the gangs. `queues`: what each queue holds and may still take.
    """

    def __init__(
        self,
        whole: Composed,
        policy: VolcanoPolicy,
        gangs: Sequence[Gang],
        snapshot: ClusterSnapshot,
        recorders: Recorders,
    ) -> None:
        self.whole, self.policy, self.snapshot = whole, policy, snapshot
        self.config = policy.config
        # The pre-filter of Volcano 1.15 counts resources of terminating pods as idle.
        self.ledger = (
            snapshot.ledger() if snapshot.releasing is None else snapshot.ledger().after_terminations(gone=False)
        )
        if any(gang.assumes for gang in gangs):
            # From the first round on, so that the kernels see the same columns in each.
            self.ledger.assume()
        self.opened = self.ledger.copy() if policy.scores_at_open else None
        self.jobs = [SessionJob(gang, snapshot.resources, recorders.get(i)) for i, gang in enumerate(gangs)]
        self._n_verdicts = 0
        requested: dict[str, Longs] = {}
        for job in self.jobs:
            requested[job.gang.queue] = requested.get(job.gang.queue, np.zeros(1, dtype=np.int64)) + job.pending
        self.queues = Queues(self.config, snapshot, requested)
        self._count_running()

    def _count_running(self) -> None:
        by_gang = {job.gang.key: job for job in self.jobs}
        by_gang |= {f"{job.gang.namespace}/{part.name}": job for job in self.jobs for part in job.gang.jobs}
        columns = {name: i for i, name in enumerate(self.snapshot.resources)}
        gangs = self.snapshot.running_index.gangs
        for key, job in by_gang.items():
            for pod in gangs.get(key, ()):
                for name, amount in pod.requests.items():
                    if name in columns:
                        job.allocated[columns[name]] += amount

    def by_name(self) -> list[SessionJob]:
        """The jobs in the order of their namespaces and names."""
        return sorted(self.jobs, key=lambda job: (job.gang.namespace.encode(), job.gang.name.encode()))

    def verdict(self, job: SessionJob) -> None:
        """Note that the decision on a job is now known: it may start, or it is declined."""
        job.decided = self._n_verdicts
        self._n_verdicts += 1

    def decline(self, job: SessionJob, why: Declined) -> None:
        """Give a job nothing in this session, for the reasons ``why``."""
        job.declined = why
        self.verdict(job)

    def key(self, i: int) -> tuple[object, ...]:
        """Sort key of a job, given by its position, in its queue; the first job has the smallest."""
        job = self.jobs[i]
        return (*job_key(self.config, job.gang, job.ready, job.allocated, self.queues.total), i)

    def request(self, job: SessionJob) -> Request:
        """Make the `Request` about a job on the nodes as they are now."""
        gpus = GpuQuestions(self.whole.gpu, self.ledger)
        return replace(self.policy.request(job.gang, self.ledger, gpus, job.recorder), opened=self.opened)

    def take(
        self, job: SessionJob, request: Request, node: Ints, pods: npt.NDArray[np.intp], words: Words | None
    ) -> None:
        """Take from ledger and queue what some pods of a job ask for.

        `node`: ndarray of shape (n_pods,), int32; node of each pod of the job. `pods`: ndarray of shape (p,), int64;
        the pods, by their positions in the gang. `words`: ndarray of shape (n_pods, w), uint64; GPUs of each pod, as
        bits; None: none.
        """
        roles = job.gang.role_of_pod[pods]
        self.ledger.take(node[pods], request.demand.taken[roles], None if words is None else words[pods])
        if words is not None:
            # New rows where GPUs of several rounds meet: the ledger keeps the old ones for its way back.
            job.words = words if job.words is None else job.words | words
        amount = self.queues.counted(request.demand.rows[roles].sum(axis=0))
        job.allocated += amount
        self.queues.take(job.gang.queue, amount)

    def give_back(self, job: SessionJob, request: Request, pods: npt.NDArray[np.intp]) -> None:
        """Return to ledger and queue what some pods of a job had taken.

        `pods`: ndarray of shape (p,), int64; the pods, by their positions in the gang.
        """
        assert job.answer is not None
        if len(pods) == 0:
            return
        roles = job.gang.role_of_pod[pods]
        words = None if job.words is None else job.words[pods]
        self.ledger.give_back(job.answer.node[pods], request.demand.taken[roles], words)
        amount = self.queues.counted(request.demand.rows[roles].sum(axis=0))
        job.allocated -= amount
        self.queues.take(job.gang.queue, -amount)

    def limits(
        self, gang: Gang, rows: Longs, counts: Sequence[int], whose: str = "the job asks", rest: str | None = None
    ) -> tuple[Notice, ...]:
        """Notices about each resource of which a queue may hold too little for some pods of a gang.

        `rows`: ndarray of shape (roles, r), int64; request of one pod of each role. `counts`: pods of each role.
        `whose`: who asks for the amount, with the verb. `rest`: end of the sentence instead.
        """
        asked = np.asarray(counts, dtype=np.int64) @ rows
        return tuple(
            limit.notice(amount, limit.asked_text(amount, whose) if rest is None else rest, sum(counts))
            for column, limit in self.queues.limits(gang.queue).items()
            if (amount := int(asked[column])) and amount > limit.limit - limit.used
        )


def job_key(config: SchedulerConfig, gang: Gang, ready: bool, allocated: Floats, total: Floats) -> tuple[object, ...]:
    """Sort key of a job: the configured plugins in their order, then age (older first), then ``namespace/name``.

    A job that was not created yet counts as younger than all others.

    `ready`: whether the job has its minAvailable; the plugin gang puts jobs that are not ready first. `allocated`,
    `total`: ndarray of shape (r,), float64; resources of the job and of the cluster; the plugin drf puts the smaller
    dominant share first.
    """
    key: list[object] = []
    for option in config.plugins:
        if not enabled(option, "JobOrder"):
            continue
        if option.name == "priority":
            key.append(-gang.priority)
        elif option.name == "gang":
            key.append(ready)
        elif option.name == "drf":
            key.append(dominant_share(allocated, total))
    return (*key, not gang.created, gang.created, gang.key.encode())
