"""The action allocate of a session: the first queue, its first job, one round; then both go back into their order.

A job's pods are placed in rounds (`workbench.policies.volcano.session.rounds`); its GPUs are chosen in each round, and
chosen anew together when the rounds are over.

Source: Volcano, action allocate (docs/reference/volcano-topology.md, section 5).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from workbench.cancel import check
from workbench.model.arrays import Ints
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.placement import Placement
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.reasons import cannot_start, fractional_gpus, gang_untried, gpus_unserved
from workbench.policies.request import Assignment, Declined, Request
from workbench.policies.volcano.parts.job_parts import JobProgress
from workbench.policies.volcano.session.jobs import SessionJob, SessionState
from workbench.policies.volcano.session.pipelined import Waiting, waiting
from workbench.policies.volcano.session.queue_limits import counts_needed
from workbench.policies.volcano.session.queues import QueueHeadroom
from workbench.policies.volcano.session.rounds import Rounds, within_queue

__all__ = ["Allocation"]


class Allocation:
    """The action allocate on the jobs of one session.

    `state`: the session's jobs, ledger and queues; changed as pods are placed.
    """

    # `run`: queues in their order, of each its first job; a job gets rounds until it has its minimum, and goes back
    # into the line between them:
    #   _round        one round of the policy; its pods take from ledger and queue, or the job is declined
    #   _hold         a job that could start once terminating pods are gone reserves their resources
    #   _drop         a queue that is overused gets no further round
    #   _settle       after the last round: GPUs dealt anew over all pods (`_deal_again`), and the answer

    def __init__(self, state: SessionState) -> None:
        self._state = state

    def run(self, admitted: Sequence[int]) -> None:
        """Place the admitted jobs, given by their positions, and decide on each of them."""
        waiting: dict[str, list[tuple[tuple[object, ...], int]]] = {}
        n_waiting = 0
        for i in admitted:
            job = self._state.jobs[i]
            request = self._state.request(job)
            progress = request.progress()
            job.ready = progress.counted >= progress.min_available
            if job.gang.shares_gpus:
                self._state.decline(job, Declined((fractional_gpus(self._state.whole.name, job.gang),)))
                continue
            if never := cannot_start(request.gang, progress, sub_groups=self._state.policy.traits.sub_groups):
                self._state.decline(job, Declined(never))
                continue
            if job.gang.jobs:
                heapq.heappush(waiting.setdefault(job.gang.queue, []), (self._state.key(i), i))
                n_waiting += 1
                continue
            if not request.demand.order:
                job.answer = Assignment(np.full(job.gang.n_pods, -1, dtype=np.int32))
                continue
            job.rounds = self._state.policy.rounds(request)
            if job.rounds.over:
                continue
            heapq.heappush(waiting.setdefault(job.gang.queue, []), (self._state.key(i), i))
            n_waiting += 1
        while waiting:
            name = min(waiting, key=self._state.queues.order)
            if self._state.queues.overused(name):
                n_waiting -= self._drop(waiting.pop(name), self._state.queues.why_overused(name))
                continue
            _, i = heapq.heappop(waiting[name])
            n_waiting -= 1
            job = self._state.jobs[i]
            if job.gang.jobs:
                self._place_hyper_job(job)
                if not waiting[name]:
                    del waiting[name]
                continue
            assert job.rounds is not None
            self._round(job, job.rounds, every=n_waiting == 0)
            if job.decided < 0 and (job.rounds.over or job.rounds.progress.ready):
                self._state.verdict(job)
            if job.rounds.blocks_queue:
                text = f"queue {name} waits: {job.gang.key} came first and the network topology is not ready"
                n_waiting -= self._drop(waiting.pop(name), Notice("queue-waits", text, f"queue {name}"))
                continue
            if not job.rounds.over:
                heapq.heappush(waiting[name], (self._state.key(i), i))
                n_waiting += 1
            if not waiting[name]:
                del waiting[name]
        for job in self._state.by_name():
            if job.rounds is not None and job.declined is None:
                self._settle(job, job.rounds)

    def _drop(self, jobs: Sequence[tuple[tuple[object, ...], int]], why: Notice) -> int:
        """End the rounds of some jobs (sort key, index) for the reason ``why``; return how many. Placed pods stay."""
        for _, i in sorted(jobs):
            job = self._state.jobs[i]
            if job.rounds is not None:
                job.rounds.over = True
                job.left_out = (why,)
            if job.rounds is None or not job.rounds.progress.ready:
                self._state.decline(job, Declined((why,)))
        return len(jobs)

    def _place_hyper_job(self, job: SessionJob) -> None:
        """Decide a HyperJob in one round; its queue must have headroom for all of its pods."""
        gang = job.gang
        room = self._state.queues.room(gang.queue, job.rows)
        if room is not None and not room.takes([role.count for role in gang.roles]):
            pods = f"the {counted(gang.n_pods, 'pod')} of the HyperJob ask together"
            limits = self._state.limits(gang, job.rows, [role.count for role in gang.roles], pods)
            self._state.decline(job, Declined(limits))
            return
        job.result = self._state.whole.place(gang, self._state.ledger, job.recorder)
        if isinstance(job.result, Placement):
            roles = gang.role_of_pod[job.result.node >= 0]
            amount = self._state.queues.counted(job.rows[roles].sum(axis=0))
            job.allocated += amount
            self._state.queues.take(gang.queue, amount)
        self._state.verdict(job)

    def _round(self, job: SessionJob, rounds: Rounds, *, every: bool) -> None:
        check()
        room = self._state.queues.room(job.gang.queue, job.rows)
        if room is not None and room.takes(rounds.progress.left):
            room = None
        request = self._state.request(job)
        before = rounds.node >= 0
        if room is None and self._state.ledger.releasing is not None and not before.any():
            found = waiting(self._state.policy, request)
            if found is not None:
                self._hold(job, request, found)
                return
        rounds.take(request, room, every=every)
        if rounds.declined is not None:
            declined = rounds.declined if room is None else self._beside_queue(job, request, room, rounds.declined)
            answer = rounds.answer(request, None)
            warnings = tuple(dict.fromkeys((*answer.warnings, *declined.warnings)))
            self._state.decline(job, replace(declined, warnings=warnings))
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
                reason = gpus_unserved(request, self._state.whole.gpu.name, dealt.unserved)
                self._state.decline(job, Declined((reason,), warnings=rounds.answer(request, None).warnings))
            return
        self._state.take(job, request, rounds.node, new, dealt.words)
        job.warnings = dealt.warnings
        job.deals += dealt.words is not None
        progress = rounds.progress
        job.ready = progress.counted >= progress.min_available

    def _hold(self, job: SessionJob, request: Request, found: Waiting) -> None:
        """Reserve, for the rest of the session, the resources that a job gets once terminating pods are gone."""
        assert job.rounds is not None
        self._state.decline(job, found.declined)
        job.rounds.over = True
        pods = np.flatnonzero(found.node >= 0)
        roles = job.gang.role_of_pod
        rows = request.demand.rows[roles]
        now, later = pods[~found.later[pods]], pods[found.later[pods]]
        self._state.ledger.take(found.node[now], request.demand.taken[roles[now]])
        self._state.ledger.promise(found.node[later], rows[later])
        self._state.queues.take(job.gang.queue, self._state.queues.counted(rows[pods].sum(axis=0)))

    def _beside_queue(self, job: SessionJob, request: Request, room: QueueHeadroom, declined: Declined) -> Declined:
        """Say what a job lacks of which the queue took too few pods, or of which no HyperNode holds those it took.

        The queue is a reason if it takes less than the gang needs, or if the gang is placed without its limit; else it
        is a warning that it leaves pods out. All other reasons are those that hold without the limit. ``declined`` is
        the answer within the headroom ``room``, of which Volcano's own sentence is kept.
        """
        untold = replace(request, recorder=None)
        without = self._state.policy.rounds(untold)
        without.take(untold, None, every=False)
        start = JobProgress.start(request.gang, request.snapshot)
        taken = within_queue(start, room)
        needed, order = counts_needed(start, request.demand.order), request.demand.order
        every = [start.left[role] if role in order else 0 for role in range(len(start.left))]
        minimum = f"the job's minimum of {counted(sum(needed), 'pod')} asks"
        whose = "the job asks" if needed == every else minimum
        if without.declined is None:
            limits = self._state.limits(job.gang, job.rows, needed, whose)
            limits = limits or self._state.limits(job.gang, job.rows, every)
            return Declined((*limits, gang_untried(request, start.missing)), declined.nearest_misses)
        own = [reason for reason in declined.reasons if reason.code == "gang-unschedulable"]
        others = [reason for reason in without.declined.reasons if reason.code != "gang-unschedulable"]
        misses = without.declined.nearest_misses
        if not taken.ready:
            limits = self._state.limits(job.gang, job.rows, needed, whose)
            return Declined((*limits, *others, *own), misses)
        takes = f"; it takes {taken.counted - start.counted} of the {counted(sum(start.left), 'pod')}"
        return Declined((*others, *own), misses, self._state.limits(job.gang, job.rows, every, rest=takes))

    def _deal_again(self, job: SessionJob, node: Ints) -> None:
        """Choose the GPUs of all pods of a placed job anew, all together.

        Pods are placed in several rounds, and choosing GPUs in each round splits the best sets.

        The GPUs of other jobs stay as they are. If the pods cannot be served together, the GPUs of this job stay too.
        """
        assert job.words is not None
        held = np.flatnonzero(node >= 0)
        nothing = np.zeros(len(self._state.snapshot.resources), dtype=np.int64)
        mark = self._state.ledger.checkpoint()
        self._state.ledger.give_back(node[held], nothing, job.words[held])
        dealt = GpuQuestions(self._state.whole.gpu, self._state.ledger).assign_gpus(job.gang, node)
        if dealt.words is None or dealt.unserved >= 0:
            self._state.ledger.rollback(mark)
            return
        self._state.ledger.take_gpus(node[held], dealt.words[held])
        job.words, job.warnings = dealt.words, dealt.warnings

    def _settle(self, job: SessionJob, rounds: Rounds) -> None:
        if job.deals > 1:
            self._deal_again(job, rounds.node)
        request = self._state.request(job)
        answer = rounds.answer(request, request.demand.idle)
        assert isinstance(answer, Assignment)
        room = self._state.queues.room(job.gang.queue, job.rows)
        if room is not None or job.left_out:
            reasons = dict(answer.reasons)
            for role in request.demand.order:
                if not (answer.node[job.gang.role_of_pod == role] < 0).any():
                    continue
                own = job.left_out
                if room is not None and not room.pods(role, 1):
                    one = [int(number == role) for number in range(len(job.gang.roles))]
                    pod = f"one more pod of {job.gang.roles[role].name} asks"
                    own = (*own, *self._state.limits(job.gang, job.rows, one, pod))
                reasons[role] = (*own, *reasons.get(role, ()))
            answer.reasons = reasons
        job.answer = answer
