"""Explains Volcano 1.15's search: every HyperNode tried for a job, and those tried inside the chosen one.

The numbers come from the search itself, which traces how it would place the job before it does; the texts are made
here. The first round places the job's minimum; each later round tries the same HyperNodes for one pod more, so that a
single note describes it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.kernels.domains import NO_RECORD
from workbench.kernels.two_level import VERDICTS, AttemptSteps, TriedDomains, TwoLevel
from workbench.model.explanation import Candidate, Recorder
from workbench.model.placement import best_of
from workbench.policies.nearest import held_pods
from workbench.policies.reasons import holds_text
from workbench.policies.volcano.explain.nodes import record_nodes
from workbench.policies.volcano.parts.texts import above_text, pods_text, room_for_text, room_text
from workbench.policies.volcano.v1_15.policy import TellFirstPod
from workbench.policies.volcano.v1_15.search_misses import missed
from workbench.policies.volcano.v1_15.search_query import SearchQuery

__all__ = ["SearchExplainer", "VolcanoExplainer"]

_TOO_SMALL, _TOO_FEW, _NO_FIT, _SOLVES = range(len(VERDICTS))


class SearchExplainer:
    """Runs the rounds of placing pods of one job's search and tells a recorder what the search considered.

    `tell_first_pod`: records how nodes score for the first pod of a sub-job. `first`: whether the next round is the
    job's first, of which alone every HyperNode is recorded. `scale`: weight of a HyperNode's score.
    """

    # A round of the search (`take_round`), told to the recorder in this order:
    #   1. every HyperNode that was tried, by tier, kept or dropped and why (`_tell_domains`, `_lacks`)
    #   2. those that were not tried at all (`_dropped`)
    #   3. inside a chosen HyperNode, those tried for each sub-job (`_tell_inner`)
    #   4. where pods went, with the scores of their nodes (`_tell_places`, `_tell_nodes`)

    def __init__(
        self, recorder: Recorder, asked: SearchQuery, tell_first_pod: TellFirstPod, first: bool, scale: float
    ) -> None:
        self._recorder = recorder
        self._asked = asked
        self._tell_first_pod = tell_first_pod
        self._first = first
        self._factor = 100.0 * scale
        self._topology = asked.topology
        self._candidates: dict[int, Candidate] = {}

    def take_round(self, search: TwoLevel) -> bool:
        """Let the search place pods in a HyperNode once (one round), and tell the recorder what it considered.

        Returns False, with nothing placed, if the job can start in no HyperNode.
        """
        first, self._first = self._first, False
        found = search.look()
        if first and self._recorder.ties_only:
            self._tell_kept(search)
        elif first:
            self._tell_domains(search, search.tried(), found)
        if not found:
            self._recorder.note("no HyperNode chosen")
            if first and not self._recorder.ties_only:
                self._tell_nearest(search)
            return False
        mark, records = search.n_placed, search.records()
        search.take()
        if self._recorder.ties_only:
            return True
        owner = self._tell_places(search, mark)
        if first:
            self._tell_nodes(int(search.records()[owner]), owner, int(records[owner]))
        return True

    # ---- where the sub-jobs went ----

    def _tell_places(self, search: TwoLevel, mark: int) -> int:
        """Tell the recorder where the pods from number `mark` on were placed; return the first one's sub-job."""
        subs, records = self._asked.subs, search.records()
        owners = search.placed(mark)[0]
        for number in dict.fromkeys(owners.tolist()):
            name = subs[number].name or self._asked.request.gang.name
            pods = pods_text(int((owners == number).sum()))
            self._recorder.note(f"{name}: {pods} inside {self._topology.place_name(int(records[number]))}")
        return int(owners[0])

    def _tell_nearest(self, search: TwoLevel) -> None:
        """Tell the recorder the nodes of the HyperNode that had room for most of the job's pods."""
        misses = missed(self._asked, search.tried()).misses
        if not misses:
            return
        best = best_of(misses)
        domain = self._topology.domain(best.domain) if self._topology.has_domain(best.domain) else -1
        owners, _, left = search.left()
        owner = int(owners[np.argmax(left > 0)])
        self._tell_nodes(domain, owner, int(search.records()[owner]))

    def _tell_nodes(self, domain: int, number: int, record: int) -> None:
        self._recorder.note(f"nodes of {self._topology.place_name(domain)} as the first pod sees them")
        self._tell_first_pod(self._asked, number, domain, record)

    # ---- HyperNodes for the job ----

    def _tell_kept(self, search: TwoLevel) -> None:
        """Tell the recorder the HyperNodes in which the job can start, with their scores."""
        tried = search.tried()
        kept = np.flatnonzero(tried.kept)
        for domain, score in zip(tried.domains[kept].tolist(), tried.scores[kept].tolist(), strict=True):
            self._add(domain, True, "", score)
        self._recorder.candidates.extend(self._candidates[domain] for domain in self._in_order())

    def _tell_domains(self, search: TwoLevel, tried: TriedDomains, found: bool) -> None:
        """Tell the recorder the result for every HyperNode, by tier and name, the virtual top last."""
        self._candidates = {}
        self._dropped()
        kept: list[tuple[float, int, AttemptSteps]] = []
        held = held_pods(self._asked.request, tried.domains)
        columns = tried._replace(holds=held)
        for domain, holds, keeps, score, stuck in zip(*(column.tolist() for column in columns), strict=True):
            if keeps:
                told = search.explain_in(domain)
                kept.append((score, -domain, told))
                pods = int(told.pods.sum())
                why = holds_text(pods, self._asked.needs)
                self._add(domain, True, why, score, self._parts(told))
            else:
                self._add(domain, False, self._lacks(search, domain, holds, stuck))
        if self._asked.limits.job is not None and found:
            for domain in range(-1, self._topology.n_domains):
                if domain not in self._candidates:
                    self._add(domain, False, "not tried: a lower tier has a solution")
        self._recorder.candidates.extend(self._candidates[domain] for domain in self._in_order())
        if kept and self._asked.request.gang.sub_grouped:
            chosen = -max(kept, key=lambda one: one[:2])[1]
            self._tell_inner(search.explain_in(chosen, inner=True))

    def _in_order(self) -> list[int]:
        """The HyperNodes of `_candidates` by tier and name, the virtual top last."""
        tier_of = self._topology.domain_tier
        return sorted(self._candidates, key=lambda d: (tier_of(d), d < 0, d))

    def _add(
        self, domain: int, kept: bool, why: str, score: float | None = None, parts: Mapping[str, float] | None = None
    ) -> None:
        name, tier = self._topology.domain_name(domain), self._topology.domain_tier(domain)
        self._candidates[domain] = Candidate("domain", name, tier, kept, why, score, parts or {})

    def _parts(self, told: AttemptSteps) -> dict[str, float]:
        """Score parts summed over the traced steps (sub-jobs placed): packing by resource, share of tasks inside."""
        resources = self._asked.request.snapshot.resources
        packed = told.parts[:, : len(resources)].sum(axis=0)
        found = {name: float(part) * self._factor for name, part in zip(resources, packed, strict=True) if part}
        placed = told.pods > 0
        # Shares of tasks are whole numbers of them; what is left of the packing's own sum is rounding.
        tasks = self._asked.subs.total[told.sub]
        shares = np.rint((told.score - told.parts.sum(axis=1)) * tasks) / tasks
        found["tasks"] = float(shares[placed].sum()) * self._factor
        return found

    def _lacks(self, search: TwoLevel, domain: int, holds: int, stuck: int) -> str:
        needs, asked = self._asked.needs, self._asked
        why = holds_text(holds, needs)
        if holds < needs:
            return f"{why}; {self._room(search, domain)}"
        why += asked.obstacle(stuck, domain)
        if stuck >= 0 and asked.records[stuck] == NO_RECORD:
            short = asked.short_of(asked.subs[stuck].pending, domain)
            why += f" ({short})" if short else ""
        return why

    def _room(self, search: TwoLevel, domain: int) -> str:
        demand = self._asked.request.demand
        per_role = [0] * len(self._asked.request.gang.roles)
        _, shapes, left = search.left()
        for shape, count in zip(shapes.tolist(), left.tolist(), strict=True):
            if count:
                per_role[demand.order[shape]] += count
        nodes = self._topology.nodes_of(domain)
        return room_text(demand, nodes, demand.idle, per_role, self._asked.needs)

    def _dropped(self) -> None:
        """Tell the recorder the HyperNodes that were not tried at all, each with the reason."""
        asked, topology = self._asked, self._topology
        limit = asked.limits.job
        if limit is None:
            return
        minimum = asked.minimum
        large = None if minimum is None else asked.large(minimum)
        kept = {d for _, domains in asked.gradients.of(-1, asked.record, limit, large) for d in domains.tolist()}
        below = {d for _, domains in asked.gradients.of(-1, asked.record, limit) for d in domains.tolist()}
        # The last entry is the virtual top's, which -1 finds there.
        held = held_pods(asked.request, [*range(topology.n_domains), -1])
        for domain in range(-1, topology.n_domains):
            tier = topology.domain_tier(domain)
            if domain in kept:
                continue
            if tier > limit:
                room = room_for_text(int(held[domain]), asked.needs)
                self._add(domain, False, f"{above_text(tier, limit)}; {room}")
            elif domain not in below:
                name = topology.place_name(asked.record)
                self._add(domain, False, f"meets the recorded {name} only above tier {limit}")
            else:
                assert minimum is not None
                short = asked.short_of(minimum, domain)
                self._add(domain, False, f"smaller than minResources when the session began ({short})")

    # ---- HyperNodes for the sub-jobs, inside the one for the job ----

    def _tell_inner(self, told: AttemptSteps) -> None:
        """Tell the recorder which HyperNodes were tried for each sub-job, tier by tier in the order of the search."""
        topology = self._topology
        columns = (told.step, told.looked, told.holds, told.verdict, told.packed, told.share)
        for step, domain, holds, verdict, packed, share in zip(*(c.tolist() for c in columns), strict=True):
            number, needs = int(told.sub[step]), int(told.needs[step])
            sub = self._asked.subs[number]
            why = f"holds {min(holds, needs)} of {pods_text(needs)}"
            if verdict == _TOO_SMALL:
                short = self._asked.short_of(sub.pending, domain)
                why = f"smaller than the pending pods when the session began ({short})"
            elif verdict == _NO_FIT:
                why = f"room for {pods_text(holds)} role by role, but not for {needs} of them together"
            elif verdict == _TOO_FEW and holds >= needs:
                why += ", but too few of one role"
            name, tier = topology.domain_name(domain), topology.domain_tier(domain)
            kept = verdict == _SOLVES
            parts = {"packing": packed * self._factor, "tasks": share * self._factor} if kept else {}
            score = sum(parts.values()) if kept else None
            owner = sub.name or self._asked.request.gang.name
            self._recorder.candidates.append(Candidate("inner", name, tier, kept, why, score, parts, owner))


class VolcanoExplainer:
    """The explainer that the registry hands to the policies named after Volcano."""

    nodes = staticmethod(record_nodes)
    search = SearchExplainer
