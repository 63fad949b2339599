"""What sentences about pending jobs say, computed once more by running the policy: checks yield what is untrue."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tests.evaluate.whatif.field_clusters import GPU
from workbench.evaluate.whatif.cluster_edits import Finish
from workbench.evaluate.whatif.edit import Edit, EditedSession
from workbench.evaluate.whatif.families import families_of_nodes
from workbench.evaluate.whatif.fix import FixReport, JobFix
from workbench.evaluate.whatif.job_edits import AllowTier, RaisePriority
from workbench.evaluate.whatif.kueue_edits import AskSlices
from workbench.evaluate.whatif.queue_edits import QueueAmounts, QueueWeight
from workbench.evaluate.whatif.size_edits import FewerReplicas, LowerMinimum
from workbench.model.extras import VolcanoMemory
from workbench.model.kueue_queues import FlavorQuotas
from workbench.model.kueue_request import KueueObjects, KueueRequest
from workbench.model.placement import Decision, NearestMiss, Placement, Refusal
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.policies import Policy

#: Jobs that are said to come first.
_FIRST = re.compile(r"(default/\S+(?:(?:, | and )default/[^\s,]+)*) comes? first and takes? what it needs")


@dataclasses.dataclass(frozen=True)
class Asked:
    """One pending job of a session, and what is said about it."""

    policy: Policy
    scenario: Scenario
    decisions: Sequence[Decision]
    refusal: Refusal
    report: FixReport

    @property
    def job(self) -> str:
        return self.refusal.gang.key

    @property
    def case(self) -> EditedSession:
        return EditedSession(tuple(self.scenario.gangs), self.scenario.snapshot, self.job)

    def run(self, edits: Sequence[Edit], case: EditedSession | None = None) -> dict[str, bool]:
        """Whether each job is placed after edits."""
        case = self.case if case is None else case
        for edit in sorted(edits, key=lambda one: (one.kind == "add-nodes", one.kind, one.subject, repr(one))):
            case = edit.apply(case)
        decisions = self.policy.schedule(case.gangs, case.snapshot)
        return {one.gang.key: isinstance(one.result, Placement) and one.result.n_placed > 0 for one in decisions}


def untrue(asked: Asked) -> Iterator[str]:
    """Every statement of a report and of its refusal that does not hold."""
    for fix in asked.report.fixes:
        yield from _effects(asked, fix)
        if asked.report.proved:
            yield from _minimal(asked, fix)
    yield from _cause(asked)
    yield from _idle(asked)
    yield from _counts(asked)
    yield from _holders(asked)
    for miss in asked.refusal.nearest_misses:
        yield from _nearest(asked, miss)


def _effects(asked: Asked, fix: JobFix) -> Iterator[str]:
    after, before = asked.run(fix.edits), asked.run(())
    if not after.pop(asked.job):
        yield f"{fix.text}: the job stays pending"
    withdrawn = {edit.subject.removeprefix("job ") for edit in fix.edits if edit.kind == "withdraw"}
    said = {one.job: one.effect for one in fix.others if one.effect in ("waits", "starts") and one.job not in withdrawn}
    found = {key: "starts" if now else "waits" for key, now in after.items() if now != before[key]}
    if said != found:
        yield f"{fix.text}: others {found}, said {said}"
    if "(no other job waits)" in fix.text and not all(after.values()):
        yield f"{fix.text}: {[key for key, now in after.items() if not now]} wait"
    if "no other job is affected" in fix.text and found:
        yield f"{fix.text}: {found}"
    running = asked.scenario.snapshot.running
    for edit in fix.edits:
        if isinstance(edit, Finish):
            gone = [pod for pod in running if pod.gang in edit.gangs]
            if edit.gangs and (len(gone), sum(pod.gpu_mask.bit_count() for pod in gone)) != (edit.pods, edit.gpus):
                yield f"{fix.text}: {len(gone)} pods end"


def _minimal(asked: Asked, fix: JobFix) -> Iterator[str]:
    for edit in fix.edits:
        others = [one for one in fix.edits if one != edit]
        if asked.run(others)[asked.job]:
            yield f"{fix.text}: {edit.text} is not needed"
        for milder in _milder(edit, asked):
            if asked.run([*others, milder])[asked.job]:
                yield f"{fix.text}: {milder.text} is enough"


def _milder(edit: Edit, asked: Asked) -> Iterator[Edit]:
    """The next smaller change of the same kind."""
    match edit:
        case AllowTier():
            lower = [tier for tier in asked.scenario.snapshot.topology.tiers if tier < edit.tier]
            if lower and not (isinstance(edit.old, int) and lower[-1] <= edit.old):
                yield dataclasses.replace(edit, tier=lower[-1])
        case LowerMinimum() if edit.new + 1 < edit.old:
            yield dataclasses.replace(edit, new=edit.new + 1)
        case FewerReplicas():
            role = next(role for role in asked.refusal.gang.roles if role.name == edit.role)
            unit = edit.size.unit if edit.size is not None else 1
            if edit.new + unit < edit.old and not asked.refusal.gang.sub_groups:
                yield FewerReplicas.of(asked.refusal.gang, role, edit.new + unit)
        case QueueWeight() if edit.new - 1 > edit.old:
            yield dataclasses.replace(edit, new=edit.new - 1)
        case RaisePriority() if edit.new - 1 > edit.old:
            yield dataclasses.replace(edit, new=edit.new - 1)
        case AskSlices() if edit.old[0].level == edit.new[0].level:
            pods = [role.count for role in asked.refusal.gang.roles if role.count]
            for size in range(edit.new[0].size + 1, edit.old[0].size):
                if not any(count % size for count in pods):
                    yield dataclasses.replace(edit, new=(dataclasses.replace(edit.new[0], size=size), *edit.new[1:]))
        case QueueAmounts() if len(edit.new) == 1:
            ((name, new),), ((_, old),) = edit.new, edit.old
            step = min((r.requests[name] for r in asked.refusal.gang.roles if r.requests.get(name)), default=0)
            if new and step and new - step > (old or 0):
                yield dataclasses.replace(edit, new=((name, new - step),))


def _cause(asked: Asked) -> Iterator[str]:
    """Jobs that come first, taints, selectors, cordoned nodes: what the cause counts and names."""
    cause, snapshot = asked.report.cause, asked.scenario.snapshot
    for names in re.findall(_FIRST, cause):
        rivals = frozenset(re.split(r", | and ", names))
        # The first fix changes what else the cause names.
        rest = [edit for edit in asked.report.fixes[0].edits if edit.kind not in ("priority", "withdraw")]
        if not asked.run(rest, asked.case.without(rivals))[asked.job]:
            yield f"{cause}: without {sorted(rivals)} it still waits"
    for count, key, value in re.findall(r"(\d+) nodes? ha(?:s|ve) the taint ([^\s=:]+)=?([^\s:]*):", cause):
        sets, codes = snapshot.taints.sets, snapshot.taints.codes
        n = sum(any(one.key == key and one.value == value for one in sets[code]) for code in codes.tolist())
        if n != int(count):
            yield f"{cause}: {n} nodes have it"
    for count in re.findall(r"(\d+) terminating pods? still holds? what it needs", cause):
        if int(count) != len(snapshot.running_index.terminating):
            yield f"{cause}: {len(snapshot.running_index.terminating)} pods terminate"
    for amount in re.findall(r"the job asks for (\d+)(?:;|,|$)", cause):
        asked_for = sum(role.count * role.requests.get(GPU, 0) for role in asked.refusal.gang.roles)
        if f"{GPU} are taken" in cause and int(amount) != asked_for:
            yield f"{cause}: it asks for {asked_for}"


def _idle(asked: Asked) -> Iterator[str]:
    """`never` and `never_as_written`: the job with an empty, repaired cluster to itself."""
    gang = asked.refusal.gang
    empty = asked.scenario.snapshot.without_pods(lambda pod: pod.gang not in asked.case.own_keys)
    case = EditedSession((gang,), empty, gang.key)
    for edit in families_of_nodes(case):
        case = edit.apply(case)
    placed = asked.run((), case)[gang.key]
    if asked.report.never_as_written == placed:
        yield f"never_as_written is {asked.report.never_as_written}, an idle cluster says {placed}"
    if asked.report.cause.startswith("never") and placed:
        yield f"{asked.report.cause}: an idle cluster takes it"
    if "with the cluster to itself it would be placed" in asked.report.cause and not placed:
        yield asked.report.cause


def _counts(asked: Asked) -> Iterator[str]:
    """Numbers of nodes: the parts of one sentence are as many as the nodes that it is about."""
    for reason in asked.refusal.reasons:
        text = reason.message
        for total, parts in re.findall(r"0/(\d+) nodes are (?:un)?available: (.*?)\.(?=\s|$|;|,)", text):
            counts = [int(n) for n in re.findall(r"(?:^|, )(\d+) ", parts)]
            if len(set(re.findall(r"Insufficient (\S+)", parts))) < 2 and sum(counts) != int(total):
                yield f"{text}: {counts} of {total}"
        for held, of in re.findall(r"(\d+) of the (\d+) pods needed find a node", text):
            if int(held) >= int(of):
                yield text
        for more, queue in _quota(asked, text):
            if not more:
                yield f"{text}: {queue}"


def _quota(asked: Asked, text: str) -> Iterator[tuple[bool, str]]:
    """Kueue's `N more needed`: with as much more quota another reason stands, with less the same."""
    for name, amount in re.findall(r"insufficient unused quota for (\S+) in flavor f, (\d+) more needed", text):
        base = int(amount) * (1000 if name == "cpu" else 1)
        for more, stays in ((base, False), (base - 1, True)):
            decisions = asked.policy.schedule(asked.scenario.gangs, _with_quota(asked, name, more))
            (found,) = [one for one in decisions if one.gang.key == asked.job]
            said = "; ".join(r.message for r in found.result.reasons) if isinstance(found.result, Refusal) else ""
            yield (f"unused quota for {name}" in said) is stays, f"with {more} more: {said or 'placed'}"


