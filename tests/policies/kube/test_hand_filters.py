"""Every filter of kube-scheduler by cases whose numbers are worked out by head; a rule has one case or more."""

from __future__ import annotations

import numpy as np
import pytest

from tests.conformance.runners.kube_objects import cluster_of, shape_of
from workbench.policies.kube.node_rules import filter_affinity, filter_named, filter_taints, filter_unschedulable
from workbench.policies.kube.one_pod import FILTERS, schedule_pod
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.status import Code, NodeStatuses

HOST, ZONE, RACK = "kubernetes.io/hostname", "zone", "rack"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APP_A = {"matchLabels": {"app": "a"}}
LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
SKEW = "node(s) didn't match pod topology spread constraints"
NEAR, APART = "node(s) didn't match pod affinity rules", "node(s) didn't match pod anti-affinity rules"
OTHERS = "node(s) didn't satisfy existing pods anti-affinity rules"
AFFINITY, TAINT = "node(s) didn't match Pod's node affinity/selector", "node(s) had untolerated taint(s)"


def node(name="n", labels=None, taints=(), **amounts):
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"} | {key.replace("_", "-"): n for key, n in amounts.items()}
    return {"name": name, "labels": labels or {}, "taints": list(taints), "allocatable": amounts}


def pod(name="p", at="", app="a", requests=None, **more):
    found = {"name": name, "namespace": "d", "labels": {"app": app}, "containers": [requests or {}], **more}
    return found | ({"node": at} if at else {})


def answers(plugin, wanted, nodes, running=(), **settings):
    """Reasons of each node, by its name; none for nodes that pass."""
    cluster = cluster_of(nodes, running)
    statuses = NodeStatuses(np.arange(len(nodes), dtype=np.int32))
    FILTERS[plugin](cluster, shape_of(wanted), KubeSettings(**settings), statuses)
    return {one["name"]: list(statuses.of(i).reasons) for i, one in enumerate(nodes)}


def passing(plugin, wanted, nodes, running=(), **settings):
    return "".join(name for name, why in answers(plugin, wanted, nodes, running, **settings).items() if not why)


# NodeResourcesFit.


def fit(requests, offered=None, held=None, code=False, **settings):
    nodes = [{**node(), "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", **(offered or {})}}]
    running = [pod("r", "n", requests=held)] if held else []
    cluster = cluster_of(nodes, running)
    statuses = NodeStatuses(np.zeros(1, dtype=np.int32))
    FILTERS["NodeResourcesFit"](cluster, shape_of(pod(requests=requests)), KubeSettings(**settings), statuses)
    status = statuses.of(0)
    return status.code if code else list(status.reasons)


def test_what_is_left_must_hold_the_request():
    assert fit({"cpu": "1"}, held={"cpu": "3"}) == []
    assert fit({"cpu": "1001m"}, held={"cpu": "3"}) == ["Insufficient cpu"]


def test_amounts_are_rounded_up():
    # 1000.1 thousandths of a CPU are 1001.
    assert fit({"cpu": "1000100u"}, {"cpu": "1"}) == ["Insufficient cpu"]
    assert fit({"cpu": "1000000u"}, {"cpu": "1"}) == []


def test_what_is_not_requested_is_not_asked_for():
    # The node is over its capacity already.
    assert fit({"cpu": "0", "memory": "1Gi"}, held={"cpu": "5"}) == []


def test_a_node_has_a_number_of_pods():
    assert fit({"cpu": "1"}, {"pods": "1"}, held={"cpu": "1"}) == ["Too many pods"]
    assert fit({"cpu": "1"}, {"pods": "2"}, held={"cpu": "1"}) == []


def test_all_that_is_short_is_told_in_order():
    requests = {"x.io/b": "1", "a.io/c": "1", "ephemeral-storage": "1", "memory": "9Gi", "cpu": "5"}
    short = ["Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage"]
    told = ["Too many pods", *short, "Insufficient a.io/c", "Insufficient x.io/b"]
    assert fit(requests, {"pods": "0"}) == told


def test_more_than_a_node_has_cannot_be_helped_by_evicting():
    assert fit({"cpu": "2"}, held={"cpu": "3"}, code=True) is Code.UNSCHEDULABLE
    assert fit({"cpu": "5"}, held={"cpu": "3"}, code=True) is Code.UNRESOLVABLE


def test_ignored_resources_and_groups_are_not_asked_for():
    assert fit({"a.io/x": "1"}) == ["Insufficient a.io/x"]
    assert fit({"a.io/x": "1"}, ignored=("a.io/x",)) == fit({"a.io/x": "1"}, ignored_groups=("a.io",)) == []


