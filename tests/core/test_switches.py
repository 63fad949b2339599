from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import switches as oracle
from workbench.kernels.switches import (
    HOLDS,
    SUMS,
    VOTES_UNHEALTHY,
    add_jobs,
    first_free,
    free_under_switches,
    join_votes,
)


@st.composite
def fabrics(draw):
    """Nodes under switches, some under none, in any order: the members of each switch and the number of nodes."""
    owner = draw(st.lists(st.integers(-1, 3), min_size=1, max_size=20))
    order = draw(st.permutations(range(len(owner))))
    return [[node for node in order if owner[node] == switch] for switch in range(4)], len(owner)


def csr(members):
    start = np.cumsum([0, *(len(nodes) for nodes in members)]).astype(np.int64)
    return start, np.array([node for nodes in members for node in nodes], dtype=np.int32)


def under(members, n):
    node_switch = np.full(n, -1, dtype=np.int32)
    for switch, nodes in enumerate(members):
        node_switch[nodes] = switch
    return node_switch


@given(fabrics(), st.data())
def test_free_nodes_are_those_that_hold_one_more_pod(fabric, data):
    members, n = fabric
    columns = data.draw(st.integers(0, 3))
    small = st.integers(-2, 3)
    idle = data.draw(st.lists(st.lists(small, min_size=columns, max_size=columns), min_size=n, max_size=n))
    request = data.draw(st.lists(st.integers(0, 3), min_size=columns, max_size=columns))
    holders, feasible = (data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)) for _ in range(2))
    words = data.draw(st.integers(1, 2))
    masks = data.draw(st.lists(st.sampled_from((0, 1, 3, 7, 1 << 63)), min_size=n * words, max_size=n * words))
    gpu_free = np.array(masks, dtype=np.uint64).reshape(n, words)
    n_gpus = data.draw(st.integers(0, 4))
    free, counts = free_under_switches(
        np.array(holders, dtype=np.int32),
        np.array(idle, dtype=np.int64).reshape(n, columns),
        np.array(request, dtype=np.int64),
        np.array(feasible, dtype=np.uint8),
        gpu_free,
        n_gpus,
        under(members, n),
        len(members),
    )
    gpus = [sum(int(word).bit_count() for word in row) for row in gpu_free]
    assert (free.tolist(), counts.tolist()) == oracle.free_under_switches(
        holders, idle, request, feasible, gpus, n_gpus, members
    )


@given(fabrics(), st.data())
def test_the_first_free_nodes_of_each_switch(fabric, data):
    members, n = fabric
    free = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    room = [sum(free[node] for node in nodes) for nodes in members]
    chosen = data.draw(st.permutations(range(len(members))))[: data.draw(st.integers(0, len(members)))]
    wanted = [(switch, data.draw(st.integers(0, room[switch]))) for switch in chosen]
    start, nodes = csr(members)
    position = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    by_position = np.lexsort((np.array(position)[nodes], np.repeat(np.arange(len(members)), np.diff(start))))
    columns = np.array(wanted, dtype=np.int64).reshape(-1, 2).T.copy()
    # Of what is no shared switch no health is told.
    vote = data.draw(st.lists(st.sampled_from((0, 1, 5, 2)), min_size=len(wanted), max_size=len(wanted)))
    marks = np.array(vote, dtype=np.int8)
    node, group, head = first_free(columns[0], columns[1], marks, np.array(free), start, nodes, by_position)
    expected = oracle.first_free(wanted, free, members, position)
    assert node.tolist() == [node for _, node in expected]
    assert head[group].tolist() == oracle.groups(wanted, vote)
    assert len(set(head.tolist())) == len(head)


@given(st.lists(st.tuples(*[st.integers(-1, 2)] * 4), max_size=6))
def test_the_state_that_the_votes_make(votes):
    state, unhealthy = join_votes(np.array(votes, dtype=np.int64).reshape(-1, 4).T.copy())
    assert list(zip(state.tolist(), unhealthy.tolist(), strict=True)) == [oracle.joined_votes(*each) for each in votes]


@given(fabrics(), st.data())
def test_sums_over_jobs_and_taking_them_out_again(fabric, data):
    members, n = fabric
    node_switch = under(members, n)
    pod = st.tuples(st.integers(-1, n - 1), st.integers(0, 2), st.booleans(), st.booleans())
    jobs = data.draw(st.lists(st.tuples(st.tuples(*[st.booleans()] * 4), st.lists(pod, max_size=4)), max_size=4))
    pods = [pod for _, own in jobs for pod in own]
    node = np.array([pod[0] for pod in pods], dtype=np.int32)
    vote = np.array([mark + VOTES_UNHEALTHY * sick + HOLDS * holds for _, mark, sick, holds in pods], dtype=np.int8)
    start = np.cumsum([0, *(len(own) for _, own in jobs)]).astype(np.int64)
    counts = np.array([kind for kind, _ in jobs], dtype=np.bool_).reshape(-1, 4)
    sums, holders = np.zeros((SUMS, 4), dtype=np.int64), np.zeros(n, dtype=np.int32)
    add_jobs(1, start, counts, node, vote, node_switch, holders, sums)
    assert (sums.T.tolist(), holders.tolist()) == oracle.sums(jobs, node_switch.tolist(), 4)
    add_jobs(-1, start, counts, node, vote, node_switch, holders, sums)
    assert not sums.any() and not holders.any()


def test_pods_that_do_not_speak_hold_their_nodes_all_the_same():
    sums, holders = np.zeros((SUMS, 1), dtype=np.int64), np.zeros(2, dtype=np.int32)
    node, vote = np.array([1], dtype=np.int32), np.array([2 + VOTES_UNHEALTHY + HOLDS], dtype=np.int8)
    silent = np.zeros((1, 4), dtype=np.bool_)
    add_jobs(1, np.array([0, 1]), silent, node, vote, np.zeros(2, dtype=np.int32), holders, sums)
    assert (holders.tolist(), sums.any()) == ([0, 1], False)
