"""`RunningIndex`: the running pods of a snapshot by gang and by queue, so that nobody goes through all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.model.running_pod import RunningPod

__all__ = ["QueueUse", "RunningIndex"]


@dataclass(frozen=True)
class QueueUse:
    """What the running pods of one queue hold.

    `pods`: number of the pods. `requests`: their requests, summed by resource; resources of which they hold nothing are
    left out.
    """

    pods: int
    requests: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class RunningIndex:
    """The running pods of a snapshot, grouped as schedulers ask for them.

    `gangs`: pods of each gang, in the order of the snapshot. `queues`: what each queue holds. `terminating`,
    `assuming`: pods that are terminating, and pods of which scores assume resources (`RunningPod.assumed`).
    """

    gangs: Mapping[str, tuple[RunningPod, ...]]
    queues: Mapping[str, QueueUse]
    terminating: tuple[RunningPod, ...]
    assuming: tuple[RunningPod, ...]

    @cached_property
    def leaving(self) -> Mapping[str, Sequence[RunningPod]]:
        """Terminating members of each gang that still counts them (`RunningPod.leaving`)."""
        found: dict[str, list[RunningPod]] = {}
        for pod in self.terminating:
            if pod.leaving:
                found.setdefault(pod.leaving, []).append(pod)
        return found

    @classmethod
    def read(cls, running: Iterable[RunningPod]) -> RunningIndex:
        """Group running pods."""
        pods = tuple(running)
        gangs: dict[str, list[RunningPod]] = {}
        for pod in pods:
            if pod.gang:
                gangs.setdefault(pod.gang, []).append(pod)
        return cls(
            {key: tuple(mine) for key, mine in gangs.items()},
            _uses({}, (), pods),
            tuple(pod for pod in pods if pod.terminating),
            tuple(pod for pod in pods if pod.assumed),
        )

    def changed(self, gone: Iterable[RunningPod], new: Iterable[RunningPod]) -> RunningIndex:
        """The index after some pods have gone and others have come.

        `gone`: pods of this index or of `new`, the same objects.

        Returns RunningIndex: as `read` of the pods that are left. Where pods have come, those of a gang are in byte
        order of namespace and name; otherwise the order stays. The cost grows with the pods that changed, those of
        their gangs and the terminating ones; mappings are copied.
        """
        gone, new = tuple(gone), tuple(new)
        of_gang: dict[str, tuple[list[RunningPod], list[RunningPod]]] = {}
        for which, some in enumerate((gone, new)):
            for pod in some:
                if pod.gang:
                    of_gang.setdefault(pod.gang, ([], []))[which].append(pod)
        gangs = dict(self.gangs)
        for key, (less, more) in of_gang.items():
            mine = _exchanged(gangs.pop(key, ()), less, more)
            if mine:
                gangs[key] = mine
        return RunningIndex(
            gangs,
            _uses(self.queues, gone, new),
            _exchanged(
                self.terminating, [pod for pod in gone if pod.terminating], [pod for pod in new if pod.terminating]
            ),
            _exchanged(self.assuming, [pod for pod in gone if pod.assumed], [pod for pod in new if pod.assumed]),
        )

    def moved(self, moved: Mapping[int, RunningPod]) -> RunningIndex:
        """The index after some of its pods got another node index; `moved` holds their successors by the pods' ids."""
        ids = moved.keys()

        def followed(pods: tuple[RunningPod, ...]) -> tuple[RunningPod, ...]:
            # By their ids alone: to read a field of every pod would take longer than all the rest.
            return pods if ids.isdisjoint(map(id, pods)) else tuple(map(moved.get, map(id, pods), pods))

        return RunningIndex(
            {key: followed(pods) for key, pods in self.gangs.items()},
            self.queues,
            followed(self.terminating),
            followed(self.assuming),
        )


def _exchanged(pods: tuple[RunningPod, ...], gone: list[RunningPod], new: list[RunningPod]) -> tuple[RunningPod, ...]:
    if not gone and not new:
        return pods
    dropped = set(map(id, gone))
    kept = [pod for pod in (*pods, *new) if id(pod) not in dropped]
    if new:
        kept.sort(key=lambda pod: (pod.namespace.encode(), pod.name.encode()))
    return tuple(kept)


def _uses(before: Mapping[str, QueueUse], gone: Iterable[RunningPod], new: Iterable[RunningPod]) -> dict[str, QueueUse]:
    """What queues hold after pods have gone and come."""
    pods: dict[str, int] = {}
    sums: dict[str, dict[str, int]] = {}
    for sign, some in ((-1, gone), (1, new)):
        for pod in some:
            name = pod.queue
            if not name:
                continue
            if name not in sums:
                use = before.get(name)
                pods[name], sums[name] = (use.pods, dict(use.requests)) if use else (0, {})
            pods[name] += sign
            held = sums[name]
            for resource, amount in pod.requests.items():
                held[resource] = held.get(resource, 0) + sign * amount
    after = dict(before)
    for name, held in sums.items():
        if pods[name]:
            after[name] = QueueUse(pods[name], {resource: amount for resource, amount in held.items() if amount})
        else:
            after.pop(name, None)
    return after
