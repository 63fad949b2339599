"""Benchmark of Volcano's two-level search: the kernel on arrays, and `volcano-1.15` from a snapshot to a Placement.

Goals of issue 3: at 6,000 nodes / 9,600 HyperNodes at most 3 ms for identical pods, 6 ms for three roles, 15 ms for 100
sub-groups of 100 shapes, p99 over 200 random gangs; 1,000 nodes / 100 leaves / 100 sub-groups of ten 3 ms; 100,000
nodes 8 / 10 / 60 ms for 1 / 10 / 100 sub-groups (issue 36) of any pods. A row of `TwoLevel` times everything from
arrays to the placed pods: checks, copies, counting, the search. A row of `place` also times the rest of the policy:
creating the ledger, choosing GPUs, garbage collection. The reasons why a gang is pending are computed when they are
read, which is not timed. Each run of a gang has a gang and a ledger of its own.

Of every three gangs two are placed and one is pending, as far as 30 draws find one. Pending gangs are such that
HyperNodes had to be tried: if no HyperNode is as large as minResources, both the search and the baseline end at once.

The baseline runs the compiled dry run (`DryRuns`) in every HyperNode of every tier in which a sub-group might go; it
keeps no results and counts nothing in advance. If it takes long, it is run on few gangs or cut short.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from measure import row
from numpy.typing import NDArray

from workbench.kernels.domain_nodes import DomainNodes
from workbench.kernels.domain_tree import DomainTree
from workbench.kernels.domains import NO_RECORD, ScoreWeights, TopologyScores
from workbench.kernels.dry_run_values import Counts
from workbench.kernels.dry_runs import DryRuns
from workbench.kernels.tiers import Forest, tier_scores
from workbench.kernels.two_level import JobColumns, Nodes, Shape, SubJobColumns, TwoLevel
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, SubGroup, TopologyConstraint
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.model.placement import Placement, Refusal
from workbench.model.snapshot import ClusterSnapshot, gpu_words
from workbench.model.topology import Topology
from workbench.policies import get_policy
from workbench.policies.volcano.parts.task_order import runs_of

GI = 1 << 30
TOTAL = np.array([96_000, 1024 * GI, 8], dtype=np.int64)
POD = np.array([10_000, 100 * GI, 1], dtype=np.int64)
"""Of one GPU."""
WEIGHTS = ScoreWeights(
    binpack=1.0,
    binpack_resources=np.array([1.0, 1.0, 0.0]),
    least_requested=1.0,
    balanced=1.0,
    request_resources=np.array([1, 1, 0], dtype=np.int64),
    balanced_resources=np.array([1, 1, 2], dtype=np.uint8),
)
PACKING = np.array([1.0, 1.0, -1.0])
"""As in `volcano-1.15`: GPUs are not counted in the packing of HyperNodes."""
SCALE = 10.0
GANGS = 200
RUNS = 3
"""Of each gang, the least counts: the p99 tells of the 200 gangs, not of what else the machine did meanwhile."""
NOT_TRIED = -2
"""In `workbench.kernels.two_level.TriedDomains.stuck`."""
BASELINE_S = 2.0
"""The baseline stops after so many seconds in a cell, be it within its first gang."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(eq=False)
class Cluster:
    """The benchmark's cluster: nodes in nested tiers.

    ``starts[t]`` holds the first node of each HyperNode of tier t + 1.
    """

    name: str
    n: int
    tree: DomainTree
    scores: TopologyScores
    nodes: Nodes
    domains: list[Ints]
    allocatable: Longs

    @cached_property
    def domain_nodes(self) -> DomainNodes:
        """The tree of HyperNodes in the form that `DryRuns` takes."""
        tree = self.tree
        return DomainNodes(tree.name_rank, tree.leaf, tree.member_start, tree.members)


def even(n: int, parts: int) -> Longs:
    return (np.arange(parts, dtype=np.int64) * n) // parts


