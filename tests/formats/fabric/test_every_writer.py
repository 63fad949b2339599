"""Requirements on every writable format, for any topology."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.fabric.forests import read_back
from tests.formats.fabric.test_intake import node
from workbench.errors import InputError
from workbench.formats.fabric.registry import get_format, writable_formats
from workbench.formats.write_manifests import to_yaml

NO_TREE = """SwitchName=a Switches=b
SwitchName=b Switches=a
SwitchName=c Nodes=n[1-3]
SwitchName=d Nodes=n[3-4]
SwitchName=e Switches=c,gone
SwitchName=f Switches=c
"""
EMPTY_HYPERNODE = {
    "apiVersion": "topology.volcano.sh/v1alpha1",
    "kind": "HyperNode",
    "metadata": {"name": "empty"},
    "spec": {"tier": 1, "members": []},
}
FABRICS = {
    "no tree": NO_TREE,
    "no HyperNode": to_yaml([node("n1"), node("n2")]),
    "an empty HyperNode": to_yaml([EMPTY_HYPERNODE, node("n1")]),
    "no node": to_yaml([EMPTY_HYPERNODE]),
}


@pytest.mark.parametrize("fabric", FABRICS)
@pytest.mark.parametrize("name", writable_formats())
def test_it_writes_or_tells_what_it_leaves_out_and_says_the_same_twice(name, fabric):
    write = get_format(name).write
    assert write is not None
    snapshot = read_back(FABRICS[fabric])
    written = write(snapshot)
    assert written == write(read_back(FABRICS[fabric]))
    if name == "snapshot":
        assert written.losses == ()
    elif fabric == "no tree":
        assert any("problems of the topology" in loss for loss in written.losses)


@pytest.mark.parametrize("name", sorted(set(writable_formats()) - {"snapshot"}))
def test_what_only_a_snapshot_holds_is_told(name):
    write = get_format(name).write
    assert write is not None
    text = to_yaml([node("n1"), {**POD, "spec": {**POD["spec"], "nodeName": "n1"}}, QUEUE])
    losses = write(read_back(text)).losses
    assert "not written: 1 queue" in losses
    assert "not written: 1 running pod" in losses


@pytest.mark.parametrize("name", writable_formats())
@given(start=st.floats(0, 1), length=st.integers(0, 12), instead=st.text("0129-[]{}<>\"',:=\n ax\0é", max_size=4))
def test_a_damaged_text_is_read_or_refused_in_one_line(name, start, length, instead):
    text = _sound(name)
    at = int(start * len(text))
    damaged = text[:at] + instead + (text[at + length :] if length < 12 else "")
    try:
        read_back(damaged)
    except InputError as error:
        assert "stdin" in str(error) or "HyperNode" in str(error)
        assert len(str(error).splitlines()) == 1


@cache
def _sound(name: str) -> str:
    write = get_format(name).write
    assert write is not None
    tree = "SwitchName=top Switches=s[1-2]\nSwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\n"
    return write(read_back(tree)).text


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c"}]},
    "status": {"phase": "Running"},
}
QUEUE = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "q"},
    "spec": {"weight": 2},
}
