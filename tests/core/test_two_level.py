"""Behaviour of the ``two_level`` kernel against an exhaustive search that caches nothing."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.choice import choices, tell
from tests.profiles import max_examples
from tests.reference import domains as slow
from tests.reference.dry_runs import Ask, runs_of, shuffled
from tests.reference.two_level import NO_RECORD, NOWHERE, Search, Sub, Tree
from workbench.kernels.domain_tree import DomainTree
from workbench.kernels.domains import ScoreWeights, TopologyScores
from workbench.kernels.fading import Fading
from workbench.kernels.tiers import Forest, tier_scores
from workbench.kernels.two_level import VERDICTS, JobColumns, Nodes, Shape, SubJobColumns, TwoLevel

RULES = ("by-minimums", "stop")


def int32(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def int64(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def starts(lists: list[list[int]]) -> np.ndarray:
    return np.cumsum([0, *map(len, lists)]).astype(np.int64)


def flat(lists: list[list[int]]) -> list[int]:
    return [entry for entries in lists for entry in entries]


def random_tree(rng: random.Random) -> Tree:
    """A forest in which each domain holds the nodes of those below; siblings may overlap."""
    n, d = rng.randint(1, 10), rng.randint(0, 7)
    parent = [rng.choice([-1, *range(i + 1, d)]) for i in range(d)]
    tier, nodes = [rng.randint(0, 1)] * d, [sorted(rng.sample(range(n), rng.randint(0, min(n, 4)))) for _ in range(d)]
    for i in range(d):
        if parent[i] >= 0:
            tier[parent[i]] = max(tier[parent[i]], tier[i] + rng.choice([1, 1, 1, 2, 0]))
            nodes[parent[i]] = sorted({*nodes[parent[i]], *nodes[i]})
    lowest = min(tier, default=0)
    leaf = [next((i for i in range(d) if tier[i] == lowest and node in nodes[i]), -1) for node in range(n)]
    return Tree(parent, tier, nodes, leaf, rng.sample(range(n), n))


def neat_tree(rng: random.Random) -> Tree:
    """Intervals of nodes, nested, tiers growing towards the root; parts of a tier may be missing."""
    n = rng.randint(1, 14)
    spans: list[tuple[int, int, int]] = []
    cuts = {0, n}
    for tier in sorted(rng.sample(range(6), rng.randint(1, 4)), reverse=True):
        cuts |= set(rng.sample(range(n), rng.randint(0, n // 2)))
        edges = sorted(cuts)
        spans += [(tier, first, end) for first, end in pairwise(edges) if rng.random() < 0.85]
    rng.shuffle(spans)
    d = len(spans)

    def holders(first: int, end: int) -> list[int]:
        """Domains that hold these nodes, the closest first."""
        return sorted((i for i in range(d) if spans[i][1] <= first and end <= spans[i][2]), key=lambda i: spans[i][0])

    parent, leaf = [], []
    for tier, first, end in spans:
        parent.append(next((i for i in holders(first, end) if spans[i][0] > tier), -1))
    for node in range(n):
        leaf.append(next(iter(holders(node, node + 1)), -1))
    nodes = [list(range(first, end)) for _, first, end in spans]
    return Tree(parent, [tier for tier, _, _ in spans], nodes, leaf, rng.sample(range(n), n))


def domain_tree(tree: Tree) -> DomainTree:
    d, n = len(tree.parent), len(tree.leaf)
    walk, end = [0] * d, [0] * d
    clock = 0

    def visit(domain: int) -> None:
        nonlocal clock
        walk[domain] = clock
        clock += 1
        for child in range(d):
            if tree.parent[child] == domain:
                visit(child)
        end[domain] = clock

    for root in range(d):
        if tree.parent[root] < 0:
            visit(root)
    intervals = all(nodes and nodes[-1] - nodes[0] == len(nodes) - 1 for nodes in tree.nodes)
    holders = [[i for i in range(d) if node in tree.nodes[i]] for node in range(n)]
    leaves = [tree.leaves_of(node) for node in range(n)]
    return DomainTree(
        Forest(int32(tree.parent), int32(tree.tier)),
        int32(walk),
        int32(end),
        starts(tree.nodes),
        int32(flat(tree.nodes)),
        starts(holders),
        int32(flat(holders)),
        int32(tree.rank),
        int32(tree.leaf),
        spans=int32([(nodes[0], nodes[-1] + 1) for nodes in tree.nodes]) if d and intervals else None,
        leaves=(starts(leaves), int32(flat(leaves))) if any(len(several) > 1 for several in leaves) else None,
    )


def random_search(rng: random.Random, neat: bool = False, alike: bool = False) -> Search:
    """``alike``: fresh sub-jobs of one role that all ask for the same."""
    tree = neat_tree(rng) if neat else random_tree(rng)
    n, r, m = len(tree.leaf), rng.randint(1, 3), rng.randint(1, 3)
    allocatable = [[rng.randint(3, 12) for _ in range(r)] for _ in range(n)]
    used = [[rng.randint(0, a) if rng.random() < 0.3 else 0 for a in row] for row in allocatable]
    idle = [[a - u for a, u in zip(*rows, strict=True)] for rows in zip(allocatable, used, strict=True)]
    idle_at_open = [[i + rng.choice([0, 0, 0, 1]) for i in row] for row in idle]
    weights = slow.Weights(
        rng.choice([0.0, 1.0]),
        [float(rng.randint(0, 2)) for _ in range(r)],
        rng.choice([0.0, 1.0]),
        0.0,
        [1] * r,
        rng.choice([0.0, 1.0]),
        [2 if total % 3 == 0 else 1 for total in allocatable[0]],
    )
    shapes: list[tuple[list[int], list[int], list[float] | None]] = [
        (
            [rng.randint(0, 2) for _ in range(r)],
            [int(rng.random() < 0.95) for _ in range(n)],
            rng.choice([None, None, [float(rng.randint(0, 2)) for _ in range(n)]]),
        )
        for _ in range(m)
    ]
    names = [rng.randint(0, m) for _ in range(m)]
    grouped = rng.random() < 0.8
    limits = [None, *range(tree.top_tier + 1), *[tree.top_tier] * 3]
    limit, lowest = rng.choice(limits), NO_RECORD
    records = [NO_RECORD] * 3 + list(range(-1, len(tree.parent)))
    subs, policies = [], rng.randint(1, 2)
    kinds = [
        (
            [rng.choice([0, rng.randint(1, 3)]) for _ in range(m)],
            rng.choice(limits),
            rng.random() < 0.6,
            rng.randint(0, 4),
            rng.choice(["stop", "go-on"]),
        )
        for _ in range(1 if alike else rng.randint(1, 2))
    ]
    if alike:
        only = rng.randrange(m)
        kinds = [([rng.randint(1, 3) if i == only else 0 for i in range(m)], *kinds[0][1:])]
    count = rng.randint(1, 5) if grouped else 1
    ranks = rng.sample(range(count), count)
    graded = rng.random() < 0.3
    for i in range(count):
        left, sub_limit, scored, minimum, rule = rng.choice(kinds)
        if not grouped and not alike:
            left, rule = [rng.randint(0, 5) for _ in range(m)], rng.choice(RULES)
        started = not alike and rng.random() < 0.2
        running = [rng.randint(-1, n - 1) for _ in range(rng.randint(1, 2))] if started else []
        entries = [shape for shape in range(m) if left[shape]] if grouped else list(range(m))
        ask = Ask(
            shapes=entries,
            left=[left[shape] for shape in entries],
            present=[0] * len(entries),
            minimums=[0] * len(entries),
            names=[names[shape] for shape in entries],
            min_available=minimum,
            counted=len(running),
            after_failure=rule,
        )
        if rng.random() < 0.4:
            ask.order = shuffled(rng, ask.left)
        if not grouped:
            ask.minimums = [rng.choice([0, 0, 1, 2]) for _ in range(m)]
            ask.present = [rng.choice([0, 0, 1]) for _ in range(m)]
        pending = [sum(left[s] * shapes[s][0][k] for s in range(m)) for k in range(r)]
        request = [p + rng.choice([0, 0, 1]) * bool(running) for p in pending]
        record = rng.choice(records) if not alike and rng.random() < 0.2 else lowest
        policy = rng.randint(-1, policies - 1)
        total = max(sum(left) + len(running), 1)
        grade = rng.randrange(count) if graded else 0
        subs.append(Sub(ask, policy, ranks[i], grade, scored, sub_limit, total, record, request, pending, running))
    if any(sub.ask.order is not None for sub in subs):
        # The kernel is given the pods of every sub-job in a queue or of none: with a queue, later pods of a role that
        # failed stay in it when the sub-job is ready.
        for sub in subs:
            if sub.ask.order is None:
                sub.ask.order = [e for e, count in enumerate(sub.ask.left) for _ in range(count)]
    job = subs[0].ask
    if grouped:
        per_role = [sum(s.ask.left[s.ask.shapes.index(k)] for s in subs if k in s.ask.shapes) for k in range(m)]
        job = Ask(
            list(range(m)),
            per_role,
            [rng.choice([0, 1]) for _ in range(m)],
            [rng.choice([0, 0, 0, rng.randint(0, 3)]) for _ in range(m)],
            names,
            rng.randint(0, sum(per_role) // rng.randint(1, 3)),
            rng.randint(0, 2),
            "by-minimums",
        )
    top = tree.top_tier
    flat_value = [1.0] * len(tree.tier)
    low = min(tree.tier, default=top)
    value = [(top - t) / (top - low) for t in tree.tier] if top > low else flat_value
    search = Search(
        tree,
        idle,
        used,
        allocatable,
        idle_at_open,
        shapes,
        weights,
        value,
        rng.choice([0.0, 1.0, 10.0]),
        [float(rng.randint(-1, 2)) for _ in range(r)],
        rng.choice([0.0, 1.0, 10.0, 10.0]),
        job,
        grouped,
        limit,
        rng.choice([None, None, [rng.randint(0, 5) for _ in range(r)]]),
        [rng.choice([0, 0, 1, 2]) for _ in range(policies)],
        rng.choice(records) if rng.random() < 0.2 else NO_RECORD,
        subs,
        fading=None if rng.random() < 0.4 else [(t, rng.choice([0.0, 0.5, 1.0, 1.3])) for t in range(low, top + 1)],
    )
    tell(search=search)
    return search


def sums(tree: Tree, rows: list[list[int]]) -> np.ndarray:
    """Of each domain; the virtual top last."""
    domains = [*range(len(tree.parent)), -1]
    return int64([[sum(rows[n][k] for n in tree.nodes_of(d)) for k in range(len(rows[0]))] for d in domains])


def shapes_of(s: Search) -> list[Shape]:
    return [
        Shape(int64(q), np.array(f, dtype=np.uint8), None if extra is None else np.array(extra))
        for q, f, extra in s.shapes
    ]


def compiled(s: Search) -> TwoLevel:
    w, m = s.weights, len(s.shapes)
    weights = ScoreWeights(
        binpack=w.binpack,
        binpack_resources=np.array(w.binpack_by),
        least_requested=w.least,
        request_resources=int64(w.request_by),
        balanced=w.balanced,
        balanced_resources=np.array(w.balanced_by, dtype=np.uint8),
    )
    tree = domain_tree(s.tree)
    assert tree.top_tier == s.tree.top_tier
    lowest = min(s.tree.tier, default=s.tree.top_tier)
    value = tier_scores(tree.forest.tier, lowest, tree.top_tier, flat=1.0)
    scores = TopologyScores(tree.forest, value, weight=s.topology_weight, roots_meet=True)
    nodes = Nodes(
        int64(s.idle),
        int64(s.used),
        int64(s.allocatable),
        sums(s.tree, s.used),
        sums(s.tree, s.allocatable),
        sums(s.tree, s.idle_at_open),
    )
    job = JobColumns(
        left=int64(s.job.left),
        present=int64(s.job.present) if any(s.job.present) else None,
        minimums=int64(s.job.minimums) if any(s.job.minimums) else None,
        names=int32(s.job.names) if len(set(s.job.names)) < len(s.job.names) else None,
        min_available=s.job.min_available,
        counted=s.job.counted,
        after_failure=s.job.after_failure,
        grouped=s.grouped,
        limit=s.limit,
        minimum=None if s.minimum is None else int64(s.minimum),
        record=s.record,
        wanted=int64(s.wanted),
    )
    assert not s.grouped or len(s.job.left) == m
    limited, on_nodes = [sub.limit is not None for sub in s.subs], [sub.on_nodes for sub in s.subs]
    subs = SubJobColumns(
        start=starts([sub.ask.shapes for sub in s.subs]),
        shapes=int32(flat([sub.ask.shapes for sub in s.subs])),
        left=int64(flat([sub.ask.left for sub in s.subs])),
        min_available=int64([sub.ask.min_available for sub in s.subs]),
        counted=int64([sub.ask.counted for sub in s.subs]),
        total=int64([sub.total for sub in s.subs]),
        stop_after_failure=np.array([sub.ask.after_failure == "stop" for sub in s.subs]),
        limit=int64([-1 if sub.limit is None else sub.limit for sub in s.subs]),
        limited=None if all(limited) else np.array(limited),
        scored=np.array([sub.scored for sub in s.subs]),
        policy=int32([sub.policy for sub in s.subs]),
        rank=int32([sub.rank for sub in s.subs]),
        runs=runs_of_sub_jobs(s.subs),
        grade=int32([sub.grade for sub in s.subs]) if any(sub.grade for sub in s.subs) else None,
        record=int32([sub.record for sub in s.subs]) if any(sub.record != NO_RECORD for sub in s.subs) else None,
        request=int64([sub.request for sub in s.subs]),
        pending=int64([sub.pending for sub in s.subs]),
        running_start=starts(on_nodes) if any(on_nodes) else None,
        running=int32(flat(on_nodes)) if any(on_nodes) else None,
    )
    fading = None
    if s.fading is not None:
        column = {tier: i for i, tier in enumerate([*tree.tiers.tolist(), tree.top_tier])}
        columns = int32([column.get(tier, -1) for tier, _ in s.fading])
        by_tier = np.array([weight for _, weight in s.fading])
        fading = Fading(tree.rings, columns, by_tier, np.array(s.packing), s.topology_weight)
    return TwoLevel(
        tree,
        nodes,
        shapes_of(s),
        job,
        subs,
        weights=weights,
        scores=scores,
        packing=np.array(s.packing),
        scale=s.scale,
        fading=fading,
    )


def runs_of_sub_jobs(subs: list[Sub]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Shape of each run and its pods so far; None where the sub-jobs have no order of their own."""
    if all(sub.ask.order is None for sub in subs):
        return None
    runs = []
    for sub in subs:
        assert sub.ask.order is not None
        entries, upto = runs_of(sub.ask.order)
        runs.append([(sub.ask.shapes[e], n) for e, n in zip(entries.tolist(), upto.tolist(), strict=True)])
    return starts(runs), int32([shape for shape, _ in flat(runs)]), int64([n for _, n in flat(runs)])


