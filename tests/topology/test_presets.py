"""The table of presets."""

from __future__ import annotations

import pytest

from workbench.errors import InputError, UnknownNameError
from workbench.model.links import suspicious_links
from workbench.topology.presets import PRESETS, generate, generate_scenario

SMALL = {
    "three-level-tree": {},
    "two-roce-networks": {},
    "balanced": {"sizes": "2,2", "matrix": "dgx1-v100", "noise": "0.02", "seed": "3"},
    "machine": {"model": "mi300x", "nodes": 2, "noise": "0.02", "degraded": 2, "seed": 4},
    "use-case-1": {"pods": "4", "sizes": (2, 2, 2, 2)},
    "use-case-2": {"pods": 8, "sizes": "2 2 2"},
    "fleet": {"sizes": "4,4,4,2", "pending": 12, "queues": 3, "seed": 7},
}


@pytest.mark.parametrize("kind", PRESETS)
def test_every_preset_is_repeatable(kind):
    assert generate(kind, **SMALL[kind]) == generate(kind, **SMALL[kind])


@pytest.mark.parametrize("kind", PRESETS)
def test_values_and_objects_agree_in_number(kind):
    manifests, scenario = generate(kind, **SMALL[kind]), generate_scenario(kind, **SMALL[kind])
    count = {k: sum(m["kind"] == k for m in manifests) for k in ("HyperNode", "Node", "Job")}
    assert count["HyperNode"] == scenario.snapshot.topology.n_domains
    assert count["Node"] == scenario.snapshot.n_nodes
    assert count["Job"] == len(scenario.gangs)


@pytest.mark.parametrize("kind", PRESETS)
def test_every_parameter_reads_its_own_default(kind):
    for name, parameter in PRESETS[kind].parameters.items():
        assert parameter.read(name, parameter.default) == parameter.default


def test_two_roce_networks_have_no_common_parent():
    topology = generate_scenario("two-roce-networks").snapshot.topology
    assert topology.domain_names == tuple(
        [f"nvlink-network{i}" for i in range(4)] + [f"roce-network{i}" for i in range(2)]
    )
    assert topology.lca(topology.domain("nvlink-network0"), topology.domain("nvlink-network3")) == -1
    assert topology.node_names == tuple(f"node{i}" for i in range(1, 9))


@pytest.mark.parametrize(("pods", "want_tier"), [(3000, 3), (5000, 4)])
def test_use_case_1_fits_a_zone_of_that_tier_and_none_below(pods, want_tier):
    scenario = generate_scenario("use-case-1", pods=pods)
    topology, (gang,) = scenario.snapshot.topology, scenario.gangs
    assert gang.roles[0].requests["nvidia.com/gpu"] == 8
    largest = {t: max(len(topology.nodes_of(int(j))) for j in topology.domains_at(t)) for t in topology.tiers}
    assert min(tier for tier, nodes in largest.items() if nodes >= gang.n_pods) == want_tier


def test_use_case_1_on_the_benchmarks_tree_has_5000_nodes():
    scenario = generate_scenario("use-case-1", pods=5000, sizes=(10, 10, 10, 5))
    assert scenario.snapshot.n_nodes == 5000
    assert scenario.snapshot.topology.tiers == (1, 2, 3, 4)


def test_use_case_2_has_whole_groups_for_every_hccs_zone():
    manifests = generate("use-case-2")
    task = manifests[-1]["spec"]["tasks"][0]
    assert task["replicas"] == 3000
    assert task["partitionPolicy"]["partitionSize"] == 8
    assert sum(m["kind"] == "Node" for m in manifests) == 3072
    tier_names = {m["spec"]["tier"]: m["spec"]["tierName"] for m in manifests if m["kind"] == "HyperNode"}
    assert tier_names == {1: "hccs", 2: "roce", 3: "vpc"}
    without = generate("use-case-2", group_size=0)[-1]["spec"]["tasks"][0]
    assert "partitionPolicy" not in without


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("three-levels", {}, "unknown preset 'three-levels'; did you mean three-level-tree"),
        ("balanced", {"size": "2"}, "unknown parameter of balanced 'size'; did you mean sizes"),
        ("balanced", {"matrix": "dgx9"}, "unknown machine 'dgx9'"),
    ],
)
def test_unknown_names_are_offered_close_ones(kind, params, message):
    with pytest.raises(UnknownNameError) as caught:
        generate(kind, **params)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("use-case-1", {"pods": 0}, "pods: out of range (found 0, expected 1 to 200000)"),
        ("use-case-1", {"pods": "many"}, "expected an integer"),
        ("use-case-1", {"pods": 2.5}, "expected an integer"),
        ("use-case-1", {"pods": True}, "expected an integer"),
        ("balanced", {"sizes": "2,x"}, "integers separated by commas"),
        ("balanced", {"sizes": ""}, "an empty list"),
        ("balanced", {"sizes": "2,-1"}, "out of range"),
        ("balanced", {"noise": "nan"}, "out of range"),
        ("balanced", {"sizes": "2,2", "matrix": "hgx-h100", "gpus": 4}, "does not match the GPUs"),
        ("use-case-2", {"sizes": "2,2"}, "three tiers"),
        ("use-case-2", {"pods": 10}, "do not divide"),
    ],
)
def test_parameters_out_of_range_are_refused(kind, params, message):
    with pytest.raises(InputError) as caught:
        generate(kind, **params)
    assert message in str(caught.value)


def test_machine_noise_does_not_move_the_degraded_links():
    (clean,) = generate_scenario("machine", model="dgx2", degraded=3, seed=9).snapshot.matrices
    (noisy,) = generate_scenario("machine", model="dgx2", degraded=3, seed=9, noise=0.02).snapshot.matrices
    assert [d.pairs for d in suspicious_links(clean)] == [d.pairs for d in suspicious_links(noisy)]
    assert clean != noisy
