"""Effects of a scheduler configuration on a Volcano policy outside sessions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fabrics import snapshot
from tests.notices import said
from workbench.errors import InputError
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.placement import Refusal
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.policies import get_policy, list_policies
from workbench.policies.volcano.parts.plugins import DEFAULT_CONFIG

VOLCANO = ["allocate", "volcano-1.13", "volcano-1.15"]


def config(*plugins):
    return SchedulerConfig(
        ("allocate",), (tuple(p if isinstance(p, PluginOption) else PluginOption(p) for p in plugins),)
    )


@pytest.mark.parametrize("name", VOLCANO)
def test_the_parameter_is_shown_and_takes_a_configuration_only(name):
    (info,) = [info for info in list_policies() if info.name == name]
    (shown,) = [parameter for parameter in info.parameters if parameter.name == "config"]
    assert (shown.type, shown.default) == ("configuration", None)
    assert get_policy(name).parameters["config"] is None
    with pytest.raises(InputError, match=r"config: not a value for it .*workbench\.load_config"):
        get_policy(name, config="volcano-scheduler.conf")


@pytest.mark.parametrize("name", VOLCANO)
def test_the_configuration_gives_the_weights_and_nothing_else_may(name):
    chosen = config("gang", PluginOption("binpack", {}, {"binpack.weight": 7}))
    parameters = get_policy(name, config=chosen, gpu_weight=0.5).parameters
    assert (parameters["binpack_weight"], parameters["least_weight"], parameters["gpu_weight"]) == (7, 0, 0.5)
    assert parameters["config"]["tiers"][0][1]["arguments"] == {"binpack.weight": 7}
    with pytest.raises(InputError, match="binpack_weight: the configuration gives this weight"):
        get_policy(name, config=chosen, binpack_weight=3)


def test_the_topology_weighs_what_the_configuration_says():
    chosen = config("gang", PluginOption("network-topology-aware", {}, {"weight": 4}))
    assert get_policy("volcano-1.13", config=chosen).parameters["weight"] == 4
    assert get_policy("volcano-1.13", config=config("gang")).parameters["weight"] == 0
    configured = config(PluginOption("network-topology-aware", {}, {"hypernode.binpack.normal-pod.fading": 0.5}))
    assert get_policy("volcano-1.15", config=configured).parameters["normal_pod_fading"] == 0.5


@pytest.mark.parametrize("name", VOLCANO)
def test_place_sees_the_gang_through_the_plugins_and_warns_of_the_others(name):
    cluster = snapshot(["n0", "n1"], cpu=1000, cordoned=("n0",))
    gang = Gang("d", "j", (Role("w", 2, {"cpu": 1000}),), 2)
    whole = get_policy(name, config=config("gang", "predicates", "sla")).place(gang, cluster.ledger())
    assert isinstance(whole, Refusal)
    assert said(whole.warnings) == ("plugin sla is not modelled: it has no effect here",)
    single = get_policy(name, config=config("predicates")).place(gang, cluster.ledger())
    assert single.node.tolist() == [1, -1]
    assert single.gang is gang
    blind = get_policy(name, config=config("gang")).place(gang, cluster.ledger())
    assert sorted(blind.node.tolist()) == [0, 1]


@pytest.mark.parametrize("name", VOLCANO)
def test_without_priority_roles_come_in_their_own_order(name):
    cluster = snapshot(["n0"], cpu=1000)
    roles = (Role("first", 1, {"cpu": 1000}), Role("second", 1, {"cpu": 1000}, priority=5))
    gang = Gang("d", "j", roles, 1)
    assert get_policy(name, config=config("gang", "priority")).place(gang, cluster.ledger()).node.tolist() == [-1, 0]
    assert get_policy(name, config=config("gang")).place(gang, cluster.ledger()).node.tolist() == [0, -1]


def test_sub_groups_take_turns_with_other_jobs():
    names = [f"n{i}" for i in range(4)]
    cluster = snapshot(names, [("s0", 1, names[:2], "s2"), ("s1", 1, names[2:], "s2"), ("s2", 2, names, "")], cpu=1000)
    jobs = [
        Gang("d", name, (Role("w", 4, {"cpu": 1000}),), 1, TopologyConstraint("hard", 2), queue=name) for name in "ab"
    ]
    results = [decision.result for decision in get_policy("volcano-1.15").schedule(jobs, cluster)]
    assert [result.n_placed for result in results] == [2, 2]
    assert len(np.unique(np.concatenate([result.node[result.node >= 0] for result in results]))) == 4


def test_the_default_is_the_articles_sample_without_enqueue():
    assert DEFAULT_CONFIG.actions == ("allocate", "backfill")
    assert [option.name for option in DEFAULT_CONFIG.plugins] == [
        "priority",
        "gang",
        "conformance",
        "predicates",
        "proportion",
        "network-topology-aware",
        "nodeorder",
        "binpack",
    ]
