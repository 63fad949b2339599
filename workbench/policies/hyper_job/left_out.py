"""Why Jobs of a HyperJob have no HyperNode, in words and with counts."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.model.counted import counted, name_list
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger
from workbench.model.placement import Placement
from workbench.model.topology import TOP
from workbench.policies.composed import Composed
from workbench.policies.hyper_job.search import Choice, Search
from workbench.policies.hyper_job.trials import JobTrials
from workbench.policies.progress import Progress
from workbench.policies.reasons import cannot_start

__all__ = ["LeftOut", "shape_of"]


class LeftOut:
    """Says why Jobs find no HyperNode of a tier, given the HyperNodes that the other Jobs have.

    `jobs`: the Jobs with pending pods. `ledger`: as it was searched.
    """

    def __init__(
        self, policy: Composed, jobs: Sequence[Gang], ledger: Ledger, search: Search, trials: JobTrials
    ) -> None:
        self._policy = policy
        self._jobs = jobs
        self._ledger = ledger
        self._search = search
        self._trials = trials

    def why(self, number: int, tier: int, choice: Choice | None) -> str:
        """Why a Job has no HyperNode.

        `number`: position of the Job in `jobs`. `tier`: tier of the HyperNodes. `choice`: the HyperNodes of the other
        Jobs; None: no Job has one.
        """
        job, kind = self._jobs[number], self._trials.kinds[number]
        search, trials, topology = self._search, self._trials, self._ledger.topology
        progress = Progress.of(job, self._ledger.snapshot)
        if never := cannot_start(
            job, progress, sub_groups=self._policy.traits.sub_groups, words=self._policy.traits.words
        ):
            return never[0].message
        if not search.may_use(kind, tier):
            return f"its constraint allows no HyperNode of tier {tier}"
        bound, taken = search.bound_of(kind), set() if choice is None else set(choice.domains)
        free = search.free_at(tier) if bound is None else [bound]
        left = [domain for domain in free if domain not in taken]
        if not left:
            total = len(topology.domains_at(tier))
            mine = sum(domain >= 0 for domain in taken)
            rest = f", {total - mine} with accelerator pods" if total > mine else ""
            return f"none of the {counted(total, 'HyperNode')} is left: {mine} for other Jobs{rest}"
        inside = [domain for domain in left if choice is None or search.is_inside(domain, choice.around)]
        # Most pods first; ties: the smallest name.
        most = min(inside or left, key=lambda domain: (-trials.pods_in(kind, domain), topology.domain_name(domain)))
        name = topology.place_name(most)
        if not trials.has_room(kind, most):
            needed = job.min_available - job.ready
            enough = "" if needed >= job.n_pods else f", and {needed} are needed"
            return f"{name} holds {trials.pods_in(kind, most)} of its {shape_of([job])}{enough}"
        answer = trials.result(kind, most)
        if not isinstance(answer, Placement):
            return f"in {name}: {answer.reasons[0].message}"
        around = TOP if choice is None else choice.around
        return f"{name} holds it and lies outside {topology.place_name(around)}, where the other Jobs are"

    def told(self, tier: int, choice: Choice | None) -> str:
        """Which Jobs have no HyperNode, and why: ``h-b-0 waits: s1 holds …``; equal Jobs are told once."""
        found: dict[str, list[str]] = {}
        why: dict[int, str] = {}
        for number, job in enumerate(self._jobs):
            if choice is None or choice.domains[number] < 0:
                kind = self._trials.kinds[number]
                text = why.get(kind) or why.setdefault(kind, self.why(number, tier, choice))
                found.setdefault(text, []).append(job.name)
        verbs = {text: "waits" if len(names) == 1 else "wait" for text, names in found.items()}
        parts = [f"{name_list(names)} {verbs[text]}: {text}" for text, names in found.items()]
        more = f"; {len(parts) - 3} further kinds of Jobs wait" if len(parts) > 4 else ""
        return "; ".join(parts[:3] if more else parts) + more


def shape_of(jobs: Sequence[Gang]) -> str:
    """The pods of a Job in words: ``32 pods × 8 GPUs``; ``a Job`` if Jobs differ."""
    shapes = {(tuple((role.count, role.n_gpus) for role in job.roles)) for job in jobs}
    if len(shapes) > 1:
        return "a Job"
    parts = [counted(n, "pod") + (f" × {counted(gpus, 'GPU')}" if gpus else "") for n, gpus in shapes.pop() if n]
    return " + ".join(parts)
