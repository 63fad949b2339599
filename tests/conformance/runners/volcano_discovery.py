"""Runner of the discovery cases: `cases/volcano-topology/discovery-*.json` and `controller*.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest

from tests.conformance.registry import Runners
from tests.conformance.runners.volcano_tree import hypernode_manifest, hypernode_of
from workbench.errors import ClusterError, InputError
from workbench.formats.discovery_conf import discovery_config_of
from workbench.live.credentials import credentials_of_secret
from workbench.live.fabric import UfmServer
from workbench.live.http import Access
from workbench.objects.discovery import config_map_name, read_topology_types
from workbench.objects.hypernode import HyperNode, node_count, read_hypernode
from workbench.objects.selectors import NameIndex
from workbench.topology.discovery.label import discover_label
from workbench.topology.discovery.reconcile import reconcile
from workbench.topology.discovery.result import DiscoveryResult

_CODE = re.compile(r"<random5 #\d+>")


def register(runners: Runners) -> None:
    """Add the operations of discovery and of the controller to the area's runners."""
    runners.op(
        "discovery-label",
        "discover-label",
        given=("networkTopologyTypes", "nodes", "existing_hypernodes"),
        want=("hypernode_count", "hypernodes"),
    )(label)
    runners.op(
        "discovery-label",
        "discover-sequence",
        given=("networkTopologyTypes", "label", "nodes", "steps"),
        want=("after_each_step",),
    )(sequence)
    runners.op(
        "discovery-ufm",
        "discover-ufm",
        given=("endpoint", "secret_ref", "secret_exists", "secret_keys", "response"),
        want=("start_error", "error_contains", "sent", "hypernodes"),
    )(ufm)
    runners.op(
        "controller",
        "reconcile",
        given=("existing", "result"),
        want=("names", "members", "labels", "acknowledged"),
    )(reconciled)
    runners.op(
        "controller",
        "node-count",
        given=("hypernode", "nodes", "status_write_error"),
        want=("error", "nodeCount"),
    )(counted)
    runners.op("controller-config", "load-config", given=("configmap",), want=("sources", "error_contains"))(load)
    runners.op("controller-config", "config-name", given=("env",), want=("namespace", "name"))(config_name)