def _with_quota(asked: Asked, name: str, more: int) -> ClusterSnapshot:
    """The cluster with a higher nominal quota of the job's own ClusterQueue."""
    snapshot, gang = asked.scenario.snapshot, asked.refusal.gang
    objects = snapshot.extra(KueueObjects)
    mine = objects.local_queues[f"{gang.namespace}/{gang.extra(KueueRequest).queue}"]

    def raised(flavor: FlavorQuotas) -> FlavorQuotas:
        quota = flavor.quotas[name]
        quota = dataclasses.replace(quota, nominal=quota.nominal + more)
        return dataclasses.replace(flavor, quotas={**flavor.quotas, name: quota})

    queues = tuple(
        dataclasses.replace(queue, groups=tuple(tuple(map(raised, group)) for group in queue.groups))
        if queue.name == mine
        else queue
        for queue in objects.cluster_queues
    )
    return snapshot.with_extra(dataclasses.replace(objects, cluster_queues=queues))


def _holders(asked: Asked) -> Iterator[str]:
    """Running pods and GPUs of each holder, summed up again."""
    snapshot = asked.scenario.snapshot
    for one in asked.report.holders:
        if one.state not in ("running", "terminating") or not one.pods:
            continue
        kind, _, name = one.of.partition(" ")
        inside = range(snapshot.n_nodes)
        if kind == "HyperNode":
            inside = snapshot.topology.nodes_of(snapshot.topology.domain(name)).tolist()
        mine = [
            pod
            for pod in snapshot.running
            if one.job in (pod.gang, f"{pod.namespace}/{pod.name}")
            and (kind == "queue" or pod.node in set(inside))
            and (kind == "queue" or pod.terminating == (one.state == "terminating"))
        ]
        gpus = sum(pod.requests.get(GPU, 0) for pod in mine)
        if (len(mine), gpus) != (one.pods, dict(one.amounts).get(GPU, 0)):
            yield f"{one.text}: {len(mine)} pods, {gpus} GPUs"


