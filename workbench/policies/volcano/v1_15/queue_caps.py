"""Limits the pods of a job with sub-jobs to those for which its queue has headroom.

Volcano checks the queue for each pod when the pod's turn comes. Here the queue is checked before nodes are searched,
sub-job after sub-job, as if every pod that fits the queue found a node.

Source: docs/reference/volcano-topology.md, section 5.1, step 1; the order is that of section 5.5.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from workbench.kernels.two_level import TwoLevel
from workbench.model.arrays import Ints, Longs
from workbench.model.gang import Gang
from workbench.policies.demand import Demand
from workbench.policies.volcano.session.queues import QueueHeadroom
from workbench.policies.volcano.v1_15.splitting import SubJobs

__all__ = ["QueueCaps"]


class QueueCaps:
    """Divides the headroom of a queue among the sub-jobs of one job, in the order in which Volcano tries the sub-jobs.

    `subs`: the job's sub-jobs when the session opens.
    """

    def __init__(self, gang: Gang, demand: Demand, subs: SubJobs) -> None:
        self._grouped, self._demand, self._subs = gang.sub_grouped, demand, subs

    def apply(self, search: TwoLevel, node: Ints, room: QueueHeadroom) -> None:
        """Limit a search to the pods for which the job's queue has headroom.

        A sub-job that would stay below its minimum gets none of the headroom.

        `search`: search whose remaining pods are limited; its order of sub-jobs is used. `node`: ndarray of shape
        (n_pods,), int32; node of each pod placed in earlier rounds; -1: none. `room`: the queue's headroom; not
        changed.
        """
        sub_of, shape_of, left = search.left()
        entries: list[dict[int, int]] = [{} for _ in range(len(self._subs))]
        for entry in np.flatnonzero(left).tolist():
            entries[sub_of[entry]][int(shape_of[entry])] = entry
        waiting = {i: self._runs(i, mine, left) for i, mine in enumerate(entries) if mine}
        counted = self._subs.counted + self._placed(node)
        taken, room = np.zeros_like(left), room.copy()
        line = [(search.order_key(i, not self._short(i, counted)), i) for i in waiting]
        heapify(line)
        while line:
            _, i = heappop(line)
            given, after = self._give(waiting[i], self._short(i, counted), room)
            if self._short(i, counted) > sum(given.values()):
                continue
            room = after
            for entry, count in given.items():
                taken[entry] += count
                counted[i] += count
            if waiting[i]:
                heappush(line, (search.order_key(i, not self._short(i, counted)), i))
        search.cap(taken)

    def _short(self, i: int, counted: Longs) -> int:
        """Number of pods that sub-job ``i`` lacks to be ready.

        ``counted`` are the pods of each sub-job that count already. 0 for the single sub-job of a job without
        sub-groups, whose minimum is the job's.
        """
        return max(int(self._subs.min_available[i] - counted[i]), 0) if self._grouped else 0

    def _placed(self, node: Ints) -> Longs:
        subs = self._subs
        placed = np.concatenate([[0], np.cumsum(node[subs.positions] >= 0)])
        of_sub: Longs = np.diff(placed[subs.first[subs.start]])
        return of_sub

    def _runs(self, i: int, entries: dict[int, int], left: Longs) -> list[list[int]]:
        """Runs (neighbours of one role) of a sub-job's waiting pods: [entry, shape, number of pods], the next run last.

        ``entries`` gives the entry (role of the sub-job) of a shape, ``left`` the pods left of each entry.
        """
        subs = self._subs
        if subs.runs is None:
            return [[entry, shape, int(left[entry])] for shape, entry in reversed(entries.items())]
        first, last = int(subs.start[i]), int(subs.start[i + 1])
        known = {int(subs.shapes[e]): int(subs.left[e]) for e in range(first, last)}
        gone = {shape: known[shape] - int(left[entry]) for shape, entry in entries.items()}
        start, roles, upto = subs.runs
        runs = []
        for run in range(int(start[i]), int(start[i + 1])):
            shape = int(self._demand.position_of_role[roles[run]])
            count = int(upto[run]) - gone.get(shape, int(upto[run]))
            if count > 0:
                runs.append([entries[shape], shape, count])
                gone[shape] += count
        return runs[::-1]

    def _give(self, waiting: list[list[int]], short: int, room: QueueHeadroom) -> tuple[dict[int, int], QueueHeadroom]:
        """Take pods of one sub-job from the queue's headroom until the sub-job is ready (at least one pod).

        ``waiting`` lists runs of its pods (see `_runs`) and loses those that were taken; ``short`` is the number of
        pods that the sub-job lacks. Return the pods taken by entry (role of the sub-job) and the remaining headroom.
        """
        given: dict[int, int] = {}
        room, wanted = room.copy(), max(short, 1)
        while wanted and waiting:
            entry, shape, count = waiting[-1]
            role = self._demand.order[shape]
            fits = room.pods(role, min(count, wanted))
            room.take(role, fits)
            given[entry] = given.get(entry, 0) + fits
            if fits < min(count, wanted):
                # The others of the role ask for the same.
                waiting[:] = [run for run in waiting if run[1] != shape]
            elif fits == count:
                waiting.pop()
            else:
                waiting[-1][2] -= fits
            wanted -= fits
        return given, room
