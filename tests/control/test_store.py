"""The contract of a store: what every implementation of `Store` answers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.controlplane.kubeconfigs import kubeconfig
from workbench.control.kinds import Ref
from workbench.control.memory_store import MemoryStore
from workbench.control.store import Binding, Store
from workbench.errors import StoreError
from workbench.live.kubernetes.api_store import ApiStore
from workbench.live.kubernetes.configuration import cluster_of
from workbench.live.kubernetes.writer import Writer
from workbench.model.clock import VirtualClock

POD = Ref("Pod", "default", "p")
NAMESPACES = ("a", "b")


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **spec}}


@contextmanager
def _in_memory(request: pytest.FixtureRequest) -> Iterator[Store]:
    yield MemoryStore(VirtualClock())


@contextmanager
def _on_an_api_server(request: pytest.FixtureRequest) -> Iterator[Store]:
    """The store of the operator, on a server without pods."""
    plane, folder = request.getfixturevalue("control_plane"), request.getfixturevalue("tmp_path")
    for name in NAMESPACES:
        plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    for namespace in ("default", *NAMESPACES):
        assert plane.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods", {"gracePeriodSeconds": 0})[0] == 200
    store = ApiStore(Writer(cluster_of(kubeconfig=kubeconfig(plane, folder / "config"))), ["Pod", "ConfigMap"])
    store.start()
    try:
        yield store
    finally:
        store.close()


STORES = {"memory": _in_memory, "api-server": _on_an_api_server}


@pytest.fixture(params=["memory", pytest.param("api-server", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with STORES[request.param](request) as made:
        yield made


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(StoreError) as caught:
        call()
    return caught.value.reason


def test_a_created_object_gets_its_identity_and_is_found(store: Store) -> None:
    made = store.create(pod())
    metadata = made["metadata"]
    assert metadata["namespace"] == "default" and metadata["uid"] and metadata["creationTimestamp"]
    assert metadata["resourceVersion"] and metadata["generation"] == 1
    assert store.get(POD) == made and store.list("Pod") == [made]
    assert store.list("Pod", "elsewhere") == [] and store.get(POD._replace(name="q")) is None


def test_objects_are_listed_by_namespace_and_name(store: Store) -> None:
    for namespace, name in (("b", "x"), ("a", "z"), ("a", "a-b"), ("a", "a.b")):
        store.create({**pod(name), "metadata": {"name": name, "namespace": namespace}})
    assert [(o["metadata"]["namespace"], o["metadata"]["name"]) for o in store.list("Pod")] == [
        ("a", "a-b"),
        ("a", "a.b"),
        ("a", "z"),
        ("b", "x"),
    ]


def test_a_name_is_taken_once_and_a_uid_never_comes_again(store: Store) -> None:
    first = store.create(pod())
    assert refusal(lambda: store.create(pod())) == "AlreadyExists"
    store.delete(POD)
    assert store.create(pod())["metadata"]["uid"] != first["metadata"]["uid"]


@pytest.mark.parametrize("name", ["", "Upper", "a_b", "-a", "a-", "a" * 254, "a b"])
def test_a_name_that_dns_does_not_take_is_refused(store: Store, name: str) -> None:
    assert refusal(lambda: store.create(pod(name))) == "Invalid"
    assert store.list("Pod") == []


def test_a_write_from_an_old_version_conflicts_and_changes_nothing(store: Store) -> None:
    old = store.create(pod())
    new = store.patch(POD, {"metadata": {"labels": {"a": "1"}}})
    assert refusal(lambda: store.update({**old, "spec": {**old["spec"], "activeDeadlineSeconds": 9}})) == "Conflict"
    assert store.get(POD) == new
    wrong_uid = {"metadata": {"uid": "another", "labels": {"a": "2"}}}
    assert refusal(lambda: store.patch(POD, wrong_uid)) == "Conflict"


def test_a_patch_merges_and_removes_and_leaves_status_alone(store: Store) -> None:
    store.create(pod())
    store.patch_status(POD, {"phase": "Running"})
    store.patch(POD, {"metadata": {"labels": {"a": "1", "b": "2"}}})
    got = store.patch(
        POD, {"metadata": {"labels": {"a": None}}, "spec": {"activeDeadlineSeconds": 3}, "status": {"phase": "Failed"}}
    )
    assert got["metadata"]["labels"] == {"b": "2"} and got["spec"]["activeDeadlineSeconds"] == 3
    assert got["status"]["phase"] == "Running" and got["metadata"]["generation"] == 2


def test_a_status_is_written_field_by_field(store: Store) -> None:
    store.create(pod())
    store.patch_status(POD, {"phase": "Running", "message": "x"})
    got = store.patch_status(POD, {"message": None})
    assert got["status"]["phase"] == "Running" and "message" not in got["status"]
    assert got["metadata"]["generation"] == 1


def test_writing_what_is_there_is_no_change(store: Store) -> None:
    made = store.create(pod())
    store.patch_status(POD, {"phase": "Running"})
    version = store.version
    store.patch_status(POD, {"phase": "Running"})
    store.patch(POD, {"spec": {"containers": made["spec"]["containers"]}})
    metadata = {"name": "p", "namespace": "default"}
    store.update({name: value for name, value in made.items() if name != "status"} | {"metadata": metadata})
    assert store.version == version


def test_a_status_of_a_new_pod_is_dropped(store: Store) -> None:
    made = store.create({**pod(), "status": {"phase": "Running"}})
    assert (made.get("status") or {}).get("phase") in (None, "Pending")


def test_a_pod_is_bound_once(store: Store) -> None:
    store.create(pod())
    got = store.bind(POD, "n1", {"gpu": "0"})
    assert got["spec"]["nodeName"] == "n1" and got["metadata"]["annotations"] == {"gpu": "0"}
    assert refusal(lambda: store.bind(POD, "n2", {})) == "Conflict"


def test_a_pod_on_a_node_goes_in_two_steps_any_other_at_once(store: Store) -> None:
    store.create(pod())
    store.create(pod("bound"))
    bound = POD._replace(name="bound")
    store.bind(bound, "n1", {})
    store.delete(POD)
    store.delete(bound)
    left = store.get(bound)
    assert store.get(POD) is None and left is not None and left["metadata"]["deletionTimestamp"]
    store.delete(bound, now=True)
    assert store.get(bound) is None
    assert refusal(lambda: store.delete(bound)) == "NotFound"


def test_finalizers_hold_an_object_back(store: Store) -> None:
    key = Ref("ConfigMap", "default", "c")
    store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "finalizers": ["x/y"]}})
    store.delete(key, now=True)
    held = store.get(key)
    assert held is not None and held["metadata"]["deletionTimestamp"]
    store.patch(key, {"metadata": {"finalizers": None}})
    assert store.get(key) is None


def test_a_watch_tells_every_change_once_in_order(store: Store) -> None:
    start = store.version
    made = store.create(pod())
    changed = store.patch_status(POD, {"phase": "Running"})
    store.delete(POD)
    changes = store.watch(start)
    assert [(c.key, c.before, c.after) for c in changes] == [
        (POD, None, made),
        (POD, made, changed),
        (POD, changed, None),
    ]
    assert [c.version for c in changes] == sorted(c.version for c in changes)
    assert list(store.watch(changes[0].version)) == list(changes[1:])
    assert list(store.watch(store.version)) == []


def test_no_write_changes_what_was_handed_out_or_in(store: Store) -> None:
    data = pod()
    given = copy.deepcopy(data)
    made = store.create(data)
    kept = copy.deepcopy(made)
    store.patch(POD, {"metadata": {"labels": {"a": "1"}}, "spec": {"activeDeadlineSeconds": 1}})
    store.patch_status(POD, {"phase": "Running"})
    store.bind(POD, "n", {"a": "b"})
    assert data == given and made == kept


def test_a_watch_from_a_forgotten_version_fails() -> None:
    store = MemoryStore(VirtualClock())
    store.create(pod())
    store.forget(store.version)
    assert refusal(lambda: store.watch(0)) == "Expired"


def test_kinds_of_two_groups_are_told_apart() -> None:
    store = MemoryStore(VirtualClock())
    store.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"}})
    assert store.get(Ref("Job", "default", "j")) is None
    assert store.get(Ref("Job.batch", "default", "j")) is not None


def test_pods_are_bound_together_each_on_its_own(store: Store) -> None:
    keys = [POD._replace(name=name) for name in ("p", "q", "r")]
    for key in keys:
        store.create(pod(key.name))
    store.bind(keys[1], "n9", {})
    gone = POD._replace(name="never")
    outcomes = store.bind_all([Binding(key, "n1", {"gpu": "0"}) for key in (*keys, gone)])
    reasons = [getattr(one, "reason", one) for one in outcomes]
    assert reasons == [None, "Conflict", None, "NotFound"]
    assert [one["spec"]["nodeName"] for one in store.list("Pod")] == ["n1", "n9", "n1"]


def test_a_pod_that_was_made_anew_is_another_pod(store: Store) -> None:
    first = store.create(pod())
    store.bind(POD, "n1", {})
    store.delete(POD, now=True)
    second = store.create(pod())
    assert second["metadata"]["uid"] != first["metadata"]["uid"] and not second["spec"].get("nodeName")
    assert store.list("Pod") == [second]
    assert store.bind(POD, "n2", {})["spec"]["nodeName"] == "n2"
