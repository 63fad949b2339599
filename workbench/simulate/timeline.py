"""`Timeline`: simulate a cluster step by step under one policy: jobs start and end, nodes break and recover.

Each step adds a `Moment`. Pending jobs are tried again only by the step `retry`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from workbench.cancel import check
from workbench.errors import InputError, UnknownNameError
from workbench.model.counted import counted
from workbench.model.gang import Gang, Role
from workbench.model.placement import Decision
from workbench.model.snapshot import ClusterSnapshot, RunningPod
from workbench.model.switch_history import Moment, SwitchHistory
from workbench.model.switches import SwitchTable
from workbench.model.value import Working
from workbench.policies.base import Policy
from workbench.simulate.faults import break_gpus, break_node, damaged_gang, in_sub_groups

__all__ = ["Timeline"]


class Timeline(Working):
    """A simulation of a cluster under one policy, step by step: submit, end, retry, fault, recover.

    Parameters
    ----------
    snapshot : ClusterSnapshot
        The initial cluster; not changed.
    policy : Policy

    Attributes
    ----------
    snapshot : ClusterSnapshot
        The cluster after the last step.
    moments : list of Moment
        The initial state, then the state after each step.
    pending : dict of str to Gang
        Jobs that wait for nodes, or their pods lost to a fault, by ``namespace/name``.
    """

    def __init__(self, snapshot: ClusterSnapshot, policy: Policy) -> None:
        self.policy = policy
        self.table: SwitchTable | None = snapshot.switch_table
        self.snapshot = dataclasses.replace(snapshot, switches=self.table)
        self.pending: dict[str, Gang] = {}
        self._gangs: dict[str, Gang] = {}
        self._sound: dict[int, ClusterSnapshot] = {}
        self.moments: list[Moment] = []
        self._record("start")

    def __repr__(self) -> str:
        return (
            f"Timeline({counted(len(self.moments) - 1, 'step')} by {self.policy.name}, "
            f"{counted(len(self.pending), 'job')} pending)"
        )

    @property
    def history(self) -> SwitchHistory:
        """States of the leaf switches after each step so far; Jupyter draws them as a table of switches and steps."""
        names = () if self.table is None else self.table.names
        return SwitchHistory(names, tuple(self.moments), self.policy.name)

    def _repr_html_(self) -> str | None:
        return self.history._repr_html_()

    def submit(self, gang: Gang) -> Moment:
        """Submit a job: the policy places it, or it becomes pending. Returns the new moment, as all steps do.

        Raises
        ------
        InputError
            A job of this name runs or waits already.
        """
        if gang.key in self.pending or any(pod.gang == gang.key for pod in self.snapshot.running):
            raise InputError("a job of this name is there already", source="timeline", got=gang.key)
        self._gangs[gang.key] = gang
        return self._record(f"submit {gang.name}", [self._try(gang)])

    def retry(self, name: str) -> Moment:
        """Try to place the pending job called `name` (``namespace/name``) again.

        Raises
        ------
        UnknownNameError
            No such job waits.
        """
        key = self._key(name, self.pending)
        return self._record(f"retry {name}", [self._try(self.pending[key])])

    def end(self, name: str) -> Moment:
        """End the running or pending job called `name` (``namespace/name``) and free its resources.

        Raises
        ------
        UnknownNameError
            No such job.
        """
        key = self._key(name, dict.fromkeys([*(pod.gang for pod in self.snapshot.running if pod.gang), *self.pending]))
        self.pending.pop(key, None)
        self.snapshot = self.snapshot.without(key)
        return self._record(f"end {name}")

    def fault(self, node: str, gpus: Sequence[int] = ()) -> Moment:
        """Break a node, or some of its GPUs, and place the jobs that lost pods again, in the order of their names.

        Parameters
        ----------
        node : str
        gpus : sequence of int
            Numbers of the broken GPUs on the node; empty: the whole node is broken.

        Notes
        -----
        A job that cannot be placed again keeps its other pods and waits for nodes for the lost ones.
        """
        index = self.snapshot.topology.node(node)
        self._sound.setdefault(index, self.snapshot)
        broken = sum(1 << gpu for gpu in gpus)

        def is_lost(pod: RunningPod) -> bool:
            return pod.node == index and (not gpus or bool(pod.gpu_mask & broken))

        lost = [pod for pod in self.snapshot.running if is_lost(pod)]
        damaged: list[Gang] = []
        names = self.snapshot.topology.node_names
        for key in sorted({pod.gang for pod in lost if pod.gang}, key=str.encode):
            pods = [pod for pod in self.snapshot.running if pod.gang == key]
            taken = [pod for pod in lost if pod.gang == key]
            submitted = self._gangs.get(key)
            again = self._with_waiting(damaged_gang(submitted, pods, taken, names))
            left = {pod.name for pod in pods} - {pod.name for pod in taken}
            damaged.append(in_sub_groups(again, submitted, left))
        self.snapshot = self.snapshot.without_pods(is_lost)
        self.snapshot = break_gpus(self.snapshot, index, gpus) if gpus else break_node(self.snapshot, index)
        what = f"fault {node}" + (f" GPU {', '.join(map(str, gpus))}" if gpus else "")
        return self._record(what, [self._try(gang) for gang in damaged])

    def recover(self, node: str) -> Moment:
        """Repair a broken node with all its GPUs; waiting pods may be placed on it again.

        Raises
        ------
        InputError
            The node is not broken.
        """
        index = self.snapshot.topology.node(node)
        sound = self._sound.pop(index, None)
        if sound is None:
            raise InputError("the node is not broken", source="timeline", got=node)
        now = self.snapshot
        restored = {}
        for name in ("unschedulable", "gpu_total", "allocatable"):
            array = getattr(now, name).copy()
            array[index] = getattr(sound, name)[index]
            restored[name] = array
        free = now.gpu_free.copy()
        free[index] |= restored["gpu_total"][index] & ~now.gpu_total[index]
        self.snapshot = dataclasses.replace(now, gpu_free=free, **restored)
        for key, gang in self.pending.items():
            former = tuple(dataclasses.replace(p, faulty=p.faulty and p.node != node) for p in gang.ascend.former)
            wish = dataclasses.replace(gang.ascend, former=former)
            self.pending[key] = dataclasses.replace(gang, ascend=wish)
        return self._record(f"recover {node}")

    def play(self, steps: Sequence[tuple[str, Gang | str]]) -> list[Moment]:
        """Run several steps in order; returns the moment after each.

        A step is ``("submit", gang)``, ``("end", name)``, ``("retry", name)``, ``("fault", node)`` or ``("recover",
        node)``.

        Raises
        ------
        UnknownNameError
            No such step.
        """
        known: Mapping[str, Callable[..., Moment]] = {
            "submit": self.submit,
            "end": self.end,
            "retry": self.retry,
            "fault": self.fault,
            "recover": self.recover,
        }
        played = []
        for kind, what in steps:
            check()
            if kind not in known:
                raise UnknownNameError("step", kind, known)
            played.append(known[kind](what))
        return played

    def _with_waiting(self, gang: Gang) -> Gang:
        """The gang with the pods that the same job lost to an earlier fault and that are still pending."""
        waiting = self.pending.get(gang.key)
        if waiting is None:
            return gang
        roles = list(gang.roles)
        for role in waiting.roles:
            same = next((i for i, other in enumerate(roles) if _shape(other) == _shape(role)), None)
            if same is None:
                roles.append(role)
                continue
            names = (*(roles[same].pod_names or ()), *(role.pod_names or ()))
            roles[same] = dataclasses.replace(roles[same], count=len(names), pod_names=names)
        wish = dataclasses.replace(gang.ascend, former=(*waiting.ascend.former, *gang.ascend.former))
        return dataclasses.replace(gang, roles=tuple(roles), ascend=wish)

    def _try(self, gang: Gang) -> Decision:
        result = self.policy.schedule([gang], self.snapshot)[0]
        if result.placed:
            self.pending.pop(gang.key, None)
            self.snapshot = self.snapshot.with_placement(result.result)  # type: ignore[arg-type]
        else:
            self.pending[gang.key] = gang
        return result

    def _key(self, name: str, among: Iterable[str]) -> str:
        for key in among:
            if name in (key, key.partition("/")[2]):
                return key
        raise UnknownNameError("job", name, among)

    def _record(self, step: str, decisions: Sequence[Decision] = ()) -> Moment:
        book = self.snapshot.ledger().switches
        moment = Moment(
            step,
            None if book is None else book.states(),
            _pods_per_switch(self.snapshot.running, self.table),
            tuple(sorted(self.pending, key=str.encode)),
            tuple(decisions),
        )
        self.moments.append(moment)
        return moment


def _shape(role: Role) -> tuple[object, ...]:
    return role.name, role.requests, role.assumed, role.gpu_milli


def _pods_per_switch(running: Sequence[RunningPod], table: SwitchTable | None) -> Mapping[str, Mapping[int, int]]:
    jobs: dict[str, dict[int, int]] = {}
    switch_of = np.zeros(0, dtype=np.int32) if table is None else table.node_switch
    for pod in running:
        if pod.gang:
            switch = int(switch_of[pod.node]) if 0 <= pod.node < len(switch_of) else -1
            of_job = jobs.setdefault(pod.gang, {})
            of_job[switch] = of_job.get(switch, 0) + 1
    return {name: dict(sorted(jobs[name].items())) for name in sorted(jobs, key=str.encode)}
