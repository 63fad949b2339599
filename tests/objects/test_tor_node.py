from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.objects.kinds import ClusterObjects
from workbench.objects.tor_node import Tor, TorNodeTable, TorServer, as_payload, parse_tor_node


def payload() -> dict[str, Any]:
    return {
        "version": "1.0",
        "tor_count": 2,
        "server_list": [
            {
                "tor_id": i,
                "tor_ip": f"1.0.0.{i}",
                "server": [{"server_ip": f"2.0.{i}.{k}", "npu_count": 8, "slice_id": k} for k in range(2)],
            }
            for i in range(2)
        ],
    }


def config_map(payload: Any, **more: str) -> dict[str, Any]:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    metadata = {"name": "basic-tor-node-cm", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"tor_info": text, **more}}


def changed(path: str, value: Any) -> dict[str, Any]:
    data: Any = payload()
    *way, last = [int(p) if p.isdigit() else p for p in path.split("/")]
    place = data
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return data


def test_the_table_is_read_in_its_order():
    table = parse_tor_node(json.dumps(changed("server_list/1/IsSharedTor", 1)), "f")
    assert table.nodes_per_tor == 2
    assert [tor.name for tor in table.tors] == ["tor-0", "tor-1"]
    assert [tor.shared for tor in table.tors] == [0, 1]
    assert table.tors[1].servers[1] == TorServer("2.0.1.1", 8, 1)


@pytest.mark.parametrize(
    ("path", "value", "want"),
    [
        ("tor_count", 1, r"f: tor_count: .*found 1, but 2 servers in server_list\[0\]"),
        ("tor_count", None, "tor_count: the field is missing"),
        ("tor_count", "2", "tor_count: wrong type or value .*found text '2'"),
        ("tor_count", 0, "tor_count: wrong type"),
        ("server_list", None, "server_list: the field is missing"),
        ("server_list", {}, "server_list: wrong type or value .*found a mapping"),
        ("server_list/1/server/0/server_ip", "2.0.0.1", r"server_list\[1\].server\[0\].server_ip: the node 2.0.0.1 is"),
        ("server_list/0/server/1/server_ip", "2.0.0.0", "the node 2.0.0.0 is listed twice"),
        ("server_list/0/server/1/server_ip", "", "server_ip: wrong type"),
        ("server_list/0/server/1/server_ip", None, "server_ip: the field is missing"),
        ("server_list/0/server/1/slice_id", 0, r"server\[1\].slice_id: two servers at one position"),
        ("server_list/0/server/1/slice_id", 2, "slice_id: a position beyond tor_count"),
        ("server_list/0/server/1/slice_id", -1, "slice_id: wrong type"),
        ("server_list/0/server/1/npu_count", 1 << 20, "npu_count: wrong type or value"),
        ("server_list/1/tor_id", 0, r"server_list\[1\].tor_id: the same tor_id twice"),
        ("server_list/1/tor_ip", "1.0.0.0", r"server_list\[1\].tor_ip: the same tor_ip twice"),
        ("server_list/0/IsSharedTor", 3, "IsSharedTor: wrong type"),
        ("server_list/0/IsHealthy", True, "IsHealthy: wrong type"),
    ],
)
def test_a_bad_payload_is_refused_with_key_and_reason(path, value, want):
    with pytest.raises(InputError, match=want):
        parse_tor_node(changed(path, value), "f")


@pytest.mark.parametrize(
    ("text", "want"),
    [("{", "f: line 1, column 2: not JSON"), ("[]", "f: not a switch table"), ("[" * 100_000, "f: not JSON")],
)
def test_what_is_no_json_object_is_refused(text, want):
    with pytest.raises(InputError, match=want):
        parse_tor_node(text, "f")


class TestTheConfigMap:
    def test_it_is_read_by_its_name(self):
        cluster = ClusterObjects()
        cluster.add(config_map(payload(), tor_level="single_layer"))
        other = copy.deepcopy(config_map("{"))
        other["metadata"]["name"] = "another"
        cluster.add(other)
        assert cluster.tor_nodes["kube-system/basic-tor-node-cm"].table.level == "single_layer"
        assert cluster.ignored == {"ConfigMap": 1}

    @pytest.mark.parametrize(
        ("data", "want"),
        [
            (config_map("{nonsense"), r"data.tor_info, line 1, column 2: not JSON"),
            (config_map(changed("tor_count", 1)), "data.tor_info.tor_count"),
            (config_map(payload(), tor_level="three"), "data.tor_level: wrong type or value"),
            ({**config_map(payload()), "data": {}}, "data.tor_info: the field is missing"),
            ({**config_map(payload()), "data": {"tor_info": {}}}, "data.*tor_info.*wrong type"),
        ],
    )
    def test_a_bad_one_is_refused_with_its_key(self, data, want):
        with pytest.raises(InputError, match=want):
            ClusterObjects().add(data)


def tables() -> st.SearchStrategy[TorNodeTable]:
    sizes = st.lists(st.integers(0, 4), max_size=4)
    return st.builds(_table, sizes, st.integers(0, 3), st.sampled_from(["", "single_layer"]), st.data())


def _table(sizes: list[int], spare: int, level: str, data: st.DataObject) -> TorNodeTable:
    per_tor = max([1, *sizes]) + spare
    tors = []
    for i, size in enumerate(sizes):
        places = data.draw(st.permutations(range(per_tor)))[:size]
        servers = tuple(TorServer(f"10.0.{i}.{k}", data.draw(st.integers(0, 16)), k) for k in places)
        address = data.draw(st.sampled_from(["", f"1.0.0.{i}"]))
        tors.append(Tor(i, address, servers, data.draw(st.integers(0, 2)), data.draw(st.integers(0, 1))))
    return TorNodeTable(tuple(tors), per_tor, level)


@given(tables())
def test_a_table_is_read_back_as_it_was_written(table):
    assert parse_tor_node(json.dumps(as_payload(table)), level=table.level) == table
