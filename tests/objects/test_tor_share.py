from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.errors import InputError
from workbench.objects.kinds import ClusterObjects
from workbench.objects.tor_share import TorShare, TorShareNode, parse_tor_share, share_payload

PAYLOAD = {
    "10.0.0.1": {"IsHealthy": 0, "IsSharedTor": 2, "nodes": [{"NodeIp": "2.0.0.1", "NodeName": "a", "JobName": ["j"]}]},
    "10.0.0.2": {"IsHealthy": 1, "IsSharedTor": 1, "nodes": []},
}


def config_map(text: Any) -> dict[str, Any]:
    metadata = {"name": "tor-share-cm", "namespace": "volcano-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"global-tor-info": text}}


def test_states_and_jobs_are_read_and_written_alike() -> None:
    cluster = ClusterObjects()
    cluster.add(config_map(json.dumps(PAYLOAD)))
    (config,) = cluster.tor_shares.values()
    assert config.switches == {
        "10.0.0.1": TorShare(2, 0, (TorShareNode("2.0.0.1", "a", ("j",)),)),
        "10.0.0.2": TorShare(1, 1),
    }
    assert share_payload(config.switches) == PAYLOAD


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("{", "data.global-tor-info: not JSON"),
        ("[]", "data.global-tor-info: not the state of switches"),
        ('{"a": 1}', r"data.global-tor-info\['a'\]"),
        ('{"a": {"IsSharedTor": 3, "IsHealthy": 0}}', "IsSharedTor"),
        ('{"a": {"IsSharedTor": 1}}', "IsHealthy: the field is missing"),
        ('{"a": {"IsSharedTor": 1, "IsHealthy": 0, "nodes": [{"JobName": [1]}]}}', r"nodes\[0\].JobName"),
        (
            '{"a": {"IsSharedTor": 1, "IsHealthy": 0, "nodes": [{"NodeIp": "1.1"}]},'
            ' "b": {"IsSharedTor": 1, "IsHealthy": 0, "nodes": [{"NodeIp": "1.1"}]}}',
            r"\['b'\].nodes\[0\]: the node 1.1 is listed twice \(found the same node as .*\['a'\].nodes\[0\]",
        ),
        ("", "data.global-tor-info"),
    ],
)
def test_a_bad_one_is_refused_with_its_key(text: str, want: str) -> None:
    with pytest.raises(InputError, match=want):
        ClusterObjects().add(config_map(text))


def test_deep_nesting_is_no_crash() -> None:
    with pytest.raises(InputError, match="not JSON"):
        parse_tor_share("[" * 100_000)
