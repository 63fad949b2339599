"""What running jobs mean for the switches: the sum over jobs, kept so that one job can be added or taken out.

States have no store of their own: they follow from the annotations of running pods, as in the real plugin, which builds
them anew in every session (reference/switch-affinity.md 2.1). So the end of a job or a restart loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.kernels.switches import SPOKEN, add_pods
from workbench.model.switches import (
    EXCLUSIVE,
    IDLE,
    IS_HEALTHY,
    IS_SHARED,
    SHARED,
    SwitchStates,
    SwitchTable,
)

if TYPE_CHECKING:
    from workbench.model.snapshot import RunningPod

__all__ = ["JobPods", "RunningPods", "SwitchBook"]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]

#: Phases of a PodGroup whose pods say something about switches; empty: there is no PodGroup.
_COUNTED = ("", "Running", "Unknown")
#: Phases of those that the version 1.0 looks at.
_RUNNING = ("", "Running")


@dataclass(frozen=True, eq=False)
class JobPods:
    """Running pods of one job, as far as switches care.

    Attributes
    ----------
    label : str
        Its tor-affinity label.
    node : ndarray of shape (p,), int32
        -1: a node that is not in the snapshot.
    mark : ndarray of shape (p,), int8
        isSharedTor of each pod, 0 where missing or garbled.
    unhealthy : ndarray of shape (p,), bool
        isHealthy "1".
    holds : ndarray of shape (p,), bool
        The pod asks for something and its job for switch affinity: nobody else of such a job may have its node.
    phase : str
        Of its PodGroup; empty: none.
    """

    label: str
    node: Ints
    mark: Bytes
    unhealthy: Mask
    holds: Mask
    phase: str = ""

    def only(self, chosen: npt.NDArray[np.intp]) -> JobPods:
        """Some of these pods."""
        return JobPods(
            self.label,
            self.node[chosen],
            self.mark[chosen],
            self.unhealthy[chosen],
            self.holds[chosen],
            self.phase,
        )

    def joined(self, other: JobPods) -> JobPods:
        """These pods and further ones of the same job."""
        return JobPods(
            self.label,
            np.concatenate([self.node, other.node]),
            np.concatenate([self.mark, other.mark]),
            np.concatenate([self.unhealthy, other.unhealthy]),
            np.concatenate([self.holds, other.holds]),
            self.phase,
        )


@dataclass(frozen=True, eq=False)
class RunningPods:
    """The running pods of a snapshot that belong to a job, as arrays in the order of `snapshot.running`.

    Attributes
    ----------
    keys : tuple of str
        ``namespace/name`` of each job.
    labels, phases : tuple of str
        Per job.
    job : ndarray of shape (p,), int32
    node, mark, unhealthy, holds
        As in `JobPods`.
    """

    keys: tuple[str, ...]
    labels: tuple[str, ...]
    phases: tuple[str, ...]
    job: Ints
    node: Ints
    mark: Bytes
    unhealthy: Mask
    holds: Mask

    @cached_property
    def number(self) -> Mapping[str, int]:
        """Place of each job in `keys`."""
        return {key: i for i, key in enumerate(self.keys)}

    @classmethod
    def read(cls, running: Iterable[RunningPod]) -> RunningPods:
        """From the pods of a snapshot; annotations that are no state count as none."""
        numbers: dict[str, int] = {}
        labels: list[str] = []
        phases: list[str] = []
        rows: list[tuple[int, int, int, bool, bool]] = []
        for pod in running:
            if not pod.gang or pod.ending:
                continue
            number = numbers.setdefault(pod.gang, len(numbers))
            if number == len(labels):
                labels.append(pod.job_class)
                phases.append(pod.group_phase)
            mark = _MARKS.get(pod.annotations.get(IS_SHARED, ""), IDLE)
            unhealthy = pod.annotations.get(IS_HEALTHY) == "1"
            holds = bool(pod.requests) and pod.job_class not in ("", "null")
            rows.append((number, pod.node, mark, unhealthy, holds))
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * 5
        types = (np.int32, np.int32, np.int8, np.bool_, np.bool_)
        arrays: list[Any] = [np.array(column, dtype=kind) for column, kind in zip(columns, types, strict=True)]
        return cls(tuple(numbers), tuple(labels), tuple(phases), *arrays)


_MARKS = {str(state): state for state in (IDLE, SHARED, EXCLUSIVE)}


class SwitchBook:
    """Per switch how many pods and jobs speak for each state; the working copy of one session.

    Parameters
    ----------
    table : SwitchTable
    running : RunningPods
        Derived from at once, in array operations over all pods.

    Attributes
    ----------
    foundation : ndarray of shape (s,), int64
        Large-model jobs with pods both under the switch and elsewhere.
    crossing : ndarray of shape (s,), int64
        Running jobs with pods both under the switch and elsewhere.
    uncommon : ndarray of shape (s,), int64
        Running jobs with a pod under the switch that are no common jobs.
    holders : ndarray of shape (n,), int32
        Pods of jobs with switch affinity on each node; they have the node to themselves.
    """

    def __init__(self, table: SwitchTable, running: RunningPods) -> None:
        self.table = table
        self._running = running
        self._jobs: dict[str, JobPods | None] = {}
        counted = np.array([phase in _COUNTED for phase in running.phases], dtype=np.bool_)
        s = table.n_switches
        # A preset state speaks like one more pod, which never ends.
        self._spoken = np.zeros((s, SPOKEN), dtype=np.int64)
        self._spoken[np.arange(s), table.preset.state] = 1
        self._spoken[:, -1] = table.preset.unhealthy
        self.holders: Ints = np.zeros(table.n_nodes, dtype=np.int32)
        speaking = counted[running.job] if len(running.job) else np.zeros(0, dtype=np.bool_)
        for speak, some in ((True, speaking), (False, ~speaking)):
            if some.any():
                add_pods(
                    1,
                    speak,
                    running.node[some],
                    running.mark[some],
                    running.unhealthy[some],
                    running.holds[some],
                    table.node_switch,
                    self.holders,
                    self._spoken,
                )
        switch = np.where(running.node >= 0, table.node_switch[running.node], -1) if len(running.node) else running.node
        pairs = np.unique(running.job.astype(np.int64) * (s + 1) + switch + 1)
        job, switch_of_pair = pairs // (s + 1), pairs % (s + 1) - 1
        elsewhere = np.bincount(job, minlength=len(running.keys)) > 1
        active = np.array([phase in _RUNNING for phase in running.phases], dtype=np.bool_)
        large = np.array([label == "large-model-schema" for label in running.labels], dtype=np.bool_)
        uncommon = np.array([label != "normal-schema" for label in running.labels], dtype=np.bool_)
        under = switch_of_pair >= 0

        def count(wanted: Mask) -> Longs:
            return np.bincount(switch_of_pair[under & wanted[job]], minlength=s)

        self.foundation = count(elsewhere & large & counted)
        self.crossing = count(elsewhere & active)
        self.uncommon = count(uncommon & active)

    def copy(self) -> SwitchBook:
        """A book of its own that starts as this one is now."""
        other = object.__new__(SwitchBook)
        other.table, other._running, other._jobs = self.table, self._running, dict(self._jobs)
        for name in _COUNTERS:
            setattr(other, name, getattr(self, name).copy())
        return other

    def states(self) -> SwitchStates:
        """The preset states joined with what the pods say: shared over exclusive over idle, unhealthy sticky."""
        said = self._spoken > 0
        shared = said[:, SHARED]
        state = said[:, EXCLUSIVE].view(np.int8) * EXCLUSIVE
        np.putmask(state, shared, SHARED)
        return SwitchStates(state, shared & said[:, -1])

    def job(self, key: str) -> JobPods | None:
        """The pods of one job; None where it has none."""
        if key in self._jobs:
            return self._jobs[key]
        running = self._running
        number = running.number.get(key)
        if number is None:
            return None
        mine = running.job == number
        return JobPods(
            running.labels[number],
            running.node[mine],
            running.mark[mine],
            running.unhealthy[mine],
            running.holds[mine],
            running.phases[number],
        )

    def set_job(self, key: str, pods: JobPods | None) -> JobPods | None:
        """Replace what is known of one job; None: it has ended.

        Returns
        -------
        JobPods or None
            What was known before; setting it again undoes the change.
        """
        before = self.job(key)
        if before is not None:
            self._add(before, -1)
        if pods is not None:
            self._add(pods, 1)
        self._jobs[key] = pods
        return before

    def _add(self, pods: JobPods, sign: int) -> None:
        table = self.table
        pods_of = add_pods(
            sign,
            pods.phase in _COUNTED,
            pods.node,
            pods.mark,
            pods.unhealthy,
            pods.holds,
            table.node_switch,
            self.holders,
            self._spoken,
        )
        under = pods_of[:-1].nonzero()[0]
        crossing = len(under) + (pods_of[-1] > 0) > 1
        if crossing and pods.label == "large-model-schema" and pods.phase in _COUNTED:
            self.foundation[under] += sign
        if pods.phase in _RUNNING:
            if crossing:
                self.crossing[under] += sign
            if pods.label != "normal-schema":
                self.uncommon[under] += sign


_COUNTERS = ("_spoken", "holders", "foundation", "crossing", "uncommon")
