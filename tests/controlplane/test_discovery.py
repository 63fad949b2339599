"""The operator's discovery on a real API server: labels, a UFM and RoCE links, at their interval and as configured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.live import Live
from tests.controlplane.server import ControlPlane, started
from tests.loopback import PASSWORD, PORTS, USERNAME, Loopback, good, loopback, text
from workbench.live.kubernetes.apply import apply, apply_kinds

pytestmark = pytest.mark.slow

MAPS = "/api/v1/namespaces/volcano-system/configmaps"
SECRETS = "/api/v1/namespaces/volcano-system/secrets"
LINKS = {"version": 1, "links": [{"node": "n0", "leaf": "l0"}, {"node": "n1", "leaf": "l1"}]}
SOURCE = "volcano.sh/network-topology-source"


@pytest.fixture
def live(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Live]:
    """A cluster with two nodes of different racks, and a HyperNode that somebody made by hand."""
    with started(tmp_path / "server") as plane:
        cluster = Live(plane, tmp_path)
        apply_kinds(cluster.writer)
        plane.create({"metadata": {"name": "volcano-system"}}, "/api/v1/namespaces")
        nodes = [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}", "labels": {"rack": f"r{i}"}}}
            for i in range(2)
        ]
        members = [{"type": "Node", "selector": {"exactMatch": {"name": "n0"}}}]
        kind = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode"}
        own = {**kind, "metadata": {"name": "by-hand"}, "spec": {"tier": 1, "members": members}}
        apply(cluster.writer, [*nodes, own])
        yield cluster
        cluster.close()


def configure(live: Live, *sources: dict[str, Any]) -> None:
    """Write the ConfigMap of Volcano's controller."""
    written = {"volcano-controller.conf": json.dumps({"networkTopologyDiscovery": sources})}
    data = {"metadata": {"name": "volcano-controller-configmap"}, "data": written}
    if live.plane.ask("PUT", f"{MAPS}/volcano-controller-configmap", data)[0] == 404:
        live.plane.create(data, MAPS)


def give_secret(live: Live) -> None:
    data = {"metadata": {"name": "ufm"}, "stringData": {"username": USERNAME, "password": PASSWORD}}
    live.plane.create(data, SECRETS)


def ufm(server: Loopback, **more: Any) -> dict[str, Any]:
    reference = {"secretRef": {"name": "ufm", "namespace": "volcano-system"}}
    settings = {"source": "ufm", "enabled": True, "interval": "1s", "credentials": reference}
    return {**settings, "config": {"endpoint": server.url}, **more}


def found(live: Live, source: str) -> dict[str, list[str]]:
    """Members of the HyperNodes of a source, by name."""
    return {
        one["metadata"]["name"]: [member["selector"]["exactMatch"]["name"] for member in one["spec"]["members"]]
        for one in live.list("HyperNode")
        if (one["metadata"].get("labels") or {}).get(SOURCE) == source
    }


def test_a_ufm_is_asked_at_its_interval_and_only_its_own_hypernodes_change(live: Live) -> None:
    before = {"leaf-hn-0": ["n0", "n1"], "leaf-hn-1": ["n2"], "spine-hn": ["leaf-hn-0", "leaf-hn-1"]}
    give_secret(live)
    with loopback(good) as server:
        live.operator()
        configure(live, ufm(server))
        live.until(lambda: found(live, "ufm") == before, "HyperNodes of the ports")
        kept = live.plane.ask("GET", "/apis/topology.volcano.sh/v1alpha1/hypernodes/leaf-hn-0")[1]["metadata"]
        asked = len(server.paths)
        live.until(lambda: len(server.paths) > asked + 2, "further rounds")
        after = live.plane.ask("GET", "/apis/topology.volcano.sh/v1alpha1/hypernodes/leaf-hn-0")[1]["metadata"]
        assert after["generation"] == kept["generation"], "what is found again is not written again"
        server.reply = text("busy", 503)
        live.until(lambda: any("503" in line for line in live.lines), "the failed round to be told")
        assert found(live, "ufm") == before
        server.reply = text(json.dumps(PORTS[:1]))
        live.until(lambda: found(live, "ufm") == {"leaf-hn-0": ["n0"], "spine-hn": ["leaf-hn-0"]}, "fewer HyperNodes")
        server.reply = text("[]")
        live.until(lambda: found(live, "ufm") == {}, "an empty fabric to have none")
    assert [one["metadata"]["name"] for one in live.list("HyperNode")] == ["by-hand"]
    assert not any(PASSWORD in line for line in live.lines)


def test_every_change_of_the_configuration_counts_without_a_restart(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.control.reconcilers.discovery._RETRY_S", 0.5)
    types = {"networkTopologyTypes": {"fabric": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}}
    labels = {"source": "label", "enabled": True, "interval": "1s", "config": types}
    with loopback(good) as server:
        live.operator()
        configure(live, {**ufm(server), "enabled": False}, labels)
        live.until(lambda: sorted(found(live, "label").values()) == [["n0"], ["n1"]], "HyperNodes of the labels")
        (name, *_) = found(live, "label")
        patch = {"spec": {"tier": 7}}
        one = f"/apis/topology.volcano.sh/v1alpha1/hypernodes/{name}"
        live.plane.ask("PATCH", one, patch, kind="application/merge-patch+json")
        live.until(lambda: live.plane.ask("GET", one)[1]["spec"]["tier"] == 1, "the next round to correct it")
        assert server.paths == [], "a source that is not enabled is not asked"
        configure(live, ufm(server), {**labels, "enabled": False})
        live.until(lambda: any("credentials are not configured" in line for line in live.lines), "the missing Secret")
        assert server.paths == [] and found(live, "label")
        give_secret(live)
        live.until(lambda: len(found(live, "ufm")) == 3, "HyperNodes of the ports once the Secret is there")
        server.reply = text(json.dumps(LINKS))
        configure(live, {"source": "roce", "enabled": True, "interval": "1s", "config": {"endpoint": server.url}})
        wanted = {"roce-leaf-l0": ["n0"], "roce-leaf-l1": ["n1"]}
        live.until(lambda: found(live, "roce") == wanted, "HyperNodes of the links")
        live.plane.ask("DELETE", f"{MAPS}/volcano-controller-configmap")
        live.until(lambda: not asks_within(server, 2.5), "the sources to stop")
    assert len(found(live, "ufm")) == 3 and len(found(live, "label")) == 2, "what a source found stays when it stops"


def asks_within(server: Loopback, seconds: float) -> bool:
    """Whether the server is asked in the seconds to come."""
    before = len(server.paths)
    server.over.wait(seconds)
    return len(server.paths) > before
