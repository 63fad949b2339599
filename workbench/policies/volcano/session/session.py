"""One scheduling session of Volcano: the configured actions, applied to a list of jobs.

::

    enqueue    which waiting jobs are admitted
    allocate   the first queue, its first job, one round; the job goes back with what it still wants, the queue too
    backfill   pods without a request, by the scores of nodes; no topology restricts them

Where upstream leaves an order open (map order, time of creation, random) the smaller name comes first. Nothing is
evicted. A job that waits for terminating pods has its resources reserved until the session ends (`pipelined`).

Source: Volcano, actions enqueue, allocate, backfill (docs/reference/volcano-topology.md, section 5).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.model.arrays import Floats, Ints, Longs, Words
from workbench.model.counted import counted
from workbench.model.explanation import Recorder, Recorders
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.node_policy import place_best_effort
from workbench.policies.reasons import cannot_start, fractional_gpus, gang_untried, gpus_unserved
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.volcano.parts.job_parts import JobProgress
from workbench.policies.volcano.session.enqueue import Admission, min_resources
from workbench.policies.volcano.session.job_order import job_key
from workbench.policies.volcano.session.pipelined import Waiting, waiting
from workbench.policies.volcano.session.policy import VolcanoPolicy
from workbench.policies.volcano.session.queue_limits import counts_needed
from workbench.policies.volcano.session.queues import QueueHeadroom, Queues
from workbench.policies.volcano.session.rounds import Rounds, within_queue

__all__ = ["Session"]


class _Job:
    """One gang in a session, with the state of its placement and the decision on it.

    Attributes
    ----------
    rows : ndarray of shape (roles, r), int64
        Request of one pod of each role.
    allocated : ndarray of shape (r,), float64
        Resources of the job's pods, including those placed in this session.
    recorder : Recorder, optional
        Receives the candidates that the job's rounds consider; None: no explanation is wanted.
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


