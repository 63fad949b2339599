"""The settings of a scheduler configuration that are modelled."""

from __future__ import annotations

import pytest

from tests.notices import said
from workbench.errors import InputError
from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.policies.volcano.parts.plugins import (
    DEFAULT_CONFIG,
    config_warnings,
    hypernode_weight,
    score_parameters,
    sub_job_order,
)


def config(*plugins, actions=("allocate",), **options):
    return SchedulerConfig(actions, (plugins,), **options)


def test_plugins_that_are_missing_or_off_weigh_nothing():
    found = score_parameters(config(PluginOption("nodeorder", {"NodeOrder": False})), Release.V1_13)
    weights = ("least_weight", "most_weight", "balanced_weight", "binpack_weight", "weight")
    assert [found[name] for name in weights] == [0] * 5


def test_defaults_are_the_plugins_own():
    found = score_parameters(DEFAULT_CONFIG, Release.V1_15)
    assert found == {
        "least_weight": 1,
        "most_weight": 0,
        "balanced_weight": 1,
        "binpack_weight": 1,
        "binpack_cpu": 1,
        "binpack_memory": 1,
        "binpack_resources": {},
        "weight": 1,
        "hypernode_binpack_cpu": 1,
        "hypernode_binpack_memory": 1,
        "hypernode_binpack_resources": {},
        "taint_weight": 3,
        "normal_pod_enable": True,
        "normal_pod_fading": 0.8,
    }


def test_arguments_are_read():
    arguments = {"binpack.weight": 5, "binpack.cpu": -1, "binpack.memory": 0, "binpack.resources": "a, b"}
    found = score_parameters(
        config(
            PluginOption("binpack", {}, {**arguments, "binpack.resources.b": 7, "binpack.resources.c": 8}),
            PluginOption("nodeorder", {}, {"leastrequested.weight": 0, "mostrequested.weight": 2}),
            PluginOption("network-topology-aware", {}, {"weight": 10}),
        ),
        Release.V1_13,
    )
    assert (found["binpack_weight"], found["binpack_cpu"], found["binpack_memory"]) == (5, 1, 0)
    assert found["binpack_resources"] == {"a": 1, "b": 7}
    assert (found["least_weight"], found["most_weight"], found["balanced_weight"], found["weight"]) == (0, 2, 1, 10)


def test_a_configuration_that_is_modelled_whole_warns_of_nothing():
    arguments = {"overcommit-factor": 1.2, "overcommit-factor.cpu": 2}
    known = [
        PluginOption(n) for n in ("priority", "gang", "conformance", "drf", "predicates", "proportion", "capacity")
    ]
    whole = config(
        *known,
        PluginOption("overcommit", {}, arguments),
        PluginOption("binpack", {}, {"binpack.weight": 1, "binpack.resources": "a", "binpack.resources.a": 2}),
        PluginOption("nodeorder", {"NodeOrder": False}),
        PluginOption("network-topology-aware", {}, {"weight": 2}),
        actions=("enqueue", "allocate", "backfill"),
    )
    assert config_warnings(whole, Release.V1_13) == config_warnings(whole, Release.V1_15) == ()


TOPOLOGY = "network-topology-aware"
NAMED = {
    "an unknown plugin": (config(PluginOption("sla")), "plugin sla is not modelled: it has no effect here"),
    "an action": (config(actions=("preempt",)), "action preempt is not modelled: it does nothing here"),
    "an argument of an action": (
        config(action_arguments={"allocate": {"x": 1}}),
        "argument x of action allocate is not modelled",
    ),
    "an argument": (
        config(PluginOption("predicates", {}, {"predicate.CacheEnable": True})),
        "argument predicate.CacheEnable of plugin predicates is not modelled",
    ),
    "an argument that 1.13 does not know": (
        config(PluginOption(TOPOLOGY, {}, {"hypernode.binpack.cpu": 1})),
        "argument hypernode.binpack.cpu of plugin network-topology-aware is not read by 1.13",
    ),
    "an argument that is no number": (
        config(PluginOption("binpack", {}, {"binpack.cpu": "5"})),
        "argument binpack.cpu of plugin binpack is no number: its default applies, as in Volcano",
    ),
    "a negative weight": (
        config(PluginOption(TOPOLOGY, {}, {"weight": -1})),
        "argument weight of plugin network-topology-aware is negative: it counts as 0 here",
    ),
    "hierarchical queues": (
        config(PluginOption("capacity", {"Hierarchy": True})),
        "enableHierarchy of plugin capacity is not modelled: its queues stand side by side",
    ),
    "whether a job waits": (
        config(PluginOption("gang", {"JobPipelined": False})),
        "enableJobPipelined: false of plugin gang is not modelled: a job that cannot start gives all back",
    ),
    "what the reader noted": (config(notes=(Notice("unknown-field", "as read"),)), "as read"),
}


