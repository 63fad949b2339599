"""The newest Volcano's allocation of one gang, pod by pod and domain by domain: the oracle of `volcano-1.15`.

Obvious and slow: every node looked at again for every pod, every HyperNode of every gradient dry-run for every
sub-group, real turns with queues of pods. Rules: the reference on Volcano's behaviour, sections 3.1, 3.2, 4, 5.1, 5.4
to 5.6 and 7. Ties: smallest name. Shares nothing with the package but the values of `workbench.model`.
"""

from __future__ import annotations

import math

from tests.reference.copies import copied
from tests.reference.task_order import task_order

TOP = "<cluster-top-hypernode>"


class Cluster:
    """Nodes and HyperNodes by name, the virtual top included; amounts as lists in the order of the resources."""

    def __init__(self, snapshot):
        topology = snapshot.topology
        self.resources = list(snapshot.resources)
        self.names = sorted(topology.node_names, key=str.encode)
        at = {name: i for i, name in enumerate(topology.node_names)}
        self.allocatable = {n: snapshot.allocatable[at[n]].tolist() for n in self.names}
        self.used = {n: snapshot.used[at[n]].tolist() for n in self.names}
        self.assumed = {n: {"cpu": 0, "memory": 0} for n in self.names}
        for pod in snapshot.running:
            if pod.node >= 0:
                for name, amount in pod.assumed.items():
                    self.assumed[topology.node_names[pod.node]][name] += amount
        self.idle = {n: [a - u for a, u in zip(self.allocatable[n], self.used[n])] for n in self.names}
        self.at_open = {n: list(self.idle[n]) for n in self.names}
        for n in self.names:
            free = sum(bin(int(word)).count("1") for word in snapshot.gpu_free[at[n]])
            for column in snapshot.gpu_columns:
                self.idle[n][column] = min(self.idle[n][column], free)
        self.cordoned = {n: bool(snapshot.unschedulable[at[n]]) for n in self.names}
        self.taints = {n: snapshot.taints.sets[snapshot.taints.codes[at[n]]] for n in self.names}
        self.ready = topology.ready
        self.tier = {d: int(topology.tier[j]) for j, d in enumerate(topology.domain_names)}
        self.tier_of_name = {}
        for j, name in enumerate(topology.tier_names):
            self.tier_of_name.setdefault(name, int(topology.tier[j]))
        self.tier[TOP] = max(max(self.tier.values(), default=0) + 1, 1)
        self.parent = {
            d: topology.domain_names[topology.parent[j]] if topology.parent[j] >= 0 else TOP
            for j, d in enumerate(topology.domain_names)
        }
        self.nodes = {
            d: [topology.node_names[i] for i in topology.nodes_of(j)] for j, d in enumerate(topology.domain_names)
        }
        self.nodes[TOP] = list(self.names)
        self.children = {d: sorted((c for c in self.parent if self.parent[c] == d), key=str.encode) for d in self.tier}
        self.lowest = min(self.tier.values())

    def ancestors(self, domain):
        found = [domain]
        while found[-1] in self.parent:
            found.append(self.parent[found[-1]])
        return found

    def lca(self, a, b):
        if not a or not b:
            return a or b
        return next((c for c in self.ancestors(b) if c in self.ancestors(a)), "")

    def at_tier(self, node, tier):
        """The HyperNode of a tier that holds a node, the smallest name of several; empty: none."""
        return min((d for d in self.tier if self.tier[d] == tier and node in self.nodes[d]), default="", key=str.encode)

    def leaf(self, node):
        return self.at_tier(node, self.lowest)

    def total(self, amounts, domain):
        return [sum(amounts[n][k] for n in self.nodes[domain]) for k in range(len(self.resources))]


class SubJob:
    """Pods of a gang that are placed together: one sub-group, or the pods of none (the default sub-job)."""

    def __init__(self, name, pods, running, succeeded, constraint, limit, minimum, policy, index):
        self.name = name
        self.pods = pods
        self.running = running
        self.succeeded = succeeded
        self.topology = constraint is not None
        self.limit = limit
        self.minimum = minimum
        self.policy = policy
        self.index = index
        self.record = ""
        self.tasks = []


