from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.errors import InputError, UnknownNameError
from workbench.formats.load import load

CONF = "SwitchName=top Switches=s[1-2]\nSwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n3\n"


def node(name: str, **labels: str) -> dict:
    status = {"allocatable": {"cpu": "8", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def write(folder: Path, name: str, *objects: dict | str) -> Path:
    path = folder / name
    path.write_text("".join(o if isinstance(o, str) else "---\n" + json.dumps(o) + "\n" for o in objects))
    return path


def test_a_fabric_file_is_told_by_its_content(tmp_path):
    topology = load(write(tmp_path, "whatever.txt", CONF)).snapshot.topology
    assert topology.domain_names == ("s1", "s2", "top")
    assert topology.tier.tolist() == [1, 1, 2]
    assert topology.node_names == ("n1", "n2", "n3")


def test_nodes_of_manifests_win_over_those_of_the_file(tmp_path):
    nodes = write(tmp_path, "nodes.yaml", node("n1"), node("n2"), node("n9"))
    snapshot = load(write(tmp_path, "topology.conf", CONF), nodes).snapshot
    assert sorted(snapshot.topology.node_names) == ["n1", "n2", "n9"]
    assert [p.code for p in snapshot.topology.problems] == ["dangling-member"]
    assert snapshot.allocatable[:, 0].tolist() == [8000, 8000, 8000]


def test_a_switch_in_two_inputs_is_refused(tmp_path):
    one, two = write(tmp_path, "a.conf", CONF), write(tmp_path, "b.conf", "SwitchName=s2 Nodes=n7\n")
    with pytest.raises(InputError, match=r"b\.conf: the same HyperNode in two inputs.*found s2"):
        load(one, two)


def test_the_format_asked_for_wins_over_the_content(tmp_path):
    with pytest.raises(UnknownNameError, match="unknown format"):
        load(write(tmp_path, "a.conf", CONF), format="slrm")
    with pytest.raises(InputError, match=r"a\.txt: line 1: not a line of topology\.conf"):
        load(write(tmp_path, "a.txt", "hello=1"), format="slurm")


def test_a_format_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="nothing in the format slurm"):
        load(write(tmp_path, "nodes.yaml", node("n1")), format="slurm")
