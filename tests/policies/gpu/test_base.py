from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.fabrics import snapshot
from workbench.errors import InternalError
from workbench.model.gang import Gang, Role
from workbench.policies.baselines import GangFirstFit
from workbench.policies.composed import Composed
from workbench.policies.gpu.base import GpuPolicy, GpuQuestions, NodeGpus
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters
from workbench.policies.registry import get_policy

GANG = Gang("d", "j", (Role("w", 3, {"nvidia.com/gpu": 2}, (2,)),), 3)


class OnlyNeighbours(GpuPolicy):
    """Gives GPUs 0+1 or 2+3 and nothing else; counts how often it is asked."""

    name = "only-neighbours"
    counts_only = False
    parameters = {}

    def __init__(self) -> None:
        self.asked = 0

    def fits(self, gpus: NodeGpus, requests: Sequence[int]) -> bool:
        self.asked += 1
        return any(gpus.free & pair == pair for pair in (0b11, 0b1100))

    def score(self, gpus: NodeGpus, requests: Sequence[int]) -> float:
        return 1.0

    def choose(self, gpus: NodeGpus, requests: Sequence[int]) -> tuple[int, ...] | None:
        self.asked += 1
        pairs = [pair for pair in (0b11, 0b1100) if gpus.free & pair == pair]
        return tuple(pairs[: len(requests)]) if len(pairs) >= len(requests) else None


def test_a_policy_that_does_more_than_count_decides_where_pods_fit():
    cluster = snapshot(["a", "b", "c", "e"], gpus=4, free_gpus={"a": 0b0110, "b": 0b0011, "c": 0b1100, "e": 0b1011})
    placement = Composed("x", GangFirstFit(NoParameters()), OnlyNeighbours()).place(GANG, cluster.ledger())
    assert placement.node.tolist() == [1, 2, 3]
    assert [placement.gpu_mask(i) for i in range(3)] == [0b11, 0b1100, 0b11]


def test_a_refusal_counts_the_nodes_whose_gpus_do_not_suit():
    cluster = snapshot(["a", "b"], gpus=4, free_gpus={"a": 0b0110, "b": 0b0110})
    refusal = Composed("x", GangFirstFit(NoParameters()), OnlyNeighbours()).place(GANG, cluster.ledger())
    assert "0/2 nodes are unavailable: 2 node(s) without a suitable set of GPUs." in refusal.reasons[1].message


def test_equal_questions_are_asked_once():
    policy = OnlyNeighbours()
    cluster = snapshot([f"n{i}" for i in range(6)], gpus=4)
    questions = GpuQuestions(policy, cluster.ledger())
    assert questions.feasible(2).all()
    assert questions.feasible(2).all()
    assert policy.asked == 1
    assert questions.scores(2).tolist() == [1.0] * 6
    assert questions.scores(0) is None
    policy.asked = 0
    questions.assign_gpus(GANG, np.array([0, 3, 5], dtype=np.int32))
    assert policy.asked == 1


def test_pods_that_cannot_be_served_together_are_refused():
    # Four free GPUs hold two pods by number, but only one pair of neighbours is among them.
    cluster = snapshot(["a"], gpus=6, free_gpus={"a": 0b110110})
    gang = Gang("d", "j", (Role("w", 2, {"nvidia.com/gpu": 2}, (2,)),), 2)

    class OnePair(OnlyNeighbours):
        def fits(self, gpus: NodeGpus, requests: Sequence[int]) -> bool:
            return True

    ledger = cluster.ledger()
    refusal = Composed("x", GangFirstFit(NoParameters()), OnePair()).place(gang, ledger)
    assert refusal.reasons[0].message == "only-neighbours finds no GPUs on a that serve the gang's pods there together"
    assert refusal.reasons[0].code == "gpu"
    assert np.array_equal(ledger.used, cluster.used)


@pytest.mark.parametrize("masks", [(0b11, 0b10), (0b1, 0b110), (0b1010000, 0b11)], ids=["shared", "count", "not free"])
def test_a_gpu_policy_that_gives_what_is_not_there_is_a_bug(masks):
    class Wrong(OnlyNeighbours):
        def choose(self, gpus: NodeGpus, requests: Sequence[int]) -> tuple[int, ...]:
            return masks

    gang = Gang("d", "j", (Role("w", 2, {"nvidia.com/gpu": 2}, (2,)),), 2)
    questions = GpuQuestions(Wrong(), snapshot(["a"], gpus=4).ledger())
    with pytest.raises(InternalError, match="only-neighbours chose"):
        questions.assign_gpus(gang, np.array([0, 0], dtype=np.int32))


def test_dealing_more_than_is_free_is_our_bug():
    questions = GpuQuestions(OnlyNeighbours(), snapshot(["a"], gpus=4).ledger())
    with pytest.raises(InternalError):
        questions.assign_gpus(GANG, np.array([0, 0, 0], dtype=np.int32))


@pytest.mark.parametrize(
    ("nodes", "want_at_once"),
    [
        ([2, 0, 1], True),  # each pod alone on its node, everything taken
        ([3, 0, 1], False),  # one GPU stays free on e
        ([0, 0, 1], False),  # two pods on one node
        ([2, -1, 1], False),  # one pod without a node
    ],
)
@pytest.mark.parametrize("policy", ["gpu-bottleneck", "gpu-lowest-index"])
def test_pods_that_take_whole_nodes_get_what_asking_node_by_node_gives(monkeypatch, policy, nodes, want_at_once):
    free = {"a": 0b0110, "b": 0b0011, "c": 0b1100, "e": 0b1011}
    cluster = snapshot(["a", "b", "c", "e"], gpus=4, free_gpus={**free, "a": 0b1111 if nodes == [0, 0, 1] else 0b0110})
    questions = GpuQuestions(get_policy(f"gang+{policy}").gpu, cluster.ledger())
    node = np.array(nodes, dtype=np.int32)
    at_once = questions._deal_wholes(GANG, node)
    assert (at_once is not None) == want_at_once
    dealt = questions.assign_gpus(GANG, node)
    monkeypatch.setattr(GpuQuestions, "_deal_wholes", lambda *_: None)
    one_by_one = questions.assign_gpus(GANG, node)
    assert dealt.words.tolist() == one_by_one.words.tolist()
    assert dealt.warnings == one_by_one.warnings


def test_nodes_without_a_matrix_are_dealt_as_if_each_were_asked_about():
    class SearchQuery(GpuLowestIndex):
        lowest_unknown = False

    rng = random.Random(5)
    for _ in range(50):
        names = [f"n{i}" for i in range(rng.randint(1, 6))]
        masks = {name: rng.randrange(256) for name in names}
        cluster = snapshot(names, gpus=8, free_gpus=masks)
        roles = tuple(Role(f"r{i}", rng.randint(1, 4), {"nvidia.com/gpu": gpus}) for i, gpus in enumerate((0, 1, 2)))
        job = Gang("d", "j", roles, 1)
        left = [mask.bit_count() for mask in masks.values()]
        node = np.full(job.n_pods, -1, dtype=np.int32)
        for pod in range(job.n_pods):
            at, count = rng.randrange(len(names)), roles[job.role_of_pod[pod]].n_gpus
            if left[at] >= count:
                node[pod], left[at] = at, left[at] - count
        policies = GpuLowestIndex(NoParameters()), SearchQuery(NoParameters())
        ours, want = (GpuQuestions(policy, cluster.ledger()).assign_gpus(job, node) for policy in policies)
        assert (ours.words is None, ours.warnings, ours.unserved) == (want.words is None, want.warnings, want.unserved)
        assert want.words is None or np.array_equal(ours.words, want.words)
