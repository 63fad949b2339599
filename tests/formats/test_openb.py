"""The openb trace: nodes, pods with shares of GPUs, orders of arrival."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from workbench.errors import InputError
from workbench.formats.openb import GPU, read_openb, read_openb_log, read_openb_order
from workbench.model.typical_shapes import TypicalShape, TypicalShapes

NODES = "sn,cpu_milli,memory_mib,gpu,model\nb,8000,1024,2,T4\na,4000,512,1,A10\nc,4000,512,0,\n"
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time
p2,1000,100,1,500,,10,30
p1,2000,200,2,1000,T4|A10,5,
p3,3000,300,0,1000,T4,0,1
"""


def read(tmp_path: Path, nodes: str = NODES, pods: str = PODS):
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "pods.csv").write_text(pods)
    return read_openb(tmp_path / "nodes.csv", tmp_path / "pods.csv")


def test_nodes_and_pods(tmp_path: Path) -> None:
    trace = read(tmp_path)
    snapshot = trace.snapshot
    assert sorted(snapshot.topology.node_names) == ["a", "b", "c"]
    b = snapshot.topology.node("b")
    amounts = dict(zip(snapshot.resources, snapshot.allocatable[b].tolist(), strict=True))
    assert amounts == {"cpu": 8000, "memory": 1024 << 20, GPU: 2, "pods": 1001}
    assert snapshot.gpu_total[b, 0] == 0b11
    assert [gang.name for gang in trace.gangs] == ["p1", "p2", "p3"]
    assert trace.shapes == (
        TypicalShape(2000, 1000, 2, ("T4", "A10")),
        TypicalShape(1000, 500, 1),
        TypicalShape(3000, 0, 0),
    )
    roles = [gang.roles[0] for gang in trace.gangs]
    assert [(role.n_gpus, role.gpu_milli) for role in roles] == [(2, 0), (0, 500), (0, 0)]
    assert snapshot.filters.mask(roles[0].filter).sum() == 2
    assert trace.gpu_milli.tolist() == [2000, 500, 0]
    assert trace.submitted_s.tolist() == [5, 10, 0]
    assert np.isnan(trace.duration_s[0])
    assert trace.duration_s[1:].tolist() == [20, 1]
    assert trace.row.tolist() == [1, 0, 2] and trace.notes == ()
    assert repr(trace) == "PodTrace(pods: 3 pods on 3 nodes)"
    assert set(trace.inputs) == {"nodes.csv", "pods.csv"}


@pytest.mark.parametrize(
    "old, new, place",
    [
        ("p2,1000", "p2,-1", "line 2, cpu_milli"),
        ("p2,1000", "p2,", "line 2, cpu_milli"),
        ("p2,1000", "p2,1e3", "line 2, cpu_milli"),
        ("p2,1000", "p1,1000", "line 3, name"),
        ("p2,1000", ",1000", "line 2, name"),
        (",1,500,,", ",1,0,,", "line 2, gpu_milli"),
        (",1,500,,", ",2,500,,", "line 2, gpu_milli"),
        (",1,500,,", ",1,500,H100,", "line 2, gpu_spec"),
        (",1,500,,", ",1,500,H100|A100,", "line 2, gpu_spec"),
        (",1,500,,", ",1,500,T4|,", "line 2, gpu_spec"),
        ("10,30", "30,10", "line 2, deletion_time"),
        ("10,30", "10", "line 2"),
        ("10,30", "10,30,4", "line 2"),
        ("num_gpu", "gpus", "no column num_gpu"),
        ("p2,1000", '"p2,1000', "line"),
    ],
)
def test_bad_pods_are_refused_with_their_line(tmp_path: Path, old: str, new: str, place: str) -> None:
    with pytest.raises(InputError) as told:
        read(tmp_path, pods=PODS.replace(old, new, 1))
    assert "pods.csv" in str(told.value)
    assert place in str(told.value)


