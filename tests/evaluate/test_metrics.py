from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hand_made import dgx_like, document_tree, gang_of, placement_of, snapshot_of, tree
from tests.profiles import max_examples
from tests.reference import metrics as reference
from workbench.evaluate.metrics import measure, measure_run
from workbench.model.notice import Notice
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.topology import DomainSpec, Topology


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Trees, and sets of nodes thrown together: overlapping, nested the wrong way round, of equal tier."""
    if draw(st.booleans()):
        return tree(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    n = draw(st.integers(1, 7))
    sets = draw(st.lists(st.tuples(st.integers(1, 3), st.sets(st.integers(0, n - 1), min_size=1)), max_size=6))
    specs = [DomainSpec(f"d{i}", tier, sorted(nodes)) for i, (tier, nodes) in enumerate(sets)]
    return Topology.build([f"n{i}" for i in range(n)], specs)


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    topology = draw(topologies())
    nodes = draw(st.lists(st.integers(-1, topology.n_nodes - 1), min_size=1, max_size=9).filter(lambda x: max(x) >= 0))
    rank = draw(st.none() | st.permutations(range(len(nodes))))
    return placement_of(gang_of("job", len(nodes)), topology, nodes, rank=rank)


@given(placements())
@max_examples(300)
def test_counts_are_those_of_looking_at_every_pair(placement: Placement) -> None:
    found = measure(placement, snapshot_of(placement.topology))
    assert found["pod_pairs"] == reference.pod_pairs(placement)
    assert found["ring_crossings"] == reference.ring_crossings(placement)
    assert found["domains_used"] == {str(tier): n for tier, n in reference.domains_used(placement).items()}
    assert found["lca_tier"] == reference.common_tier(placement)
    assert found["pods"] == placement.n_placed
    assert sum(found["pod_pairs"].values()) == found["pods"] * (found["pods"] - 1) // 2


def test_three_pods_over_two_leaves_by_hand() -> None:
    topology = document_tree()
    found = measure(placement_of(gang_of("job", 3), topology, [0, 1, 2]), snapshot_of(topology))
    assert (found["nodes"], found["leaves"], found["domains_used"]) == (3, 2, {"1": 2, "2": 1, "3": 1})
    assert (found["lca"], found["lca_tier"]) == ("s4", 2)
    assert found["pod_pairs"] == {"node": 0, "1": 1, "2": 2, "3": 0, "4": 0}
    assert found["ring_crossings"] == {"node": 0, "1": 1, "2": 2, "3": 0, "4": 0}


def test_a_bad_rank_order_crosses_the_tree_more_often() -> None:
    topology = document_tree()
    gang = gang_of("job", 4)
    good = measure(placement_of(gang, topology, [0, 1, 4, 5]), snapshot_of(topology))
    bad = measure(placement_of(gang, topology, [0, 1, 4, 5], rank=[0, 2, 1, 3]), snapshot_of(topology))
    assert (good["ring_crossings"]["3"], bad["ring_crossings"]["3"]) == (2, 4)
    assert good["pod_pairs"] == bad["pod_pairs"]


@pytest.mark.parametrize(("pods", "links"), [(1, 0), (2, 2), (5, 5)])
def test_a_ring_of_p_pods_has_p_links_and_one_pod_has_none(pods: int, links: int) -> None:
    topology = document_tree()
    found = measure(placement_of(gang_of("job", pods), topology, [0] * pods), snapshot_of(topology))
    assert found["ring_crossings"]["node"] == links


def test_all_pods_on_one_node_meet_in_that_node() -> None:
    topology = document_tree()
    found = measure(placement_of(gang_of("job", 2, 4), topology, [3, 3], [0x0F, 0xF0]), snapshot_of(topology))
    assert (found["lca"], found["lca_tier"], found["nodes"]) == ("node3", 0, 1)
    assert found.gpus == (tuple(range(8)),)


def test_nodes_outside_every_hypernode_meet_in_the_virtual_top() -> None:
    topology = Topology.build(["a", "b"], [])
    found = measure(placement_of(gang_of("job", 2), topology, [0, 1]), snapshot_of(topology))
    assert (found["lca_tier"], found["leaves"], found["pod_pairs"]) == (1, 0, {"node": 0, "1": 1})


def test_the_bottleneck_of_a_node_is_over_all_the_gangs_gpus_there_in_both_directions() -> None:
    topology = document_tree()
    snapshot = snapshot_of(topology)
    gang = gang_of("job", 4, 2)
    # Node 0: GPUs 0, 1, 4, 5 of two pods hold the slow direction 1 -> 4; node 1: two near ones; node 2: a single GPU.
    found = measure(placement_of(gang, topology, [0, 0, 1, 2], [0b000011, 0b110000, 0b1100, 0b1]), snapshot)
    assert found.node_bottleneck_gb_s[:2].tolist() == [4.64, 48.0]
    assert np.isnan(found.node_bottleneck_gb_s[2])
    assert found["bottleneck_gb_s"] == 4.64
    assert [entry["bottleneck_gb_s"] for entry in found.to_dict()["node_gpus"]] == [4.64, 48.0, None]


def test_the_bottleneck_is_unknown_without_a_matrix_or_for_gpus_that_it_does_not_have() -> None:
    topology = document_tree()
    gang = gang_of("job", 1, 2)
    without = measure(placement_of(gang, topology, [0], [0b11]), snapshot_of(topology, gpus=4))
    assert without["bottleneck_gb_s"] is None
    beyond = measure(placement_of(gang, topology, [0], [0b1100000000]), snapshot_of(topology))
    assert beyond["bottleneck_gb_s"] is None


def test_stranded_gpus_are_those_left_free_on_nodes_where_the_gang_holds_some() -> None:
    topology = document_tree()
    snapshot = snapshot_of(topology, busy={1: 0b11})
    gang = gang_of("job", 3, 2)
    placement = placement_of(gang, topology, [0, 1, 1], [0b11, 0b1100, 0b110000])
    assert measure(placement, snapshot)["gpus_stranded"] == 6 + 2
    assert measure(placement_of(gang, topology, [0, 1, 1]), snapshot)["gpus_stranded"] is None


def test_a_run_counts_each_stranded_gpu_once_and_after_all_placements() -> None:
    topology = document_tree()
    first = placement_of(gang_of("a", 1, 2), topology, [0], [0b11])
    second = placement_of(gang_of("b", 1, 2), topology, [0], [0b1100])
    refused = Refusal(gang_of("c", 9), "by-hand", {}, (Notice("insufficient", "no room", numbers={"count": 8}),))
    decisions = [Decision(r.gang, r) for r in (first, second, refused)]
    run = measure_run(decisions, snapshot_of(topology))
    assert (run.placed, run.pending) == (("default/a", "default/b"), ("default/c",))
    assert (run["pods_placed"], run["pods"], run["gpus_stranded"]) == (2, 11, 4)
    assert [job["gpus_stranded"] for job in run.jobs.values()] == [4, 4]
    assert run.to_dict()["bottleneck_gb_s"] == 48.0


def test_a_run_without_a_placement_has_zeros_and_unknowns() -> None:
    refused = Refusal(gang_of("c", 9), "by-hand", {}, (Notice("insufficient", "no room", numbers={"count": 8}),))
    run = measure_run([Decision(refused.gang, refused)], snapshot_of(document_tree()))
    assert (run["bottleneck_gb_s"], run["pod_pairs"], run["gpus_stranded"]) == (None, {}, 0)


def test_five_thousand_pods_are_counted_by_group_not_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = tree((10, 10, 10, 5))
    gang = gang_of("job", 5000)
    placement = placement_of(gang, topology, range(5000), [0xFF] * 5000)
    looked_at = []
    matrix = dgx_like()
    monkeypatch.setattr(type(matrix), "__len__", lambda self: looked_at.append(1) or 8)
    found = measure(placement, snapshot_of(topology))
    assert len(looked_at) < 50  # one look per distinct (matrix, set of GPUs), not per node
    assert found["pod_pairs"] == {"node": 0, "1": 22_500, "2": 225_000, "3": 2_250_000, "4": 10_000_000, "5": 0}
    assert found["bottleneck_gb_s"] == 4.64