@pytest.mark.parametrize(
    ("more", "thousandths"),
    [
        ({}, 2000),
        # The larger of the sum of the containers and the largest of the init containers.
        ({"init_containers": [{"cpu": "3"}, {"cpu": "1"}]}, 3000),
        # A sidecar runs on beside later init containers (1 + 2.5) and beside the containers (1 + 2).
        ({"init_containers": [{"cpu": "1", "restartPolicy": "Always"}, {"cpu": "2500m"}]}, 3500),
        # Before it starts an init container is alone.
        ({"init_containers": [{"cpu": "2500m"}, {"cpu": "1", "restartPolicy": "Always"}]}, 3000),
        ({"overhead": {"cpu": "250m"}}, 2250),
    ],
)
def test_a_pod_requests_what_its_phases_need(more, thousandths):
    wanted = pod(**more) | {"containers": [{"cpu": "1500m"}, {"cpu": "500m"}]}
    for cpu, why in ((thousandths, []), (thousandths - 1, ["Insufficient cpu"])):
        assert answers("NodeResourcesFit", wanted, [node(cpu=f"{cpu}m")]) == {"n": why}


# TaintToleration, NodeUnschedulable.


def taint(effect="NoSchedule", value="1"):
    return {"key": "k", "value": value, "effect": effect}


@pytest.mark.parametrize(
    ("toleration", "passes"),
    [
        (None, "p"),
        ({"key": "k", "value": "1"}, "snp"),
        ({"key": "k", "value": "2"}, "p"),
        ({"key": "k", "operator": "Exists"}, "snp"),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, "sp"),
        ({"operator": "Exists"}, "snp"),
        # An empty key with the operator Equal is no key.
        ({"value": "1"}, "p"),
    ],
)
def test_taints_that_keep_pods_away_must_be_tolerated(toleration, passes):
    effects = {"s": "NoSchedule", "n": "NoExecute", "p": "PreferNoSchedule"}
    nodes = [node(name, taints=[taint(effect)]) for name, effect in effects.items()]
    wanted = pod(tolerations=[toleration] if toleration else [])
    assert passing("TaintToleration", wanted, nodes) == passes


def test_a_cordoned_node_takes_who_tolerates_its_taint():
    nodes = [node("a"), node("b") | {"unschedulable": True}]
    assert answers("NodeUnschedulable", pod(), nodes) == {"a": [], "b": ["node(s) were unschedulable"]}
    key = "node.kubernetes.io/unschedulable"
    assert passing("NodeUnschedulable", pod(tolerations=[{"key": key, "operator": "Exists"}]), nodes) == "ab"
    assert passing("NodeUnschedulable", pod(tolerations=[{"key": key, "effect": "NoExecute"}]), nodes) == "a"


# NodeAffinity.

GENERATIONS = [node("a", {"gen": "3"}), node("b", {"gen": "7", "disk": "ssd"}), node("c", {"disk": ""}), node("d")]


def terms(*some):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(each)} for each in some]}}}


def req(key, operator, *values):
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("affinity", "passes"),
    [
        (terms([req("gen", "In", "3", "7")]), "ab"),
        # A node without the label is not in any value.
        (terms([req("gen", "NotIn", "3")]), "bcd"),
        (terms([req("disk", "Exists")]), "bc"),
        (terms([req("disk", "DoesNotExist")]), "ad"),
        (terms([req("gen", "Gt", "3")]), "b"),
        (terms([req("gen", "Lt", "7")]), "a"),
        # No number is larger than text.
        (terms([req("disk", "Gt", "0")]), ""),
        # Requirements of a term all hold, one of the terms does.
        (terms([req("gen", "Exists"), req("disk", "Exists")]), "b"),
        (terms([req("gen", "In", "3")], [req("disk", "In", "")]), "ac"),
        # An empty term, and no terms at all, match nothing; neither does one that does not parse.
        (terms([]), ""),
        (terms([], [req("gen", "Exists")]), "ab"),
        (terms(), ""),
        (terms([req("gen", "In", "not valid!")]), ""),
        (terms([req("gen", "In", "not valid!")], [req("gen", "In", "7")]), "b"),
        (
            {
                "nodeAffinity": {
                    REQUIRED: {"nodeSelectorTerms": [{"matchFields": [req("metadata.name", "In", "a", "b")]}]}
                }
            },
            "",
        ),
    ],
)
def test_required_node_affinity(affinity, passes):
    assert passing("NodeAffinity", pod(affinity=affinity), GENERATIONS) == passes


def test_a_node_selector_holds_beside_the_affinity():
    wanted = pod(affinity=terms([req("gen", "Exists")]), nodeSelector={"disk": "ssd"})
    assert answers("NodeAffinity", wanted, GENERATIONS) == {"a": [AFFINITY], "b": [], "c": [AFFINITY], "d": [AFFINITY]}


