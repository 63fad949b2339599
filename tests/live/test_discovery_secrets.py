"""Which Secrets the discovery of an operator reads, and where it sends them."""

from __future__ import annotations

import base64
import json
from concurrent.futures import Future
from typing import Any

import pytest

from workbench.control.event_log import EventLog
from workbench.control.kinds import Ref
from workbench.control.memory_store import MemoryStore
from workbench.control.reconcilers.discovery import Discovery
from workbench.control.store import StoreChange
from workbench.errors import InputError
from workbench.live.kubernetes.discovery_sources import discovery_asks
from workbench.model.clock import VirtualClock
from workbench.objects.discovery import DiscoverySource

MAP = Ref("ConfigMap", "volcano-system", "volcano-controller-configmap")


def secret(namespace: str) -> dict[str, Any]:
    data = {name: base64.b64encode(b"hush").decode() for name in ("username", "password")}
    metadata = {"name": "db", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


@pytest.mark.parametrize(
    ("namespace", "named", "read"),
    [
        ("volcano-system", (), True),
        ("kube-system", (), False),
        ("kube-system", (("kube-system", "other"),), False),
        ("kube-system", (("kube-system", "db"),), True),
    ],
)
def test_secrets_of_other_namespaces_are_read_only_where_somebody_names_them(
    namespace: str, named: tuple[tuple[str, str], ...], read: bool
) -> None:
    clock, log = VirtualClock(), EventLog()
    store = MemoryStore(clock)
    asked: list[Any] = []

    def ask(source: DiscoverySource, found: Any) -> Future[Any]:
        asked.append(found)
        return Future()

    store.create(secret(namespace))
    reference = {"secretRef": {"name": "db", "namespace": namespace}}
    source = {"source": "ufm", "enabled": True, "credentials": reference, "config": {"endpoint": "https://fabric"}}
    data = {"volcano-controller.conf": json.dumps({"networkTopologyDiscovery": [source]})}
    metadata = {"name": MAP.name, "namespace": MAP.namespace}
    store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    discovery = Discovery(store, clock, log, asks={"ufm": ask}, secrets=named)
    stored = store.get(MAP)
    assert stored is not None
    discovery.observe(StoreChange.of_existing(stored, store.version))
    discovery.reconcile(MAP)
    if read:
        assert [one["metadata"]["name"] for one in asked] == ["db"] and not log.lines
    else:
        assert asked == []
        assert f"the Secret {namespace}/db is not read" in log.lines[-1].message


@pytest.mark.parametrize("source", ["ufm", "roce"])
def test_passwords_are_not_sent_over_http(source: str) -> None:
    asks, told = discovery_asks(), discovery_asks(plain_http=True)
    settings = DiscoverySource(source, True, config={"endpoint": "http://fabric.invalid/links?key=hush"})
    with pytest.raises(InputError, match="user name and password are not sent over http") as caught:
        asks[source](settings, secret("x"))
    assert "hush" not in str(caught.value)
    for encrypted in ("https://127.0.0.1:1/links", "http://127.0.0.1:1/links"):
        settings = DiscoverySource(source, True, config={"endpoint": encrypted})
        asks[source](settings, secret("x")).exception(timeout=60)
    settings = DiscoverySource(source, True, config={"endpoint": "http://127.0.0.1:1/links"})
    told[source](settings, secret("x")).exception(timeout=60)
