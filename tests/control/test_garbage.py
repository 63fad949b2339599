"""The garbage collector where the watch of one kind lags behind that of another."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.memory_store import MemoryStore
from workbench.control.reconcilers.garbage import GarbageCollector
from workbench.control.store import StoreChange
from workbench.model.clock import VirtualClock

NODE, POD, GROUP = Ref("Node", "", "n0"), Ref("Pod", "default", "p"), Ref("PodGroup", "default", "g")


class Lagging(MemoryStore):
    """A store whose `get` does not know `unseen` objects yet, as the mirror of an API server."""

    unseen: frozenset[Ref] = frozenset()

    def get(self, key: Ref) -> Any:
        """None for what the watch has not told yet."""
        return None if key in self.unseen else super().get(key)

    def latest(self, key: Ref) -> Any:
        """Every object."""
        return super().get(key)


def pod(**metadata: Any) -> dict[str, Any]:
    spec = {"nodeName": "n0", "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", **metadata}, "spec": spec}


def group(api_version: str = "v1", kind: str = "Pod", name: str = "p", uid: str = "") -> dict[str, Any]:
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "ownerReferences": [owner]},
    }


@pytest.fixture
def store() -> Lagging:
    made = Lagging(VirtualClock())
    made.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}})
    return made


@pytest.fixture
def collector(store: Lagging) -> GarbageCollector:
    return GarbageCollector(store, VirtualClock(), EventLog())


def tell(collector: GarbageCollector, store: Lagging, *keys: Ref) -> None:
    """The collector hears of objects that exist, and does the work that this makes."""
    for key in keys:
        found = store.latest(key)
        assert found is not None
        work(collector, StoreChange.of_existing(found, store.version))


def work(collector: GarbageCollector, change: StoreChange) -> None:
    for key in collector.observe(change):
        collector.reconcile(key)


def test_an_object_that_is_seen_before_its_owner_stays_until_the_owner_goes(
    store: Lagging, collector: GarbageCollector
) -> None:
    owner = store.create(pod())
    store.create(group(uid=owner["metadata"]["uid"]))
    store.unseen = frozenset({POD})
    tell(collector, store, GROUP)
    assert store.latest(GROUP) is not None
    store.unseen = frozenset()
    store.delete(POD, now=True)
    work(collector, StoreChange(store.version, POD, owner, None))
    assert store.latest(GROUP) is None


@pytest.mark.parametrize("uid", ["another", ""])
def test_an_owner_of_the_same_name_with_another_uid_is_none(
    store: Lagging, collector: GarbageCollector, uid: str
) -> None:
    store.create(pod())
    store.create(group(uid=uid))
    tell(collector, store, GROUP)
    assert store.latest(GROUP) is None


def test_an_owner_that_never_existed_is_gone(store: Lagging, collector: GarbageCollector) -> None:
    store.create(group(name="other", uid="x"))
    tell(collector, store, GROUP)
    assert store.latest(GROUP) is None


def test_an_owner_of_an_unknown_kind_counts_as_existing(store: Lagging, collector: GarbageCollector) -> None:
    store.create(group("kubeflow.org/v1", "PyTorchJob", uid="x"))
    tell(collector, store, GROUP)
    assert store.latest(GROUP) is not None


def test_a_node_can_be_an_owner(store: Lagging, collector: GarbageCollector) -> None:
    node = store.get(NODE)
    store.create(group(kind="Node", name="n0", uid=node["metadata"]["uid"]))
    tell(collector, store, GROUP)
    assert store.latest(GROUP) is not None
    store.delete(NODE)
    work(collector, StoreChange(store.version, NODE, node, None))
    assert store.latest(GROUP) is None


def test_a_pod_that_is_seen_before_its_node_is_not_lost(store: Lagging, collector: GarbageCollector) -> None:
    store.create(pod())
    store.unseen = frozenset({NODE})
    tell(collector, store, POD)
    assert store.latest(POD) is not None
    store.unseen = frozenset()
    node = store.get(NODE)
    store.delete(NODE)
    work(collector, StoreChange(store.version, NODE, node, None))
    assert store.latest(POD) is None
