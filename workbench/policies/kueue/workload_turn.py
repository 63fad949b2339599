"""`WorkloadTurn`: the pod sets of one gang placed one after another, whole or, if need be, with fewer pods.

Source: Kueue 0.19, pkg/scheduler (partial admission: podset_reducer.go); a second placement of pods of a running gang
follows the replacement of a failed node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.cancel import check
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED
from workbench.policies.kueue.assignments import node_of
from workbench.policies.kueue.gang_request import GangReading, PodRun, PodSetGroup
from workbench.policies.kueue.gang_snapshot import GangSnapshot
from workbench.policies.kueue.messages import broken_slices
from workbench.policies.kueue.topology_snapshot import usage_of
from workbench.policies.kueue.values import DomainUsage, Outcome, PodSet, Replacement, TopologyRequest
from workbench.policies.request import Assignment, Request

__all__ = ["Misfit", "WorkloadTurn"]

#: Stands for the node of pods that have none; no node has an empty name.
_LOST = ""


@dataclass(frozen=True)
class Misfit:
    """A gang that is not placed, with the reason."""

    reason: Notice
    warnings: tuple[Notice, ...] = ()


class WorkloadTurn:
    """One attempt to place a gang."""

    # Overview:
    #   1. all pods (`_with`): each group of pod sets by its first request that succeeds (`_group`)
    #   2. else as many as fit (`_reduced`), at least `_fewest`, if partial admission is allowed
    #   3. the nodes of the pods, checked against the conditions that Kueue does not look at (`_checked`)

    def __init__(self, request: Request, cluster: GangSnapshot, reading: GangReading) -> None:
        self.request = request
        self.cluster = cluster
        self.runs = [run for group in reading.groups for run in group.runs]
        self.groups = reading.groups

    def place(self) -> Assignment | Misfit:
        """Nodes for all pods; else for as many as partial admission allows."""
        whole = [len(run.pods) for run in self.runs]
        found = self._with(whole)
        if not isinstance(found, Notice):
            return self._checked(found, whole, ())
        fewest = self._fewest(whole)
        spare = sum(whole) - sum(fewest)
        reduced = self._reduced(whole, fewest, spare) if spare else None
        if reduced is None:
            return Misfit(found)
        nodes, counts = reduced
        text = (
            f"admitted with {sum(counts)} of {counted(sum(whole), 'pod')} (partial admission): pods beyond the count "
            "that is admitted are not tried later"
        )
        notice = Notice("partial-admission", text, numbers={"count": sum(counts)})
        return self._checked(nodes, counts, (found,), *((notice,) if sum(counts) else ()))

    def _reduced(
        self, whole: Sequence[int], fewest: Sequence[int], spare: int
    ) -> tuple[dict[int, str], list[int]] | None:
        """The largest counts with which the gang fits, and the nodes; None: not even the fewest pods do.

        Kueue takes the same share from every pod set, and bisects.
        """
        low, high, best = 1, spare, None
        while low <= high:
            check()
            step = (low + high) // 2
            counts = [most - (most - least) * step // spare for most, least in zip(whole, fewest, strict=True)]
            found = self._with(counts)
            if isinstance(found, Notice):
                low = step + 1
            else:
                best, high = (found, counts), step - 1
        return best

    def _fewest(self, whole: Sequence[int]) -> list[int]:
        """Pods of each pod set that the gang needs to start: the minimums of the roles, then the first ones."""
        start, sliced = self.request.start, {run.name: group.slice_size for group in self.groups for run in group.runs}
        left = start.missing
        fewest = []
        for run, count in zip(self.runs, whole, strict=True):
            own = min(max(start.minimums[run.role] - start.present[run.role], 0), count)
            # A slice, and a leader, is whole or absent.
            fewest.append(count if sliced[run.name] > 1 else own)
        short = left - sum(fewest)
        for i, count in enumerate(whole):
            more = min(max(short, 0), count - fewest[i])
            fewest[i] += more
            short -= more
        return fewest

    def _with(self, counts: Sequence[int]) -> dict[int, str] | Notice:
        """Node of each pod if the pod sets have these counts, or why one of them does not fit."""
        nodes: dict[int, str] = {}
        taken: list[DomainUsage] = []
        number = 0
        for group in self.groups:
            mine = counts[number : number + len(group.runs)]
            number += len(group.runs)
            found = self._group(group, mine, taken)
            if isinstance(found, Notice):
                return found
            nodes.update(found)
        return nodes

    def _group(self, group: PodSetGroup, counts: Sequence[int], taken: list[DomainUsage]) -> dict[int, str] | Notice:
        """Nodes of the pods of one group by the first request that succeeds; adds what they take."""
        failure: Notice | None = None
        wanted = [(run, count) for run, count in zip(group.runs, counts, strict=True) if count]
        for request in group.attempts if wanted else ():
            check()
            pod_sets = [self.cluster.pod_set(run.name, run.role, count, request) for run, count in wanted]
            outcomes = self._outcomes(wanted, pod_sets, request, taken)
            failed = next((pods.name for pods in pod_sets if outcomes[pods.name][0].assignment is None), None)
            if failed is not None:
                why = outcomes[failed][0]
                text, numbers = f"couldn't assign flavors to pod set {failed}: {why.reason}", {"count": sum(counts)}
                if why.crashed:
                    failure = Notice("upstream-crash", text, numbers=numbers)
                else:
                    failure = Notice("no-topology-fit", text, numbers=numbers)
                continue
            nodes: dict[int, str] = {}
            for (run, _), pods in zip(wanted, pod_sets, strict=True):
                table = outcomes[pods.name][1]
                nodes.update(zip(run.pods, table, strict=False))
                taken += [DomainUsage((name,), pods.requests, held) for name, held in Counter(table).items()]
            return nodes
        return {} if failure is None else failure

    def _outcomes(
        self,
        wanted: Sequence[tuple[PodRun, int]],
        pod_sets: Sequence[PodSet],
        request: TopologyRequest,
        taken: Sequence[DomainUsage],
    ) -> dict[str, tuple[Outcome, list[str]]]:
        """For each pod set the answer and the nodes of its pods, rank by rank."""
        held = {run.name: self.cluster.running(run.role) for run, _ in wanted}
        if not any(held.values()):
            return {
                name: (each, self._table(each, {}))
                for name, each in self.cluster.place(pod_sets, assumed=taken).items()
            }
        # Each by itself, as Kueue replaces them: what runs already bounds where the others may go.
        found: dict[str, tuple[Outcome, list[str]]] = {}
        more = [*taken]
        for pods in pod_sets:
            before = {**held[pods.name], _LOST: pods.count} if held[pods.name] else {}
            again = Replacement((_LOST,), {pods.name: self.cluster.assignment(before)}) if before else None
            answer = self.cluster.place([pods], assumed=more, replacement=again)[pods.name]
            found[pods.name] = answer, self._table(answer, held[pods.name])
            if answer.assignment is not None:
                more += usage_of(pods, answer.assignment)
        return found

    def _table(self, outcome: Outcome, before: Mapping[str, int]) -> list[str]:
        """Node of each pod by rank; pods that had a node before are left out."""
        if outcome.assignment is None:
            return []
        table: list[str] = []
        for values, count in outcome.assignment.domains:
            name = node_of(outcome.assignment.levels, values)
            assert name is not None, "the lowest level of a cluster's topology is the node"
            table += [name] * (count - before.get(name, 0))
        return table

    def _checked(
        self, nodes: Mapping[int, str], counts: Sequence[int], why: tuple[Notice, ...], *warnings: Notice
    ) -> Assignment | Misfit:
        """The assignment, unless it leaves needed pods without a place; `why`: why pods beyond the counts are not."""
        gang, topology, demand = self.request.gang, self.request.snapshot.topology, self.request.demand
        node = np.full(gang.n_pods, UNPLACED, dtype=np.int32)
        index = {name: topology.node(name) for name in set(nodes.values())}
        node[list(nodes)] = [index[name] for name in nodes.values()]
        placed = np.flatnonzero(node != UNPLACED)
        refused = [pod for role in demand.order for pod in self._refused(role, node)]
        if refused:
            where = topology.node_names[int(node[refused[0]])]
            text = (
                f"Kueue assigns {gang.pod(refused[0]).name} to {where}, which does not take it: a leader is placed "
                "without a look at its own node selector, affinity and tolerations"
            )
            return Misfit(Notice("pods-without-place", text), warnings)
        progress = self.request.progress()
        for role in demand.order:
            progress.place(role, int((gang.role_of_pod[placed] == role).sum()))
        lost = sum(counts) - len(placed)
        if lost:
            text = f"Kueue admits the workload, but assigns {len(placed)} of its {counted(sum(counts), 'pod')} only"
            text += self._broken_slices(counts)
            short = Notice("pods-without-place", text, numbers={"count": lost})
            if not progress.ready:
                return Misfit(short, warnings)
            why, warnings = (short, *why), (*warnings, short)
        return Assignment(node, dict.fromkeys(demand.order, why) if why else {}, warnings=warnings)

    def _broken_slices(self, counts: Sequence[int]) -> str:
        """Which pod sets do not divide into whole slices, as the end of a sentence; empty if all do."""
        slices = [group.attempts[0].slices for group in self.groups for _ in group.runs]
        runs = zip(self.runs, counts, slices, strict=True)
        told = (broken_slices(run.name, count, layers) for run, count, layers in runs)
        parts = [text for text in told if text]
        return f": {'; '.join(parts)}" if parts else ""

    def _refused(self, role: int, node: npt.NDArray[np.int32]) -> list[int]:
        """Pods of a role, by position, whose nodes do not accept them; `node` has the node of each pod, int32 (n,)."""
        gang = self.request.gang
        pods = np.arange(gang.role_start[role], gang.role_start[role + 1])
        pods = pods[node[pods] != UNPLACED]
        accepted = self.request.demand.restriction(role)
        return [] if accepted is None else pods[accepted[node[pods]] == 0].tolist()
