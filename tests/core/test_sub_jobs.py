from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.reference import sub_jobs as oracle
from workbench.kernels.domains import MAX_QUANTITY, MAX_SUM
from workbench.kernels.sub_jobs import deal_pods, runs_of_queues


@given(st.data())
def test_the_same_as_role_by_role(data):
    m, r = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    order = data.draw(st.permutations(range(m)))
    n_tried = data.draw(st.integers(0, m))
    role_of_pod = sorted(data.draw(st.lists(st.integers(0, m - 1), max_size=10)))
    pods = data.draw(st.permutations(range(len(role_of_pod)))) if data.draw(st.booleans()) else range(len(role_of_pod))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(role_of_pod)), max_size=4)))
    groups = [list(pods[a:b]) for a, b in zip([0, *cuts], cuts, strict=False)]
    amounts = st.lists(st.sampled_from([0, 1, 7, MAX_QUANTITY]), min_size=r, max_size=r)
    rows = data.draw(st.lists(amounts, min_size=m, max_size=m))
    priority = data.draw(st.lists(st.integers(-2, 3), min_size=m, max_size=m))
    default = data.draw(st.booleans())
    place = np.empty(m, dtype=np.int32)
    place[np.array(order)] = np.arange(m)
    dealt = deal_pods(
        groups,
        np.array(role_of_pod, dtype=np.int32),
        place,
        n_tried,
        np.array(rows, dtype=np.int64),
        np.array(priority, dtype=np.int64),
        default=default,
    )
    want = oracle.deal_pods(groups, role_of_pod, order[:n_tried], order[n_tried:], rows, priority, MAX_SUM, default)
    assert [column.tolist() for column in dealt] == list(want)


def test_sums_stop_at_the_largest():
    n = 3 * (MAX_SUM // MAX_QUANTITY)
    dealt = deal_pods(
        [range(n - 5), range(n - 5, n)],
        np.zeros(n, dtype=np.int32),
        np.zeros(1, dtype=np.int32),
        1,
        np.array([[MAX_QUANTITY, 1]], dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        default=False,
    )
    assert dealt.pending.tolist() == [[MAX_SUM, n - 5], [5 * MAX_QUANTITY, 5]]


@given(st.data())
def test_runs_as_the_queues_line_up_pod_by_pod(data):
    m = data.draw(st.integers(1, 3))
    role_of_pod = data.draw(st.lists(st.integers(0, m - 1), max_size=12))
    n = len(role_of_pod)
    pods, rank = data.draw(st.permutations(range(n))), data.draw(st.permutations(range(n)))
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))]
    queues = [pods[a:b] for a, b in pairwise(cuts)]
    runs = runs_of_queues(
        np.array(cuts, dtype=np.int64),
        np.array(pods[: cuts[-1]], dtype=np.int64),
        np.array(rank, dtype=np.int64),
        np.array(role_of_pod, dtype=np.int32),
        m,
    )
    assert [column.tolist() for column in runs] == list(oracle.runs_of_queues(queues, rank, role_of_pod))
