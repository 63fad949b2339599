"""`Timeline`: a cluster step by step under one policy: jobs start and end, nodes break and recover.

Each step adds a `Moment`. Pending jobs are tried again only by the step `retry`: there is no clock and no queue.
Placements and faults are kept in a `HeldNodes`, as in a `Simulation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from workbench.cancel import check
from workbench.errors import InputError, UnknownNameError
from workbench.model.counted import counted
from workbench.model.extras import FormerPod
from workbench.model.gang import Gang
from workbench.model.placement import Decision, Placement
from workbench.model.running_pod import RunningPod
from workbench.model.scenario import Scenario, snapshot_of
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.switch_history import Moment, SwitchHistory
from workbench.model.switches import SwitchTable
from workbench.model.value import Working
from workbench.policies import as_policy
from workbench.policies.contract import Policy
from workbench.simulate.held_nodes import HeldNodes, break_gpus
from workbench.simulate.job import without_gang_group
from workbench.simulate.lost_pods import after_fault, former_pods, missing_pods

__all__ = ["Timeline"]


class Timeline(Working):
    """A cluster under one policy, step by step: submit, end, retry, fault, recover.

    `snapshot`: the initial cluster; not changed. Jobs of a scenario are not submitted. `moments`: the initial state,
    then the state after each step.

    Examples
    --------
    >>> import workbench as wb
    >>> timeline = wb.Timeline(wb.generate_scenario("three-level-tree"), "binpack")
    >>> timeline.submit(wb.gang("mine", pods=2, gpus=8)).step
    'submit mine'
    >>> timeline.pending
    {}
    """

    # Each step (`submit`, `retry`, `end`, `fault`, `recover`) changes the `HeldNodes`, lets the policy try the jobs
    # that wait or lost pods (`_try`), and ends in `_record`, which adds a moment. `_waiting` has jobs without nodes,
    # `_lost` the pods that faults took from jobs that keep the others.

    def __init__(self, snapshot: ClusterSnapshot | Scenario, policy: Policy | str) -> None:
        snapshot, policy = snapshot_of(snapshot), as_policy(policy)
        self.policy = policy
        self.table: SwitchTable | None = snapshot.switch_table
        self._nodes = HeldNodes(snapshot, policy)
        # Jobs that wait and hold no node, and pods that jobs lost to faults, by ``namespace/name``.
        self._waiting: dict[str, Gang] = {}
        self._lost: dict[str, tuple[FormerPod, ...]] = {}
        self.moments: list[Moment] = []
        self._record("start")

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The cluster after the last step."""
        return self._nodes.snapshot()

    @property
    def pending(self) -> dict[str, Gang]:
        """Jobs that wait for nodes, and the pods of jobs that faults took, by ``namespace/name``."""
        found = dict(self._waiting)
        for key, lost in self._lost.items():
            found[key] = missing_pods(self._nodes.placement(key), lost, self._nodes.broken_names)
        return found

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

        Raises InputError: a job of this name runs or waits already.
        """
        if gang.key in self.pending or any(pod.gang == gang.key for pod in self.snapshot.running):
            raise InputError("a job of this name is there already", source="timeline", got=gang.key)
        self._waiting[gang.key] = without_gang_group(gang)
        return self._record(f"submit {gang.name}", [self._try(gang.key)])

    def retry(self, name: str) -> Moment:
        """Try to place the pending job called `name` (``namespace/name``) again.

        Raises UnknownNameError: no such job waits.
        """
        key = self._key(name, self.pending)
        return self._record(f"retry {name}", [self._try(key)])

    def end(self, name: str) -> Moment:
        """End the running or pending job called `name` (``namespace/name``) and free its resources.

        Raises UnknownNameError: no such job.
        """
        key = self._key(name, dict.fromkeys([*self._running(self.snapshot.running), *self.pending]))
        if self._waiting.pop(key, None) is None:
            self._hold(key)
            self._nodes.release(key)
            self._lost.pop(key, None)
        return self._record(f"end {name}")

    def fault(self, node: str, gpus: Sequence[int] = ()) -> Moment:
        """Break a node, or some of its GPUs, and place the jobs that lost pods again, in the order of their names.

        `gpus`: numbers of the broken GPUs on the node; empty: the whole node is broken.

        Notes
        -----
        A job that cannot be placed again keeps its other pods and waits for nodes for the lost ones.
        """
        index = self.snapshot.topology.node(node)
        # Refuses GPUs that the node does not have.
        break_gpus(self.snapshot, index, gpus)
        broken = sum(1 << gpu for gpu in gpus)
        for key in sorted(set(self._running(pod for pod in self.snapshot.running if pod.node == index))):
            self._hold(key)
        damaged = sorted(self._lose(index, broken), key=str.encode)
        self._nodes.break_down(f"{len(self.moments)} {node}", [index], broken)
        what = f"fault {node}" + (f" GPU {', '.join(map(str, gpus))}" if gpus else "")
        return self._record(what, [self._try(key) for key in damaged])

    @staticmethod
    def _running(pods: Iterable[RunningPod]) -> list[str]:
        """Jobs of running pods, without those that are terminating."""
        return [pod.gang for pod in pods if pod.gang and not pod.terminating]

    def _hold(self, key: str) -> None:
        """Let a job that ran in the first snapshot hold its nodes by itself."""
        if not self._nodes.holds(key):
            self._nodes.take_over(key)

    def _lose(self, node: int, gpus: int) -> list[str]:
        """Take the pods on a node, or on some of its GPUs, from their jobs; returns the jobs."""
        hits = self._nodes.hit_by([node], gpus)
        for key, hit in hits.items():
            whole = self._nodes.placement(key)
            self._nodes.release(key)
            left = after_fault(whole, hit, by_pods=True)
            former = (*self._lost.pop(key, ()), *former_pods(whole, hit))
            if left is None:
                self._waiting[key] = whole.gang
            else:
                self._nodes.adopt(key, left)
                self._lost[key] = former
        return list(hits)

    def recover(self, node: str) -> Moment:
        """Repair a broken node with all its GPUs; waiting pods may be placed on it again.

        Raises InputError: the node is not broken.
        """
        faults = self._nodes.faults_of(self.snapshot.topology.node(node))
        if not faults:
            raise InputError("the node is not broken", source="timeline", got=node)
        for fault in faults:
            self._nodes.repair(fault)
        return self._record(f"recover {node}")

    def play(self, steps: Sequence[tuple[str, Gang | str]]) -> list[Moment]:
        """Run several steps in order; returns the moment after each.

        A step is ``("submit", gang)``, ``("end", name)``, ``("retry", name)``, ``("fault", node)`` or ``("recover",
        node)``.

        Raises UnknownNameError: no such step.
        """
        kinds: tuple[Callable[..., Moment], ...] = self.submit, self.end, self.retry, self.fault, self.recover
        known = {one.__name__: one for one in kinds}
        played = []
        for kind, what in steps:
            check()
            if kind not in known:
                raise UnknownNameError("step", kind, known)
            played.append(known[kind](what))
        return played

    def _try(self, key: str) -> Decision:
        decision = self._nodes.decide(self.pending[key])
        if isinstance(decision.result, Placement):
            if self._nodes.holds(key):
                self._nodes.extend(key, decision.result)
            else:
                self._nodes.adopt(key, decision.result)
            self._waiting.pop(key, None)
            self._lost.pop(key, None)
        return decision

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


def _pods_per_switch(running: Sequence[RunningPod], table: SwitchTable | None) -> Mapping[str, Mapping[int, int]]:
    jobs: dict[str, dict[int, int]] = {}
    switch_of = np.zeros(0, dtype=np.int32) if table is None else table.node_switch
    for pod in running:
        if pod.gang:
            switch = int(switch_of[pod.node]) if 0 <= pod.node < len(switch_of) else -1
            of_job = jobs.setdefault(pod.gang, {})
            of_job[switch] = of_job.get(switch, 0) + 1
    return {name: dict(sorted(jobs[name].items())) for name in sorted(jobs, key=str.encode)}
