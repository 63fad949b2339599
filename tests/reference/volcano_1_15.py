"""Volcano 1.15's allocation of one gang: the oracle of `volcano-1.15`.

Says which search a gang and a cluster are: nodes with what is assumed of their pods, HyperNodes, sub-jobs with their
needs, and weights. The search itself is in `tests.reference.two_level`. Rules: the reference on Volcano's behaviour,
sections 3.1, 3.2, 4, 5.1, 5.4 to 5.6 and 7. Ties: smallest name, so that nodes and HyperNodes are numbered by name.
Shares nothing with the package but the values of `workbench.model`.
"""

from __future__ import annotations

from tests.reference import domains as slow
from tests.reference.dry_runs import Ask
from tests.reference.task_order import task_order
from tests.reference.two_level import NO_RECORD, Search, Sub, Tree
from workbench.model.extras import VolcanoMemory

TOP = "<cluster-top-hypernode>"
UNLIMITED = 2**62
# Scores least and most see these amounts with what is assumed of containers that do not say.
ASSUMED = ("cpu", "memory")


class Cluster:
    """Nodes and HyperNodes, numbered by name; amounts as lists in the order of the columns."""

    def __init__(self, snapshot):
        topology = snapshot.topology
        self.resources = list(snapshot.resources)
        self.both = [self.resources.index(name) for name in ASSUMED]
        self.names = sorted(topology.node_names, key=str.encode)
        self.number = {name: i for i, name in enumerate(self.names)}
        old = {name: i for i, name in enumerate(topology.node_names)}
        rows = [old[name] for name in self.names]
        assumed = {name: dict.fromkeys(ASSUMED, 0) for name in self.names}
        for pod in snapshot.running:
            if pod.node >= 0:
                for resource, amount in pod.assumed.items():
                    assumed[topology.node_names[pod.node]][resource] += amount
        allocatable = [snapshot.allocatable[i].tolist() for i in rows]
        used = [snapshot.used[i].tolist() for i in rows]
        self.allocatable = [row + [row[k] for k in self.both] for row in allocatable]
        self.used = [
            row + [row[k] + assumed[name][self.resources[k]] for k in self.both]
            for name, row in zip(self.names, used, strict=True)
        ]
        idle = [[a - u for a, u in zip(*both, strict=True)] for both in zip(allocatable, used, strict=True)]
        self.at_open = [[*row, UNLIMITED, UNLIMITED] for row in idle]
        for i, row in zip(rows, idle, strict=True):
            free = sum(bin(int(word)).count("1") for word in snapshot.gpu_free[i])
            for column in snapshot.gpu_columns:
                row[column] = min(row[column], free)
        self.idle = [[*row, UNLIMITED, UNLIMITED] for row in idle]
        self.cordoned = [bool(snapshot.unschedulable[i]) for i in rows]
        self.taints = [snapshot.taints.sets[snapshot.taints.codes[i]] for i in rows]
        self.ready = topology.ready
        self.domains = sorted(topology.domain_names, key=str.encode)
        self.tree = self.tree_of(topology)
        self.tier_of_name = {}
        for j, name in enumerate(topology.tier_names):
            self.tier_of_name.setdefault(name, int(topology.tier[j]))
        self.lowest = min([*self.tree.tier, self.tree.top_tier])

    def tree_of(self, topology):
        old = [topology.domain_names.index(name) for name in self.domains]
        tier = [int(topology.tier[j]) for j in old]
        parent = [old.index(topology.parent[j]) if topology.parent[j] >= 0 else -1 for j in old]
        nodes = [sorted(self.number[topology.node_names[i]] for i in topology.nodes_of(j)) for j in old]
        lowest = [d for d in range(len(old)) if tier[d] == min(tier)]
        leaf = [next((d for d in lowest if node in nodes[d]), -1) for node in range(len(self.names))]
        return Tree(parent, tier, nodes, leaf, list(range(len(self.names))))

    def row(self, requests, assumed=None):
        """A pod's amount of each column; a pod that requests nothing is still one of the node's pods."""
        row = [1 if name == "pods" else requests.get(name, 0) for name in self.resources]
        return row + [row[k] + (assumed or {}).get(self.resources[k], 0) for k in self.both]

    def amounts(self, rows):
        """Sum over some pods, in the columns that are resources."""
        total = [0] * (len(self.resources) + 2)
        for row in rows:
            total = [a + b for a, b in zip(total, [*row[:-2], 0, 0], strict=True)]
        return total

    def by_resource(self, weights, missing):
        return [weights.get(name, missing) for name in self.resources] + [missing] * 2

    def closeness(self):
        """What a leaf is worth that meets a record in each HyperNode."""
        highest = self.tree.top_tier
        return [(highest - tier) / (highest - self.lowest) for tier in self.tree.tier]

    def fading(self, base):
        """Weight of each tier for pods without a topology."""
        tiers = range(self.lowest, self.tree.top_tier + 1)
        if base == 0.0:
            # 0 ** 0 is 1 and 0 ** -1 infinite: tier 1 alone counts, or what is below it.
            return [(tier, float(tier == min(self.lowest, 1))) for tier in tiers]
        return [(tier, base ** (tier - 1)) for tier in tiers]

    def smallest(self, nodes):
        """The lowest HyperNode that holds all these nodes, of several the smallest name; none holds a node unknown."""
        if any(node < 0 for node in nodes):
            return NO_RECORD
        holding = [d for d, members in enumerate(self.tree.nodes) if set(nodes) <= set(members)]
        return min(holding, key=lambda d: (self.tree.tier[d], d), default=-1)