def cluster(name: str, n: int, sizes: list[int], rng: random.Random, singles: int = 0) -> Cluster:
    """A cluster of n nodes with the given number of HyperNodes per tier, lowest tier first.

    With `singles`, a HyperNode of the lowest tier holds one node, and only `singles` nodes are in one.
    """
    firsts: list[Longs] = []
    for size in reversed(sizes):
        # Each tier cuts where the next wider one cuts, so that domains nest.
        wider = firsts[-1] if firsts else np.array([0], dtype=np.int64)
        cuts = set(wider.tolist())
        wish = iter(even(n, size).tolist())
        while len(cuts) < size:
            cut = next(wish, None)
            cuts.add(rng.randrange(n) if cut is None else cut)
        firsts.append(np.array(sorted(cuts), dtype=np.int64))
    firsts.reverse()
    if singles:
        firsts[0] = np.arange(n, dtype=np.int64)
    spans, parent, tier, domains = [], [], [], []
    offset = 0
    for t, first in enumerate(firsts):
        end = np.append(first[1:], n)
        if t == 0 and singles:
            first, end = first[:singles], end[:singles]
        spans.append(np.stack([first, end], axis=1))
        domains.append(np.arange(offset, offset + len(first), dtype=np.int32))
        offset += len(first)
        tier += [t + 1] * len(first)
        if t + 1 < len(firsts):
            parent.append(np.searchsorted(firsts[t + 1], first, side="right") - 1 + offset)
        else:
            parent.append(np.full(len(first), -1))
    span = np.concatenate(spans).astype(np.int32)
    forest = Forest(np.concatenate(parent).astype(np.int32), np.array(tier, dtype=np.int32))
    d = len(forest)
    order = np.lexsort((-forest.tier, span[:, 0]))
    walk = np.empty(d, dtype=np.int32)
    walk[order] = np.arange(d, dtype=np.int32)
    below = np.ones(d, dtype=np.int32)
    for domain in range(d):
        if forest.parent[domain] >= 0:
            below[forest.parent[domain]] += below[domain]
    lengths = (span[:, 1] - span[:, 0]).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(lengths)])
    members = (np.arange(start[-1]) - np.repeat(start[:-1], lengths) + np.repeat(span[:, 0], lengths)).astype(np.int32)
    owner = np.repeat(np.arange(d, dtype=np.int32), lengths)
    by_node = np.lexsort((owner, members))
    node_start = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=n))]).astype(np.int64)
    leaf = np.full(n, -1, dtype=np.int32)
    for domain in domains[0].tolist():
        leaf[span[domain, 0] : span[domain, 1]] = domain
    rank = np.arange(n, dtype=np.int32)
    tree = DomainTree(
        forest, walk, walk + below, start, members, node_start, owner[by_node], rank, leaf, spans=span, nested=True
    )
    scores = TopologyScores(forest, tier_scores(forest.tier, 1, tree.top_tier, flat=1.0), weight=SCALE, roots_meet=True)
    allocatable = np.tile(TOTAL, (n, 1))
    made = Cluster(name, n, tree, scores, _nodes(tree, allocatable, np.zeros_like(allocatable)), domains, allocatable)
    occupy(made, rng)
    return made


def occupy(made: Cluster, rng: random.Random, full: float = 0.4, partly: float = 0.2) -> None:
    """Use up resources of the cluster at random: runs of 1 to 16 nodes become full (`full`), partly used (`partly`) or
    stay free.
    """
    gpus = np.zeros(made.n, dtype=np.int64)
    first = 0
    while first < made.n:
        end = min(made.n, first + rng.randint(1, 16))
        kind = rng.random()
        if kind < full:
            gpus[first:end] = 8
        elif kind < full + partly:
            gpus[first:end] = [rng.randint(1, 7) for _ in range(first, end)]
        first = end
    made.nodes = _nodes(made.tree, made.allocatable, gpus[:, None] * POD)