class Session:
    """One scheduling session of Volcano over all gangs; nothing of it is kept afterwards.

    Parameters
    ----------
    whole : Composed
        The policy in whose name the decisions are given; chooses GPUs.
    policy : VolcanoPolicy
        The node part of `whole`: places one job's pods in one round.
    recorders : mapping of int to Recorder
        By position in `gangs`, as in `Policy.schedule`.
    """

    def __init__(
        self,
        whole: Composed,
        policy: VolcanoPolicy,
        gangs: Sequence[Gang],
        snapshot: ClusterSnapshot,
        recorders: Recorders,
    ) -> None:
        self._whole, self._policy, self._snapshot = whole, policy, snapshot
        self._config = policy.config
        # The pre-filter of Volcano 1.15 counts resources of terminating pods as idle.
        self._ledger = (
            snapshot.ledger() if snapshot.releasing is None else snapshot.ledger().after_terminations(gone=False)
        )
        if any(gang.assumes for gang in gangs):
            # From the first round on, so that the kernels see the same columns in each.
            self._ledger.assume()
        self._opened = self._ledger.copy() if policy.scores_at_open else None
        self._jobs = [_Job(gang, snapshot.resources, recorders.get(i)) for i, gang in enumerate(gangs)]
        self._n_verdicts = 0
        requested: dict[str, Longs] = {}
        for job in self._jobs:
            requested[job.gang.queue] = requested.get(job.gang.queue, np.zeros(1, dtype=np.int64)) + job.pending
        self._queues = Queues(self._config, snapshot, requested)
        self._count_running()

    def run(self) -> list[Decision]:
        """Run all actions of the session in their order.

        Returns
        -------
        list of Decision
            In the order of the gangs. `Decision.turn` is the round in which the job became ready or was declined.
        """
        admitted = self._admitted_before()
        for action in self._config.actions:
            if action == "enqueue":
                admitted |= self._enqueue([i for i in range(len(self._jobs)) if i not in admitted])
            elif action == "allocate":
                self._allocate([i for i in range(len(self._jobs)) if i in admitted])
            elif action == "backfill":
                self._backfill()
        if "backfill" not in self._config.actions:
            self._leave_out_best_effort()
        for job in self._by_name():
            # No action decided on it.
            if job.decided < 0:
                self._verdict(job)
        turn = {decided: place for place, decided in enumerate(sorted(job.decided for job in self._jobs))}
        return [Decision(job.gang, self._result(job), turn=turn[job.decided]) for job in self._jobs]

    def admit(self) -> list[Notice | None]:
        """Run the action enqueue alone.

        Returns
        -------
        list of Notice or None
            In the order of the gangs: why a job must wait; None if it is admitted now or was admitted before. If the
            configuration lacks the action, every job is admitted.
        """
        before = self._admitted_before()
        self._enqueue([i for i in range(len(self._jobs)) if i not in before])
        return [None if job.declined is None else job.declined.reasons[0] for job in self._jobs]

    def _admitted_before(self) -> set[int]:
        """Positions of the jobs that need no admission in this session."""
        if "enqueue" not in self._config.actions:
            return set(range(len(self._jobs)))
        return {i for i, job in enumerate(self._jobs) if job.gang.ready or job.gang.extra(VolcanoMemory).inqueue}

    def _by_name(self) -> list[_Job]:
        return sorted(self._jobs, key=lambda job: (job.gang.namespace.encode(), job.gang.name.encode()))

    def _verdict(self, job: _Job) -> None:
        """Note that the decision on a job is now known: it may start, or it is declined."""
        job.decided = self._n_verdicts
        self._n_verdicts += 1

    def _decline(self, job: _Job, why: Declined) -> None:
        job.declined = why
        self._verdict(job)

    def _count_running(self) -> None:
        by_gang = {job.gang.key: job for job in self._jobs}
        by_gang |= {f"{job.gang.namespace}/{part.name}": job for job in self._jobs for part in job.gang.jobs}
        columns = {name: i for i, name in enumerate(self._snapshot.resources)}
        gangs = self._snapshot.running_index.gangs
        for key, job in by_gang.items():
            for pod in gangs.get(key, ()):
                for name, amount in pod.requests.items():
                    if name in columns:
                        job.allocated[columns[name]] += amount

    def _key(self, i: int) -> tuple[object, ...]:
        job = self._jobs[i]
        return (*job_key(self._config, job.gang, job.ready, job.allocated, self._queues.total), i)

    def _request(self, job: _Job) -> Request:
        gpus = GpuQuestions(self._whole.gpu, self._ledger)
        return replace(self._policy.request(job.gang, self._ledger, gpus, job.recorder), opened=self._opened)

    # -----------------------------------------------------------------------------------------------------------------
    # enqueue
    # -----------------------------------------------------------------------------------------------------------------

    def _enqueue(self, waiting: Sequence[int]) -> set[int]:
        admission = Admission(self._config, self._snapshot, self._queues)

        def minimum(i: int) -> Floats | None:
            found = min_resources(self._jobs[i].gang, self._snapshot.resources)
            return None if found is None else self._queues.counted(found)

        for i, job in enumerate(self._jobs):
            if job.allocated.any():
                held, least = self._queues.counted(job.allocated), minimum(i)
                # A job without minResources could give all of it back.
                self._queues.beyond_minimum(job.gang.queue, held if least is None else np.maximum(held - least, 0.0))
            # What a job that runs in part still lacks is not counted.
            if job.gang.extra(VolcanoMemory).inqueue and not job.gang.ready and (asked := minimum(i)) is not None:
                admission.count(job.gang, asked)
        refused = admission.run(waiting, [job.gang for job in self._jobs], minimum, self._key)
        for i, why in refused.items():
            self._decline(self._jobs[i], Declined((why,)))
        return set(waiting) - refused.keys()

    # -----------------------------------------------------------------------------------------------------------------
    # allocate
    # -----------------------------------------------------------------------------------------------------------------

    def _allocate(self, admitted: Sequence[int]) -> None:
        waiting: dict[str, list[tuple[tuple[object, ...], int]]] = {}
        n_waiting = 0
        for i in admitted:
            job = self._jobs[i]
            request = self._request(job)
            progress = request.progress()
            job.ready = progress.counted >= progress.min_available
            if job.gang.shares_gpus:
                self._decline(job, Declined((fractional_gpus(self._whole.name, job.gang),)))
                continue
            if never := cannot_start(request.gang, progress, sub_groups=self._policy.traits.sub_groups):
                self._decline(job, Declined(never))
                continue
            if job.gang.jobs:
                heapq.heappush(waiting.setdefault(job.gang.queue, []), (self._key(i), i))
                n_waiting += 1
                continue
            if not request.demand.order:
                job.answer = Assignment(np.full(job.gang.n_pods, -1, dtype=np.int32))
                continue
            job.rounds = self._policy.rounds(request)
            if job.rounds.over:
                continue
            heapq.heappush(waiting.setdefault(job.gang.queue, []), (self._key(i), i))
            n_waiting += 1
        while waiting:
            name = min(waiting, key=self._queues.order)
            if self._queues.overused(name):
                n_waiting -= self._drop(waiting.pop(name), self._queues.why_overused(name))
                continue
            _, i = heapq.heappop(waiting[name])
            n_waiting -= 1
            job = self._jobs[i]
            if job.gang.jobs:
                self._place_hyper_job(job)
                if not waiting[name]:
                    del waiting[name]
                continue
            assert job.rounds is not None
            self._round(job, job.rounds, every=n_waiting == 0)
            if job.decided < 0 and (job.rounds.over or job.rounds.progress.ready):
                self._verdict(job)
            if job.rounds.blocks_queue:
                text = f"queue {name} waits: {job.gang.key} came first and the network topology is not ready"
                n_waiting -= self._drop(waiting.pop(name), Notice("queue-waits", text, f"queue {name}"))
                continue
            if not job.rounds.over:
                heapq.heappush(waiting[name], (self._key(i), i))
                n_waiting += 1
            if not waiting[name]:
                del waiting[name]
        for job in self._by_name():
            if job.rounds is not None and job.declined is None:
                self._settle(job, job.rounds)

    def _drop(self, jobs: Sequence[tuple[tuple[object, ...], int]], why: Notice) -> int:
        """End the rounds of some jobs (sort key, index) for the reason ``why``; return how many. Placed pods stay."""
        for _, i in sorted(jobs):
            job = self._jobs[i]
            if job.rounds is not None:
                job.rounds.over = True
                job.left_out = (why,)
            if job.rounds is None or not job.rounds.progress.ready:
                self._decline(job, Declined((why,)))
        return len(jobs)

    def _place_hyper_job(self, job: _Job) -> None:
        """Decide a HyperJob in one round; its queue must have headroom for all of its pods."""
        gang = job.gang
        room = self._queues.room(gang.queue, job.rows)
        if room is not None and not room.takes([role.count for role in gang.roles]):
            pods = f"the {counted(gang.n_pods, 'pod')} of the HyperJob ask together"
            limits = self._limits(gang, job.rows, [role.count for role in gang.roles], pods)
            self._decline(job, Declined(limits))
            return
        job.result = self._whole.place(gang, self._ledger, job.recorder)
        if isinstance(job.result, Placement):
            roles = gang.role_of_pod[job.result.node >= 0]
            amount = self._queues.counted(job.rows[roles].sum(axis=0))
            job.allocated += amount
            self._queues.take(gang.queue, amount)
        self._verdict(job)

    def _round(self, job: _Job, rounds: Rounds, *, every: bool) -> None:
        check()
        room = self._queues.room(job.gang.queue, job.rows)
        if room is not None and room.takes(rounds.progress.left):
            room = None
        request = self._request(job)
        before = rounds.node >= 0
        if room is None and self._ledger.releasing is not None and not before.any():
            found = waiting(self._policy, request)
            if found is not None:
                self._hold(job, request, found)
                return
        rounds.take(request, room, every=every)
        if rounds.declined is not None:
            declined = rounds.declined if room is None else self._beside_queue(job, request, room, rounds.declined)
            answer = rounds.answer(request, None)
            warnings = tuple(dict.fromkeys((*answer.warnings, *declined.warnings)))
            self._decline(job, replace(declined, warnings=warnings))
            return
        new = np.flatnonzero((rounds.node >= 0) & ~before)
        if len(new) == 0:
            return
        only = np.full(job.gang.n_pods, -1, dtype=np.int32)
        only[new] = rounds.node[new]
        dealt = request.gpus.assign_gpus(job.gang, only)
        if dealt.unserved >= 0:
            rounds.forget(new)
            if not before.any():
                reason = gpus_unserved(request, self._whole.gpu.name, dealt.unserved)
                self._decline(job, Declined((reason,), warnings=rounds.answer(request, None).warnings))
            return
        self._take(job, request, rounds.node, new, dealt.words)
        job.warnings = dealt.warnings
        job.deals += dealt.words is not None
        progress = rounds.progress
        job.ready = progress.counted >= progress.min_available

    def _hold(self, job: _Job, request: Request, found: Waiting) -> None:
        """Reserve, for the rest of the session, the resources that a job gets once terminating pods are gone."""
        assert job.rounds is not None
        self._decline(job, found.declined)
        job.rounds.over = True
        pods = np.flatnonzero(found.node >= 0)
        roles = job.gang.role_of_pod
        rows = request.demand.rows[roles]
        now, later = pods[~found.later[pods]], pods[found.later[pods]]
        self._ledger.take(found.node[now], request.demand.taken[roles[now]])
        self._ledger.promise(found.node[later], rows[later])
        self._queues.take(job.gang.queue, self._queues.counted(rows[pods].sum(axis=0)))

    def _take(self, job: _Job, request: Request, node: Ints, pods: npt.NDArray[np.intp], words: Words | None) -> None:
        roles = job.gang.role_of_pod[pods]
        self._ledger.take(node[pods], request.demand.taken[roles], None if words is None else words[pods])
        if words is not None:
            # New rows where GPUs of several rounds meet: the ledger keeps the old ones for its way back.
            job.words = words if job.words is None else job.words | words
        amount = self._queues.counted(request.demand.rows[roles].sum(axis=0))
        job.allocated += amount
        self._queues.take(job.gang.queue, amount)

    def _give_back(self, job: _Job, request: Request, pods: npt.NDArray[np.intp]) -> None:
        assert job.answer is not None
        if len(pods) == 0:
            return
        roles = job.gang.role_of_pod[pods]
        words = None if job.words is None else job.words[pods]
        self._ledger.give_back(job.answer.node[pods], request.demand.taken[roles], words)
        amount = self._queues.counted(request.demand.rows[roles].sum(axis=0))
        job.allocated -= amount
        self._queues.take(job.gang.queue, -amount)

    def _beside_queue(self, job: _Job, request: Request, room: QueueHeadroom, declined: Declined) -> Declined:
        """Say what a job lacks of which the queue took too few pods, or of which no HyperNode holds those it took.

        The queue is a reason if it takes less than the gang needs, or if the gang is placed without its limit; else it
        is a warning that it leaves pods out. All other reasons are those that hold without the limit. ``declined`` is
        the answer within the headroom ``room``, of which Volcano's own sentence is kept.
        """
        untold = replace(request, recorder=None)
        without = self._policy.rounds(untold)
        without.take(untold, None, every=False)
        start = JobProgress.start(request.gang, request.snapshot)
        taken = within_queue(start, room)
        needed, order = counts_needed(start, request.demand.order), request.demand.order
        every = [start.left[role] if role in order else 0 for role in range(len(start.left))]
        whose = "the job asks" if needed == every else f"the {counted(sum(needed), 'pod')} that it needs ask"
        if without.declined is None:
            limits = self._limits(job.gang, job.rows, needed, whose) or self._limits(job.gang, job.rows, every)
            return Declined((*limits, gang_untried(request, start.missing)), declined.nearest_misses)
        own = [reason for reason in declined.reasons if reason.code == "gang-unschedulable"]
        others = [reason for reason in without.declined.reasons if reason.code != "gang-unschedulable"]
        misses = without.declined.nearest_misses
        if not taken.ready:
            limits = self._limits(job.gang, job.rows, needed, whose)
            return Declined((*limits, *others, *own), misses)
        takes = f"; it takes {taken.counted - start.counted} of the {counted(sum(start.left), 'pod')}"
        return Declined((*others, *own), misses, self._limits(job.gang, job.rows, every, rest=takes))

    def _limits(
        self, gang: Gang, rows: Longs, counts: Sequence[int], whose: str = "the job asks", rest: str | None = None
    ) -> tuple[Notice, ...]:
        """Notices about each resource of which a queue may hold too little for some pods of a gang.

        `rows`, int64 (roles, r), is the request of one pod of each role; `counts` the pods of each. `whose` says who
        asks for the amount, with the verb; `rest` is the end of the sentence instead.
        """
        asked = np.asarray(counts, dtype=np.int64) @ rows
        return tuple(
            limit.notice(amount, limit.asked_text(amount, whose) if rest is None else rest, sum(counts))
            for column, limit in self._queues.limits(gang.queue).items()
            if (amount := int(asked[column])) and amount > limit.limit - limit.used
        )

    def _deal_again(self, job: _Job, node: Ints) -> None:
        """Choose the GPUs of all pods of a placed job anew, all together.

        Pods are placed in several rounds, and choosing GPUs in each round splits the best sets.

        The GPUs of other jobs stay as they are. If the pods cannot be served together, the GPUs of this job stay too.
        """
        assert job.words is not None
        held = np.flatnonzero(node >= 0)
        nothing = np.zeros(len(self._snapshot.resources), dtype=np.int64)
        mark = self._ledger.checkpoint()
        self._ledger.give_back(node[held], nothing, job.words[held])
        dealt = GpuQuestions(self._whole.gpu, self._ledger).assign_gpus(job.gang, node)
        if dealt.words is None or dealt.unserved >= 0:
            self._ledger.rollback(mark)
            return
        self._ledger.take_gpus(node[held], dealt.words[held])
        job.words, job.warnings = dealt.words, dealt.warnings

    def _settle(self, job: _Job, rounds: Rounds) -> None:
        if job.deals > 1:
            self._deal_again(job, rounds.node)
        request = self._request(job)
        answer = rounds.answer(request, request.demand.idle)
        assert isinstance(answer, Assignment)
        room = self._queues.room(job.gang.queue, job.rows)
        if room is not None or job.left_out:
            reasons = dict(answer.reasons)
            for role in request.demand.order:
                if not (answer.node[job.gang.role_of_pod == role] < 0).any():
                    continue
                own = job.left_out
                if room is not None and not room.pods(role, 1):
                    one = [int(number == role) for number in range(len(job.gang.roles))]
                    pod = f"one more pod of {job.gang.roles[role].name} asks"
                    own = (*own, *self._limits(job.gang, job.rows, one, pod))
                reasons[role] = (*own, *reasons.get(role, ()))
            answer.reasons = reasons
        job.answer = answer

    # -----------------------------------------------------------------------------------------------------------------
    # backfill
    # -----------------------------------------------------------------------------------------------------------------

    def _backfill(self) -> None:
        ready = [i for i, job in enumerate(self._jobs) if job.answer is not None]
        for i in sorted(ready, key=lambda i: (self._queues.order(self._jobs[i].gang.queue), self._key(i))):
            job = self._jobs[i]
            request = self._request(job)
            if not request.demand.best_effort:
                continue
            assert job.answer is not None
            held = np.flatnonzero(job.answer.node >= 0)
            answer = place_best_effort(self._policy, request, job.answer, self._ledger.copy())
            if isinstance(answer, Declined):
                self._give_back(job, request, held)
                self._decline(job, answer)
                job.answer = None
                continue
            if job.decided < 0:
                self._verdict(job)
            new = np.setdiff1d(np.flatnonzero(answer.node >= 0), held)
            if len(new):
                self._take(job, request, answer.node, new, None)

    def _leave_out_best_effort(self) -> None:
        why = (Notice("not-configured", "the scheduler configuration has no action backfill"),)
        for job in self._jobs:
            roles = [i for i, role in enumerate(job.gang.roles) if role.best_effort]
            if job.answer is None or not roles:
                continue
            job.answer.reasons = {**job.answer.reasons, **dict.fromkeys(roles, why)}
            held = int((job.answer.node >= 0).sum())
            if held + job.gang.ready >= self._request(job).gang.min_available:
                continue
            if not held:
                self._decline(job, Declined(why))
                job.answer = None
            else:
                # Volcano binds the others, because pending pods without a request count as ready.
                pods = sum(job.gang.roles[i].count for i in roles)
                start = "the gang, which starts without"
                one = f"pod asks for nothing and stays pending: it counts for {start} it"
                text = counted(pods, one, f"pods ask for nothing and stay pending: they count for {start} them")
                job.answer.warnings = (
                    *job.answer.warnings,
                    Notice("best-effort-pending", text, numbers={"count": pods}),
                )

    def _result(self, job: _Job) -> Placement | Refusal:
        if job.result is not None:
            return job.result
        if job.declined is not None:
            return self._whole.refusal(job.gang, self._request(job), job.declined)
        if job.answer is None:
            reason = Notice("not-configured", "the scheduler configuration has no action allocate after its admission")
            return self._whole.refusal(job.gang, self._request(job), Declined((reason,)))
        return self._whole.placement(job.gang, self._snapshot, job.answer, job.words, job.warnings)