def vector(requests, snapshot):
    """What a pod requests of each resource; a pod that requests nothing is still one of the node's pods."""
    return [1 if name == "pods" else requests.get(name, 0) for name in snapshot.resources]


class Job:
    """One gang and how far it is."""

    def __init__(self, gang, snapshot, cluster):
        self.gang = gang
        self.role_of = [r for r, role in enumerate(gang.roles) for _ in range(role.count)]
        self.request = [vector(role.requests, snapshot) for role in gang.roles]
        self.assumed = [role.assumed for role in gang.roles]
        self.impossible = [any(a and n not in snapshot.resources for n, a in r.requests.items()) for r in gang.roles]
        mine = [pod for pod in snapshot.running if pod.gang == gang.key] if gang.ready else []
        self.total = gang.n_pods + max(gang.ready, len(mine))
        self.total += sum(len(part.failed) + len(part.gated) for part in [gang, *gang.sub_groups])
        self.best_effort = [i for i, r in enumerate(self.role_of) if gang.roles[r].best_effort]
        self.running_role = [sum(role.name == pod.role for pod in mine) for role in gang.roles]
        self.placed = {}
        self.record = ""
        names = snapshot.topology.node_names
        self.limit = limit_of(gang.constraint, cluster, cluster.tier[TOP])
        self.subs = []
        bound = cluster.tier[TOP]
        if gang.constraint is not None and gang.constraint.mode != "soft":
            number = tier_of(gang.constraint, cluster)
            bound = bound if number is None else number
        grouped, grouped_running = set(), set()
        for group in gang.sub_groups:
            limit = limit_of(group.constraint, cluster, bound)
            running = [pod for pod in mine if pod.name in group.running]
            grouped.update(group.pods)
            grouped_running.update(group.running)
            self.subs.append(
                SubJob(
                    group.name,
                    list(group.pods),
                    running,
                    group.succeeded,
                    group.constraint,
                    limit,
                    group.min_available,
                    group.policy,
                    group.match_index,
                )
            )
        rest = [i for i in range(gang.n_pods) if i not in grouped]
        rest_running = [pod for pod in mine if pod.name not in grouped_running]
        if rest or rest_running or not gang.sub_grouped:
            minimum = 1 if gang.sub_grouped else gang.min_available
            self.subs.append(
                SubJob("", rest, rest_running, gang.succeeded, gang.constraint, self.limit, minimum, None, 0)
            )
        for sub in self.subs:
            part = next((group for group in gang.sub_groups if group.name == sub.name), gang)
            others = [*part.failed, *part.gated]
            sub.total = len(sub.pods) + len(sub.running) + len(sub.succeeded) + len(others)
            sub.gated = [vector(each, snapshot) for each in part.gated]
            if not gang.sub_grouped:
                sub.total = self.total
            sub.running_nodes = [names[pod.node] if pod.node >= 0 else None for pod in sub.running]
            started = [*[pod.requests for pod in sub.running], *sub.succeeded, *others]
            sub.started_requests = [vector(each, snapshot) for each in started]
            pending = [i for i in sub.pods if i not in self.best_effort]
            sub.tasks = task_order(gang, pending)
            known = {role.name: role.priority for role in gang.roles}
            pending_or_running = [gang.roles[self.role_of[i]].priority for i in sub.pods]
            pending_or_running += [known.get(pod.role, 0) for pod in sub.running]
            sub.priority = max(0, *pending_or_running)

    def counted(self, sub):
        """Pods of a sub-job that count for it."""
        if not self.gang.sub_grouped:
            return self.gang.ready + len(self.best_effort) + len(self.placed)
        return len(sub.running) + len(sub.succeeded) + sum(i in self.placed or i in self.best_effort for i in sub.pods)

    def sub_ready(self, sub):
        return self.is_ready() if not self.gang.sub_grouped else self.counted(sub) >= sub.minimum

    def present(self, role):
        placed = sum(self.role_of[i] == role for i in [*self.best_effort, *self.placed])
        return self.running_role[role] + self.gang.roles[role].succeeded + placed

    def minimums(self):
        return [role.min_available or 0 for role in self.gang.roles]

    def is_ready(self):
        gang = self.gang
        if gang.ready + len(self.best_effort) + len(self.placed) < gang.min_available:
            return False
        for policy, wanted in gang.min_subgroups.items():
            if sum(s.policy == policy and self.counted(s) >= s.minimum for s in self.subs) < wanted:
                return False
        if gang.min_available < sum(self.minimums()):
            return True
        return all(self.present(r) >= m for r, m in enumerate(self.minimums()))

    def goes_on(self, sub, failed, pending):
        if self.gang.min_available == self.total or sub.minimum >= sub.total:
            return False
        if self.gang.sub_grouped:
            return True
        if self.gang.min_available < sum(self.minimums()):
            rest = sum(self.cache_name(i) not in failed for i in pending)
            return self.counted(sub) + rest >= self.gang.min_available
        names = [role.name.partition("#")[0] for role in self.gang.roles]
        return all(self.present(r) >= m for r, m in enumerate(self.minimums()) if names[r] in failed)

    def cache_name(self, pod):
        return self.gang.roles[self.role_of[pod]].name.partition("#")[0]


