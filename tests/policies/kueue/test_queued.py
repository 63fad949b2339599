"""`kueue-0.19` on clusters with ClusterQueues: quota before topology, borrowing, partial admission, gates, sessions.

Two racks of two nodes, each with 2 cpu; the flavor `gpu` is all of them:

    r0: n0 n1    r1: n2 n3
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import workbench
from tests.objects.admission.test_kueue import RACK, kueue_object, topology
from tests.objects.test_kueue import HOST, named, pod_set, workload
from workbench.model.placement import Decision, Placement, Refusal
from workbench.model.scenario import Scenario
from workbench.policies import get_policy
from workbench.simulate import SimulatedJob, Simulation


def node(number: int, **more: str) -> dict[str, Any]:
    labels = {"pool": "gpu", RACK: f"r{number // 2}", HOST: f"n{number}", **more}
    status = {"allocatable": {"cpu": "2", "pods": "10"}, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}, "status": status}


def queue(name: str, nominal: str, cohort: str = "", **spec: Any) -> list[dict[str, Any]]:
    resources = [{"name": "cpu", "nominalQuota": nominal}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "gpu", "resources": resources}]}
    data = kueue_object("ClusterQueue", {"resourceGroups": [group], **({"cohort": cohort} if cohort else {}), **spec})
    return [named(data, name), named(kueue_object("LocalQueue", {"clusterQueue": name}), name)]


def cluster(*queues: list[dict[str, Any]], levels: tuple[str, ...] = (RACK, HOST)) -> list[dict[str, Any]]:
    flavor = kueue_object("ResourceFlavor", {"topologyName": "one", "nodeLabels": {"pool": "gpu"}})
    return [topology(*levels), named(flavor, "gpu"), *map(node, range(4)), *(each for some in queues for each in some)]


def job(name: str, queue_name: str, count: int, cpu: str = "1", **more: Any) -> dict[str, Any]:
    pods = pod_set(count, **more)
    pods["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return named(workload(pods, queueName=queue_name), name)


def load(*objects: dict[str, Any]) -> Scenario:
    return workbench.load("-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def decided(*objects: dict[str, Any], policy: str = "kueue-0.19") -> dict[str, Decision]:
    scenario = load(*objects)
    return {each.gang.name: each for each in workbench.schedule(scenario.gangs, scenario.snapshot, policy)}


def nodes_of(decision: Decision) -> list[str]:
    assert isinstance(decision.result, Placement), decision.result
    return [pod.node for pod in decision.result.pods()]


def said(decision: Decision) -> str:
    assert isinstance(decision.result, Refusal)
    (reason,) = decision.result.reasons
    assert reason.code == "kueue-pending"
    return reason.message


def test_a_required_rack_takes_one_rack_and_ranks_follow_its_nodes() -> None:
    found = decided(*cluster(queue("team", "8")), job("a", "team", 4, topologyRequest={"required": RACK}))
    assert nodes_of(found["a"]) == ["n0", "n0", "n1", "n1"]
    assert found["a"].result.hypernode == "r0"


def test_quota_is_looked_at_before_the_nodes_are() -> None:
    found = decided(*cluster(queue("team", "3")), job("a", "team", 2), job("b", "team", 2))
    assert found["a"].placed
    assert said(found["b"]).endswith("insufficient unused quota for cpu in flavor gpu, 1 more needed")


def test_a_queue_borrows_what_its_cohort_leaves_unused() -> None:
    lenders = [queue("team", "1", "all"), queue("other", "3", "all")]
    assert decided(*cluster(*lenders), job("a", "team", 4))["a"].placed
    alone = decided(*cluster(queue("team", "1")), job("a", "team", 4))["a"]
    assert "> maximum capacity (1)" in said(alone)


def test_room_on_the_nodes_is_looked_at_after_the_quota() -> None:
    found = decided(*cluster(queue("team", "100")), job("a", "team", 5, topologyRequest={"required": RACK}))
    text = 'topology "one" allows to fit only 4 out of 5 pod(s)'
    assert said(found["a"]) == f"couldn't assign flavors to pod set main: {text}"


def test_fewer_pods_are_admitted_if_the_workload_lets_it() -> None:
    found = decided(*cluster(queue("team", "3")), job("a", "team", 4, minCount=2))
    assert len(nodes_of(found["a"])) == 3


def test_domains_above_the_node_are_filled_by_name() -> None:
    wish = {"required": RACK}
    found = decided(*cluster(queue("team", "8"), levels=(RACK,)), job("a", "team", 3, topologyRequest=wish))
    assert nodes_of(found["a"]) == ["n0", "n0", "n1"]


def test_pods_get_the_tolerations_of_their_flavor() -> None:
    objects = cluster(queue("team", "8"))
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    for each in objects:
        if each["kind"] == "Node":
            each["spec"] = {"taints": [taint]}
    assert "excluded: taint" in said(decided(*objects, job("a", "team", 2))["a"])
    flavor = next(each for each in objects if each["kind"] == "ResourceFlavor")
    flavor["spec"]["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    assert nodes_of(decided(*objects, job("a", "team", 2))["a"]) == ["n0", "n0"]


def test_pods_that_ask_for_none_of_a_resource_get_its_flavor_and_nodes() -> None:
    found = decided(*cluster(queue("team", "1")), job("a", "team", 4, cpu="0", topologyRequest={"required": RACK}))
    assert len(nodes_of(found["a"])) == 4


@pytest.mark.parametrize(("recompute", "second"), [(True, "b2"), (False, "c1")])
def test_other_nodes_are_looked_for_in_the_cycle_unless_the_gate_is_off(recompute: bool, second: str) -> None:
    jobs = [
        job(name, queue_name, 4, topologyRequest={"required": RACK})
        for name, queue_name in (("a1", "one"), ("b2", "two"), ("c1", "one"))
    ]
    for each, priority in zip(jobs, (9, 0, 5), strict=True):
        each["spec"]["priority"] = priority
    scenario = load(*cluster(queue("one", "8"), queue("two", "8")), *jobs)
    found = workbench.schedule(scenario.gangs, scenario.snapshot, get_policy("kueue-0.19", recompute=recompute))
    # The heads of the first cycle are a and b, which want the same rack; then c comes before b.
    assert {each.gang.name for each in found if each.placed} == {"a1", second}


def test_every_slice_layer_is_a_level_of_the_flavor() -> None:
    layers = [{"topology": RACK, "size": 2}, {"topology": "nowhere", "size": 1}]
    wish = {"required": RACK, "podsetSliceRequiredTopologyConstraints": layers}
    found = decided(*cluster(queue("team", "8")), job("a", "team", 2, topologyRequest=wish))
    assert said(found["a"]).endswith('Flavor "gpu" does not contain the requested level')


def test_a_group_with_pods_that_request_nothing_never_fits_at_its_turn() -> None:
    """As in Kueue, whose check at the turn of a workload finds no room for a request of nothing."""
    wish = {"topologyRequest": {"required": RACK, "podSetGroupName": "g"}}
    pods, leader = pod_set(2, **wish), pod_set(1, name="leader", **wish)
    del leader["template"]["spec"]["containers"][0]["resources"]
    found = decided(*cluster(queue("team", "8")), named(workload(pods, leader, queueName="team"), "a"))
    assert said(found["a"]) == "Workload no longer fits after processing another workload"


def test_an_unknown_queue_is_named() -> None:
    found = decided(*cluster(queue("team", "8")), job("a", "elsewhere", 1))
    assert said(found["a"]) == "LocalQueue default/elsewhere doesn't exist"


def test_the_victims_of_a_preemption_are_named() -> None:
    policy = {"withinClusterQueue": "LowerPriority"}
    assignment = {"levels": [HOST], "domains": [{"values": ["n0"], "count": 2}]}
    sets = [{"name": "main", "count": 2, "flavors": {"cpu": "gpu"}, "resourceUsage": {"cpu": "2"}}]
    sets[0]["topologyAssignment"] = assignment
    conditions = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
    low = job("low", "team", 2)
    low["status"] = {"admission": {"clusterQueue": "team", "podSetAssignments": sets}, "conditions": conditions}
    high = job("high", "team", 2)
    high["spec"]["priority"] = 5
    found = decided(*cluster(queue("team", "2", preemption=policy)), low, high)
    assert said(found["high"]).endswith("Pending the preemption of 1 workload(s) (default/low)")


@pytest.mark.parametrize("policy", ["kueue-0.19", "volcano"])
def test_pods_behind_the_topology_gate_go_where_their_workload_was_assigned(policy: str) -> None:
    assignment = {"levels": [HOST], "domains": [{"values": [host], "count": 1} for host in ("n3", "n1")]}
    sets = [{"name": "main", "count": 2, "flavors": {"cpu": "gpu"}, "resourceUsage": {"cpu": "2"}}]
    sets[0]["topologyAssignment"] = assignment
    held = job("held", "team", 2, topologyRequest={"required": RACK, "podIndexLabel": "index"})
    conditions = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
    held["status"] = {"admission": {"clusterQueue": "team", "podSetAssignments": sets}, "conditions": conditions}
    pods = []
    for index in range(2):
        metadata = {
            "name": f"p{index}",
            "labels": {"kueue.x-k8s.io/podset": "main", "index": str(index)},
            "annotations": {"kueue.x-k8s.io/workload": "held"},
        }
        spec = {**pod_set()["template"]["spec"], "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
        spec["schedulerName"] = "volcano"
        pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    found = decided(*cluster(queue("team", "2")), held, *pods, policy=policy)
    assert {name: nodes_of(each) for name, each in found.items()} == {"p0": ["n3"], "p1": ["n1"]}


def test_without_cluster_queues_every_gang_is_placed_in_turn() -> None:
    found = decided(*cluster(), job("a", "team", 8), job("b", "team", 8, cpu="2"))
    assert found["a"].placed and not found["b"].placed


def test_a_simulation_in_sessions_waits_for_quota() -> None:
    scenario = load(*cluster(queue("team", "2")), job("a", "team", 2), job("b", "team", 2))
    jobs = [SimulatedJob(gang, 0.0, 10.0) for gang in scenario.gangs]
    result = Simulation(scenario.snapshot, "kueue-0.19", jobs, discipline="session").run().result()
    assert [attempt.start_s for attempt in result.attempts] == [0.0, 10.0]


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({"required": "no.such/level"}, 'Flavor "gpu" does not contain the requested level'),
        (
            {"podSetSliceRequiredTopology": "no.such/level", "podSetSliceSize": 2},
            "does not contain the requested level",
        ),
        (
            {
                "podsetSliceRequiredTopologyConstraints": [
                    {"topology": RACK, "size": 4},
                    {"topology": HOST, "size": 3},
                ]
            },
            "additional slice layer size 3 must evenly divide parent layer size 4",
        ),
        (
            {
                "podsetSliceRequiredTopologyConstraints": [
                    {"topology": HOST, "size": 4},
                    {"topology": RACK, "size": 2},
                ]
            },
            f"additional slice layer topology {RACK} must be at a lower level than {HOST}",
        ),
    ],
)
def test_an_impossible_request_has_upstreams_words(request_: dict[str, Any], text: str) -> None:
    found = decided(*cluster(queue("team", "8")), job("a", "team", 4, topologyRequest=request_))
    assert text in said(found["a"])


def test_contradicting_annotations_are_refused_in_upstreams_words() -> None:
    annotations = {f"kueue.x-k8s.io/podset-{how}-topology": RACK for how in ("required", "preferred")}
    metadata = {"name": "p", "annotations": annotations, "labels": {"kueue.x-k8s.io/queue-name": "team"}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_set()["template"]["spec"]}
    scenario = load(*cluster(queue("team", "8")), pod)
    assert [notice.subject for notice in scenario.refused] == ["Pod default/p"]
    assert "must not contain more than one topology annotation" in scenario.refused[0].message


def test_a_running_gang_holds_quota_and_may_be_preempted_by_its_priority() -> None:
    def running(number: int) -> dict[str, Any]:
        spec = {**pod_set()["template"]["spec"], "nodeName": f"n{number}", "priority": 3}
        spec["containers"] = [{**spec["containers"][0], "resources": {"requests": {"cpu": "1"}}}]
        group = {"scheduling.k8s.io/group-name": "busy"}
        metadata = {"name": f"busy-{number}", "annotations": group}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}

    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "busy"},
        "spec": {"minMember": 2, "queue": "team"},
    }
    policy = {"withinClusterQueue": "LowerPriority"}
    for priority, ending in ((2, "1 more needed"), (4, "Pending the preemption of 1 workload(s) (default/busy)")):
        waiting = job("a", "team", 1)
        waiting["spec"]["priority"] = priority
        found = decided(*cluster(queue("team", "2", preemption=policy)), group, running(0), running(1), waiting)
        assert said(found["a"]).endswith(ending)


@pytest.mark.parametrize(
    ("left_out", "spec", "said"),
    [
        ("ResourceFlavor", {}, "there is no ResourceFlavor gpu"),
        ("Topology", {}, "there is no Topology one of its ResourceFlavor gpu"),
        ("", {"stopPolicy": "Hold"}, "it is stopped (stopPolicy)"),
        ("", {"admissionChecks": ["machines"]}, "there is no AdmissionCheck machines"),
    ],
)
@pytest.mark.parametrize("refused", [False, True])
def test_an_inactive_queue_names_what_is_missing(left_out: str, spec: dict[str, Any], said: str, refused: bool) -> None:
    """Missing from the input, or in it and refused by admission."""
    objects = []
    for each in cluster(queue("q", "8", **spec)):
        if each["kind"] == left_out:
            wrong = {"topologyName": "one"} if left_out == "ResourceFlavor" else {"levels": [{"nodeLabel": "a b"}]}
            objects += [{**each, "spec": wrong}] if refused else []
        else:
            objects.append(each)
    found = decided(*objects, job("a", "q", 2))["a"].result
    assert isinstance(found, Refusal)
    assert found.reasons[0].message == f"ClusterQueue q is inactive: {said}"


class TestRulesWithoutARow:
    """Rules of Kueue's placement that no recorded case exercises, by hand."""

    @staticmethod
    def said(decision: Decision) -> str:
        assert isinstance(decision.result, Refusal), decision.result
        return decision.result.reasons[0].message

    @staticmethod
    def with_taint(effect: str, *levels: str) -> list[dict[str, Any]]:
        """Two racks, n0 has a taint."""
        tainted = {**node(0), "spec": {"taints": [{"key": "k", "value": "v", "effect": effect}]}}
        rest = [each for each in cluster(queue("q", "100"), levels=levels) if each["metadata"]["name"] != "n0"]
        return [*rest, tainted]

    def test_taints_count_only_where_the_host_is_the_lowest_level(self) -> None:
        ask = {"topologyRequest": {"required": RACK}}
        by_host, by_rack = (self.with_taint("NoSchedule", *levels) for levels in ((RACK, HOST), (RACK,)))
        five = job("a", "q", 5, **ask)
        assert self.said(decided(*by_host, five)["a"]).endswith(
            'allows to fit only 4 out of 5 pod(s). Total nodes: 4; excluded: taint "k=v:NoSchedule": 1'
        )
        assert self.said(decided(*by_rack, five)["a"]).endswith("allows to fit only 4 out of 5 pod(s)")
        assert nodes_of(decided(*by_host, job("a", "q", 4, **ask))["a"]) == ["n2", "n2", "n3", "n3"]
        # Kueue takes the rack with the taint, and the pods would stay pending there.
        assert "nodes take 2 of 4 pods" in self.said(decided(*by_rack, job("a", "q", 4, **ask))["a"])

    def test_a_preference_of_a_taint_never_counts(self) -> None:
        objects = self.with_taint("PreferNoSchedule", RACK, HOST)
        found = decided(*objects, job("a", "q", 4, topologyRequest={"required": RACK}))["a"]
        assert nodes_of(found) == ["n0", "n0", "n1", "n1"]

    def test_a_node_without_the_label_of_some_level_is_no_leaf(self) -> None:
        bare = node(3)
        del bare["metadata"]["labels"][RACK]
        objects = [each for each in cluster(queue("q", "100")) if each["metadata"]["name"] != "n3"] + [bare]
        found = decided(*objects, job("a", "q", 7, topologyRequest={"preferred": RACK}))["a"]
        assert self.said(found).endswith("allows to fit only 6 out of 7 pod(s)")

    def test_slices_above_the_required_level_and_slices_larger_than_the_pod_set(self) -> None:
        above = {"required": HOST, "podSetSliceRequiredTopology": RACK, "podSetSliceSize": 2}
        found = decided(*cluster(queue("q", "100")), job("a", "q", 2, topologyRequest=above))["a"]
        assert self.said(found).endswith(f"podset slice topology {RACK} is above the podset topology {HOST}")
        large = {"required": RACK, "podSetSliceRequiredTopology": HOST, "podSetSliceSize": 2}
        found = decided(*cluster(queue("q", "100")), job("a", "q", 1, topologyRequest=large))["a"]
        assert self.said(found) == (
            "Kueue admits the workload, but nodes take 0 of 1 pod of main: the slice size 2 does not divide the 1 pod "
            "of main, and Kueue places whole slices only"
        )

    def test_queues_need_no_hypernodes(self) -> None:
        """Overlapping HyperNodes do not matter where Kueue has its own Topology."""
        member = {"type": "Node", "selector": {"regexMatch": {"pattern": "n[01]"}}}
        wide = {"type": "Node", "selector": {"regexMatch": {"pattern": "n[12]"}}}
        hypernodes = [
            {
                "apiVersion": "topology.volcano.sh/v1alpha1",
                "kind": "HyperNode",
                "metadata": {"name": name},
                "spec": {"tier": 1, "members": [each]},
            }
            for name, each in (("s0", member), ("s1", wide))
        ]
        objects = [*cluster(queue("q", "100")), *hypernodes]
        assert nodes_of(decided(*objects, job("a", "q", 2, topologyRequest={"required": RACK}))["a"]) == ["n0", "n0"]
