"""Tables of hosts with their switches."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.formats.fabric.lingjun import read_lingjun
from workbench.formats.fabric.registry import detect_format
from workbench.topology.build import build_topology

TABLE = """\
ip,DSW,PSW,ASW
h1,G1,P1,S1
h2,G1,P1,S1
h3,G1,P2,S1

h4,G1,P2,S2
"""


def test_a_leaf_is_the_pair_of_pod_switch_and_access_switch() -> None:
    records = read_lingjun(TABLE, "t.csv")
    assert {h.name: (h.tier, h.tier_name, [m.selector.exact for m in h.members]) for h in records.hypernodes} == {
        "P1-S1": (1, "ASW", ["h1", "h2"]),
        "P2-S1": (1, "ASW", ["h3"]),
        "P2-S2": (1, "ASW", ["h4"]),
        "P1": (2, "PSW", ["P1-S1"]),
        "P2": (2, "PSW", ["P2-S1", "P2-S2"]),
        "G1": (3, "DSW", ["P1", "P2"]),
    }
    assert [node.name for node in records.nodes] == ["h1", "h2", "h3", "h4"]


def test_columns_may_stand_in_any_order_and_the_table_is_found_by_them() -> None:
    text = 'ASW,"host",PSW,DSW,rack\nS1,h1,P1,G1,r7\n'
    found = detect_format(text, "x")
    assert found is not None and found.name == "lingjun"
    assert {h.name for h in read_lingjun(text, "t.csv").hypernodes} == {"G1", "P1", "P1-S1"}


def test_a_pod_switch_under_two_distribution_switches_keeps_both_parents() -> None:
    records = read_lingjun("ip,DSW,PSW,ASW\na,G1,P1,S1\nb,G2,P1,S2\n", "t.csv")
    topology = build_topology(records.hypernodes, ["a", "b"])
    assert {problem.code for problem in topology.problems} == {"two-parents"}


BROKEN = {
    "other columns": ("ip,rack\na,b\n", "t.csv: line 1: not the columns of this table"),
    "a short row": (TABLE + "h5,G1\n", r"t\.csv: line 7: not a row of the table \(found 2 fields, expected 4\)"),
    "an empty field": (TABLE + "h5,,P1,S1\n", r"line 7: an empty field"),
    "a host twice": (TABLE + "h2,G1,P2,S2\n", r"line 7: a host listed twice \(found h2, also in line 3"),
    "one name for two leaves": (
        "ip,DSW,PSW,ASW\na,G,P-1,S\nb,G,P,1-S\n",
        r"line 3: two switches of one name.*ASW P-1 S and",
    ),
    "a pod switch called like a leaf": ("ip,DSW,PSW,ASW\na,G,P,S\nb,G,P-S,T\n", "line 3: two switches of one name"),
    "no host": ("ip,DSW,PSW,ASW\n", "no host in the table"),
    "an open quote": (TABLE + '"h5,G1,P1,S1\n', "line 7: not CSV"),
}


@pytest.mark.parametrize(("text", "want"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_table_is_refused_with_its_line(text: str, want: str) -> None:
    with pytest.raises(InputError, match=want):
        read_lingjun(text, "t.csv")