def field(operator, *names):
    return {"matchFields": [req("metadata.name", operator, *names)]}


@pytest.mark.parametrize(
    ("some", "passes", "looked_at"),
    [
        ([field("In", "a")], "a", "a"),
        ([field("In", "a"), field("In", "c")], "ac", "ac"),
        ([field("NotIn", "a")], "bcd", "abcd"),
        # One term without a name is one for all nodes.
        ([field("In", "a"), {"matchExpressions": [req("disk", "Exists")]}], "abc", "abcd"),
    ],
)
def test_fields_name_nodes(some, passes, looked_at):
    wanted = pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": some}}})
    assert passing("NodeAffinity", wanted, GENERATIONS) == passes
    assert passing("PreFilter", wanted, GENERATIONS) == looked_at


# PodTopologySpread.

ZONES = [node("x", {ZONE: "x"}), node("y", {ZONE: "y"}), node("z", {ZONE: "z"})]
#: Two pods of app a in x, one in y, none in z.
TWO_ONE_NONE = [pod("r1", "x"), pod("r2", "x"), pod("r3", "y")]


def spread(skew=1, key=ZONE, selector=APP_A, **more):
    one = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return pod(app=more.pop("app", "a"), topologySpreadConstraints=[one | more])


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [
        # With the pod itself 3, 2 and 1 in a zone; the smallest has 0.
        (spread(1), "z"),
        (spread(2), "yz"),
        (spread(3), "xyz"),
        # A pod that its own selector does not match adds nothing: 2, 1, 0.
        (spread(1, app="b"), "yz"),
        # An empty selector matches no pod, not even this one.
        (spread(1, selector={}), "xyz"),
    ],
)
def test_no_domain_is_ahead_of_the_smallest_by_more_than_the_skew(wanted, passes):
    assert passing("PodTopologySpread", wanted, ZONES, TWO_ONE_NONE) == passes


def test_fewer_domains_than_demanded_count_as_an_empty_one():
    full = [pod(f"r{i}", at) for i, at in enumerate("xyz")]
    # 1 + 1 - 1 in each zone; with a fourth, empty one 1 + 1 - 0.
    assert passing("PodTopologySpread", spread(1, minDomains=3), ZONES, full) == "xyz"
    assert passing("PodTopologySpread", spread(1, minDomains=4), ZONES, full) == ""


def test_a_node_without_the_label_has_no_domain():
    nodes = [*ZONES, node("w")]
    assert answers("PodTopologySpread", spread(3), nodes, TWO_ONE_NONE)["w"] == [LABEL]
    assert answers("PodTopologySpread", spread(1), nodes, TWO_ONE_NONE)["x"] == [SKEW]


def test_pods_that_end_and_those_of_other_namespaces_do_not_count():
    running = [pod("r1", "x", terminating=True), pod("r2", "y") | {"namespace": "e"}]
    assert passing("PodTopologySpread", spread(1), ZONES, running) == "xyz"


def test_nodes_that_the_pod_cannot_use_count_by_the_policies():
    # Without z the smallest is y with 1: 1 + 1 - 1.
    selector = {"nodeSelector": {"usable": "yes"}}
    nodes = [one | {"labels": one["labels"] | {"usable": "no" if one["name"] == "z" else "yes"}} for one in ZONES]
    assert passing("PodTopologySpread", spread(1) | selector, nodes, TWO_ONE_NONE) == "yz"
    ignored = spread(1, nodeAffinityPolicy="Ignore") | selector
    assert passing("PodTopologySpread", ignored, nodes, TWO_ONE_NONE) == "z"
    tainted = [one | {"taints": [taint()] if one["name"] == "z" else []} for one in ZONES]
    assert passing("PodTopologySpread", spread(1), tainted, TWO_ONE_NONE) == "z"
    assert passing("PodTopologySpread", spread(1, nodeTaintsPolicy="Honor"), tainted, TWO_ONE_NONE) == "yz"


def test_keys_of_labels_narrow_the_selector():
    running = [one | {"labels": {"app": "a", "hash": "old"}} for one in TWO_ONE_NONE]
    wanted = spread(1, matchLabelKeys=["hash"])
    assert passing("PodTopologySpread", wanted | {"labels": {"app": "a", "hash": "new"}}, ZONES, running) == "xyz"
    assert passing("PodTopologySpread", wanted | {"labels": {"app": "a", "hash": "old"}}, ZONES, running) == "z"


