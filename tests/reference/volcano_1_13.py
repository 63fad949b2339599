"""Volcano 1.13's allocation of one gang, pod by pod and domain by domain: the oracle of `volcano-1.13` and `allocate`.

Obvious and slow: every node looked at again for every pod, every HyperNode of every tier dry-run, real turns with a
queue of pods. Rules: the reference on Volcano's behaviour, sections 4, 5.1 to 5.3 and 7.1. Ties: smallest name.
Shares nothing with the package but the values of `workbench.model`.
"""

from __future__ import annotations

import math

from tests.reference.copies import copied
from tests.reference.task_order import task_order
from workbench.model.extras import VolcanoMemory


class Cluster:
    """Nodes and HyperNodes by name; amounts as lists in the order of the snapshot's resources."""

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
        for n in self.names:
            free = sum(bin(int(word)).count("1") for word in snapshot.gpu_free[at[n]])
            for column in snapshot.gpu_columns:
                self.idle[n][column] = min(self.idle[n][column], free)
        self.cordoned = {n: bool(snapshot.unschedulable[at[n]]) for n in self.names}
        self.taints = {n: snapshot.taints.sets[snapshot.taints.codes[at[n]]] for n in self.names}
        self.ready = topology.ready and topology.n_domains > 0
        self.tier = {d: int(topology.tier[j]) for j, d in enumerate(topology.domain_names)}
        self.parent = {
            d: topology.domain_names[topology.parent[j]] if topology.parent[j] >= 0 else ""
            for j, d in enumerate(topology.domain_names)
        }
        self.nodes = {
            d: [topology.node_names[i] for i in topology.nodes_of(j)] for j, d in enumerate(topology.domain_names)
        }

    def ancestors(self, domain):
        found = [domain]
        while self.parent.get(found[-1], ""):
            found.append(self.parent[found[-1]])
        return found

    def lca(self, a, b):
        if not a or not b:
            return ""
        for candidate in self.ancestors(b):
            if candidate in self.ancestors(a):
                return candidate
        return ""

    def leaf(self, node):
        if not self.tier:
            return ""
        lowest = min(self.tier.values())
        return min(
            (d for d in self.tier if self.tier[d] == lowest and node in self.nodes[d]), default="", key=str.encode
        )


class Job:
    """One gang: its pods by position, what is placed, what is running."""

    def __init__(self, gang, snapshot):
        self.gang = gang
        self.role_of = [r for r, role in enumerate(gang.roles) for _ in range(role.count)]
        self.request = []
        for role in gang.roles:
            row = [role.requests.get(name, 0) for name in snapshot.resources]
            row[snapshot.resources.index("pods")] = 1
            self.request.append(row)
        self.assumed = [role.assumed for role in gang.roles]
        self.impossible = [any(a and n not in snapshot.resources for n, a in r.requests.items()) for r in gang.roles]
        mine = (
            [pod for pod in snapshot.running if pod.gang == gang.key]
            if gang.ready or gang.extra(VolcanoMemory).record
            else []
        )
        self.running_nodes = [snapshot.topology.node_names[pod.node] for pod in mine if pod.node >= 0]
        self.best_effort = [i for i, r in enumerate(self.role_of) if gang.roles[r].best_effort]
        self.running_role = [0] * len(gang.roles)
        if gang.ready:
            for pod in mine:
                for r, role in enumerate(gang.roles):
                    self.running_role[r] += role.name == pod.role
        self.total = gang.n_pods + (max(gang.ready, len(mine)) if gang.ready else 0)
        self.total += sum(len(part.failed) + len(part.gated) for part in [gang, *gang.sub_groups])
        self.placed = {}

    def present(self, role):
        placed = sum(self.role_of[i] == role for i in [*self.best_effort, *self.placed])
        return self.running_role[role] + self.gang.roles[role].succeeded + placed

    def counted(self):
        return self.gang.ready + len(self.best_effort) + len(self.placed)

    def minimums(self):
        return [role.min_available or 0 for role in self.gang.roles]

    def is_ready(self):
        if self.counted() < self.gang.min_available:
            return False
        if self.gang.min_available < sum(self.minimums()):
            return True
        return all(self.present(r) >= m for r, m in enumerate(self.minimums()))

    def goes_on(self, failed, pending):
        if self.gang.min_available == self.total:
            return False
        if self.gang.min_available < sum(self.minimums()):
            rest = sum(self.cache_name(i) not in failed for i in pending)
            return self.counted() + rest >= self.gang.min_available
        names = [role.name.partition("#")[0] for role in self.gang.roles]
        return all(self.present(r) >= m for r, m in enumerate(self.minimums()) if names[r] in failed)

    def cache_name(self, pod):
        """Pods of one role fail together, also where it is numbered because its pods are of several shapes."""
        return self.gang.roles[self.role_of[pod]].name.partition("#")[0]