class Part:
    """Pods of a gang that are placed together: one sub-group, or the pods of none (the default sub-job)."""

    def __init__(self, group, name, pods, running, constraint, limit, minimum, policy, index):
        self.name, self.pods, self.policy, self.index = name, pods, policy, index
        self.constraint, self.limit, self.minimum = constraint, limit, minimum
        self.running = running
        self.succeeded, self.gated = group.succeeded, group.gated
        self.others = [*group.failed, *group.gated]
        self.total = len(pods) + len(running) + len(self.succeeded) + len(self.others)


def parts_of(gang, cluster, mine):
    """The sub-jobs of a gang, whose running pods are `mine`."""
    top = cluster.tree.top_tier
    limit, bound = limit_of(gang.constraint, cluster, top), top
    if gang.constraint is not None and gang.constraint.mode != "soft":
        number = tier_of(gang.constraint, cluster)
        bound = top if number is None else number
    found = []
    for group in gang.sub_groups:
        running = [pod for pod in mine if pod.name in group.running]
        found.append(
            Part(
                group,
                group.name,
                list(group.pods),
                running,
                group.constraint,
                limit_of(group.constraint, cluster, bound),
                group.min_available,
                group.policy,
                group.match_index,
            )
        )
    grouped = {i for group in gang.sub_groups for i in group.pods}
    started = {name for group in gang.sub_groups for name in group.running}
    rest = [i for i in range(gang.n_pods) if i not in grouped]
    running = [pod for pod in mine if pod.name not in started]
    if rest or running or not gang.sub_grouped:
        minimum = 1 if gang.sub_grouped else gang.min_available
        found.append(Part(gang, "", rest, running, gang.constraint, limit, minimum, None, 0))
    return found


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