def limit_of(constraint, cluster, soft):
    """Highest tier after names became numbers and soft became hard; None: no restriction."""
    if constraint is None:
        return None
    if constraint.mode == "soft":
        return soft
    return tier_of(constraint, cluster) if constraint.mode == "hard" else None


def tier_of(constraint, cluster):
    """The tier that a constraint gives by number or by name, whatever its mode."""
    if constraint.highest_tier is not None or not constraint.highest_tier_name:
        return constraint.highest_tier
    return cluster.tier_of_name.get(constraint.highest_tier_name)


def recover(cluster, job):
    """Records from running pods: of each sub-job with a topology the lowest HyperNode that holds all of them."""
    for sub in job.subs:
        if sub.topology and sub.running_nodes:
            holding = [d for d in cluster.tier if all(n in cluster.nodes[d] for n in sub.running_nodes)]
            sub.record = min(holding, key=lambda d: (cluster.tier[d], d.encode()), default="")
            job.record = cluster.lca(job.record, sub.record)


def gradients(cluster, start, record, limit, minimum):
    """Lists of HyperNodes to try, closest tier first."""
    if limit is None:
        return [[start]]
    if record:
        if cluster.tier[record] > limit:
            return []
        above = record
        while above in cluster.parent and cluster.tier[cluster.parent[above]] <= limit:
            above = cluster.parent[above]
        if start in cluster.ancestors(above):
            start = above
        elif above not in cluster.ancestors(start):
            return []
    found, queue = [], [start]
    while queue:
        domain = queue.pop(0)
        queue += cluster.children[domain]
        idle = cluster.total(cluster.at_open, domain)
        if cluster.tier[domain] <= limit and (record or all(m <= i for m, i in zip(minimum, idle))):
            found.append(domain)
    tiers = sorted({cluster.tier[d] for d in found})
    return [sorted((d for d in found if cluster.tier[d] == t), key=str.encode) for t in tiers]