def all_at_one_stroke(s: Search) -> Search:
    """The first sub-job alone, fresh and in need of all its pods: scores bound what a HyperNode is worth to it."""
    sub = s.subs[0]
    s.subs, s.wanted, sub.rank, sub.grade, sub.on_nodes, sub.request, sub.ask.counted = (
        [sub],
        [],
        0,
        0,
        [],
        sub.pending,
        0,
    )
    sub.policy, sub.total, sub.record, s.record = -1, max(sum(sub.ask.left), 1), NO_RECORD, NO_RECORD
    sub.ask.min_available = sum(sub.ask.left)
    if s.grouped:
        of = dict(zip(sub.ask.shapes, sub.ask.left, strict=True))
        s.job.left = [of.get(shape, 0) for shape in range(len(s.shapes))]
        s.job.min_available, s.job.counted = sum(s.job.left), 0
    return s


def disturb(rng: random.Random, state: Search, run: TwoLevel) -> None:
    """What a session may change between two turns: nodes, where pods may run, pods that a queue no longer takes."""
    for node, rows in enumerate(zip(state.idle, state.used, strict=True)):
        for k in range(len(rows[0])) if rng.random() < 0.3 else ():
            idle, used = rows[0][k], rows[1][k]
            more = rng.randint(-used, max(idle, 0))
            state.idle[node][k], state.used[node][k] = idle - more, used + more
    for _, feasible, extra in state.shapes:
        node = rng.randrange(len(feasible))
        feasible[node] = rng.choice([feasible[node], 0, 1])
        if extra is not None:
            extra[node] += rng.choice([0.0, 1.0])
    run.update_nodes(int64(state.idle), int64(state.used), shapes_of(state))
    subs, shapes, left = run.left()
    if rng.random() < 0.5:
        wanted = [rng.choice([n, n, rng.randint(0, n)]) for n in left.tolist()]
        run.cap(int64(wanted))
        for sub, shape, count in zip(subs.tolist(), shapes.tolist(), wanted, strict=True):
            ask = state.subs[sub].ask
            ask.left[ask.shapes.index(shape)] = count


