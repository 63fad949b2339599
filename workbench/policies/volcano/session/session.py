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

from collections.abc import Sequence

import numpy as np

from workbench.model.arrays import Floats
from workbench.model.counted import counted
from workbench.model.explanation import NO_RECORDERS, Recorders
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies.composed import Composed
from workbench.policies.contract import SessionPolicy
from workbench.policies.node_policy import place_best_effort
from workbench.policies.request import Declined
from workbench.policies.volcano.session.allocate import Allocation
from workbench.policies.volcano.session.enqueue import Admission
from workbench.policies.volcano.session.jobs import SessionJob, SessionState
from workbench.policies.volcano.session.policy import VolcanoPolicy, min_resources

__all__ = ["Session", "VolcanoScheduler"]


class Session:
    """One scheduling session of Volcano over all gangs; nothing of it is kept afterwards.

    `state`: made for this session alone.
    """

    # `run` does the actions in their configured order: `_enqueue`, allocate, `_backfill`; `admit` does enqueue alone.
    # `_result` makes the decisions of all gangs at the end.

    def __init__(self, state: SessionState) -> None:
        self._state = state

    def run(self) -> list[Decision]:
        """Run all actions of the session in their order.

        The result is in the order of the gangs. `Decision.turn` is the round in which the job became ready or was
        declined.
        """
        admitted = self._admitted_before()
        for action in self._state.config.actions:
            if action == "enqueue":
                admitted |= self._enqueue([i for i in range(len(self._state.jobs)) if i not in admitted])
            elif action == "allocate":
                Allocation(self._state).run([i for i in range(len(self._state.jobs)) if i in admitted])
            elif action == "backfill":
                self._backfill()
        if "backfill" not in self._state.config.actions:
            self._leave_out_best_effort()
        for job in self._state.by_name():
            # No action decided on it.
            if job.decided < 0:
                self._state.verdict(job)
        turn = {decided: place for place, decided in enumerate(sorted(job.decided for job in self._state.jobs))}
        return [Decision(job.gang, self._result(job), turn=turn[job.decided]) for job in self._state.jobs]

    def admit(self) -> list[Notice | None]:
        """Run the action enqueue alone.

        Returns list of Notice or None: in the order of the gangs: why a job must wait; None if it is admitted now or
        was admitted before. If the configuration lacks the action, every job is admitted.
        """
        before = self._admitted_before()
        self._enqueue([i for i in range(len(self._state.jobs)) if i not in before])
        return [None if job.declined is None else job.declined.reasons[0] for job in self._state.jobs]

    def _admitted_before(self) -> set[int]:
        """Positions of the jobs that need no admission in this session."""
        if "enqueue" not in self._state.config.actions:
            return set(range(len(self._state.jobs)))
        return {i for i, job in enumerate(self._state.jobs) if job.gang.ready or job.gang.extra(VolcanoMemory).inqueue}

    def _enqueue(self, waiting: Sequence[int]) -> set[int]:
        jobs, queues, snapshot = self._state.jobs, self._state.queues, self._state.snapshot
        admission = Admission(self._state.config, snapshot, queues)

        def minimum(i: int) -> Floats | None:
            found = min_resources(jobs[i].gang, snapshot.resources)
            return None if found is None else queues.counted(found)

        for i, job in enumerate(jobs):
            if job.allocated.any():
                held, least = queues.counted(job.allocated), minimum(i)
                # A job without minResources could give all of it back.
                queues.beyond_minimum(job.gang.queue, held if least is None else np.maximum(held - least, 0.0))
            # What a job that runs in part still lacks is not counted.
            if job.gang.extra(VolcanoMemory).inqueue and not job.gang.ready and (asked := minimum(i)) is not None:
                admission.count(job.gang, asked)
        refused = admission.run(waiting, [job.gang for job in jobs], minimum, self._state.key)
        for i, why in refused.items():
            self._state.decline(jobs[i], Declined((why,)))
        return set(waiting) - refused.keys()

    def _backfill(self) -> None:
        jobs, order = self._state.jobs, self._state.queues.order
        ready = [i for i, job in enumerate(jobs) if job.answer is not None]
        for i in sorted(ready, key=lambda i: (order(jobs[i].gang.queue), self._state.key(i))):
            job = jobs[i]
            request = self._state.request(job)
            if not request.demand.best_effort:
                continue
            assert job.answer is not None
            held = np.flatnonzero(job.answer.node >= 0)
            answer = place_best_effort(self._state.policy, request, job.answer, self._state.ledger.copy())
            if isinstance(answer, Declined):
                self._state.give_back(job, request, held)
                self._state.decline(job, answer)
                job.answer = None
                continue
            if job.decided < 0:
                self._state.verdict(job)
            new = np.setdiff1d(np.flatnonzero(answer.node >= 0), held)
            if len(new):
                self._state.take(job, request, answer.node, new, None)

    def _leave_out_best_effort(self) -> None:
        why = (Notice("not-configured", "the scheduler configuration has no action backfill"),)
        for job in self._state.jobs:
            roles = [i for i, role in enumerate(job.gang.roles) if role.best_effort]
            if job.answer is None or not roles:
                continue
            job.answer.reasons = {**job.answer.reasons, **dict.fromkeys(roles, why)}
            held = int((job.answer.node >= 0).sum())
            if held + job.gang.ready >= self._state.request(job).gang.min_available:
                continue
            if not held:
                self._state.decline(job, Declined(why))
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

    def _result(self, job: SessionJob) -> Placement | Refusal:
        if job.result is not None:
            return job.result
        if job.declined is not None:
            return self._state.whole.refusal(job.gang, self._state.request(job), job.declined)
        if job.answer is None:
            reason = Notice("not-configured", "the scheduler configuration has no action allocate after its admission")
            return self._state.whole.refusal(job.gang, self._state.request(job), Declined((reason,)))
        return self._state.whole.placement(job.gang, self._state.snapshot, job.answer, job.words, job.warnings)


class VolcanoScheduler(Composed, SessionPolicy):
    """A policy whose node part is a `VolcanoPolicy`: decides in sessions of Volcano, with their queues and actions."""

    def schedule(
        self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders = NO_RECORDERS
    ) -> list[Decision]:
        """Decide on all gangs in one session of Volcano."""
        return self._session(gangs, snapshot, recorders).run()

    def admit(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot) -> list[Notice | None]:
        """Decide which gangs are admitted, by running only the action enqueue of a session."""
        return self._session(gangs, snapshot, NO_RECORDERS).admit()

    def _session(self, gangs: Sequence[Gang], snapshot: ClusterSnapshot, recorders: Recorders) -> Session:
        assert isinstance(self.node, VolcanoPolicy)
        return Session(SessionState(self, self.node, gangs, snapshot, recorders))
