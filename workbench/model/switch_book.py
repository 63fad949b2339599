"""`SwitchBook`: counts the running jobs' votes on the state of each leaf switch, and lets one job be added or removed.

States are not stored: they are computed from the annotations of running pods, as the real plugin does in every session
(docs/reference/switch-affinity.md, section 2.1), so that no state is lost when a job ends or the scheduler restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from workbench.kernels.switches import CLASSIFIED, CROSSING, HOLDS, SUMS, UNHEALTHY, VOTES_UNHEALTHY, add_jobs
from workbench.model.arrays import Ints, Longs, Mask
from workbench.model.running_pod import RunningPod
from workbench.model.switches import IS_HEALTHY, SwitchStates, SwitchTable, mark_of
from workbench.model.value import Value, Working

__all__ = ["JobPods", "RunningPods", "SwitchBook"]

Bytes = npt.NDArray[np.int8]

#: Rows of the sums that say what state a switch has (`SwitchStates.of_votes`).
_VOTES = UNHEALTHY + 1
#: Phases of a PodGroup whose pods say something about switches; empty: there is no PodGroup. A job that is rescheduled
#: after a fault is Inqueue while its other pods run; the plugin's code leaves it out, against the document.
_COUNTED = ("", "Running", "Unknown", "Inqueue")
#: Phases of those that the version 1.0 looks at.
_RUNNING = ("", "Running")


@dataclass(frozen=True, eq=False)
class JobPods(Value):
    """Running pods of one job, with the fields that decide the states of the leaf switches.

    Attributes
    ----------
    label : str
        The job's label tor-affinity.
    node : ndarray of shape (p,), int32
        Index of each pod's node; -1 for a node that is not in the snapshot.
    vote : ndarray of shape (p,), int8
        Annotation isSharedTor of each pod, 0 where missing or garbled; plus `VOTES_UNHEALTHY` for isHealthy "1"; plus
        `HOLDS` if the pod requests resources and its job uses switch affinity, so that no other such pod may use its
        node.
    phase : str
        Phase of the job's PodGroup; empty: none.
    """

    label: str
    node: Ints
    vote: Bytes
    phase: str = ""

    def only(self, chosen: npt.NDArray[np.intp]) -> JobPods:
        """The job's pods at the indices `chosen`, as a new object."""
        return JobPods(self.label, self.node[chosen], self.vote[chosen], self.phase)

    def with_pods(self, other: JobPods) -> JobPods:
        """The pods of this object and of `other`, both of the same job, as a new object."""
        node, vote = np.concatenate([self.node, other.node]), np.concatenate([self.vote, other.vote])
        return JobPods(self.label, node, vote, self.phase)


@dataclass(frozen=True, eq=False)
class RunningPods(Value):
    """The running pods of a snapshot that belong to a job, as arrays sorted by job.

    Attributes
    ----------
    keys : tuple of str
        ``namespace/name`` of each job, in the order of their first pods.
    labels, phases : tuple of str
        Label tor-affinity and PodGroup phase of each job.
    start : ndarray of shape (jobs + 1,), int64
        Job i has the pods ``start[i]`` to ``start[i + 1]``, in the order of `snapshot.running`.
    counts : ndarray of shape (jobs, 4), bool
        In which counters of `workbench.kernels.switches.add_jobs` each job is counted.
    node, vote
        As in `JobPods`.
    """

    keys: tuple[str, ...]
    labels: tuple[str, ...]
    phases: tuple[str, ...]
    start: Longs
    counts: Mask
    node: Ints
    vote: Bytes

    @cached_property
    def number(self) -> Mapping[str, int]:
        """Index in `keys` of each job, by ``namespace/name``."""
        return {key: i for i, key in enumerate(self.keys)}

    def job(self, key: str) -> JobPods | None:
        """The pods of the job `key` (``namespace/name``); None if it has none."""
        number = self.number.get(key)
        if number is None:
            return None
        mine = slice(self.start[number], self.start[number + 1])
        return JobPods(self.labels[number], self.node[mine], self.vote[mine], self.phases[number])

    @classmethod
    def read(cls, running: Iterable[RunningPod]) -> RunningPods:
        """Build the arrays from the running pods of a snapshot.

        Switch annotations with an unknown value count as absent.
        """
        jobs: dict[str, tuple[str, str, list[int], list[int]]] = {}
        for pod in running:
            if not pod.gang or pod.terminating:
                continue
            job = jobs.get(pod.gang)
            if job is None:
                job = jobs[pod.gang] = (pod.job_class, pod.group_phase, [], [])
            elif job[1] == "Pending" and pod.group_phase != "Pending":
                job = jobs[pod.gang] = (job[0], pod.group_phase, job[2], job[3])
            vote = mark_of(pod.annotations)
            if pod.annotations.get(IS_HEALTHY) == "1":
                vote |= VOTES_UNHEALTHY
            if pod.requests and pod.job_class not in ("", "null"):
                vote |= HOLDS
            job[2].append(pod.node)
            job[3].append(vote)
        found = list(jobs.values())
        return cls(
            keys=tuple(jobs),
            labels=tuple(label for label, _, _, _ in found),
            phases=tuple(phase for _, phase, _, _ in found),
            start=np.cumsum([0, *(len(nodes) for _, _, nodes, _ in found)]),
            counts=np.concatenate([_NOTHING, *(_counts(label, phase) for label, phase, _, _ in found)]),
            node=np.array([node for _, _, nodes, _ in found for node in nodes], dtype=np.int32),
            vote=np.array([each for _, _, _, vote in found for each in vote], dtype=np.int8),
        )