@pytest.mark.parametrize(
    "old, new, place",
    [
        ("2,T4", "2,", "line 2, model"),
        ("2,T4", "65,T4", "line 2, gpu"),
        ("a,4000", "b,4000", "line 3, sn"),
        ("model", "kind", "no column model"),
    ],
)
def test_bad_nodes_are_refused_with_their_line(tmp_path: Path, old: str, new: str, place: str) -> None:
    with pytest.raises(InputError) as told:
        read(tmp_path, nodes=NODES.replace(old, new, 1))
    assert "nodes.csv" in str(told.value)
    assert place in str(told.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_openb(tmp_path / "none.csv", tmp_path / "none.csv")
    with pytest.raises(InputError, match="no rows"):
        read(tmp_path, nodes=NODES.splitlines()[0] + "\n")
    (tmp_path / "nodes.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        read_openb(tmp_path / "nodes.csv", tmp_path / "pods.csv")


def test_models_that_no_node_has_do_not_hinder_a_pod_that_accepts_others(tmp_path: Path) -> None:
    pods = PODS.replace(",1,500,,", ",1,500,H100|T4,").replace("T4|A10", "B200|H100|A10")
    trace = read(tmp_path, pods=pods)
    (note,) = trace.notes
    assert note.code == "unknown-gpu-models" and note.numbers == {"count": 2}
    assert str(note) == "2 pods accept GPU models that no node has: B200, H100"
    snapshot = trace.snapshot
    runs_on = [snapshot.filters.mask(gang.roles[0].filter) for gang in trace.gangs[:2]]
    names = [[snapshot.topology.node_names[i] for i in np.flatnonzero(mask)] for mask in runs_on]
    assert names == [["a"], ["b"]]
    assert read_openb_log(tmp_path / "nodes.csv", tmp_path / "pods.csv").log.notes[0] == note


def test_orders_of_arrival(tmp_path: Path) -> None:
    trace = read(tmp_path)
    data = json.dumps({"order": [2, 0, 0], "node_rank": [1, 0, 2]}).encode()
    for name, content in (("o.json", data), ("o.json.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(content)
        arrivals, nodes = read_openb_order(tmp_path / name, trace)
        # Rows of the file: p2 stands before p1 there, and after it in the trace.
        assert [trace.gangs[at].name for at in arrivals] == ["p3", "p2", "p2"]
        assert [trace.snapshot.topology.node_names[i] for i in nodes] == ["b", "a", "c"]
    wrong = [
        b"{",
        b"[]",
        b"\x1f\x8bno",
        b'{"order": [3], "node_rank": [0, 1, 2]}',
        b'{"order": [[0]], "node_rank": [0, 1, 2]}',
        b'{"order": [0], "node_rank": [0, 1]}',
        b'{"order": [0], "node_rank": [0, 1, 1]}',
        b'{"order": ["x"]}',
    ]
    for content in wrong:
        (tmp_path / "o.json").write_bytes(content)
        with pytest.raises(InputError, match=r"o\.json"):
            read_openb_order(tmp_path / "o.json", trace)


def test_typical_shapes_are_the_most_frequent_and_ties_are_settled() -> None:
    shapes = [TypicalShape(1000, 500, 1)] * 3 + [TypicalShape(2000, 500, 1)] * 3 + [TypicalShape(9000, 0, 0)]
    usual = TypicalShapes.of(shapes)
    assert list(usual.table) == ["2000:500:1", "1000:500:1", "9000:0:0"]
    assert TypicalShapes.from_table(usual.table) == usual
    assert usual.frequencies(0.43) == [(shapes[3], 0.5), (shapes[0], 0.5)]
    assert [shape for shape, _ in usual.frequencies(0.42)] == [shapes[3]]
    assert sum(frequency for _, frequency in usual.frequencies(1.0)) == pytest.approx(1)
    assert str(TypicalShape.parse("1:1000:2:A|B|B")) == "1:1000:2:A|B|B"