def node_score(cluster, job, pod, node, w):
    request = job.request[job.role_of[pod]]
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
            whole = 0
            for k in both:
                after = used[k] + request[k] + cluster.assumed[node][cluster.resources[k]]
                after += job.assumed[job.role_of[pod]].get(cluster.resources[k], 0)
                if allocatable[k] > 0 and after <= allocatable[k]:
                    whole += amount(allocatable[k], after) * 100 // allocatable[k]
            score += float(whole // len(both)) * w[key]
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


def tolerated(cluster, job, pod, feasible):
    """0 to 100 per node: the fewer PreferNoSchedule taints a pod does not tolerate, the better."""
    tolerations = job.gang.roles[job.role_of[pod]].filter.tolerations
    counts = {
        n: sum(t.effect == "PreferNoSchedule" and not any(x.covers(t) for x in tolerations) for t in cluster.taints[n])
        for n in feasible
    }
    most = max(counts.values())
    return {n: float(100 - 100 * count // most if most else 100) for n, count in counts.items()}


def base(cluster, leaf, record):
    if leaf == record and leaf:
        return 1.0
    common = cluster.lca(leaf, record)
    lowest, highest = min(cluster.tier.values(), default=0), max(cluster.tier.values(), default=0)
    if not common or common not in cluster.tier or lowest == highest:
        return 0.0
    return (highest - cluster.tier[common]) / (highest - lowest)


def choose(cluster, job, pod, feasible, record, w, topology_weight):
    """The best node and its score; a sole candidate is not scored."""
    if len(feasible) == 1:
        return feasible[0], 0.0
    bases = (
        {n: base(cluster, cluster.leaf(n), record) for n in feasible} if record and topology_weight is not None else {}
    )
    best_base = max(bases.values(), default=0.0)
    shared = sum(b == best_base for b in bases.values()) >= 2
    best = None
    taints = tolerated(cluster, job, pod, feasible)
    for node in sorted(feasible, key=str.encode):
        part = node_score(cluster, job, pod, node, w) + taints[node] * w["taints"]
        total = part
        if bases:
            value, leaf = bases[node], cluster.leaf(node)
            if shared and value == best_base and leaf:
                there = [*job.running_nodes, *job.placed.values()]
                value = value + float(sum(n in cluster.nodes[leaf] for n in there)) / float(job.total)
            total = part + value * 100.0 * topology_weight
        # Equal totals: the higher part of the node itself, then the smaller name (the kernel's documented order).
        if best is None or (total, part) > best[:2]:
            best = (total, part, node)
    return best[2], best[0]


def one_turn(cluster, job, tasks, nodes, record, widens, w, topology_weight):
    """5.1 on some nodes: changes cluster, job and tasks; answers (placements, running record, scores)."""
    done, scores, failed = [], [], set()
    while tasks:
        pod = tasks.pop(0)
        role = job.role_of[pod]
        if job.cache_name(pod) in failed:
            continue
        request = job.request[role]
        feasible = [
            n
            for n in nodes
            if not cluster.cordoned[n]
            and not job.impossible[role]
            and all(q == 0 or q <= i for q, i in zip(request, cluster.idle[n]))
        ]
        if not feasible:
            failed.add(job.cache_name(pod))
            if job.goes_on(failed, tasks):
                continue
            break
        node, score = choose(cluster, job, pod, feasible, record, w, topology_weight)
        for k, amount in enumerate(request):
            cluster.idle[node][k] -= amount
            cluster.used[node][k] += amount
        for name, amount in job.assumed[role].items():
            cluster.assumed[node][name] += amount
        job.placed[pod] = node
        done.append((pod, node))
        scores.append(score)
        if widens and cluster.leaf(node):
            record = cluster.lca(cluster.leaf(node), record) if record else cluster.leaf(node)
        if job.is_ready() and tasks:
            break
    return done, record, scores


def place(gang, snapshot, weights, topology_weight):
    """Nodes by position and the record, or None when pending; best-effort pods are left out.

    `topology_weight` None: the plain algorithm whatever the gang asks for.
    """
    cluster, job = Cluster(snapshot), Job(gang, snapshot)
    tasks = task_order(gang, [i for i in range(gang.n_pods) if i not in job.best_effort])
    mode = gang.constraint.mode if gang.constraint and topology_weight is not None else ""
    if mode == "hard":
        # A job whose pods all ask for nothing never comes to the topology: allocate does not handle such pods.
        if tasks and not cluster.ready:
            return None
        record = hard(cluster, job, tasks, gang, weights, topology_weight)
    else:
        record = gang.extra(VolcanoMemory).record if mode == "soft" else ""
        weight = topology_weight if mode == "soft" else None
        while tasks:
            before = copied((cluster, job))
            _, running, _ = one_turn(cluster, job, tasks, cluster.names, record, mode == "soft", weights, weight)
            if not job.is_ready():
                cluster, job = before
                break
            record = running
    if not job.is_ready():
        return None
    return [job.placed.get(i, "") for i in range(gang.n_pods)], record


def hard(cluster, job, tasks, gang, weights, topology_weight):
    allowed = gang.constraint.highest_tier if gang.constraint.highest_tier is not None else 1
    record = gang.extra(VolcanoMemory).record
    sums = {}
    while tasks:
        solutions = {}
        for tier in sorted(set(cluster.tier.values())):
            if tier > allowed or solutions:
                break
            for domain in sorted((d for d in cluster.tier if cluster.tier[d] == tier), key=str.encode):
                if record:
                    common = cluster.lca(domain, record)
                    if common not in cluster.tier or cluster.tier[common] > allowed:
                        continue
                trial = copied((cluster, job, tasks))
                # The running record is the hint within a trial; what is written is the LCA with the HyperNode chosen.
                done, _, scores = one_turn(*trial, cluster.nodes[domain], record, True, weights, topology_weight)
                for score in scores:
                    sums[domain] = sums.get(domain, 0.0) + score
                if trial[1].is_ready() and done:
                    solutions[domain] = trial
        if not solutions:
            break
        best = max(sums[d] for d in solutions)
        chosen = min((d for d in solutions if sums[d] == best), key=str.encode)
        new_cluster, new_job, new_tasks = solutions[chosen]
        cluster.__dict__, job.__dict__ = new_cluster.__dict__, new_job.__dict__
        tasks[:] = new_tasks
        record = cluster.lca(chosen, record) if record else chosen
    return record