@pytest.mark.parametrize(("given", "want"), NAMED.values(), ids=NAMED.keys())
def test_what_is_not_modelled_is_named(given, want):
    assert said(config_warnings(given, Release.V1_13)) == (want,)


def test_only_1_15_asks_sub_groups_and_who_is_always_ready_is_not_asked():
    off = {"JobPipelined": False, "SubJobPipelined": False}
    waits = config(PluginOption("gang", off))
    assert [len(config_warnings(waits, release)) for release in (Release.V1_13, Release.V1_15)] == [1, 2]
    never = config(PluginOption("gang", {**off, "JobReady": False, "SubJobReady": False}))
    assert config_warnings(never, Release.V1_15) == ()


def test_every_switch_of_the_search_of_1_15_is_modelled():
    off = {"NodeOrder": False, "HyperNodeOrder": False, "SubJobOrder": False, "HyperNodeGradient": False}
    given = config(*(PluginOption(name, off) for name in (TOPOLOGY, "gang", "priority")))
    assert config_warnings(given, Release.V1_13) == config_warnings(given, Release.V1_15) == ()


@pytest.mark.parametrize(
    ("plugin", "arguments"),
    [
        ("binpack", {"binpack.weight": 10**10}),
        ("binpack", {"binpack.resources": "a", "binpack.resources.a": 1_000_001}),
        ("nodeorder", {"mostrequested.weight": float("nan")}),
        ("network-topology-aware", {"weight": 2**63}),
        ("network-topology-aware", {"hypernode.binpack.cpu": 1_000_001}),
    ],
)
def test_a_weight_that_no_score_takes_is_refused_with_its_place(plugin, arguments):
    key, value = list(arguments.items())[-1]
    with pytest.raises(InputError) as error:
        score_parameters(config(PluginOption(plugin, {}, arguments), source="a.conf"), Release.V1_15)
    assert str(error.value) == (
        f"a.conf: plugin {plugin}, argument {key}: the weight is too large (found {value}, expected at most 1000000)"
    )


def test_a_large_number_that_is_not_read_is_not_looked_at():
    odd = config(PluginOption("binpack", {}, {"other": 10**10}), PluginOption("unknown", {}, {"weight": 10**10}))
    assert score_parameters(odd, Release.V1_15)["binpack_weight"] == 1
    new = config(PluginOption("network-topology-aware", {}, {"hypernode.binpack.cpu": 10**10}))
    assert score_parameters(new, Release.V1_13)["hypernode_binpack_cpu"] == 1


def test_the_weight_of_hypernodes_has_a_switch_of_its_own():
    weight = {"weight": 7}
    assert hypernode_weight(config(PluginOption(TOPOLOGY, {"NodeOrder": False}, weight)), Release.V1_15) == 7
    assert hypernode_weight(config(PluginOption(TOPOLOGY, {"HyperNodeOrder": False}, weight)), Release.V1_15) == 0
    assert hypernode_weight(config(PluginOption(TOPOLOGY, {}, {"weight": -1})), Release.V1_15) == 1
    assert hypernode_weight(config(), Release.V1_15) == 0


def test_sub_jobs_are_ordered_by_gang_and_priority_as_configured():
    assert sub_job_order(DEFAULT_CONFIG) == ("priority", "gang")
    assert sub_job_order(config(PluginOption("gang"), PluginOption("priority"))) == ("gang", "priority")
    assert sub_job_order(config(PluginOption("gang", {"SubJobOrder": False}), PluginOption("drf"))) == ()
