"""Tables of cables between servers and the leaves of their rails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notices import said
from workbench.errors import InputError
from workbench.formats.fabric.rail_cables import read_rail_cables
from workbench.formats.fabric.registry import detect_format
from workbench.formats.load import load

CABLES = """\
server,nic,leaf,speed_gb_s
a,0,Leaf-9,25
a,1,Leaf-10,25
b,0,Leaf-9,25
b,1,Leaf-10,25
c,0,Leaf-11,25
c,1,Leaf-12,25
"""


def test_servers_on_the_same_leaves_are_a_group() -> None:
    records = read_rail_cables(CABLES, "t.csv")
    assert {h.name: (h.tier, h.tier_name, [m.selector.exact for m in h.members]) for h in records.hypernodes} == {
        "rails-Leaf-9": (1, "rail group", ["a", "b"]),
        "rails-Leaf-11": (1, "rail group", ["c"]),
        "spines": (2, "spines", ["rails-Leaf-11", "rails-Leaf-9"]),
    }
    assert [node.name for node in records.nodes] == ["a", "b", "c"]
    found = detect_format(CABLES, "t.csv")
    assert found is not None and found.name == "rail-cables"


def test_service_hosts_are_no_nodes_and_a_slow_cable_is_told() -> None:
    text = CABLES.replace("c,1,Leaf-12,25", "c,1,Leaf-12,12.5") + "login01,0,Leaf-9,25\n"
    records = read_rail_cables(text, "t.csv")
    assert [node.name for node in records.nodes] == ["a", "b", "c"]
    assert said(records.notes) == (
        "1 cable from leaves to servers slower than the 6 others, which run at 25 GB/s: Leaf-12 - c at 12.5 GB/s",
        "storage and management, not nodes: login01",
    )
    with pytest.raises(InputError, match="line 2, speed_gb_s"):
        read_rail_cables(CABLES.replace("Leaf-9,25", "Leaf-9,fast", 1), "t.csv")


def test_one_group_has_nothing_above() -> None:
    (only,) = read_rail_cables("server,leaf\na,L1\nb,L1\n", "t.csv").hypernodes
    assert (only.name, only.tier) == ("rails-L1", 1)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("server,leaf\n", "no cable in the table"),
        ("server,nic\na,0\n", "no column leaf"),
        ("server,leaf\na,\n", "line 2, leaf"),
        ("server,leaf\na,L1\na,L2\nb,L2\n", "a leaf of two rail groups"),
        ("server,leaf\nspines,L1\nb,L2\n", "called like a HyperNode"),
        ("server,leaf\na,L1,x\n", "not a row of the table"),
    ],
)
def test_bad_tables(text: str, place: str) -> None:
    with pytest.raises(InputError, match=place):
        read_rail_cables(text, "t.csv")


def test_the_fabric_of_zhejiang_lab(public_data: Path) -> None:
    topology = load(public_data / "zhejiang" / "links.csv").snapshot.topology
    groups = {topology.domain_names[int(d)]: len(topology.nodes_of(int(d))) for d in topology.domains_at(1)}
    sizes = {"rails-Leaf-1": 60, "rails-Leaf-5": 60, "rails-Leaf-9": 49, "rails-Leaf-13": 60, "rails-Leaf-17": 24}
    assert groups == sizes
    assert topology.tiers == (1, 2)