def node_part(cluster, request, assumed, node, w):
    """binpack and nodeorder; least and most count what is assumed of containers that do not say."""
    used, allocatable = cluster.used[node], cluster.allocatable[node]
    score = 0.0
    if w["binpack"]:
        part, weights = 0.0, 0.0
        for k, name in enumerate(cluster.resources):
            weight = float(w["binpack_resources"].get(name, 0))
            if request[k] > 0:
                weights += weight
                after = used[k] + request[k]
                if weight > 0 and allocatable[k] > 0 and after <= allocatable[k]:
                    part += weight * float(after) / float(allocatable[k])
        score += (part / weights if weights > 0 else 0.0) * (100.0 * w["binpack"])
    both = [k for k, name in enumerate(cluster.resources) if name in ("cpu", "memory")]
    for key, amount in (("least", lambda a, after: a - after), ("most", lambda a, after: after)):
        if w[key]:
            present = [k for k in both if allocatable[k] > 0]
            whole = 0
            for k in present:
                name = cluster.resources[k]
                after = used[k] + request[k] + cluster.assumed[node][name] + assumed.get(name, 0)
                if after <= allocatable[k]:
                    whole += amount(allocatable[k], after) * 100 // allocatable[k]
            score += float(whole // len(present) if present else 0) * w[key]
    if w["balanced"]:
        score += float(balance(cluster, request, used, allocatable)) * w["balanced"]
    return score


def balance(cluster, request, used, allocatable):
    """0 to 100: how evenly cpu, memory and, if the pod wants some, GPUs are used with the pod on the node."""
    wanted = {name: request[k] for k, name in enumerate(cluster.resources)}
    parts = ["cpu", "memory"] + ["nvidia.com/gpu"] * (wanted.get("nvidia.com/gpu", 0) > 0)
    if not any(wanted[name] for name in parts):
        return 0
    columns = [cluster.resources.index(name) for name in parts]
    fractions = [min(1.0, (used[k] + request[k]) / allocatable[k]) for k in columns if allocatable[k] > 0]
    if len(fractions) < 2:
        return 100
    if len(fractions) == 2:
        return math.floor((1.0 - abs(fractions[0] - fractions[1]) / 2.0) * 100.0)
    mean = (fractions[0] + fractions[1] + fractions[2]) / 3
    squares = 0.0
    for fraction in fractions:
        squares += (fraction - mean) * (fraction - mean)
    return math.floor((1.0 - math.sqrt(squares / 3)) * 100.0)


def utilisation(cluster, domain, request, w):
    """How full a HyperNode is with a request added, 0 to 1, weighted; 0 where it would overflow."""
    used = cluster.total(cluster.used, domain)
    allocatable = cluster.total(cluster.allocatable, domain)
    score, weights = 0.0, 0.0
    for k, name in enumerate(cluster.resources):
        weight = w["hypernode"].get(name)
        if request[k] > 0 and weight is not None:
            after = used[k] + request[k]
            if after > allocatable[k]:
                return 0.0
            score += float(weight) * float(after) / float(max(allocatable[k], 1))
            weights += float(weight)
    return score / weights if weights > 0 else 0.0


def normal_score(cluster, request, node, w):
    """For pods without a topology: how full the HyperNodes around the node are, closest tier counting most."""
    if w["fading"] is None:
        return 0.0
    score, weights = 0.0, 0.0
    for tier in range(cluster.lowest, cluster.tier[TOP] + 1):
        if w["fading"] == 0.0:
            # 0 ** 0 is 1 and 0 ** -1 infinite: tier 1 alone counts, or what is below it.
            weight = float(tier == min(cluster.lowest, 1))
        else:
            weight = w["fading"] ** (tier - 1)
        domain = cluster.at_tier(node, tier)
        score += weight * (utilisation(cluster, domain, request, w) if domain else 1.0)
        weights += weight
    return score / weights if weights > 0 else 0.0


def tolerated(cluster, job, role, feasible):
    """0 to 100 per node: the fewer PreferNoSchedule taints a pod does not tolerate, the better."""
    tolerations = job.gang.roles[role].filter.tolerations
    counts = {
        n: sum(t.effect == "PreferNoSchedule" and not any(x.covers(t) for x in tolerations) for t in cluster.taints[n])
        for n in feasible
    }
    most = max(counts.values())
    return {n: float(100 - 100 * count // most if most else 100) for n, count in counts.items()}


def base(cluster, leaf, record):
    if not leaf or not record:
        return 0.0
    if leaf == record:
        return 1.0
    common = cluster.lca(leaf, record)
    lowest, highest = cluster.lowest, cluster.tier[TOP]
    if not common:
        return 0.0
    return 1.0 if lowest == highest else (highest - cluster.tier[common]) / (highest - lowest)


def choose(cluster, job, sub, role, feasible, running, w):
    """The best node; a sole candidate is not scored."""
    if len(feasible) == 1:
        return feasible[0]
    request = job.request[role]
    bases = {n: base(cluster, cluster.leaf(n), running) for n in feasible} if sub.topology and running else {}
    best_base = max(bases.values(), default=0.0)
    shared = sum(b == best_base for b in bases.values()) >= 2
    best = None
    taints = tolerated(cluster, job, role, feasible)
    for node in sorted(feasible, key=str.encode):
        part = node_part(cluster, request, job.assumed[role], node, w) + taints[node] * w["taints"]
        total = part
        if not sub.topology:
            total = part + normal_score(cluster, request, node, w) * 100.0 * w["topology"]
        if bases:
            value, leaf = bases[node], cluster.leaf(node)
            if shared and value == best_base and leaf:
                there = [*sub.running_nodes, *(job.placed[i] for i in sub.pods if i in job.placed)]
                value = value + float(sum(n in cluster.nodes[leaf] for n in there)) / float(sub.total)
            total = part + value * 100.0 * w["topology"]
        if best is None or (total, part) > best[:2]:
            best = (total, part, node)
    return best[2]


def fill(cluster, job, sub, domain, w):
    """5.1 on the nodes of one HyperNode, changing its arguments: the number of pods placed, 0 where it fails."""
    failed, placed, running = set(), 0, sub.record
    while sub.tasks:
        pod = sub.tasks.pop(0)
        name = job.cache_name(pod)
        if name in failed:
            continue
        role = job.role_of[pod]
        request = job.request[role]
        feasible = [
            n
            for n in cluster.nodes[domain]
            if not cluster.cordoned[n]
            and not job.impossible[role]
            and all(q == 0 or q <= i for q, i in zip(request, cluster.idle[n]))
        ]
        if not feasible:
            failed.add(name)
            if job.goes_on(sub, failed, sub.tasks):
                continue
            break
        node = choose(cluster, job, sub, role, feasible, running, w)
        for k, amount in enumerate(request):
            cluster.idle[node][k] -= amount
            cluster.used[node][k] += amount
        for name, amount in job.assumed[role].items():
            cluster.assumed[node][name] += amount
        job.placed[pod] = node
        placed += 1
        if sub.topology:
            running = cluster.lca(running, cluster.leaf(node))
        if job.sub_ready(sub):
            break
    return placed if job.sub_ready(sub) else 0, running


def for_sub_job(cluster, job, number, start, w):
    """The state after a sub-job was placed inside a HyperNode, and its score; None: nowhere."""
    sub = job.subs[number]
    minimum = [0] * len(cluster.resources)
    for i in sub.pods:
        if i not in job.placed:
            minimum = [m + q for m, q in zip(minimum, job.request[job.role_of[i]])]
    for row in sub.gated:
        minimum = [m + q for m, q in zip(minimum, row)]
    for domains in gradients(cluster, start, sub.record, sub.limit, minimum):
        solutions = {}
        for domain in domains:
            trial = copied((cluster, job))
            if fill(*trial, trial[1].subs[number], domain, w)[0]:
                solutions[domain] = trial
        if not solutions:
            continue
        request = [0] * len(cluster.resources)
        rows = [job.request[job.role_of[i]] for i in sub.pods]
        for row in [*rows, *sub.started_requests]:
            request = [a + b for a, b in zip(request, row)]
        scores = {d: utilisation(cluster, d, request, w) if w["packing"] else 0.0 for d in solutions}
        best = max(scores.values())
        if w["packing"] and sum(s == best for s in scores.values()) >= 2:
            for domain in [d for d in scores if scores[d] == best]:
                there = [*sub.running_nodes, *(job.placed[i] for i in sub.pods if i in job.placed)]
                inside = sum(n in cluster.nodes[domain] for n in there)
                scores[domain] = best + float(inside) / float(sub.total)
        best = max(scores.values())
        chosen = min((d for d in solutions if scores[d] == best), key=str.encode)
        trial = solutions[chosen]
        trial[1].subs[number].record = cluster.lca(trial[1].subs[number].record, chosen)
        return trial, best * 100.0 * w["packing"]
    return None


def needed(job):
    """Sub-jobs that must become ready so that enough of each policy are, as the session finds them: they stay first."""
    found = set()
    for policy, wanted in job.gang.min_subgroups.items():
        mine = [i for i, s in enumerate(job.subs) if s.policy == policy]
        missing = wanted - sum(job.counted(job.subs[i]) >= job.subs[i].minimum for i in mine)
        waiting = [i for i in mine if job.counted(job.subs[i]) < job.subs[i].minimum]
        found.update(sorted(waiting, key=lambda i: order(job, i))[: max(missing, 0)])
    return found


def order(job, number):
    sub = job.subs[number]
    plugins = {"gang": job.sub_ready(sub), "priority": -sub.priority}
    id_ = f"{job.gang.key}/{sub.name}" if sub.name else job.gang.key
    return (*(plugins[p] for p in job.sub_order), sub.index, id_.encode())


def for_job(cluster, job, w):
    """The state after one turn of the job and the HyperNode chosen; None: no solution."""
    minimum = [(job.gang.volcano.min_resources or {}).get(name, 0) for name in cluster.resources]
    for domains in gradients(cluster, TOP, job.record, job.limit, minimum):
        solutions = {}
        for domain in domains:
            state = copied((cluster, job))
            waiting = [i for i, s in enumerate(job.subs) if s.tasks]
            done, score = False, 0.0
            while waiting:
                number = min(waiting, key=lambda i: (i not in job.first, *order(state[1], i)))
                waiting.remove(number)
                found = for_sub_job(*state, number, domain, w)
                if found is None:
                    state[1].subs[number].tasks.clear()
                    continue
                state, part = found
                score += part
                done = True
                if state[1].subs[number].tasks:
                    waiting.append(number)
                if state[1].is_ready():
                    break
            if done and state[1].is_ready():
                solutions[domain] = (score, state)
        if solutions:
            best = max(score for score, _ in solutions.values())
            chosen = min((d for d in solutions if solutions[d][0] == best), key=str.encode)
            state = solutions[chosen][1]
            state[1].record = cluster.lca(state[1].record, chosen)
            return state
    return None


def place(gang, snapshot, weights, sub_order=("priority", "gang")):
    """Nodes by position, the job's record (None: it leaves none), or None when pending; best-effort pods are left out.

    `weights`: those of the node score, ``topology`` (the plugin's, for nodes), ``packing`` (the plugin's, for
    HyperNodes), ``hypernode`` (by resource), ``fading`` (None: no score for pods without a topology). `sub_order`: the
    plugins that order sub-jobs, as they are asked.
    """
    cluster = Cluster(snapshot)
    job = Job(gang, snapshot, cluster)
    job.sub_order = sub_order
    wishes = gang.constraint is not None or any(group.constraint for group in gang.sub_groups)
    if wishes and not cluster.ready:
        return None
    recover(cluster, job)
    if job.limit is None and not gang.sub_grouped:
        while job.subs[0].tasks:
            trial = copied((cluster, job))
            # Only a search writes a record: each turn begins with the one that running pods gave.
            placed, _ = fill(*trial, trial[1].subs[0], TOP, weights)
            if not placed:
                break
            cluster, job = trial
    else:
        job.first = needed(job)
        while any(sub.tasks for sub in job.subs):
            state = for_job(cluster, job, weights)
            if state is None:
                break
            cluster, job = state
    if not job.is_ready():
        return None
    # Sub-groups without a topology are searched for in the virtual top, and recorded there.
    recorded = wishes or gang.sub_grouped
    return [job.placed.get(i, "") for i in range(gang.n_pods)], job.record if recorded else None