def compare_told(run: TwoLevel, state: Search, following: Search | None, rng: random.Random) -> None:
    """What is told of the attempt that wins; asking for another one must leave no trace."""
    domains = [*range(len(state.tree.parent)), -1]
    run.explain_in(rng.choice(domains), inner=rng.random() < 0.5)
    number = rng.randrange(len(state.subs))
    sub = state.subs[number]
    packed, share = run.scores_of(number, int32(domains)).T.tolist()
    assert packed == [state.packed(domain, sub) for domain in domains]
    sharing = [domain for domain, score in zip(domains, packed, strict=True) if score == max(packed)]
    inside = {d: sum(n in state.tree.nodes_of(d) for n in sub.on_nodes) / sub.total for d in sharing}
    assert share == [inside.get(domain, 0.0) if len(sharing) > 1 and state.scale else 0.0 for domain in domains]
    if following is None:
        return
    told = run.explain_in(following.chosen, inner=True)
    assert told.kept
    steps = zip(told.sub.tolist(), told.domain.tolist(), told.pods.tolist(), strict=True)
    assert list(steps) == [step[:3] for step in following.steps]
    score = 0.0
    for domain, packed in zip(told.domain.tolist(), told.score.tolist(), strict=True):
        score += packed * 100.0 * following.scale if domain != NOWHERE else 0.0
    assert score == following.score
    for number, (_, domain, _, want) in enumerate(following.steps):
        mine = told.step == number
        solved = told.verdict[mine] == VERDICTS.index("solves")
        looked = zip(
            told.looked[mine].tolist(), solved.tolist(), (told.packed + told.share)[mine].tolist(), strict=True
        )
        # The order of the walk is not that of the names.
        tier = following.tree.tier_of
        assert sorted(looked, key=lambda found: (tier(found[0]), found[0])) == want
        if domain != NOWHERE:
            parts = told.parts[number]
            assert (parts >= 0).all()
            rest = told.score[number] - parts.sum()
            assert rest > -1e-9
            assert told.pods[number] > 0