def test_only_nodes_with_the_keys_of_all_constraints_count():
    # The pod in z is on a node without a rack: z is as good as empty, and the others would be ahead of it.
    nodes = [node("x", {ZONE: "x", RACK: "r"}), node("z", {ZONE: "z"}), node("Z", {ZONE: "z", RACK: "s"})]
    both = [*spread(1)["topologySpreadConstraints"], *spread(9, RACK)["topologySpreadConstraints"]]
    running = [pod("r1", "x"), pod("r2", "z")]
    assert passing("PodTopologySpread", spread(1), nodes, running) == "xzZ"
    assert passing("PodTopologySpread", pod(topologySpreadConstraints=both), nodes, running) == "Z"


# InterPodAffinity.

RACKS = [node("a", {RACK: "r"}), node("b", {RACK: "r"}), node("c", {RACK: "s"}), node("d")]


def rule(kind, *some):
    made = [{"topologyKey": RACK, "labelSelector": APP_A} | each for each in some or ({},)]
    return {"affinity": {kind: {REQUIRED: made}}}


def affinity(running, *some, kind="podAffinity", app="b"):
    return passing("InterPodAffinity", pod(app=app, **rule(kind, *some)), RACKS, running)


def test_affinity_wants_a_pod_in_the_domain():
    assert affinity([pod("r", "a")]) == "ab"
    assert affinity([pod("r", "d")]) == affinity([pod("r", "a", "b")]) == ""


def test_one_pod_must_match_all_terms():
    tier = {"labelSelector": {"matchLabels": {"tier": "x"}}}
    apart = [pod("r1", "a"), pod("r2", "a", "c") | {"labels": {"tier": "x"}}]
    assert affinity(apart, {}, tier) == ""
    assert affinity([*apart, pod("r3", "c") | {"labels": {"app": "a", "tier": "x"}}], {}, tier) == "c"


def test_the_first_of_pods_that_want_each_other_may_go_anywhere_with_the_keys():
    assert affinity([], app="a") == "abc"
    assert affinity([pod("r", "c")], app="a") == "c"


def test_anti_affinity_keeps_away_from_pods_and_those_from_it():
    assert affinity([pod("r", "a")], kind="podAntiAffinity") == "cd"
    theirs = [pod("r", "a", "b", **rule("podAntiAffinity"))]
    told = answers("InterPodAffinity", pod(app="a"), RACKS, theirs)
    assert told == {"a": [OTHERS], "b": [OTHERS], "c": [], "d": []}
    assert passing("InterPodAffinity", pod(app="c"), RACKS, theirs) == "abcd"


def test_affinity_comes_first_then_own_and_then_others_anti_affinity():
    both = (
        rule("podAffinity")["affinity"]
        | rule("podAntiAffinity", {"labelSelector": {"matchLabels": {"app": "c"}}})["affinity"]
    )
    running = [pod("r1", "a"), pod("r2", "b", "c"), pod("r3", "c", **rule("podAntiAffinity"))]
    told = answers("InterPodAffinity", pod(affinity=both), RACKS, running)
    assert told == {"a": [APART], "b": [APART], "c": [OTHERS], "d": [NEAR]}


@pytest.mark.parametrize(
    ("where", "passes"),
    [({}, ""), ({"namespaces": ["e"]}, "ab"), ({"namespaceSelector": {}}, "ab"), ({"namespaces": ["f"]}, "")],
)
def test_a_term_is_about_the_own_namespace_or_those_that_it_names(where, passes):
    assert affinity([pod("r", "a") | {"namespace": "e"}], where) == passes


# All filters.


def test_a_node_fails_by_its_first_filter_and_the_text_is_sorted():
    nodes = [
        node("a", cpu="1"),
        node("b", taints=[taint()], cpu="1"),
        node("c", pods="0"),
        node("d", cpu="1", pods="0"),
        node("e") | {"unschedulable": True, "taints": [taint()]},
    ]
    choice = schedule_pod(
        cluster_of(nodes, []), shape_of(pod(requests={"cpu": "2"})), np.arange(5, dtype=np.int32), KubeSettings()
    )
    told = "2 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Too many pods"
    assert choice.text == f"0/5 nodes are available: {', '.join(sorted(told.split(', ')))}."
    assert (choice.node, choice.total) == (-1, None)


def test_what_evicting_cannot_help():
    # Of filters by nodes alone no pod that goes changes the answer.
    statuses = NodeStatuses(np.zeros(1, dtype=np.int32))
    nodes = cluster_of([node("a", taints=[taint()]) | {"unschedulable": True}], []).nodes
    wanted = shape_of(pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [field("In", "b")]}}}))
    for ask in (
        lambda: filter_named(nodes, wanted, statuses),
        lambda: filter_unschedulable(nodes, wanted, statuses),
        lambda: filter_taints(nodes, wanted, statuses),
        lambda: filter_affinity(nodes, wanted, KubeSettings(), statuses),
    ):
        statuses.number[:] = 0
        ask()
        assert statuses.of(0).code is Code.UNRESOLVABLE
