"""A snapshot without the names that somebody chose: none of them is left, and policies decide as before."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import pytest

from workbench.errors import InputError
from workbench.evaluate.policy_choices import make_policy
from workbench.live import LiveSnapshot
from workbench.live.kubernetes.anonymous import anonymized
from workbench.live.kubernetes.pseudonyms import Pseudonyms
from workbench.model.extras import KoordinatorWish
from workbench.model.notice import Notice
from workbench.model.placement import Placement

RECORDED = Path(__file__).parents[2] / "datasets" / "recorded-cluster" / "cluster.json"

#: Every text that somebody might not want to publish begins like this.
PLANTED = "secretive"


def node(rack: int, slot: int) -> dict[str, Any]:
    name = f"{PLANTED}-r{rack}-{slot}"
    labels = {
        "kubernetes.io/hostname": name,
        f"{PLANTED}.example/rack": f"{PLANTED}-rack-{rack}",
        f"{PLANTED}pool": "a",
    }
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8", f"{PLANTED}.example/nic": "4"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            "uid": f"{PLANTED}-{name}",
            "annotations": {f"{PLANTED}.example/a": "b"},
        },
        "spec": {"taints": [{"key": f"{PLANTED}.example/only", "value": f"{PLANTED}-team", "effect": "NoSchedule"}]},
        "status": {"allocatable": amounts, "addresses": [{"type": "InternalIP", "address": f"192.168.{rack}.{slot}"}]},
    }


def hypernode(rack: int) -> dict[str, Any]:
    selector = {"regexMatch": {"pattern": f"^{PLANTED}-r{rack}-"}}
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": f"{PLANTED}-leaf-{rack}"},
        "spec": {"tier": 1, "members": [{"type": "Node", "selector": selector}]},
    }


def job(name: str, pods: int, gpus: int) -> dict[str, Any]:
    amounts = {"cpu": "1", "nvidia.com/gpu": str(gpus), f"{PLANTED}.example/nic": "1"}
    tolerated = [{"key": f"{PLANTED}.example/only", "operator": "Equal", "value": f"{PLANTED}-team"}]
    wanted = {"key": f"{PLANTED}.example/rack", "operator": "NotIn", "values": [f"{PLANTED}-rack-0"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    container = {"name": f"{PLANTED}-c", "resources": {"requests": amounts, "limits": amounts}}
    spec = {
        "containers": [container],
        "tolerations": tolerated,
        "nodeSelector": {f"{PLANTED}pool": "a"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": f"{PLANTED}-{name}", "namespace": f"{PLANTED}-team", "finalizers": [f"{PLANTED}/x"]},
        "spec": {
            "minAvailable": pods,
            "schedulerName": "volcano",
            "queue": f"{PLANTED}-queue",
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "tasks": [{"name": f"{PLANTED}-task", "replicas": pods, "template": {"spec": spec}}],
        },
        "status": {"conditions": [{"status": "Pending", "message": f"of {PLANTED}-team/{PLANTED}-{name}: none fits"}]},
    }


def planted() -> LiveSnapshot:
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": f"{PLANTED}-queue"},
        "spec": {"weight": 1, "capability": {f"requests.{PLANTED}.example/nic": "100", "nvidia.com/gpu": "512"}},
    }
    objects = [queue, *(hypernode(rack) for rack in range(3)), *(node(*each) for each in product(range(3), range(4)))]
    objects += [job("big", 4, 8), job("small", 2, 4), job("late", 3, 8)]
    gaps = (Notice("not-permitted", f"user {PLANTED}@example.com may not list {PLANTED}-leaf-1", "things"),)
    lines = tuple(orjson.dumps(each) for each in objects)
    return LiveSnapshot(f"{PLANTED}-context", f"https://{PLANTED}:6443", f"{PLANTED}@example.com", {}, gaps, lines)


def recorded() -> LiveSnapshot:
    items = json.loads(RECORDED.read_bytes())["items"]
    return LiveSnapshot("c", "s", "u", {}, (), tuple(orjson.dumps(each) for each in items))


def test_nothing_that_was_planted_is_left() -> None:
    text = planted().anonymized().to_json().decode()
    assert PLANTED not in text and "192.168." not in text
    assert '"context":"anonymous"' in text
    for kept in (
        '"nvidia.com/gpu":"8"',
        '"effect":"NoSchedule"',
        '"mode":"hard"',
        "none fits",
        "kubernetes.io/hostname",
    ):
        assert kept in text


@pytest.mark.parametrize("snapshot", [planted(), recorded()], ids=["planted", "recorded"])
@pytest.mark.parametrize("name", ["volcano-1.13", "volcano-1.15", "binpack", "spread"])
def test_policies_decide_as_before(snapshot: LiveSnapshot, name: str) -> None:
    def told(each: LiveSnapshot) -> list[Any]:
        scenario = each.scenario()
        found = make_policy(name, {}).schedule(scenario.gangs, scenario.snapshot)
        return [one.result.node.tolist() if isinstance(one.result, Placement) else None for one in found]

    before = told(snapshot)
    assert told(snapshot.anonymized()) == before and any(before)


def test_gang_groups_name_the_same_gangs_as_before() -> None:
    def pod(gang: str) -> bytes:
        annotations = {
            "gang.scheduling.koordinator.sh/name": f"{PLANTED}-{gang}",
            "gang.scheduling.koordinator.sh/groups": json.dumps([f"{PLANTED}-ns/{PLANTED}-{each}" for each in "ab"]),
        }
        metadata = {"name": f"{PLANTED}-{gang}-0", "namespace": f"{PLANTED}-ns", "annotations": annotations}
        containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
        spec = {"schedulerName": "koord-scheduler", "containers": containers}
        return orjson.dumps(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
        )

    hidden = LiveSnapshot("c", "s", "u", {}, (), (pod("a"), pod("b"))).anonymized()
    assert PLANTED not in hidden.to_json().decode()
    gangs = hidden.scenario().gangs
    keys = tuple(gang.key for gang in gangs)
    assert len(keys) == 2
    assert [gang.extra(KoordinatorWish).gang_groups for gang in gangs] == [keys, keys]


def test_the_same_bytes_again_and_nothing_to_hide_twice() -> None:
    once = planted().anonymized()
    assert once.to_json() == planted().anonymized().to_json()
    assert len(once.scenario().gangs) == 3
    assert once.anonymized().objects == once.objects


def test_stand_ins_keep_the_byte_order_and_say_the_class() -> None:
    names = Pseudonyms({"node": [f"n{i}" for i in range(12)], "job": ["a", "b"], "queue": ["b", "c"]}, (), ["10.2.3.4"])
    ordered = sorted((f"n{i}" for i in range(12)), key=str.encode)
    assert sorted(names.get(each, "") for each in ordered) == [names.get(each, "") for each in ordered]
    assert [names.get(each, "") for each in ("n0", "a", "b", "c", "10.2.3.4")] == [
        "node-01", "job-1", "job-2", "job-3", "10.0.0.1",
    ]  # fmt: skip
    assert names.get("a/b", "") == "job-1/job-2" and names.get("a/other", "none") == "none"


def test_names_made_of_others_stay_so() -> None:
    names = Pseudonyms({"job": ["a-b", "a"], "task": ["t"], "uid": ["1-2-3-4-5"], "pod": ["a-b-t-0", "x"]}, ["worker"])
    uid = names.get("1-2-3-4-5", "")
    assert uid.count("-") == 4
    made = ("a-b-t-0", "a-worker-12", "a-b-1-2-3-4-5", "a-t", "x", "a-x")
    assert [names.get(each, "?") for each in made] == [
        "job-2-task-1-0", "job-1-worker-12", f"job-2-{uid}", "job-1-task-1", "pod-1", "?",
    ]  # fmt: skip


def test_texts_lose_names_urls_and_mail_addresses() -> None:
    names = Pseudonyms({"node": ["n0"], "namespace": ["ns"]})
    text = "0/3 nodes: n0, ns/pod-1 of a@b.org; see https://wiki.corp/x?y (n01)"
    assert names.in_text(text) == (
        "0/3 nodes: node-1, namespace-1/pod-1 of someone@example.invalid; see https://example.invalid (n01)"
    )


def test_a_snapshot_with_a_wrong_field_is_refused_as_it_would_be_without() -> None:
    broken = json.loads(planted().objects[0])
    broken["spec"] = "x"
    snapshot = LiveSnapshot("c", "s", "u", {}, (), (orjson.dumps(broken), *planted().objects[1:]))
    for each in (snapshot, snapshot.anonymized()):
        with pytest.raises(InputError, match="spec"):
            each.scenario()


NAMES = {
    "namespace": ["apollo"],
    "node": ["rack7-gpu03"],
    "queue": ["moonshot"],
    "job": ["apollo-train"],
    "value": ["teamgamma"],
}
PHRASES = {
    "as the kubelet writes pods": ('pod "apollo-train-0_apollo" waits', 'pod "job-1-0_namespace-1" waits'),
    "a host of a Service": ("apollo-train.apollo.svc.cluster.local", "job-1.namespace-1.svc.cluster.local"),
    "a host name": ("rack7-gpu03.dc1 refused", "node-1.dc1 refused"),
    "a name that begins with one": ("moonshot-quota and apollo-train-7f9c", "queue-1-quota and job-1-7f9c"),
    "capital letters": ("RACK7-GPU03 of Apollo", "node-1 of namespace-1"),
    "an image": ("denied: host/apollo/llm:v3", "denied: host/namespace-1/llm:v3"),
    "braces and quotes": ("{team: teamgamma}='teamgamma'", "{team: value-1}='value-1'"),
    "no border": ("apollo11 and xapollo", "apollo11 and xapollo"),
    "mail addresses": ("alice@corp, ALICE@CORP.COM.", "someone@example.invalid, someone@example.invalid."),
    "addresses": (
        "dial 172.18.3.4:443 and [2001:db8::7]:80, not 1.2.3 or 10:30:45",
        "dial 192.0.2.1:443 and [2001:db8::1]:80, not 1.2.3 or 10:30:45",
    ),
    "an address in capital letters": ("HTTPS://corp.example/x", "https://example.invalid"),
}


@pytest.mark.parametrize(("text", "want"), PHRASES.values(), ids=PHRASES.keys())
def test_every_known_name_in_a_text_has_its_stand_in(text: str, want: str) -> None:
    names = Pseudonyms(NAMES, ["worker"])
    assert names.in_text(text) == want
    assert names.in_text(want) == want


def test_config_maps_keep_no_endpoint_user_or_secret_and_no_text_of_another_form() -> None:
    text = "sources:\n- source: ufm\n  endpoint: ufm.corp\n  user: bob\n  secretRef: {name: hush, namespace: apollo}\n"
    data = {"volcano-controller.conf": text, "notes": "call bob at corp", "broken": "a: [", "json": '{"owner": "bob"}'}
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": data}
    (line,) = anonymized([orjson.dumps(one)]).objects
    for word in ("ufm.corp", "bob", "hush", "apollo", "corp"):
        assert word not in line.decode()
    assert (
        orjson.loads(line)["data"]["notes"] == ""
        and '"source":"ufm"' in orjson.loads(line)["data"]["volcano-controller.conf"]
    )


@pytest.mark.parametrize("field", ["source", "status", "state", "phase", "owner"])
def test_the_json_of_an_annotation_keeps_no_words(field: str) -> None:
    annotations = {"scheduling.koordinator.sh/x": orjson.dumps({field: "apollo"}).decode()}
    one = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "annotations": annotations}}
    assert b"apollo" not in anonymized([orjson.dumps(one)]).objects[0]