_NOTHING = np.zeros((0, 4), dtype=np.bool_)


@lru_cache(maxsize=64)
def _counts(label: str, phase: str) -> Mask:
    """Counters of `add_jobs` for a tor-affinity label and a PodGroup phase: read-only bool row."""
    said, active = phase in _COUNTED, phase in _RUNNING
    row = (said, said and label == "large-model-schema", active, active and label != "normal-schema")
    counts = np.array([row], dtype=np.bool_)
    counts.flags.writeable = False
    return counts


class SwitchBook(Working):
    """Number of running pods and jobs that vote for each state of each leaf switch, during one scheduling session.

    `running`: running pods from which the votes are counted at once; not kept.

    `holders`: ndarray of shape (n,), int32; number of pods of switch-affinity jobs on each node; such a pod has its
    node to itself. `sums`: ndarray of shape (7, s), int64; the counters of `workbench.kernels.switches.add_jobs` for
    each switch; do not change them.
    """

    def __init__(self, table: SwitchTable, running: RunningPods) -> None:
        self.table = table
        self._running = running
        self._jobs: dict[str, JobPods | None] = {}
        # The rows of `add_jobs`. A preset state speaks like one more pod, which never ends.
        self.sums = np.zeros((SUMS, table.n_switches), dtype=np.int64)
        self.sums[:_VOTES] = table.preset.votes()
        self.holders: Ints = np.zeros(table.n_nodes, dtype=np.int32)
        self._add(1, running.start, running.counts, running)

    @property
    def crossing(self) -> Longs:
        """For each leaf switch, the number of running jobs that have pods both under the switch and elsewhere: int64 of
        shape (s,).
        """
        jobs: Longs = self.sums[CROSSING]
        return jobs

    @property
    def n_classified_jobs(self) -> Longs:
        """For each leaf switch, the number of running jobs under it whose switch-affinity class is not "common": int64
        (s,).
        """
        jobs: Longs = self.sums[CLASSIFIED]
        return jobs

    def states(self) -> SwitchStates:
        """State of each leaf switch: its preset state combined with the votes of the running pods."""
        return SwitchStates.of_votes(self.sums[:_VOTES])

    def job(self, key: str) -> JobPods | None:
        """The recorded pods of the job `key` (``namespace/name``); None if none are recorded."""
        return self._jobs[key] if key in self._jobs else self._running.job(key)

    def set_job(self, key: str, pods: JobPods | None) -> JobPods | None:
        """Replace the recorded pods of the job `key` (``namespace/name``); `pods` is None if the job has ended.

        Returns the pods recorded before; setting them again undoes the change.
        """
        before = self.job(key)
        for sign, some in ((-1, before), (1, pods)):
            if some is not None:
                start = np.array([0, len(some.node)], dtype=np.int64)
                self._add(sign, start, _counts(some.label, some.phase), some)
        self._jobs[key] = pods
        return before

    def _add(self, sign: int, start: Longs, counts: Mask, pods: JobPods | RunningPods) -> None:
        add_jobs(sign, start, counts, pods.node, pods.vote, self.table.node_switch, self.holders, self.sums)