def check(
    rng: random.Random,
    neat: bool = False,
    alike: bool = False,
    one_stroke: bool = False,
    disturbed: bool = False,
    told: bool = False,
) -> int:
    """Every turn until nothing is left or none has a solution; the number of pods placed."""
    state = random_search(rng, neat, alike)
    if one_stroke:
        state = all_at_one_stroke(state)
    run = compiled(state)
    while True:
        if disturbed:
            disturb(rng, state, run)
        if not state.pods_left():
            break
        before = run.n_placed
        assert run.pods_left == state.pods_left()
        following = state.turn()
        if told:
            compare_told(run, state, following, rng)
        assert run.turn() == (following is not None)
        if following is None:
            break
        state = following
        assert list(zip(*(a.tolist() for a in run.placed(before)), strict=True)) == state.placed[before:]
        assert run.score == state.score
        assert run.record == state.record
        assert run.records().tolist() == [sub.record for sub in state.subs]
        assert run.ready == state.ready()
    return len(state.placed)


#: Trees whose domains overlap as they like; proper ones; proper ones with domains that are alike.
TREES = pytest.mark.parametrize(("neat", "alike"), [(False, False), (True, False), (True, True)])


@TREES
@max_examples(1000)
@given(rng=choices())
def test_every_turn_agrees_with_the_search_that_leaves_out_nothing(neat: bool, alike: bool, rng: random.Random) -> None:
    check(rng, neat, alike)