def _nearest(asked: Asked, miss: NearestMiss) -> Iterator[str]:
    """As many pods as the nearest HyperNode holds are placed there, one more is not.

    The job is tried alone, with so many pods, on the nodes of the HyperNode; jobs of roles that differ are left out.
    """
    gang, snapshot = asked.refusal.gang, asked.scenario.snapshot
    plain = len(gang.roles) == 1 and not gang.jobs and not gang.ready and not gang.sub_groups
    if not plain or len(asked.scenario.gangs) > 1 or not snapshot.topology.has_domain(miss.domain):
        return
    inside = np.zeros(snapshot.n_nodes, dtype=np.bool_)
    inside[snapshot.topology.nodes_of(snapshot.topology.domain(miss.domain))] = True
    for pods, fits in ((miss.holds, True), (miss.holds + 1, False)):
        if not 0 < pods <= gang.n_pods:
            continue
        placed = _alone(asked, snapshot, inside, pods)
        if placed not in (fits, None):
            yield f"{miss}: {pods} pods {'are' if placed else 'are not'} placed there"


def _alone(asked: Asked, snapshot: ClusterSnapshot, inside: npt.NDArray[np.bool_], pods: int) -> bool | None:
    """Whether so many pods are placed there; None where a queue is in the way."""
    gang = asked.refusal.gang
    role = dataclasses.replace(gang.roles[0], count=pods, min_available=None)
    if role.pod_names is not None:
        cut = {key: (getattr(role, key) or ())[:pods] or None for key in ("pod_names", "pod_uids")}
        role = dataclasses.replace(role, **cut, pod_resource_versions=None)
    fewer = dataclasses.replace(gang, roles=(role,), min_available=pods, order=())
    fewer = fewer.with_extra(dataclasses.replace(gang.extra(VolcanoMemory), min_resources=None))
    only = dataclasses.replace(snapshot, unschedulable=snapshot.unschedulable | ~inside)
    (decision,) = asked.policy.schedule([fewer], only)
    if isinstance(decision.result, Placement):
        return decision.result.n_placed > 0
    codes = {reason.code for reason in decision.result.reasons}
    return None if any(code.startswith(("queue", "not-admitted")) for code in codes) else False