def shape_of(role, cluster, weight):
    """Request, nodes that may run a pod of the role, and scores: the fewer taints it does not tolerate, the better."""
    unknown = any(amount and name not in cluster.resources for name, amount in role.requests.items())
    feasible = [int(not unknown and not cordoned) for cordoned in cluster.cordoned]
    counts = [
        sum(t.effect == "PreferNoSchedule" and not any(x.covers(t) for x in role.filter.tolerations) for t in taints)
        for taints in cluster.taints
    ]
    most = max(counts, default=0)
    extra = [float(100 - 100 * count // most if most else 100) * weight for count in counts]
    return cluster.row(role.requests, role.assumed), feasible, extra


def sub_keys(gang, parts, role_of, plugins):
    """Grade and rank of each sub-job: what comes before whether it is ready, and the order after that."""
    known = {role.name: role.priority for role in gang.roles}

    def priority(part):
        pending = [gang.roles[role_of[i]].priority for i in part.pods]
        return max([0, *pending, *(known.get(pod.role, 0) for pod in part.running)])

    def id_of(part):
        return (f"{gang.key}/{part.name}" if part.name else gang.key).encode()

    asked = [plugin for plugin in plugins if plugin in ("gang", "priority")]
    by_priority = [(-priority(part) if "priority" in asked else 0) for part in parts]
    keys = [(by_priority[i], part.index, id_of(part)) for i, part in enumerate(parts)]
    rank = [sorted(keys).index(key) for key in keys]
    if "gang" not in asked:
        return rank, rank
    return (by_priority if asked[0] == "priority" else [0] * len(parts)), rank


def search_of(gang, snapshot, cluster, w, plugins):
    """The search before its first turn."""
    role_of = [r for r, role in enumerate(gang.roles) for _ in range(role.count)]
    mine = [pod for pod in snapshot.running if pod.gang == gang.key] if gang.ready else []
    parts = parts_of(gang, cluster, mine)
    best_effort = [i for i, r in enumerate(role_of) if gang.roles[r].best_effort]
    shapes = [shape_of(role, cluster, w["taints"]) for role in gang.roles]
    rows = [row for row, _, _ in shapes]
    names = [role.name.partition("#")[0] for role in gang.roles]
    total = gang.n_pods + max(gang.ready, len(mine))
    total += sum(len(part.failed) + len(part.gated) for part in [gang, *gang.sub_groups])
    all_needed = gang.min_available == total
    queues = [task_order(gang, [i for i in part.pods if i not in best_effort]) for part in parts]
    job = Ask(
        shapes=list(range(len(gang.roles))),
        left=[sum(role_of[i] == r for queue in queues for i in queue) for r in range(len(gang.roles))],
        present=[
            sum(role.name == pod.role for pod in mine) + role.succeeded + sum(role_of[i] == r for i in best_effort)
            for r, role in enumerate(gang.roles)
        ],
        minimums=[role.min_available or 0 for role in gang.roles],
        names=[names.index(name) for name in names],
        min_available=gang.min_available,
        counted=gang.ready + len(best_effort),
        after_failure="stop" if all_needed else "by-minimums",
        order=None if gang.sub_grouped else [role_of[i] for i in queues[0]],
    )
    policies = list(gang.min_subgroups)
    subs, record = [], NO_RECORD
    grades, ranks = sub_keys(gang, parts, role_of, plugins)
    for part, queue, grade, rank in zip(parts, queues, grades, ranks, strict=True):
        ask, entries = job, list(range(len(gang.roles)))
        if gang.sub_grouped:
            entries = sorted({role_of[i] for i in queue})
            counted = len(part.running) + len(part.succeeded) + sum(i in best_effort for i in part.pods)
            ask = Ask(
                shapes=entries,
                left=[sum(role_of[i] == r for i in queue) for r in entries],
                present=[0] * len(entries),
                minimums=[0] * len(entries),
                names=[job.names[r] for r in entries],
                min_available=part.minimum,
                counted=counted,
                after_failure="stop" if all_needed or part.minimum >= part.total else "go-on",
                order=[entries.index(role_of[i]) for i in queue],
            )
        nodes = [cluster.number[snapshot.topology.node_names[p.node]] if p.node >= 0 else -1 for p in part.running]
        started = [*(pod.requests for pod in part.running), *part.succeeded, *part.others]
        own = [rows[role_of[i]] for i in part.pods]
        sub = Sub(
            ask,
            policies.index(part.policy) if part.policy in policies else -1,
            rank,
            grade,
            part.constraint is not None,
            part.limit,
            part.total if gang.sub_grouped else total,
            NO_RECORD,
            cluster.amounts([*own, *map(cluster.row, started)]),
            cluster.amounts([*own, *map(cluster.row, part.gated)]),
            nodes,
            [[i for i in queue if role_of[i] == r] for r in entries],
        )
        if sub.scored and nodes:
            sub.record = cluster.smallest(nodes)
            record = cluster.tree.lca(record, sub.record)
        subs.append(sub)
    return Search(
        cluster.tree,
        cluster.idle,
        cluster.used,
        cluster.allocatable,
        cluster.at_open,
        shapes,
        slow.Weights(
            w["binpack"],
            [float(weight) for weight in cluster.by_resource(w["binpack_resources"], 0)],
            w["least"],
            w["most"],
            [0] * len(cluster.resources) + [1, 1],
            w["balanced"],
            cluster.by_resource({"cpu": 1, "memory": 1, "nvidia.com/gpu": 2}, 0),
        ),
        cluster.closeness(),
        w["topology"],
        [float(weight) for weight in cluster.by_resource(w["hypernode"], -1)],
        w["packing"],
        job,
        gang.sub_grouped,
        limit_of(gang.constraint, cluster, cluster.tree.top_tier),
        cluster.amounts(
            [[(gang.extra(VolcanoMemory).min_resources or {}).get(n, 0) for n in cluster.resources] + [0, 0]]
        ),
        [gang.min_subgroups[name] for name in policies],
        record,
        subs,
        fading=None if w["fading"] is None else cluster.fading(w["fading"]),
    )


def place(gang, snapshot, weights, sub_order=("priority", "gang")):
    """Nodes by position, the job's record (None: it leaves none), or None when pending; best-effort pods are left out.

    `weights`: those of the node score, ``topology`` (the plugin's, for nodes), ``packing`` (the plugin's, for
    HyperNodes), ``hypernode`` (by resource), ``fading`` (None: no score for pods without a topology). `sub_order`: the
    plugins that order sub-jobs, as they are asked.
    """
    cluster = Cluster(snapshot)
    wishes = gang.constraint is not None or any(group.constraint for group in gang.sub_groups)
    if wishes and not cluster.ready:
        return None
    search = search_of(gang, snapshot, cluster, weights, sub_order)
    record, plain = search.record, search.limit is None and not gang.sub_grouped
    while search.pods_left():
        after = search.turn()
        if after is None:
            break
        search = after
        if plain:
            # Only a search writes a record: each turn begins with the one that running pods gave.
            search.record = search.subs[0].record = record
    if not search.ready():
        return None
    nodes = [""] * gang.n_pods
    for pod, (_, _, node) in zip(search.pods, search.placed, strict=True):
        nodes[pod] = cluster.names[node]
    # Sub-groups without a topology are searched for in the virtual top, and recorded there.
    if not wishes and not gang.sub_grouped:
        return nodes, None
    return nodes, {NO_RECORD: "", -1: TOP}[search.record] if search.record < 0 else cluster.domains[search.record]
