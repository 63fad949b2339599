"""Placement of a HyperJob: HyperNodes for its Jobs, then one placement of all their pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.model.counted import counted
from workbench.model.explanation import Recorder
from workbench.model.gang import Gang
from workbench.model.ledger import Ledger, idle_accelerators
from workbench.model.notice import Notice
from workbench.model.placement import UNPLACED, NearestMiss, Placement, Refusal, Unplaced
from workbench.policies.composed import Composed
from workbench.policies.gpu.base import GpuQuestions
from workbench.policies.hyper_job.left_out import LeftOut, shape_of
from workbench.policies.hyper_job.search import Choice, Search, TierTried
from workbench.policies.hyper_job.trials import JobTrials
from workbench.policies.reasons import not_offered, topology_not_ready
from workbench.policies.taking import take_placement

__all__ = ["place_hyper_job"]


def place_hyper_job(policy: Composed, gang: Gang, ledger: Ledger, recorder: Recorder | None) -> Placement | Refusal:
    """Place a HyperJob: each Job alone in a HyperNode of one tier, its pods there as the policy places them.

    `gang`: a gang with `Gang.jobs`. `ledger`: holds the placement afterwards, and the accelerators that the Jobs leave
    idle in their HyperNodes are taken, too; unchanged if the answer is a refusal. `recorder`: receives the HyperNodes
    that were considered.
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
    left_out = LeftOut(policy, jobs, ledger, search, trials)
    if choice is None:
        reasons = _reasons(jobs, search, left_out)
        ledger.rollback(mark)
        request = policy.node.request(gang, ledger, GpuQuestions(policy.gpu, ledger), None)
        return _refused(policy, gang, jobs, search, (*not_offered(request), *reasons))
    placement = _placement(policy, gang, jobs, ledger, trials, choice, held, left_out)
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
    left_out: LeftOut,
) -> Placement:
    """One placement of all pods, joined from those of the Jobs inside their HyperNodes."""
    topology, snapshot = ledger.topology, ledger.snapshot
    node = np.full(gang.n_pods, UNPLACED, dtype=np.int32)
    group = np.full(gang.n_pods, -1, dtype=np.int32)
    words = np.zeros((gang.n_pods, snapshot.gpu_total.shape[1]), dtype=np.uint64)
    visible = np.zeros_like(words)
    unplaced: list[Unplaced] = []
    annotations: list[Mapping[str, str]] = []
    warnings: dict[Notice, None] = dict.fromkeys((*gang.notes, *policy.warnings))
    exclusive: dict[str, str] = {}
    score, any_words, any_visible, any_group = 0.0, False, False, False
    for number, (part, kind, domain) in enumerate(zip(gang.sub_groups, trials.kinds, choice.domains, strict=True)):
        first, job = part.pods[0], jobs[number]
        if domain < 0:
            why = left_out.why(number, choice.tier, choice)
            text = f"{job.name} waits without a HyperNode of tier {choice.tier}: {why}"
            waits = (Notice("job-left-out", text, job.name),)
            unplaced += [Unplaced(pod, waits) for pod in part.pods]
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
    warnings = tuple(dict.fromkeys((*gang.notes, *policy.warnings)))
    return Refusal(gang, policy.name, policy.parameters, reasons, misses, warnings)


def _reasons(jobs: Sequence[Gang], search: Search, left_out: LeftOut) -> tuple[Notice, ...]:
    """How near each tier came, the nearest tier first, which also says which Jobs wait and why."""
    if not search.tried:
        text = "no HyperNode has a tier that the constraints of the HyperJob and its Jobs allow"
        return (Notice("tier-too-small", text),)
    nearest = sorted(search.tried, key=lambda one: (-(one.best.n_jobs if one.best else 0), one.tier))
    who = left_out.told(nearest[0].tier, nearest[0].best)
    return tuple(_reason(tried, jobs, search, "" if i else who) for i, tried in enumerate(nearest))


def _refused(
    policy: Composed, gang: Gang, jobs: Sequence[Gang], search: Search, reasons: tuple[Notice, ...]
) -> Refusal:
    """The refusal with how near each tier came."""
    sizes = sorted(max(job.min_available - job.ready, 0) for job in jobs)[: search.needed]
    misses: dict[int, NearestMiss] = {}
    for tried in search.tried:
        if tried.best is not None:
            around, pods = tried.best.around, sum(sizes[: tried.best.n_jobs])
            tier = search.topology.domain_tier(around)
            if tier not in misses or misses[tier].holds < pods:
                misses[tier] = NearestMiss(tier, search.topology.domain_name(around), pods, sum(sizes))
    offered = not any(reason.code == "not-offered" for reason in reasons)
    return _refusal(policy, gang, reasons, tuple(misses[tier] for tier in sorted(misses)) if offered else ())


def _reason(tried: TierTried, jobs: Sequence[Gang], search: Search, who: str) -> Notice:
    fit = 0 if tried.best is None else tried.best.n_jobs
    inside = "" if search.allowed is None else f" inside one HyperNode of tier {search.allowed} or below"
    hold = "holds" if search.needed == 1 else "hold"
    wanted = counted(search.needed, "HyperNode needed is", "HyperNodes needed are")
    text = (
        f"tier {tried.tier}: {fit} of the {wanted} free and {hold} {shape_of(jobs)}{inside}; "
        f"{tried.free} of {tried.total} are free of accelerator pods{'; ' if who else ''}{who}"
    )
    return Notice("no-hypernode-per-job", text, numbers={"tier": tried.tier, "count": fit, "needed": search.needed})


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