@pytest.mark.parametrize("neat", [False, True])
@max_examples(600)
@given(rng=choices())
def test_what_cannot_win_for_one_sub_job_is_rightly_left_out(neat: bool, rng: random.Random) -> None:
    check(rng, neat, one_stroke=True)


@TREES
@max_examples(320)
@given(rng=choices())
def test_every_turn_agrees_while_others_change_the_cluster_and_queues_take_less(
    neat: bool, alike: bool, rng: random.Random
) -> None:
    check(rng, neat, alike, disturbed=True)


@TREES
@max_examples(200)
@given(rng=choices(), disturbed=st.booleans())
def test_what_is_told_of_an_attempt_is_what_it_does(
    neat: bool, alike: bool, rng: random.Random, disturbed: bool
) -> None:
    check(rng, neat, alike, disturbed=disturbed, told=True)


def short_and_whole(rng: random.Random) -> tuple[list[int], list[int]]:
    """Domains tried by the search and by the one that tries every domain; both must answer alike."""
    state = all_at_one_stroke(random_search(rng))
    short, whole = compiled(state), compiled(state)
    found = whole.look()
    told = whole.tried()
    assert (whole.n_placed, whole.take()) == (0, found)
    assert short.turn() == found
    assert (short.n_placed, short.record, short.score) == (whole.n_placed, whole.record, whole.score)
    return short.tried().domains.tolist(), told.domains.tolist()


