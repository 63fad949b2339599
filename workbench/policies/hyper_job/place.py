"""Placement of a HyperJob: HyperNodes for its Jobs, then one placement of all their pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.model.counted import counted
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger, idle_accelerators
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED, NearestMiss, Placement, Refusal, Unplaced
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.hyper_job.search import Choice, Search, TierTried
from workbench.policies.hyper_job.trials import JobTrials
from workbench.policies.reasons import not_offered, topology_not_ready
from workbench.policies.taking import take_placement

if TYPE_CHECKING:
    from workbench.policies.base import Composed

__all__ = ["place_hyper_job"]


def place_hyper_job(policy: Composed, gang: Gang, ledger: Ledger, recorder: Recorder | None) -> Placement | Refusal:
    """Place a HyperJob: each Job alone in a HyperNode of one tier, its pods there as the policy places them.

    Parameters
    ----------
    policy : Composed
    gang : Gang
        A gang with `Gang.jobs`.
    ledger : Ledger
        Holds the placement afterwards, and the accelerators that the Jobs leave idle in their HyperNodes are taken,
        too; unchanged if the answer is a refusal.
    recorder : Recorder or None
        Receives the HyperNodes that were considered.
    """
    topology = ledger.topology
    if not topology.ready or not topology.laminar or not topology.nested or not topology.n_domains:
        return _refusal(policy, gang, (topology_not_ready(topology),))
    jobs = [job.gang for job in gang.jobs if job.gang is not None]
    held = _held(gang, ledger)
    mark = ledger.checkpoint()
    _reopen(ledger, [held[job.name] for job in jobs if job.name in held])
    trials = JobTrials(policy, jobs, ledger)
    search = Search(gang, jobs, ledger, trials, held)
    choice = search.run()
    if recorder is not None:
        _record(recorder, search, jobs, trials, choice)
    if choice is None:
        ledger.rollback(mark)
        request = policy.node.request(gang, ledger, GpuQuestions(policy.gpu, ledger), None)
        return _refused(policy, gang, jobs, search, not_offered(request))
    placement = _placement(policy, gang, jobs, ledger, trials, choice, held)
    take_placement(placement, ledger)
    return placement


def _held(gang: Gang, ledger: Ledger) -> dict[str, int]:
    """HyperNode of each Job of a HyperJob that has running pods, by the Job's name."""
    exclusive, topology = ledger.exclusive, ledger.topology
    named = {job.name: exclusive.get(f"{gang.key}/{job.name}", "") for job in gang.jobs}
    return {job: topology.domain(name) for job, name in named.items() if name and topology.has_domain(name)}


def _reopen(ledger: Ledger, domains: Sequence[int]) -> None:
    """Give back the idle accelerators of HyperNodes that Jobs hold, so that their own pods can have them."""
    snapshot = ledger.snapshot
    for domain in domains:
        nodes = snapshot.topology.nodes_of(domain)
        rows, words = idle_accelerators(snapshot.idle, snapshot.gpu_free, snapshot.gpu_columns, nodes)
        ledger.give_back(nodes, rows, words)


def _placement(
    policy: Composed,
    gang: Gang,
    jobs: Sequence[Gang],
    ledger: Ledger,
    trials: JobTrials,
    choice: Choice,
    held: Mapping[str, int],
) -> Placement:
    """One placement of all pods, joined from those of the Jobs inside their HyperNodes."""
    topology, snapshot = ledger.topology, ledger.snapshot
    node = np.full(gang.n_pods, UNPLACED, dtype=np.int32)
    group = np.full(gang.n_pods, -1, dtype=np.int32)
    words = np.zeros((gang.n_pods, snapshot.gpu_total.shape[1]), dtype=np.uint64)
    visible = np.zeros_like(words)
    unplaced: list[Unplaced] = []
    annotations: list[Mapping[str, str]] = []
    warnings: dict[Notice, None] = dict.fromkeys((*gang.notes, *policy.node.warnings))
    exclusive: dict[str, str] = {}
    score, any_words, any_visible, any_group = 0.0, False, False, False
    for part, job, kind, domain in zip(gang.sub_groups, jobs, trials.kinds, choice.domains, strict=True):
        first = part.pods[0]
        if domain < 0:
            text = f"no HyperNode of tier {choice.tier} is left for {job.name}"
            left_out = (Notice("job-left-out", text, job.name),)
            unplaced += [Unplaced(pod, left_out) for pod in part.pods]
            continue
        inside = trials.result(kind, domain)
        assert isinstance(inside, Placement)
        pods = slice(first, first + len(part.pods))
        nodes = topology.nodes_of(domain)
        node[pods] = np.where(inside.node >= 0, nodes[np.maximum(inside.node, 0)], UNPLACED)
        if inside.gpu_words is not None:
            words[pods], any_words = inside.gpu_words, True
            seen = inside.gpu_words if inside.visible_words is None else inside.visible_words
            visible[pods], any_visible = seen, any_visible or inside.visible_words is not None
        if inside.annotation_group is not None:
            own = inside.annotation_group
            group[pods], any_group = np.where(own >= 0, own + len(annotations), -1), True
            annotations += inside.annotations
        unplaced += [Unplaced(first + one.position, one.reasons) for one in inside.unplaced]
        warnings |= dict.fromkeys(inside.warnings)
        exclusive[f"{gang.key}/{job.name}"] = topology.domain_name(domain)
        score += inside.score
    record = _common([*held.values(), *(domain for domain in choice.domains if domain >= 0)], ledger)
    return Placement(
        gang,
        topology,
        policy.name,
        policy.parameters,
        node=node,
        gpu_words=words if any_words else None,
        visible_words=visible if any_visible else None,
        record=record,
        has_record=True,
        records={gang.key: topology.domain_name(record), **exclusive},
        unplaced=tuple(unplaced),
        score=score,
        warnings=tuple(warnings),
        annotations=tuple(annotations),
        annotation_group=group if any_group else None,
        gpu_total=snapshot.gpu_total,
        gpu_free=snapshot.gpu_free,
        exclusive=exclusive,
    )


