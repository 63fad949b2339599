"""Events of a cluster: a snapshot has those about what waits, and says which right is missing without them."""

from __future__ import annotations

import json
from typing import Any

import httpx

from workbench.live.kubernetes.configuration import Cluster
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.rbac import reader_role
from workbench.live.kubernetes.resources import EVENTS
from workbench.live.kubernetes.snapshot import LiveSnapshot, read_cluster

PODS = [
    {"metadata": {"name": "waits", "namespace": "a"}, "status": {"phase": "Pending"}},
    {"metadata": {"name": "bound", "namespace": "a"}, "spec": {"nodeName": "n"}, "status": {"phase": "Pending"}},
    {"metadata": {"name": "waits", "namespace": "b"}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}},
]
GROUPS = [
    {"metadata": {"name": "in-queue", "namespace": "a"}, "status": {"phase": "Inqueue"}},
    {"metadata": {"name": "running", "namespace": "a"}, "status": {"phase": "Running"}},
]


def event(number: int, kind: str, namespace: str, name: str) -> dict[str, Any]:
    about = {"kind": kind, "namespace": namespace, "name": name, "fieldPath": "spec"}
    metadata = {"name": f"e{number}", "namespace": namespace, "managedFields": [{}]}
    source = {"component": "volcano"}
    return {"metadata": metadata, "involvedObject": about, "message": "no node", "type": "Warning", "source": source}


ITEMS = {
    "/api/v1/pods": PODS,
    "/apis/scheduling.volcano.sh/v1beta1/podgroups": GROUPS,
    "/api/v1/events": [
        event(0, "Pod", "a", "waits"),
        event(1, "Pod", "a", "bound"),
        event(2, "Pod", "b", "waits"),
        event(3, "PodGroup", "a", "in-queue"),
        event(4, "PodGroup", "a", "running"),
        event(5, "Node", "a", "waits"),
    ],
}


def read(status_of_events: int = 200) -> tuple[LiveSnapshot, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if request.url.path == EVENTS.path and status_of_events != 200:
            return httpx.Response(status_of_events)
        return httpx.Response(200, json={"metadata": {}, "items": ITEMS.get(request.url.path, [])})

    cluster = Cluster("test", "jane", "https://cluster.example:6443", lambda: "")
    with Connection(cluster, 5.0, httpx.MockTransport(answer)) as connection:
        return read_cluster(connection), seen


def test_warnings_about_what_waits_are_read_and_no_others() -> None:
    found, seen = read()
    events = [each for each in map(json.loads, found.objects) if each["kind"] == "Event"]
    assert [each["metadata"]["name"] for each in events] == ["e0", "e3"]
    assert events[0] == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e0", "namespace": "a"},
        "involvedObject": {"kind": "Pod", "namespace": "a", "name": "waits"},
        "message": "no node",
        "type": "Warning",
    }
    (asked,) = [each for each in seen if each.url.path == EVENTS.path]
    assert asked.method == "GET" and asked.url.params["fieldSelector"] == "type=Warning"


def test_without_the_right_there_is_a_gap_that_names_the_rule() -> None:
    found, _ = read(403)
    (gap,) = found.gaps
    assert (gap.code, gap.subject) == ("not-permitted", "events")
    assert gap.message == (
        "user jane may not list events; the rule "
        '{apiGroups: [""], resources: ["events"], verbs: ["get", "list", "watch"]} would allow it'
    )


def test_the_shipped_role_has_the_right() -> None:
    core = [rule for rule in reader_role("user:jane")[0]["rules"] if rule["apiGroups"] == [""]]
    assert [(rule["resources"], rule["verbs"]) for rule in core] == [
        (["nodes", "pods", "events"], ["get", "list", "watch"])
    ]