@max_examples(200)
@given(rng=choices())
def test_every_hypernode_is_tried_where_somebody_wants_to_know(rng: random.Random) -> None:
    told, all_told = short_and_whole(rng)
    assert [domain for domain in all_told if domain in told] == told


@pytest.mark.parametrize("kind", [{}, {"neat": True}, {"one_stroke": True}, {"disturbed": True}])
def test_random_searches_place_pods(kind: dict[str, bool]) -> None:
    assert sum(check(random.Random(seed), **kind) > 0 for seed in range(40)) > 4


def test_random_searches_leave_domains_out() -> None:
    assert any(len(told) < len(all_told) for told, all_told in map(short_and_whole, map(random.Random, range(15))))


def test_neat_trees_are_proper_and_random_ones_mostly_are_not() -> None:
    trees = [domain_tree(neat_tree(random.Random(seed))) for seed in range(50)]
    assert all(tree.proper and tree.contained for tree in trees)
    assert sum(domain_tree(random_tree(random.Random(seed))).proper for seed in range(50)) < 30


def test_how_full_hypernodes_become_by_hand() -> None:
    """Two nodes of one domain each: 1/4 and 3/4 of the first resource used, the second has no weight."""
    tree = Tree([-1, -1], [1, 1], [[0], [1]], [0, 1], [0, 1])
    ask = Ask([0], [1], [0], [0], [0], 1, 1, "stop")
    sub = Sub(ask, -1, 0, 0, True, 2, 4, NO_RECORD, [1, 5], [1, 5], [1])
    used, whole = [[1, 0], [3, 0]], [[4, 9], [4, 9]]
    idle = [[a - u for a, u in zip(*rows, strict=True)] for rows in zip(whole, used, strict=True)]
    weights = slow.Weights(0.0, [0.0, 0.0], 0.0, 0.0, [1, 1], 0.0, [1, 1])
    shapes = [([1, 5], [1, 1], None)]
    state = Search(
        tree,
        idle,
        used,
        whole,
        idle,
        shapes,
        weights,
        [1.0, 1.0],
        1.0,
        [1.0, 0.0],
        1.0,
        ask,
        False,
        2,
        None,
        [],
        -2,
        [sub],
    )
    run = compiled(state)
    assert run.scores_of(0, int32([0, 1, -1])).tolist() == [[0.5, 0.0], [1.0, 0.0], [5 / 8, 0.0]]
    # Beside itself it is one of two that are fullest, and one task of four is inside.
    assert run.scores_of(0, int32([1, 1])).tolist() == [[1.0, 0.25], [1.0, 0.25]]