def _common(domains: Sequence[int], ledger: Ledger) -> int:
    """The lowest HyperNode around some."""
    common = domains[0]
    for domain in domains[1:]:
        common = ledger.topology.lca(common, domain)
    return common


def _refusal(
    policy: Composed, gang: Gang, reasons: tuple[Notice, ...], misses: tuple[NearestMiss, ...] = ()
) -> Refusal:
    warnings = tuple(dict.fromkeys((*gang.notes, *policy.node.warnings)))
    return Refusal(gang, policy.name, policy.parameters, reasons, misses, warnings)


def _refused(policy: Composed, gang: Gang, jobs: Sequence[Gang], search: Search, first: tuple[Notice, ...]) -> Refusal:
    """The refusal with how near each tier came; the nearest tier first among the reasons, after `first`."""
    if not search.tried:
        text = "no HyperNode has a tier that the constraints of the HyperJob and its Jobs allow"
        return _refusal(policy, gang, (*first, Notice("tier-too-small", text)))
    sizes = sorted(max(job.min_available - job.ready, 0) for job in jobs)[: search.needed]
    misses: dict[int, NearestMiss] = {}
    for tried in search.tried:
        if tried.best is not None:
            around, pods = tried.best.around, sum(sizes[: tried.best.n_jobs])
            tier = search.topology.domain_tier(around)
            if tier not in misses or misses[tier].holds < pods:
                misses[tier] = NearestMiss(tier, search.topology.domain_name(around), pods, sum(sizes))
    nearest = sorted(search.tried, key=lambda one: (-(one.best.n_jobs if one.best else 0), one.tier))
    reasons = (*first, *(_reason(tried, jobs, search) for tried in nearest))
    return _refusal(policy, gang, reasons, () if first else tuple(misses[tier] for tier in sorted(misses)))


def _reason(tried: TierTried, jobs: Sequence[Gang], search: Search) -> Notice:
    fit = 0 if tried.best is None else tried.best.n_jobs
    inside = "" if search.allowed is None else f" inside one HyperNode of tier {search.allowed} or below"
    hold = "holds" if search.needed == 1 else "hold"
    wanted = counted(search.needed, "HyperNode needed is", "HyperNodes needed are")
    text = (
        f"tier {tried.tier}: {fit} of the {wanted} free and {hold} {_shape(jobs)}{inside}; "
        f"{tried.free} of {tried.total} are free of accelerator pods"
    )
    return Notice("no-hypernode-per-job", text, numbers={"tier": tried.tier, "count": fit, "needed": search.needed})


def _shape(jobs: Sequence[Gang]) -> str:
    """The pods of a Job in words: ``32 pods × 8 GPUs``."""
    shapes = {(tuple((role.count, role.n_gpus) for role in job.roles)) for job in jobs}
    if len(shapes) > 1:
        return "a Job"
    parts = [counted(n, "pod") + (f" × {counted(gpus, 'GPU')}" if gpus else "") for n, gpus in shapes.pop() if n]
    return " + ".join(parts)


def _record(recorder: Recorder, search: Search, jobs: Sequence[Gang], trials: JobTrials, choice: Choice | None) -> None:
    """Tell a recorder the HyperNodes of each tier that was tried."""
    topology = search.topology
    holder = {} if choice is None else dict(zip(choice.domains, jobs, strict=True))
    for tried in search.tried:
        kinds = list(dict.fromkeys(trials.kinds))
        for domain in topology.domains_at(tried.tier).tolist():
            name, job = topology.domain_names[domain], holder.get(domain)
            if job is not None and choice is not None and tried.tier == choice.tier:
                recorder.domain(name, tried.tier, True, f"holds {job.name}")
            elif search.occupied[domain]:
                text = f"{counted(int(search.occupied[domain]), 'node')} with accelerator pods"
                recorder.domain(name, tried.tier, False, f"occupied: {text}")
            elif any(trials.has_room(kind, domain) for kind in kinds):
                recorder.domain(name, tried.tier, False, "free and not needed")
            else:
                recorder.domain(name, tried.tier, False, "too small for a Job")
        fit = 0 if tried.best is None else tried.best.n_jobs
        recorder.note(f"tier {tried.tier}: {fit} of {len(jobs)} Jobs find a HyperNode, {search.needed} are needed")
