"""kube-scheduler's queue: pods of a group in the order in which they came, and single pods among the groups."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
import pytest

from workbench.formats.recorded_sessions import read_sessions
from workbench.policies.registry import get_policy

HOST = "kubernetes.io/hostname"
TWINS = ("kube-default", "kube-1.37-topology")
ALL_GATES = ["GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"]


def placed(session):
    """Node of each pod that a session's twin places."""
    (moment,) = session.moments()
    snapshot = moment.scenario.snapshot
    found = {}
    for decision in get_policy(session.twin, **session.settings).schedule(moment.scenario.gangs, snapshot):
        for position, node in enumerate(getattr(decision.result, "node", ())):
            if node >= 0:
                found[decision.gang.pod(position).name] = snapshot.topology.node_names[node]
    return found


def decided(tmp_path, twin, nodes, pods, *groups, running=()):
    gates = ALL_GATES if twin == TWINS[1] else ALL_GATES[:1]
    given = {"gates": gates, "nodes": nodes, "running": list(running), "groups": list(groups), "pending": pods}
    path = tmp_path / "one.jsonl"
    path.write_bytes(orjson.dumps({"id": "one", "input": given, "expected": {"bound": {}}}))
    (session,) = read_sessions(path)
    return placed(session)


def node(name, cpu="8"):
    return {"name": name, "labels": {HOST: name}, "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}}


def pod(name, cpu="1", group="g", app="a", **more):
    labels = {"app": app}
    return {"name": name, "labels": labels, "containers": [{"cpu": cpu, "memory": "1Gi"}], "group": group, **more}


def against(app, kind="podAntiAffinity"):
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


RECORDINGS = sorted((Path(__file__).parents[2] / "conformance" / "cases" / "kube-recorded").glob("*.json.gz"))
GROUP = {"kind": "PodGroup", "name": "g", "gang": 1}


@pytest.mark.parametrize("twin", TWINS)
def test_pods_of_different_shapes_take_turns_as_they_came(tmp_path, twin):
    # Role by role the two small ones would go first, and leave too little for the large one.
    pods = [pod("g-0"), pod("g-1", "7"), pod("g-2")]
    assert decided(tmp_path, twin, [node("n0")], pods, GROUP) == {"g-0": "n0", "g-1": "n0"}


@pytest.mark.parametrize("twin", TWINS)
def test_pods_of_a_group_keep_their_own_labels(tmp_path, twin):
    # g-2 avoids pods with the label of g-1, which has the spec of g-0.
    pods = [pod("g-0"), pod("g-1", app="b"), pod("g-2", **against("b"))]
    assert decided(tmp_path, twin, [node("n0")], pods, GROUP) == {"g-0": "n0", "g-1": "n0"}


def test_a_label_that_numbers_pods_makes_no_roles(tmp_path):
    pods = [pod(f"g-{i}") for i in range(4)]
    for number, each in enumerate(pods):
        each["labels"]["apps.kubernetes.io/pod-index"] = str(number)
    given = {"gates": ALL_GATES, "nodes": [node("n0")], "running": [], "groups": [GROUP], "pending": pods}
    path = tmp_path / "one.jsonl"
    path.write_bytes(orjson.dumps({"id": "one", "input": given, "expected": {"bound": {}}}))
    ((moment,),) = (session.moments() for session in read_sessions(path))
    assert [role.count for role in moment.scenario.gangs[0].roles] == [4]


@pytest.mark.parametrize("twin", TWINS)
def test_a_single_pod_that_came_before_a_group_is_tried_before_it(tmp_path, twin):
    pods = [pod("z-first", "5", group=""), pod("g-0", "5")]
    assert decided(tmp_path, twin, [node("n0")], pods, GROUP) == {"z-first": "n0"}


@pytest.mark.parametrize("twin", TWINS)
def test_a_group_has_the_age_of_its_first_pod_and_its_own_priority(tmp_path, twin):
    # The objects of both groups are older than all pods. h comes first: its first pod is older than that of g.
    pods = [pod("h-0", "2", "h"), pod("g-0", "7"), pod("h-1", "2", "h")]
    groups = [{**GROUP, "gang": 1}, {**GROUP, "name": "h", "gang": 2}]
    assert decided(tmp_path, twin, [node("n0")], pods, *groups) == {"h-0": "n0", "h-1": "n0"}
    urgent = [{**groups[0], "priority": 5}, groups[1]]
    pods[1]["priority"] = 5
    assert decided(tmp_path, twin, [node("n0")], pods, *urgent) == {"g-0": "n0"}


@pytest.mark.parametrize("twin", TWINS)
def test_what_a_successful_group_leaves_over_is_tried_again_at_once(tmp_path, twin):
    # g-0 wants to be with a pod of app b, which comes after it and is there in the second cycle.
    pods = [pod("g-0", **against("b", "podAffinity")), pod("g-1", app="b"), pod("later", "7", group="")]
    assert decided(tmp_path, twin, [node("n0")], pods, GROUP) == {"g-0": "n0", "g-1": "n0"}


@pytest.mark.slow
def test_sessions_of_manifests_place_what_the_real_scheduler_placed():
    """The whole way from manifests to placements, where the conformance rows ask the parts of a policy."""
    records = [record for part in RECORDINGS for record in orjson.loads(gzip.decompress(part.read_bytes()))]
    answers = {record["id"]: _bound(record["expected"]) for record in records}
    exact = {part.name: 0 for part in RECORDINGS}
    for part in RECORDINGS:
        for session in read_sessions(part):
            found = placed(session)
            assert any(found.keys() == bound.keys() for bound in answers[session.name]), session.name
            exact[part.name] += found in answers[session.name]
    # The nodes of manifests come in the order of their names, and not every order was recorded; of pods that name
    # nodes one order alone was.
    one_order = exact.pop("named.json.gz")
    assert one_order >= 7
    assert sum(exact.values()) >= 0.99 * sum("named-" not in record["id"] for record in records)


def _bound(expected):
    """Pods with their nodes, of every answer that was seen."""
    return [each["bound"] for each in (expected, *expected["other_answers"], *expected["any_order"])]