def label(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Names are compared with the five random characters of the case put in for ours."""
    existing = [hypernode_of({"tier": 1, "members": [], **entry}) for entry in given["existing_hypernodes"]]
    found = discover(given["networkTopologyTypes"], labels_of(given["nodes"]), existing)
    if want["hypernode_count"] is not None:
        assert len(found) == want["hypernode_count"]
    if want["hypernodes"] is not None:
        assert shown(found, names_of_the_case(found, want["hypernodes"])) == expected(want["hypernodes"])


def names_of_the_case(found: Sequence[HyperNode], want: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Our name -> the case's, where both have the same labels and differ in the random characters alone."""
    renamed = {}
    for entry in want:
        pattern = "[a-z0-9]{5}".join(map(re.escape, _CODE.split(entry["name"])))
        for hypernode in found:
            if dict(hypernode.metadata.labels) == entry["labels"] and re.fullmatch(pattern, hypernode.name):
                renamed[hypernode.name] = entry["name"]
    return renamed


def shown(found: Sequence[HyperNode], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        names.get(h.name, h.name): (
            h.tier,
            h.tier_name,
            dict(h.metadata.labels),
            sorted((m.type, names.get(m.selector.exact or "", m.selector.exact)) for m in h.members),
        )
        for h in found
    }


def expected(want: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        entry["name"]: (
            entry["tier"],
            entry.get("tierName", ""),
            entry["labels"],
            sorted((member["type"], member["exactMatch"]) for member in entry["members"]),
        )
        for entry in want
    }


def sequence(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Each step changes labels, discovers and reconciles with what the step before left."""
    nodes = labels_of(given["nodes"])
    key = given["label"]
    manifests: dict[str, Mapping[str, Any]] = {}
    for step, want_after in zip(given["steps"], want["after_each_step"], strict=True):
        for node, value in step["set_label"].items():
            others = {name: text for name, text in nodes[node].items() if name != key}
            nodes[node] = {**others, key: value} if value else others
        existing = [read_hypernode(data) for data in manifests.values()]
        result = discover_label(types_of(given["networkTopologyTypes"]), nodes, existing)
        after = reconcile(result, existing).apply(manifests)
        manifests = {data["metadata"]["name"]: data for data in after}
        index = NameIndex(list(nodes), list(nodes.values()))
        found = [
            {
                "label_value": h.metadata.labels[key],
                "tier": h.tier,
                "tierName": h.tier_name,
                "members": [{"type": m.type, "exactMatch": m.selector.exact} for m in h.members],
                "nodeCount": node_count(h, index),
            }
            for h in map(read_hypernode, after)
        ]
        assert sorted(found, key=str) == sorted(want_after, key=str)


def discover(types: Mapping[str, Any], nodes: Mapping[str, Any], existing: Sequence[HyperNode]) -> Sequence[HyperNode]:
    found = discover_label(types_of(types), nodes, existing).hypernodes
    assert found is not None
    return found


def types_of(types: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """As the configuration writes them."""
    written = {name: [{"nodeLabel": key} for key in keys] for name, keys in types.items()}
    return read_topology_types({"networkTopologyTypes": written})


def labels_of(nodes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    return {node["name"]: dict(node.get("labels") or {}) for node in nodes}


def ufm(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The server's answer comes over httpx's own stand-in for a network; nothing sent is an error of ours."""
    secret = {key: f"the {key}" for key in given["secret_keys"]} if given["secret_exists"] else None
    credentials = credentials_of_secret(secret) if given["secret_ref"] else None
    access = Access(credentials, transport=httpx.MockTransport(lambda request: answer(request, given["response"])))
    if want["start_error"]:
        with pytest.raises(InputError) as start:
            UfmServer(given["endpoint"], access)
        assert (want["error_contains"] or "") in str(start.value)
        return
    server = UfmServer(given["endpoint"], access)
    if not want["sent"]:
        with pytest.raises((ClusterError, InputError)):
            server.discover()
        return
    found = server.discover().hypernodes
    assert found is not None
    if want["hypernodes"] is not None:
        assert shown(found, {}) == expected(want["hypernodes"])
        written = {entry["name"]: [member["exactMatch"] for member in entry["members"]] for entry in want["hypernodes"]}
        assert {h.name: [m.selector.exact for m in h.members] for h in found} == written


def answer(request: httpx.Request, response: Mapping[str, Any]) -> httpx.Response:
    assert request.url.path == "/ufmRest/resources/ports"
    assert request.headers["Authorization"].startswith("Basic ")
    body = response["body"]
    text = body if isinstance(body, str) else json.dumps(body)
    return httpx.Response(response["status"], content=iter([text.encode()]))


def reconciled(given: dict[str, Any], want: dict[str, Any]) -> None:
    """A result is acknowledged by being worked off: every result, also null, gives a plan."""
    manifests = {entry["name"]: hypernode_manifest({"tier": 1, "members": [], **entry}) for entry in given["existing"]}
    found = given["result"]["hypernodes"]
    hypernodes = None if found is None else tuple(hypernode_of({"tier": 1, "members": [], **entry}) for entry in found)
    result = DiscoveryResult(given["result"]["source"], hypernodes)
    plan = reconcile(result, [read_hypernode(data) for data in manifests.values()])
    after = {h.name: h for h in map(read_hypernode, plan.apply(manifests))}
    assert sorted(after) == sorted(want["names"])
    for name, members in want["members"].items():
        assert after[name].members == hypernode_of({"name": name, "tier": 1, "members": members}).members
    for name, labels in want["labels"].items():
        assert dict(after[name].metadata.labels) == labels
    assert want["acknowledged"] in (None, True)


def counted(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Writing the status is the API's part; a count has no error of its own, and a HyperNode that is gone has none."""
    nodes = labels_of(given["nodes"])
    index = NameIndex(list(nodes), list(nodes.values()))
    count = None if given["hypernode"] is None else node_count(hypernode_of(given["hypernode"]), index)
    if given["status_write_error"]:
        assert want["error"] and want["nodeCount"] in (None, count)
    else:
        assert (count, False) == (want["nodeCount"], want["error"])


def load(given: dict[str, Any], want: dict[str, Any]) -> None:
    if want["sources"] is None:
        with pytest.raises(InputError) as error:
            discovery_config_of(given["configmap"])
        assert (want["error_contains"] or "") in str(error.value)
        return
    found = [
        {
            "source": source.source,
            "enabled": source.enabled,
            "interval_seconds_effective": source.interval_s,
            "config": dict(source.config),
        }
        for source in discovery_config_of(given["configmap"]).sources
    ]
    assert found == want["sources"]


def config_name(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert config_map_name(given["env"]) == (want["namespace"], want["name"])
