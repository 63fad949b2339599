"""`ApiStore` beyond the contract of a store: what others change, and what a late watch must not undo."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.kubeconfigs import kubeconfig
from tests.controlplane.server import ControlPlane
from tests.waiting import until
from workbench.control.kinds import Ref
from workbench.errors import InternalError, StoreError
from workbench.live.kubernetes.api_store import ApiStore
from workbench.live.kubernetes.configuration import cluster_of
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.mirror import Mirror
from workbench.live.kubernetes.writer import Writer

pytestmark = pytest.mark.slow

POD = Ref("Pod", "store", "p")
PODS = "/api/v1/namespaces/store/pods"


def pod(name: str = "p", **metadata: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "store", **metadata},
        "spec": spec,
    }


@pytest.fixture
def plane(control_plane: ControlPlane) -> ControlPlane:
    control_plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "store"}})
    assert control_plane.ask("DELETE", PODS, {"gracePeriodSeconds": 0})[0] == 200
    return control_plane


@pytest.fixture
def store(plane: ControlPlane, tmp_path: Path) -> Iterator[ApiStore]:
    made = ApiStore(Writer(cluster_of(kubeconfig=kubeconfig(plane, tmp_path / "config"))), ["Pod", "HyperJob"])
    made.start()
    yield made
    made.close()


def seen(store: ApiStore | Mirror, holds: Callable[[], Any]) -> None:
    """Wait until `holds` returns true, while the store takes over what its watches learn."""

    def learned() -> Any:
        store.watch(store.version)
        return holds()

    until(learned, "the watch to tell")


def test_what_others_do_is_seen(store: ApiStore, plane: ControlPlane) -> None:
    start = store.version
    made = plane.create(pod(), PODS)
    seen(store, lambda: store.get(POD))
    plane.ask("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "1"}}}, kind="application/merge-patch+json")
    seen(store, lambda: (store.get(POD) or made)["metadata"].get("labels"))
    plane.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    seen(store, lambda: store.get(POD) is None)
    changes = [one for one in store.watch(start) if one.key == POD]
    assert changes[0].before is None and changes[-1].after is None
    labelled = changes[1]
    assert labelled.before is not None and labelled.after is not None
    assert labelled.after["spec"] is labelled.before["spec"], "equal parts are shared, so readers see what changed"


def test_own_writes_are_told_once(store: ApiStore) -> None:
    start = store.version
    store.create(pod())
    store.patch_status(POD, {"phase": "Running"})
    store.delete(POD, now=True)
    store.create(pod("later"))
    time.sleep(0.5)
    changes = [one for one in store.watch(start) if one.key == POD]
    assert [(one.before is None, one.after is None) for one in changes] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert store.get(POD) is None


def test_news_older_than_a_binding_does_not_take_the_node_away(store: ApiStore, plane: ControlPlane) -> None:
    store.create(pod())
    # Another client changes the pod; its event waits, not yet taken over, while the pod is bound.
    plane.ask("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "1"}}}, kind="application/merge-patch+json")
    time.sleep(0.3)
    start = store.version
    store.bind(POD, "n1", {"gpu": "0"})
    seen(store, lambda: (store.get(POD) or {})["metadata"].get("labels"))
    nodes = [one.after["spec"].get("nodeName") for one in store.watch(start) if one.key == POD and one.after]
    assert nodes and set(nodes) == {"n1"}


def test_a_pod_that_was_made_anew_meanwhile_is_not_bound(store: ApiStore, plane: ControlPlane) -> None:
    store.create(pod())
    plane.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    plane.create(pod(), PODS)
    with pytest.raises(StoreError) as caught:
        store.bind(POD, "n1", {})
    assert caught.value.reason == "Conflict"
    assert "nodeName" not in plane.ask("GET", f"{PODS}/p")[1]["spec"]


def test_a_status_that_another_client_changes_at_the_same_time_is_written(store: ApiStore, plane: ControlPlane) -> None:
    store.create(pod())
    store.patch_status(POD, {"message": "old"})
    json_patch = [{"op": "remove", "path": "/status/message"}]
    assert plane.ask("PATCH", f"{PODS}/p/status", json_patch, kind="application/json-patch+json")[0] == 200
    got = store.patch_status(POD, {"phase": "Running", "message": None})
    assert got["status"]["phase"] == "Running" and "message" not in got["status"]


def test_a_kind_that_is_not_served_is_a_gap_and_empty(store: ApiStore) -> None:
    if "HyperJob" not in store.gaps:
        pytest.skip("an earlier test of this server applied the CRD of HyperJobs")
    assert store.list("HyperJob") == [] and store.gaps["HyperJob"].code == "kind-not-served"


def test_a_reader_mirrors_but_cannot_write(plane: ControlPlane, tmp_path: Path) -> None:
    connection = Connection(cluster_of(kubeconfig=kubeconfig(plane, tmp_path / "config")))
    mirror = Mirror(connection, ["Pod"])
    mirror.start()
    plane.create(pod(), PODS)
    seen(mirror, lambda: mirror.get(POD))
    with pytest.raises(InternalError, match="does not write"):
        connection._asked("DELETE", f"{PODS}/p", {}, None)
    mirror.close()