def _nodes(tree: DomainTree, allocatable: Longs, used: Longs) -> Nodes:
    sums = [_sums(tree, amounts) for amounts in (used, allocatable)]
    return Nodes(allocatable - used, used, allocatable, sums[0], sums[1], sums[1] - sums[0])


def _sums(tree: DomainTree, amounts: Longs) -> Longs:
    prefix = np.concatenate([np.zeros((1, amounts.shape[1]), dtype=np.int64), np.cumsum(amounts, axis=0)])
    spans = tree.spans
    assert spans is not None
    return np.concatenate([prefix[spans[:, 1]] - prefix[spans[:, 0]], prefix[-1:]])


@dataclass(eq=False)
class Ask:
    """A gang as arrays; ``pods`` holds the shape and the number of pods of each role for every sub-group."""

    shapes: list[Shape]
    job: JobColumns
    subs: SubJobColumns
    pods: list[list[tuple[int, int]]]
    sub_limit: int


def gang(made: Cluster, rng: random.Random, groups: int, kind: str, pods: int = 0) -> Ask:
    """A random gang of `groups` sub-groups, all pods of which are needed.

    `kind`: ``identical`` pods, three ``roles``, or a different shape in every sub-group (``distinct``). `pods` is the
    number per sub-group; 0: random.
    """
    top = made.tree.top_tier
    # Limits and sizes that go together, so that about as many gangs are placed as wait.
    job_limit = rng.randint(min(3, top), top) if groups < 10 else rng.choice([top - 1, top, top])
    sub_limit = min(rng.randint(min(2, top - 1), top - 1), job_limit)
    largest = {2: 4, 3: 12}.get(sub_limit, 32)
    size = pods or rng.randint(2, largest)
    if kind == "distinct":
        rows = [POD * rng.choice([2, 4, 8]) for _ in range(groups)]
        for i, request in enumerate(rows):
            request[0] -= i * 10
        table = [[(i, pods or rng.randint(2, largest))] for i in range(groups)]
    elif kind == "roles":
        rows = [POD * gpus for gpus in rng.sample([1, 2, 4, 8], 3)]
        share = max(size // 3, 1)
        table = [[(0, share), (1, share), (2, max(size - 2 * share, 1))]] * groups
    else:
        rows = [POD * rng.choice([2, 4, 8])]
        table = [[(0, size)]] * groups
    left = np.zeros(len(rows), dtype=np.int64)
    for mine in table:
        for shape, count in mine:
            left[shape] += count
    zero = np.zeros(len(rows), dtype=np.int64)
    total = int(left.sum())
    names = np.arange(len(rows), dtype=np.int32)
    job = JobColumns(
        left=left, present=zero, minimums=zero, names=names, min_available=total, limit=job_limit,
        minimum=np.sum([left[i] * request for i, request in enumerate(rows)], axis=0, dtype=np.int64),
        wanted=np.array([groups], dtype=np.int64),
    )  # fmt: skip
    counts = np.array([sum(count for _, count in mine) for mine in table], dtype=np.int64)
    asked = np.array([sum(rows[shape] * count for shape, count in mine) for mine in table], dtype=np.int64)
    columns = SubJobColumns(
        start=np.concatenate([[0], np.cumsum([len(mine) for mine in table])]).astype(np.int64),
        shapes=np.array([shape for mine in table for shape, _ in mine], dtype=np.int32),
        left=np.array([count for mine in table for _, count in mine], dtype=np.int64),
        min_available=counts,
        counted=np.zeros(groups, dtype=np.int64),
        total=counts,
        stop_after_failure=np.ones(groups, dtype=np.bool_),
        limit=np.full(groups, sub_limit, dtype=np.int64),
        limited=np.ones(groups, dtype=np.bool_),
        scored=np.ones(groups, dtype=np.bool_),
        policy=np.zeros(groups, dtype=np.int32),
        rank=np.arange(groups, dtype=np.int32),
        record=np.full(groups, NO_RECORD, dtype=np.int32),
        request=asked,
        pending=asked,
        running_start=np.zeros(groups + 1, dtype=np.int64),
        running=np.zeros(0, dtype=np.int32),
    )
    ask = Ask([Shape(request) for request in rows], job, columns, table, sub_limit)
    if kind == "roles":
        # Pods of several roles alternate.
        whole = gang_of(ask)
        start = np.concatenate([[0], np.cumsum(counts)])
        positions = np.array([pod for group in whole.sub_groups for pod in group.pods], dtype=np.int64)
        ask.subs = replace(columns, runs=runs_of(whole, start, positions))
    return ask


def draw(made: Cluster, rng: random.Random, groups: int, kind: str, pods: int, *, placed: bool) -> Ask:
    """A random gang that is placed, or with `placed` False one that is pending after HyperNodes were tried.

    At most 30 gangs are drawn; the last one is taken as it is. The other parameters are those of `gang`.
    """
    for _ in range(30):
        ask = gang(made, rng, groups, kind, pods)
        run = two_level(made, ask)
        if run.turn() == placed and bool((run.tried().stuck != NOT_TRIED).any()):
            break
    return ask


def two_level(made: Cluster, ask: Ask) -> TwoLevel:
    return TwoLevel(
        made.tree, made.nodes, ask.shapes, ask.job, ask.subs,
        weights=WEIGHTS, scores=made.scores, packing=PACKING, scale=SCALE,
    )  # fmt: skip


def search(made: Cluster, ask: Ask) -> tuple[float, list[int]] | None:
    """Run the kernel's search: the sum of scores, and the node of each pod in the order of placement; None: pending."""
    run = two_level(made, ask)
    if not run.turn():
        return None
    return run.score, run.placed()[2].tolist()


def disagreement(made: Cluster, ask: Ask, result: Placement | Refusal) -> str:
    """How the answer of the policy differs from that of the kernel's search; "" if it does not.

    Both must place the gang or both refuse it, and each sub-group must have the same nodes for the pods of each shape.
    """
    run = two_level(made, ask)
    if run.turn() != isinstance(result, Placement):
        return f"the search {'refuses' if isinstance(result, Placement) else 'places'} it, the policy does not"
    if isinstance(result, Refusal):
        return ""
    searched = sorted(zip(*(column.tolist() for column in run.placed()), strict=True))
    role_of = np.repeat(np.arange(len(ask.shapes)), [role.count for role in result.gang.roles])
    nodes = result.node.tolist()
    placed = sorted(
        (i, int(role_of[pod]), nodes[pod]) for i, group in enumerate(result.gang.sub_groups) for pod in group.pods
    )
    return "" if searched == placed else "the search and the policy choose other nodes"


def naive(made: Cluster, ask: Ask, until: float) -> tuple[float, list[int]] | None:
    """Run the baseline: every HyperNode for the job, and inside it every HyperNode for each sub-group, is tried by a
    dry run.

    Returns what `search` returns. Raises TimeoutError if the clock passes `until` (in seconds of `time.perf_counter`).
    """
    spans = made.tree.spans
    assert spans is not None
    tiers = [*made.domains, np.array([-1], dtype=np.int32)]
    limit = ask.job.limit
    assert limit is not None
    for outer in tiers[:limit]:
        best: tuple[float, list[int]] | None = None
        for domain in outer[(made.nodes.idle_at_open[outer] >= ask.job.minimum).all(axis=1)].tolist():
            if time.perf_counter() > until:
                raise TimeoutError
            found = attempt(made, ask, tiers, domain, spans)
            if found is not None and (best is None or found[0] > best[0]):
                best = found
        if best is not None:
            return best
    return None


def attempt(made: Cluster, ask: Ask, tiers: list[Ints], domain: int, spans: Ints) -> tuple[float, list[int]] | None:
    n, total, placed = made.nodes, 0.0, []
    used = n.domain_used.copy()
    low, high = (0, made.n) if domain < 0 else spans[domain].tolist()
    runs = DryRuns(n.idle, n.used, n.allocatable, made.domain_nodes, weights=WEIGHTS, scores=made.scores)
    for shape in ask.shapes:
        runs.add_shape(shape.request)
    for number, mine in enumerate(ask.pods):
        request = ask.subs.request[number]
        count = sum(pods for _, pods in mine)
        asked = Counts(
            shapes=np.array([shape for shape, _ in mine], dtype=np.int32),
            left=np.array([pods for _, pods in mine], dtype=np.int64),
            min_available=count,
            after_failure="stop",
        )
        order = asked.shapes.repeat(asked.left)
        if ask.subs.runs is not None:
            start, entries, upto = ask.subs.runs
            own = slice(int(start[number]), int(start[number + 1]))
            # Shape i is the i-th of every sub-group.
            asked = replace(asked, runs=(entries[own], upto[own]))
            order = entries[own].repeat(_lengths(entries[own], upto[own]))
        runs.ask(asked, update_record=True, total_tasks=count)
        for inner in tiers[: ask.sub_limit]:
            if inner[0] < 0:
                here = inner if domain < 0 else inner[:0]
            else:
                here = inner[(spans[inner, 0] >= low) & (spans[inner, 1] <= high)]
                if domain >= 0:
                    here = here[made.tree.forest.tier[here] <= made.tree.forest.tier[domain]]
            here = here[(n.idle_at_open[here] >= request).all(axis=1)]
            here = here[runs.try_each(here).ready]
            if len(here) == 0:
                continue
            after = used[here] + request
            counted = PACKING >= 0
            full = (after[:, counted] / n.domain_allocatable[here][:, counted] * PACKING[counted]).sum(axis=1)
            full = full / PACKING[counted].sum()
            full[(after > n.domain_allocatable[here])[:, counted].any(axis=1)] = 0.0
            chosen = int(here[np.argmax(full)])
            total += float(full.max()) * 100.0 * SCALE
            nodes = runs.settle(chosen).nodes
            placed += nodes.tolist()
            for node, entry in zip(nodes.tolist(), order.tolist(), strict=True):
                mine_domains = made.tree.node_domains[made.tree.node_start[node] : made.tree.node_start[node + 1]]
                used[mine_domains] += ask.shapes[entry].request
                used[-1] += ask.shapes[entry].request
            break
        else:
            return None
    return total, placed


def _lengths(entries: Ints, upto: Longs) -> Longs:
    """Number of pods in each run.

    `entries` names the role of each run, and `upto` how many pods of this role have come by the end of the run.
    """
    lengths = upto.copy()
    for entry in np.unique(entries):
        mine = entries == entry
        lengths[mine] = np.diff(upto[mine], prepend=0)
    return lengths


def snapshot_of(made: Cluster, topology: Topology, labels: NodeLabels, taints: NodeTaints) -> ClusterSnapshot:
    slots = np.full((made.n, 1), 110, dtype=np.int64)
    gpus = made.nodes.used[:, 2:]
    words = [255 >> int(taken) for taken in gpus[:, 0]]
    return ClusterSnapshot(
        topology,
        ("cpu", "memory", "pods", "nvidia.com/gpu"),
        np.concatenate([made.allocatable[:, :2], slots, made.allocatable[:, 2:]], axis=1),
        np.concatenate([made.nodes.used[:, :2], gpus, gpus], axis=1),
        labels,
        taints,
        np.zeros(made.n, dtype=np.bool_),
        gpu_words([255] * made.n),
        gpu_words(words),
    )


def topology_of(made: Cluster) -> Topology:
    tree, d = made.tree, len(made.tree.forest)
    return Topology(
        node_names=tuple(f"n{i:06d}" for i in range(made.n)),
        domain_names=tuple(f"d{i:06d}" for i in range(d)),
        tier_names=("",) * d,
        parent=tree.forest.parent,
        tier=tree.forest.tier,
        member_start=tree.member_start,
        member_nodes=tree.members,
        node_rank=tree.name_rank,
        domain_rank=np.arange(d, dtype=np.int32),
        laminar=True,
    )


def gang_of(ask: Ask) -> Gang:
    """The gang of arrays `ask` as a `Gang`: role i has the pods of shape i, sub-group after sub-group."""
    roles: list[Role] = []
    following: list[int] = []
    for i, (shape, count) in enumerate(zip(ask.shapes, ask.job.left.tolist(), strict=True)):
        following.append(sum(role.count for role in roles))
        roles.append(Role(f"r{i}", count, amounts(shape.request), (int(shape.request[2]),)))
    groups = []
    # One for all, as of a policy that was read.
    limit = TopologyConstraint("hard", ask.sub_limit)
    for i, mine in enumerate(ask.pods):
        pods: list[int] = []
        for shape_number, count in mine:
            pods += range(following[shape_number], following[shape_number] + count)
            following[shape_number] += count
        groups.append(SubGroup(f"g{i:03d}", tuple(pods), limit, len(pods), policy="w", match_index=i))
    total = sum(role.count for role in roles)
    assert ask.job.minimum is not None
    return Gang(
        "default", "job", tuple(roles), total, TopologyConstraint("hard", ask.job.limit),
        sub_groups=tuple(groups), min_subgroups={"w": len(groups)}, sub_grouped=True,
        extras=extras_of(VolcanoMemory(min_resources=amounts(ask.job.minimum))),
    )  # fmt: skip


def amounts(request: Longs) -> dict[str, int]:
    return dict(zip(("cpu", "memory", "nvidia.com/gpu"), request.tolist(), strict=True))


def cell(
    made: Cluster,
    groups: int,
    kind: str,
    goal_us: float | None,
    goal_of: Literal["p50", "p99"] = "p99",
    gangs: int = GANGS,
    pods: int = 0,
) -> Iterator[dict[str, object]]:
    rng = random.Random(f"{made.name} {groups} {kind}")
    asks, times, answers, whole, told, faults = [], [], [], [], [], []
    policy, topology = get_policy("volcano-1.15"), topology_of(made)
    labels = NodeLabels.from_rows(topology.node_names, [{}] * made.n)
    taints = NodeTaints.from_rows([()] * made.n)
    for i in range(gangs):
        if i % 20 == 0:
            occupy(made, rng, *rng.choice([(0.4, 0.2), (0.2, 0.2), (0.6, 0.3)]))
            snapshot = snapshot_of(made, topology, labels, taints)
            warm = gang(made, rng, groups, kind, pods)
            search(made, warm)
            policy.place(gang_of(warm), snapshot.ledger())
        ask = draw(made, rng, groups, kind, pods, placed=i % 3 != 2)
        searched, placed = [], []
        for _ in range(RUNS):
            job = gang_of(ask)
            begin = time.perf_counter()
            answer = search(made, ask)
            searched.append((time.perf_counter() - begin) * 1e6)
            begin = time.perf_counter()
            result = policy.place(job, snapshot.ledger())
            placed.append((time.perf_counter() - begin) * 1e6)
        if fault := disagreement(made, ask, result):
            faults.append(f"gang {i}: {fault}")
        if isinstance(result, Refusal):
            # What is told later is found by asking once more: a refusal that tells at once takes as long as this.
            begin = time.perf_counter()
            _ = result.reasons
            told.append((time.perf_counter() - begin) * 1e6)
        answers.append(answer)
        asks.append((ask, made.nodes))
        times.append(searched)
        whole.append(placed)
    naive_us: list[float] = []
    until, cut = time.perf_counter() + BASELINE_S, ""
    for i, ((ask, nodes), answer) in enumerate(zip(asks, answers, strict=True)):
        made.nodes = nodes
        begin = time.perf_counter()
        try:
            if naive(made, ask, until) != answer:
                faults.append(f"gang {i}: the search and the naive one differ")
        except TimeoutError:
            if naive_us:
                break
            cut = ", cut short"
        naive_us.append((time.perf_counter() - begin) * 1e6)
        if cut:
            break
    pending = sum(answer is None for answer in answers)
    if told:
        yield row(
            f"volcano-1.15 refuse {kind}",
            f"{made.name}, {groups} sub-groups",
            [min(runs) for runs, answer in zip(whole, answers, strict=True) if answer is None],
            f"saying why as well, p50 of {pending} gangs",
            float(np.percentile(told, 50)),
            None,
            f"{pending} gangs, least of {RUNS} runs each",
        )
    halves = [float(np.percentile([min(runs) for runs in measured], 50)) for measured in (times, whole)]
    for what, measured, more in (
        (f"volcano.TwoLevel {kind}", times, ""),
        (f"volcano-1.15 place {kind}", whole, f"; {halves[1] / halves[0]:.1f} times the search, p50"),
    ):
        yield row(
            what,
            f"{made.name}, {groups} sub-groups",
            [min(runs) for runs in measured],
            f"every HyperNode dry-run, p50 of {len(naive_us)} gangs{cut}",
            float(np.percentile(naive_us, 50)),
            goal_us,
            f"{gangs} gangs, {pending} pending, least of {RUNS} runs each; p99 of the first runs "
            f"{np.percentile([runs[0] for runs in measured], 99) / 1e3:.1f} ms; process {peak_mib():,} MiB at most"
            f"{more}",
            goal_of,
            fault="; ".join(faults[:3]) + ("; ..." if len(faults) > 3 else ""),
        )


def peak_mib() -> int:
    """Peak memory of this process in MiB, earlier rows included."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 20 if sys.platform == "darwin" else peak >> 10


def clusters(scale: int, rng: random.Random) -> Iterator[Cluster]:
    n = 6_000 * scale
    name = f"{n:,} nodes"
    yield cluster(f"{name} (a)", n, [n, 3_000 * scale, 560 * scale, 40 * scale], rng, singles=n)
    sizes = [n, 3_000 * scale, 750 * scale, 45 * scale, 5 * scale]
    yield cluster(f"{name} (b)", n, sizes, rng, singles=5_800 * scale)


def rows() -> Iterator[dict[str, object]]:
    """All rows of this benchmark's result table, except those of `slow_rows`."""
    rng = random.Random(3)
    for made in clusters(1, rng):
        for kind, goal in (("identical", 3e3), ("roles", 6e3), ("distinct", 15e3)):
            for groups in (1, 10, 100) if kind != "distinct" else (10, 100):
                yield from cell(made, groups, kind, goal)
    leaves = cluster("1,000 nodes, 100 leaves", 1_000, [100], rng)
    for kind in ("identical", "roles", "distinct"):
        yield from cell(leaves, 100, kind, 3e3, pods=10)
    small = cluster("1,280 nodes", 1_280, [160, 20, 4], rng)
    yield from cell(small, 1, "identical", 80.0, "p50", pods=4)


def slow_rows() -> Iterator[dict[str, object]]:
    """Rows for a cluster of 100,000 nodes, which only ``--full`` runs."""
    rng = random.Random(3)
    large = cluster("100,000 nodes", 100_000, [100_000, 50_000, 9_333, 667], rng, singles=100_000)
    for kind in ("identical", "roles", "distinct"):
        for groups, goal in ((1, 8e3), (10, 10e3), (100, 60e3)):
            if kind != "distinct" or groups == 100:
                yield from cell(large, groups, kind, goal)


if __name__ == "__main__":
    for line in rows():
        print(line)
