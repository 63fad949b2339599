"""Ports to HyperNodes: the rule is held to the conformance cases; here what the cases do not show."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notices import said
from workbench.errors import InputError
from workbench.topology.discovery.reconcile import reconcile
from workbench.topology.discovery.ufm import discover_ufm, read_ufm_ports


def port(node: str, leaf: str | None, description: str = "Computer IB Port") -> dict[str, Any]:
    return {"description": description, "system_name": node, "peer_node_name": leaf, "tier": 1, "dname": "HCA-1/1"}


def test_unplugged_and_nameless_ports_are_noted() -> None:
    result = discover_ufm(read_ufm_ports([port("n0", ""), port("n1", None), port("", "leaf0"), port("n2", "leaf1")]))
    assert result.hypernodes is not None
    assert [(h.name, [m.selector.exact for m in h.members]) for h in result.hypernodes] == [
        ("leaf-hn-0", ["n0", "n1"]),
        ("leaf-hn-1", ["n2"]),
        ("spine-hn", ["leaf-hn-0", "leaf-hn-1"]),
    ]
    assert said(result.notes) == (
        "ports without system_name are left out: 1",
        "ports without peer_node_name hang on one leaf without a name, as in Volcano: 2",
    )


@pytest.mark.parametrize("data", [None, [], [None], [port("sw0", "sw1", "Switch IB Port")]])
def test_no_port_of_a_node_is_an_empty_result(data: Any) -> None:
    assert discover_ufm(read_ufm_ports(data)).hypernodes == ()


def test_a_new_group_shifts_the_numbers() -> None:
    before = discover_ufm(read_ufm_ports([port("n1", "leaf1"), port("n2", "leaf2")]))
    after = discover_ufm(read_ufm_ports([port("n0", "leaf0"), port("n1", "leaf1"), port("n2", "leaf2")]))
    assert before.hypernodes is not None
    plan = reconcile(after, before.hypernodes)
    assert [h.name for h in plan.update] == ["leaf-hn-0", "leaf-hn-1", "spine-hn"]
    assert [h.name for h in plan.create] == ["leaf-hn-2"]


BAD: dict[str, tuple[Any, str]] = {
    "a mapping": ({"ports": []}, "the answer: wrong type or value (found a mapping of 1, expected a list of ports)"),
    "a text": ("Server Error", "the answer: wrong type"),
    "a row of text": ([port("n0", "l0"), "x"], "[1]: wrong type"),
    "a number for a name": ([{**port("n0", "l0"), "system_name": 3}], "[0].system_name: wrong type"),
    "a tier as text": ([{**port("n0", "l0"), "tier": "1"}], "[0].tier: wrong type"),
}


@pytest.mark.parametrize(("data", "want"), BAD.values(), ids=BAD.keys())
def test_what_is_no_list_of_ports_is_named(data: Any, want: str) -> None:
    with pytest.raises(InputError) as error:
        read_ufm_ports(data)
    assert want in str(error.value)
