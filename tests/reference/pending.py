"""Why a job is pending, slowly: every edit, every pair of edits, each tried by running the policy again.

An edit is a dict with ``kind``, ``subject``, ``from`` and ``to``, as in the output of ``workbench fix``;
`tests.reference.pending_edits` applies it. A set of edits is a fix if the policy, run on the whole session, then places
the job, and minimal if none of its proper subsets is a fix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from tests.reference.pending_edits import (
    CORDONED,
    HOSTNAME,
    NOT_READY,
    CannotApply,
    Json,
    State,
    apply_all,
    limit_of,
    node_taints,
    own_keys,
    taint_text,
)
from workbench.jobs.hyper_job.gangs import JOBS
from workbench.model.gang import Gang
from workbench.model.labels import NODE_NAME_FIELD, Taint, Toleration
from workbench.model.placement import Decision, Placement
from workbench.model.resources import CPU, PODS
from workbench.model.snapshot import ClusterSnapshot, Queue
from workbench.policies import Policy

#: Kinds of edits by class, the classes in the default order of preference.
CLASSES = {
    "job": ("tier", "toleration", "selector", "affinity", "dependency"),
    "queue": (
        "queue-capability",
        "queue-deserved",
        "queue-guarantee",
        "queue-weight",
        "priority",
        "withdraw",
    ),
    "wait": ("uncordon", "ready", "untaint", "wait"),
    "shrink": ("min-available", "replicas"),
    "move": ("move",),
    "evict": ("finish",),
    "nodes": ("add-nodes",),
}
RANK = {kind: rank for rank, kinds in enumerate(CLASSES.values()) for kind in kinds}

#: More new nodes than this are not tried.
MOST_NODES = 4


@dataclass
class Case:
    """A pending job and the session in which it is pending."""

    policy: Policy
    gangs: tuple[Gang, ...]
    snapshot: ClusterSnapshot
    job: str
    _tried: dict[str, bool | None] = field(default_factory=dict)

    @cached_property
    def gang(self) -> Gang:
        return next(gang for gang in self.gangs if gang.key == self.job)

    @property
    def state(self) -> State:
        return self.gangs, self.snapshot

    def session(self, edits: Sequence[Json] = ()) -> list[Decision]:
        """The decisions of the session after some edits."""
        gangs, snapshot = apply_all(edits, self.state, self.job)
        return self.policy.schedule(gangs, snapshot)

    def places(self, *edits: Json) -> bool:
        """Whether the policy places the job after the edits; edits that cannot be applied help nobody."""
        key = repr([identity(edit) for edit in edits])
        if key not in self._tried:
            try:
                self._tried[key] = all(has_started(d) for d in self.session(edits) if d.gang.key == self.job)
            except CannotApply:
                self._tried[key] = False
        return bool(self._tried[key])


def has_started(decision: Decision) -> bool:
    """Whether a job was placed and some pod of it has got a node: a minimum of what runs already starts nothing."""
    return isinstance(decision.result, Placement) and bool((decision.result.node >= 0).any())


def identity(edit: Json) -> str:
    """Everything of an edit but its words, as text."""
    return repr(sorted((key, repr(value)) for key, value in edit.items() if key not in ("text", "class")))


def _edit(kind: str, subject: str, old: object, new: object, **more: object) -> Json:
    return {"kind": kind, "subject": subject, "from": old, "to": new, **more}


# ---- every edit ----


def every_edit(case: Case, with_nodes: bool = False) -> list[Json]:
    """Every edit that the table of edits allows on a case, generously; with new nodes only if asked."""
    parts = (_of_constraint, _of_sizes, _of_conditions, _of_queues, _of_others, _of_nodes, _of_running)
    found = [edit for part in parts for edit in part(case)]
    return found + list(_new_nodes(case)) if with_nodes else found


def _of_constraint(case: Case) -> Iterator[Json]:
    gang, topology = case.gang, case.snapshot.topology
    constraints = [gang.constraint, *(group.constraint for group in gang.sub_groups)]
    limits = [limit for limit in (limit_of(c, topology) for c in constraints) if limit is not None]
    for tier in topology.tiers:
        if limits and tier > min(limits):
            yield _edit("tier", f"job {case.job}", min(limits), tier)


def _of_sizes(case: Case) -> Iterator[Json]:
    gang, subject = case.gang, f"job {case.job}"
    if gang.kind == "HyperJob":
        jobs = gang.min_subgroups.get(JOBS, 0) + sum(job.gang is None for job in gang.jobs)
        for minimum in range(jobs - 1, 0, -1):
            yield _edit("min-available", subject, jobs, minimum)
    if gang.kind in ("Job", "PodGroup"):
        for minimum in range(gang.min_available - 1, 0, -1):
            yield _edit("min-available", subject, gang.min_available, minimum)
    if gang.kind in ("Job", "Deployment"):
        for number, role in enumerate(gang.roles):
            first = int(gang.role_start[number])
            # A role without pods would be another job, and Volcano has no part of a partition.
            for count in range(role.count - 1, 0, -1):
                gone = set(range(first + count, first + role.count))
                if all(gone.isdisjoint(group.pods) or gone.issuperset(group.pods) for group in gang.sub_groups):
                    yield _edit("replicas", subject, role.count, count, role=role.name)


def _of_conditions(case: Case) -> Iterator[Json]:
    gang, snapshot, subject = case.gang, case.snapshot, f"job {case.job}"
    filters = [role.filter for role in gang.roles]
    for taint in _taints(snapshot):
        if taint.key != CORDONED and not all(tolerated(taint, one.tolerations) for one in filters):
            new = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
            yield _edit("toleration", subject, None, [new])
    for old in dict.fromkeys(one for each in filters for one in each.required):
        before = {"key": old.key, "operator": old.operator, "values": list(old.values)}
        yield _edit("selector", subject, before, None)
        values = snapshot.labels.columns.get(old.key, (None, ()))[1]
        for value in values if old.key not in (HOSTNAME, NODE_NAME_FIELD) else ():
            if value not in old.values:
                yield _edit("selector", subject, before, {"key": old.key, "operator": "In", "values": [value]})
    if any(one.any_of for one in filters):
        yield _edit("affinity", subject, "required terms", None)


def tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """Whether some toleration covers a taint, or the taint keeps no pod away."""
    return taint.effect == "PreferNoSchedule" or any(one.covers(taint) for one in tolerations)


def _taints(snapshot: ClusterSnapshot) -> list[Taint]:
    return list(dict.fromkeys(taint for row in node_taints(snapshot) for taint in row))


def quantity(resource: str, amount: int) -> str:
    """An amount in base units as a Kubernetes quantity."""
    return f"{amount}m" if resource == CPU else str(amount)


def _amounts(resources: Sequence[str], amounts: dict[str, int]) -> Json:
    return {name: quantity(name, amounts[name]) for name in resources}


def _of_queues(case: Case) -> Iterator[Json]:
    gang, snapshot = case.gang, case.snapshot
    name = gang.queue
    queue = snapshot.queues.get(name, Queue(name))
    asked = {resource for role in gang.roles for resource, amount in role.requests.items() if amount}
    resources = [one for one in snapshot.resources if one in asked and one != PODS]
    used = {r: sum(p.requests.get(r, 0) for p in snapshot.running if p.queue == name) for r in resources}
    whole = {r: sum(role.count * role.requests.get(r, 0) for role in gang.roles) for r in resources}
    pending = {
        r: sum(role.count * role.requests.get(r, 0) for g in case.gangs if g.queue == name for role in g.roles)
        for r in resources
    }
    offered = {r: int(snapshot.allocatable[:, snapshot.resources.index(r)].sum()) for r in resources}
    levels = [
        {r: used[r] + whole[r] for r in resources},
        {r: used[r] + pending[r] for r in resources},
        offered,
        {r: 2 * offered[r] + used[r] + pending[r] for r in resources},
    ]
    subject = f"queue {name}"
    for kind in ("capability", "deserved", "guarantee"):
        own = getattr(queue, kind)
        if own is None and kind == "capability":
            continue
        for level in levels:
            grown = [r for r in resources if (r in own if own and kind == "capability" else True)]
            grown = [r for r in grown if level[r] > (own or {}).get(r, 0)]
            # Volcano refuses a guarantee above what is deserved, and either above the capability.
            bounds = {"deserved": [queue.capability], "guarantee": [queue.capability, queue.deserved]}.get(kind, [])
            grown = [r for r in grown if all(level[r] <= (bound or {}).get(r, level[r]) for bound in bounds)]
            # One resource, or all of them together.
            for chosen in dict.fromkeys([*((r,) for r in grown), tuple(grown)]):
                if chosen:
                    before = {r: quantity(r, own[r]) for r in chosen if own and r in own} or None
                    yield _edit(f"queue-{kind}", subject, before, _amounts(chosen, level))
    for weight in (queue.weight + 1, 2 * queue.weight, 10 * queue.weight, 1000 * queue.weight):
        yield _edit("queue-weight", subject, queue.weight, weight)
    for other in snapshot.queues.values():
        if other.name != name and other.guarantee:
            held = [r for r in other.guarantee if r in resources and other.guarantee[r]]
            if held:
                before = {r: quantity(r, other.guarantee[r]) for r in held}
                yield _edit("queue-guarantee", f"queue {other.name}", before, dict.fromkeys(held, "0"))


def _of_others(case: Case) -> Iterator[Json]:
    others = [gang for gang in case.gangs if gang.key != case.job]
    if others:
        highest = max(gang.priority for gang in others) + 1
        if highest > case.gang.priority:
            yield _edit("priority", f"job {case.job}", case.gang.priority, highest)
    for gang in others:
        yield _edit("withdraw", f"job {gang.key}", "pending", "withdrawn")


def _of_nodes(case: Case) -> Iterator[Json]:
    snapshot, names = case.snapshot, case.snapshot.topology.node_names
    rows = node_taints(snapshot)
    cordoned = [
        n for n, off, row in zip(names, snapshot.unschedulable, rows, strict=True) if off or _has(row, CORDONED)
    ]
    if cordoned:
        yield _edit("uncordon", "nodes", "cordoned", "schedulable", nodes=sorted(cordoned))
    broken = [
        name
        for name, row, bad in zip(names, rows, snapshot.not_ready, strict=True)
        if bad or any(taint.key in NOT_READY for taint in row)
    ]
    if broken:
        yield _edit("ready", "nodes", "not ready", "ready", nodes=sorted(broken))
    for taint in _taints(snapshot):
        if taint.key != CORDONED and taint.key not in NOT_READY and taint.effect != "PreferNoSchedule":
            having = [name for name, row in zip(names, rows, strict=True) if taint in row]
            yield _edit("untaint", "nodes", taint_text(taint), None, nodes=sorted(having))
    ending = sorted(f"{pod.namespace}/{pod.name}" for pod in snapshot.running if pod.terminating)
    if ending:
        yield _edit("wait", "terminating pods", len(ending), 0, pods=ending)


def _has(row: Sequence[Taint], key: str) -> bool:
    return any(taint.key == key for taint in row)


def _of_running(case: Case) -> Iterator[Json]:
    own = own_keys(case.gang)
    running = [pod for pod in case.snapshot.running if not pod.terminating]
    for key in sorted({pod.gang for pod in running if pod.gang} - own):
        yield _edit("finish", f"job {key}", "running", "ended")
    for pod in running:
        if not pod.gang:
            yield _edit("finish", f"pod {pod.namespace}/{pod.name}", "running", "ended")


def _new_nodes(case: Case) -> Iterator[Json]:
    topology, snapshot = case.snapshot.topology, case.snapshot
    leaves = [d for d in range(topology.n_domains) if not len(topology.children[d])]
    for domain in (*leaves, -1):
        inside = topology.nodes_of(domain).tolist()
        kinds = {}
        for node in inside:
            labels = {key: value for key, value in snapshot.labels.row(node).items() if key != HOSTNAME}
            kinds.setdefault((snapshot.allocatable[node].tobytes(), repr(labels)), node)
        for like in kinds.values():
            for count in range(1, MOST_NODES + 1):
                yield _edit(
                    "add-nodes",
                    "cluster" if domain < 0 else f"HyperNode {topology.domain_names[domain]}",
                    len(inside),
                    len(inside) + count,
                    like=topology.node_names[like],
                    names=[f"new-node-{i}" for i in range(count)],
                )


# ---- minimal sets ----


def _together(one: Json, other: Json) -> bool:
    """Whether two edits change different things."""
    return one["kind"] != other["kind"] or one["subject"] != other["subject"] or _part(one) != _part(other)


def _part(edit: Json) -> str:
    """What an edit changes within its subject, where a subject has several such parts."""
    if edit["kind"] == "replicas":
        return str(edit["role"])
    if edit["kind"] in ("selector", "untaint"):
        return repr(edit["from"])
    return repr(edit["to"]) if edit["kind"] == "toleration" else ""


def minimal_sets(case: Case, size: int = 2, with_nodes: bool = False) -> list[tuple[Json, ...]]:
    """All minimal sets of at most `size` (1 or 2) edits with which the policy places the job."""
    edits = every_edit(case, with_nodes)
    found: list[tuple[Json, ...]] = [(edit,) for edit in edits if case.places(edit)]
    if size > 1:
        left = [edit for edit in edits if not case.places(edit)]
        found += [pair for pair in combinations(left, 2) if _together(*pair) and case.places(*pair)]
    return found


def everything(case: Case) -> list[Json]:
    """All changes at once, except new nodes: the widest tier, no conditions, nobody else, one pod."""
    chosen: dict[tuple[str, str, str], Json] = {}
    for edit in every_edit(case):
        if edit["kind"] not in ("replicas", "min-available"):
            if edit["kind"] == "selector" and edit["to"] is not None:
                continue
            # The last variant of each change is the largest.
            chosen[edit["kind"], edit["subject"], _part(edit)] = edit
    minimums = [edit for edit in every_edit(case) if edit["kind"] == "min-available"]
    if minimums:
        chosen["min-available", minimums[-1]["subject"], ""] = minimums[-1]
    return list(chosen.values())


def can_ever(case: Case) -> bool:
    """Whether some set of edits without new nodes places the job: single ones, all at once, and all but sizes.

    Exact for jobs whose only obstacles are those that the table of edits names.
    """
    whole = everything(case)
    sizes = [edit for edit in every_edit(case) if edit["kind"] == "replicas"]
    others = [edit for edit in whole if edit["kind"] != "min-available"]
    # A guarantee beyond what the cluster has may harm.
    plain = [edit for edit in whole if edit["kind"] != "queue-guarantee" or _name(edit) != case.gang.queue]
    if case.places(*whole) or case.places(*others) or case.places(*plain):
        return True
    if any(case.places(*others, edit) or case.places(*whole, edit) for edit in sizes):
        return True
    return any(case.places(edit) for edit in every_edit(case))


# ---- judging a report ----


def check_report(report: Json, case: Case) -> list[str]:
    """What is wrong with the report of ``workbench fix`` about a pending job: empty if nothing is.

    A cause must be a member of a minimal set; a fix must place the job, hold no edit too many, leave the job's own pods
    alone and name who else is affected; the first fix must be as small as any that the oracle finds, and of the first
    class among those of one edit; ``never`` must be true exactly if nothing but new nodes helps.
    """
    wrong: list[str] = []
    fixes: list[list[Json]] = [fix["edits"] for fix in report["fixes"]]
    verified: set[str] = set()
    for number, fix in enumerate(report["fixes"]):
        problems = _check_fix(fix, case)
        wrong += [f"fix {number}: {problem}" for problem in problems]
        if not problems:
            verified |= {identity(edit) for edit in fix["edits"]}
    if not str(report["headline"]).strip():
        wrong.append("the headline is empty")
    for cause in report["causes"]:
        if identity(cause) not in verified and not in_minimal_set(cause, case):
            wrong.append(f"the cause is in no minimal set: {cause}")
    if fixes and not report["causes"]:
        wrong.append("there is a fix, but no cause")
    wrong += _check_smallest(fixes, case)
    possible = can_ever(case)
    if report["never"] and possible:
        wrong.append("never is true, but edits without new nodes place the job")
    if not report["never"] and not possible and not _without_nodes(fixes):
        wrong.append("never is false, but all edits without new nodes do not place the job")
    return wrong


def _without_nodes(fixes: Sequence[Sequence[Json]]) -> list[Sequence[Json]]:
    return [fix for fix in fixes if all(edit["kind"] != "add-nodes" for edit in fix)]


def _check_fix(fix: Json, case: Case) -> Iterator[str] | list[str]:
    edits: list[Json] = fix["edits"]
    if any(edit["kind"] == "dependency" for edit in edits):
        return []  # not on values: judged through the changed input
    try:
        after = case.session(edits)
    except CannotApply as error:
        return [f"cannot be applied: {error}"]
    wrong = []
    if not fix.get("verified"):
        wrong.append("is not verified")
    if not case.places(*edits):
        wrong.append(f"does not place the job: {edits}")
    for size in range(len(edits)):
        for fewer in combinations(edits, size):
            if case.places(*fewer):
                wrong.append(f"is not minimal, {[edit['kind'] for edit in fewer]} suffices")
    _, snapshot = apply_all(edits, case.state, case.job)
    if own_pods(snapshot, case.gang) != own_pods(case.snapshot, case.gang):
        wrong.append("touches the job's own pods")
    told = {(one["job"].removeprefix("job "), one["effect"]) for one in fix["others"]}
    for job, effect in sorted(_others(case, after, edits) - told):
        wrong.append(f"does not tell that {job} {effect}")
    changed = {_name(edit) for edit in edits if edit["kind"] == "withdraw"}
    for job, effect in sorted(told - _others(case, after, edits)):
        if effect in ("waits", "starts") and job not in changed:
            wrong.append(f"tells that {job} {effect}, which is not so")
    for edit in edits:
        if edit["kind"] in ("finish", "move") and all(_name(edit) not in job for job, _ in told):
            wrong.append(f"does not name {_name(edit)} among the others")
    return wrong


def _name(edit: Json) -> str:
    return str(edit["subject"]).partition(" ")[2]


def own_pods(snapshot: ClusterSnapshot, gang: Gang) -> list[tuple[str, str]]:
    """Name and node of each running pod of a gang, and of the Jobs of a HyperJob."""
    names, keys = snapshot.topology.node_names, own_keys(gang)
    return sorted((p.name, names[p.node] if p.node >= 0 else "") for p in snapshot.running if p.gang in keys)


def _others(case: Case, after: Sequence[Decision], edits: Sequence[Json]) -> set[tuple[str, str]]:
    """Other jobs whose decision differs after the edits: ``waits`` or ``starts``."""
    gone = {_name(edit) for edit in edits if edit["kind"] in ("finish", "withdraw")}
    before = {(d.gang.key, d.gang.kind): d.placed for d in case.session()}
    return {
        (d.gang.key, "starts" if d.placed else "waits")
        for d in after
        if d.gang.key != case.job and d.gang.key not in gone and d.placed != before[d.gang.key, d.gang.kind]
    }


def in_minimal_set(edit: Json, case: Case) -> bool:
    """Whether an edit alone places the job, or does so with one other edit where neither is enough alone."""
    if edit["kind"] == "dependency" or case.places(edit):
        return True
    return any(
        _together(edit, other) and not case.places(other) and case.places(edit, other)
        for other in every_edit(case, True)
    )


def _check_smallest(fixes: Sequence[Sequence[Json]], case: Case) -> list[str]:
    singles = minimal_sets(case, size=1)
    if singles:
        best = min(singles, key=lambda one: RANK[one[0]["kind"]])[0]
        if not fixes:
            return [f"there is no fix, but one edit is enough: {best}"]
        if len(fixes[0]) > 1:
            return [f"the first fix has {len(fixes[0])} edits, but one is enough: {best}"]
        if RANK[fixes[0][0]["kind"]] > RANK[best["kind"]]:
            return [f"the first fix is of a later class than {best}"]
        return []
    if len(fixes[0] if fixes else "abc") > 2:
        pairs = minimal_sets(case)
        if pairs:
            return [f"the first fix has {len(fixes[0]) if fixes else 'no'} edits, but two are enough: {pairs[0]}"]
    return []
