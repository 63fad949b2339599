"""Domains for the pod sets of a nomination, flavor by flavor.

Source: Kueue 0.19, pkg/scheduler/flavorassigner/tas_flavorassigner.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from workbench.model.kueue import PodSet
from workbench.model.kueue_queues import QueuedWorkload
from workbench.policies.kueue.cycle.cluster import CycleCluster, CycleQueue
from workbench.policies.kueue.cycle.flavor_search import asks_topology
from workbench.policies.kueue.cycle.nomination import Mode, Nomination, PodSetChoice
from workbench.policies.kueue.flavor_snapshot import usage_of
from workbench.policies.kueue.values import DomainUsage, Outcome, Replacement

__all__ = ["TopologyStep", "has_unhealthy_domain"]

#: State of an admission check that is passed.
READY = "Ready"


def has_unhealthy_domain(workload: QueuedWorkload) -> bool:
    """Whether a workload holds a domain on a node that failed."""
    sets = workload.admission.pod_sets if workload.admission is not None else ()
    domains = (values for each in sets if each.assignment is not None for values, _ in each.assignment.domains)
    return any(values[-1] in workload.unhealthy_nodes for values in domains)


@dataclass(frozen=True, slots=True)
class TopologyStep:
    """The topology of one workload: what its pod sets ask of the nodes of their flavors, and the answers."""

    cluster: CycleCluster
    queue: CycleQueue
    workload: QueuedWorkload

    def requests(self, nomination: Nomination) -> dict[str, list[PodSet]]:
        """Pod sets that need domains, by flavor, with as many pods as the nomination gives them.

        Notes which pod sets are delayed, and of which Kueue cannot tell the flavor.
        """
        found: dict[str, list[PodSet]] = {}
        for choice in nomination.choices:
            if not asks_topology(choice.pod_set, self.queue) or choice.error or not choice.count:
                continue
            if choice.assignment is not None and not self._unhealthy(choice):
                continue
            flavors = sorted({chosen.flavor for chosen in choice.flavors.values()} & self.queue.topologies)
            if len(flavors) != 1:
                nomination.fail(choice, _no_single_flavor(flavors))
            elif self.workload.admission is None and flavors[0] in self.queue.delaying:
                choice.delayed = "Pending"
            else:
                pods = choice.pod_set
                pods = pods if pods.count == choice.count else replace(pods, count=choice.count)
                found.setdefault(flavors[0], []).append(pods)
        return found

    def _unhealthy(self, choice: PodSetChoice) -> bool:
        assert choice.assignment is not None
        return any(values[-1] in self.workload.unhealthy_nodes for values, _ in choice.assignment.domains)

    def place(self, requests: Mapping[str, list[PodSet]], *, simulate_empty: bool = False) -> dict[str, Outcome]:
        """Answers by pod set, flavor by flavor in the order of their names.

        `requests`: as of `requests`. `simulate_empty`: as if no workload held anything.
        """
        answers: dict[str, Outcome] = {}
        assumed: list[DomainUsage] = []
        replacement = self._replacement()
        for flavor in sorted(requests):
            shared = self.cluster.shares_nodes(flavor)
            found = self.cluster.snapshots[flavor].place(
                requests[flavor],
                simulate_empty=simulate_empty,
                assumed=assumed if shared else (),
                replacement=replacement,
            )
            answers |= found
            for pod_set in requests[flavor] if shared else ():
                outcome = found.get(pod_set.name)
                if outcome is not None and outcome.assignment is not None:
                    assumed += usage_of(pod_set, outcome.assignment)
        return answers

    def _replacement(self) -> Replacement | None:
        workload, admission = self.workload, self.workload.admission
        if not workload.unhealthy_nodes or admission is None:
            return None
        held = {each.name: each.assignment for each in admission.pod_sets if each.assignment is not None}
        return Replacement(workload.unhealthy_nodes, held, workload.owned_by_pod)

    def failure(self, answers: Mapping[str, Outcome]) -> tuple[str, str] | None:
        """The first pod set of the workload that has no domain, and why; None: all have.

        Kueue names any one of several; this takes the first in the order of the workload.
        """
        for pod_set in self.workload.pod_sets:
            outcome = answers.get(pod_set.name)
            if outcome is not None and outcome.reason:
                return pod_set.name, outcome.reason
        return None

    def enter(self, nomination: Nomination, answers: Mapping[str, Outcome]) -> None:
        """Write the domains of the answers into the nomination."""
        for name, outcome in answers.items():
            choice = nomination.choice(name)
            if choice is not None:
                choice.assignment = outcome.assignment
                if outcome.assignment is not None and choice.delayed is not None:
                    choice.delayed = READY

    def judge(self, nomination: Nomination) -> None:
        """Look for domains, and lower the modes of pod sets that find none now, or not even in an empty cluster."""
        if nomination.mode is Mode.NO_FIT:
            return
        requests = self.requests(nomination)
        if nomination.mode is Mode.FIT:
            answers = self.place(requests)
            failed = self.failure(answers)
            if failed is None:
                self.enter(nomination, answers)
            else:
                choice = nomination.choice(failed[0])
                assert choice is not None
                choice.reasons.append(failed[1])
                nomination.set_mode(choice, Mode.PREEMPT)
        if nomination.mode is Mode.PREEMPT and not self.workload.unhealthy_nodes:
            failed = self.failure(self.place(requests, simulate_empty=True))
            if failed is not None:
                choice = nomination.choice(failed[0])
                assert choice is not None
                nomination.set_mode(choice, Mode.NO_FIT)
                return
            for pod_set in (each for sets in requests.values() for each in sets):
                choice = nomination.choice(pod_set.name)
                assert choice is not None
                nomination.set_mode(choice, Mode.PREEMPT)

    def reserve(self, nomination: Nomination) -> None:
        """Domains for a workload that waits for a preemption: with its victims gone, or in an empty cluster.

        The caller has taken the victims out; without victims the cluster counts as empty.
        """
        self.enter(nomination, self.place(self.requests(nomination)))

    def reserve_in_empty(self, nomination: Nomination) -> None:
        """Domains that a workload without victims would get in an empty cluster, so that nobody else takes them."""
        self.enter(nomination, self.place(self.requests(nomination), simulate_empty=True))


def _no_single_flavor(flavors: list[str]) -> str:
    if not flavors:
        return "no TAS flavor assigned"
    return f"more than one TAS flavor assigned: {', '.join(flavors)}"
