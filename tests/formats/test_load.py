from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.notices import codes, said
from workbench.errors import InputError
from workbench.formats.load import load, load_to_draw
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.resources import UNLIMITED
from workbench.model.scenario import Scenario

MATRIX = [[0, 5, 1, 1], [5, 0, 1, 1], [1, 1, 0, 7], [1, 1, 7, 0]]


def node(name: str, gpus: int = 4, **allocatable: Any) -> dict[str, Any]:
    offered = {"cpu": "8", "memory": "16Gi", "pods": "110", "nvidia.com/gpu": str(gpus), **allocatable}
    offered = {key: value for key, value in offered.items() if value is not None}
    metadata = {"name": name, "labels": {"name": name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": offered}}


def hypernode(name: str, tier: object, *members: str) -> dict[str, Any]:
    listed = [
        {"type": "Node" if m[0] == "n" else "HyperNode", "selector": {"exactMatch": {"name": m}}} for m in members
    ]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "members": listed},
    }


def device(name: str, matrix: Any = None, n: int = 4, unhealthy: tuple[int, ...] = ()) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "devices": [{"type": "gpu", "minor": i, "health": i not in unhealthy} for i in range(n)],
    }
    if matrix is not None:
        spec["topologies"] = {"gpu": [{"name": "bandwidth", "topology": json.dumps(matrix)}]}
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": name},
        "spec": spec,
    }


def pod(name: str, node: str, gpus: int = 1, **annotations: str) -> dict[str, Any]:
    requests = {"cpu": "1", "nvidia.com/gpu": str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": requests}}]},
        "status": {"phase": "Running"},
    }


def scenario(tmp_path: Path, *manifests: dict[str, Any], **options: Any) -> Scenario:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)}))
    return load(path, **options)


def test_a_cluster_in_the_topologys_order(tmp_path: Path) -> None:
    # By name the nodes would be n0, n1, n2; the tree puts n0 and n2 side by side.
    s = scenario(
        tmp_path,
        node("n2"),
        node("n0", gpus=2),
        node("n1", cpu="500m", pods=None),
        hypernode("b", 1, "n1"),
        hypernode("a", "1", "n0", "n2"),
        hypernode("top", 2, "a", "b"),
    )
    snapshot = s.snapshot
    assert snapshot.topology.node_names == ("n0", "n2", "n1")
    assert snapshot.resources == ("cpu", "memory", "pods", "nvidia.com/gpu")
    assert snapshot.allocatable.tolist() == [
        [8000, 16 << 30, 110, 2],
        [8000, 16 << 30, 110, 4],
        [500, 16 << 30, UNLIMITED, 4],
    ]
    assert snapshot.gpu_total.tolist() == [[0b11], [0b1111], [0b1111]]
    assert [row["name"] for row in snapshot.labels.rows()] == ["n0", "n2", "n1"]
    assert "1 node does not say how many pods it takes: no limit" in said(snapshot.gaps)
    assert not snapshot.used.any()
    with pytest.raises(ValueError, match="read-only"):
        snapshot.allocatable[0, 0] = 1


def test_running_pods_take_resources_and_gpus(tmp_path: Path) -> None:
    held = json.dumps({"allocatedGPUs": {"0": ["2", "3"]}})
    s = scenario(
        tmp_path,
        node("n0"),
        node("n1"),
        pod("a", "n0", 2, **{"topology.scheduling.koordinator.sh/gpu": held}),
        pod("b", "n1", 1),
        pod("c", "gone", 1),
    )
    assert s.snapshot.used.tolist() == [[1000, 0, 1, 2], [1000, 0, 1, 1]]
    assert s.snapshot.gpu_free.tolist() == [[0b0011], [0b1110]]
    assert [p.node for p in s.snapshot.running] == [0, 1, -1]
    assert s.gangs == ()
    assert {"gpus-not-recorded", "unknown-node"} <= set(codes(s.snapshot.gaps))


def test_gpus_and_matrices_come_from_devices(tmp_path: Path) -> None:
    s = scenario(
        tmp_path,
        node("n0"),
        node("n1"),
        node("n2"),
        device("n0", MATRIX),
        device("n1", MATRIX, unhealthy=(1,)),
        device("x"),
    )
    assert s.snapshot.gpu_total.tolist() == [[0b1111], [0b1101], [0b1111]]
    assert s.snapshot.node_matrix.tolist() == [0, 0, -1]
    matrix = s.snapshot.matrix_of(0)
    assert matrix is not None
    assert matrix.gb_s.tolist() == MATRIX
    assert len(s.snapshot.matrices) == 1
    assert said(s.snapshot.gaps) == (
        "on 1 node the Device lists another number of healthy GPUs than the Node offers",
        "no bandwidth matrix for 1 node with several GPUs",
        "1 Devices belong to nodes that are not in the input",
    )


def test_a_matrix_file_is_given_to_the_nodes_that_match(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text("\n".join(",".join(map(str, row)) for row in MATRIX))
    other = (np.array(MATRIX) * 2).tolist()
    s = scenario(
        tmp_path,
        node("n0"),
        node("n1"),
        node("n2", gpus=0),
        device("n0", other),
        matrices={"1|2": file, "nothing": file},
    )
    assert s.snapshot.node_matrix.tolist() == [0, 1, -1]
    assert s.snapshot.matrices[1].source == str(file)
    assert list(s.inputs) == [str(tmp_path / "cluster.json"), str(file)]
    assert "pattern-matches-nothing" in codes(s.snapshot.gaps)
    wins = scenario(tmp_path, node("n0"), device("n0", other), matrices={".": file})
    assert wins.snapshot.matrices[0].source == str(file)


def test_hypernodes_alone_still_make_a_topology(tmp_path: Path) -> None:
    s = scenario(tmp_path, hypernode("a", 1, "n0", "n1"))
    assert s.snapshot.topology.nodes_of(0).tolist() == [0, 1]
    assert not s.snapshot.topology.problems
    assert "no Node in the input: the 2 nodes that HyperNodes name have no resources" in said(s.snapshot.gaps)


def test_gpus_are_assumed_for_nodes_that_report_nothing(tmp_path: Path) -> None:
    s = scenario(tmp_path, hypernode("a", 1, "n0", "n1"), gpus_per_node=8)
    assert np.bitwise_count(s.snapshot.gpu_total).sum(axis=1).tolist() == [8, 8]
    amounts = dict(zip(s.snapshot.resources, s.snapshot.allocatable[0].tolist(), strict=True))
    assert amounts == {"cpu": 96_000, "memory": 2**40, "pods": 110, "nvidia.com/gpu": 8}
    assert any(gap.startswith("assumed for 2 nodes that report no resources: 96 cpu") for gap in said(s.snapshot.gaps))
    known = scenario(tmp_path, node("n0", gpus=0), gpus_per_node=8)
    assert not known.snapshot.gpu_total.any()
    assert "every node reports its resources: no GPUs were assumed" in said(known.snapshot.gaps)


@pytest.mark.parametrize("gpus", [0, -1, 1025, True, "8", 2.0])
def test_a_number_of_gpus_that_no_node_has_is_refused(tmp_path: Path, gpus: object) -> None:
    with pytest.raises(InputError, match="gpus_per_node: no number of GPUs"):
        scenario(tmp_path, node("n0"), gpus_per_node=gpus)


def test_a_snapshot_knows_its_resources(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(snapshot_text(scenario(tmp_path, node("n0")).snapshot))
    with pytest.raises(InputError, match="a snapshot has its nodes' resources"):
        load(path, gpus_per_node=8)


def test_what_is_no_tree_loads_with_its_problems(tmp_path: Path) -> None:
    s = scenario(tmp_path, node("n0"), hypernode("a", 1, "b"), hypernode("b", 2, "a"))
    assert not s.snapshot.topology.ready
    assert "cycle" in {problem.code for problem in s.snapshot.topology.problems}


def test_refused_ignored_queues_and_gangs(tmp_path: Path) -> None:
    task = {"name": "w", "replicas": 2, "template": {"spec": {"containers": [{"name": "c"}]}}}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "good"}}
    s = scenario(
        tmp_path,
        node("n0"),
        {**job, "spec": {"tasks": [task], "queue": "q"}},
        {**job, "metadata": {"name": "bad"}, "spec": {"tasks": [task], "minAvailable": 3}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}},
    )
    assert [gang.key for gang in s.gangs] == ["default/good"]
    assert [(one.code, one.subject) for one in s.refused] == [("refused-by-admission", "Job default/bad")]
    assert said(s.refused) == ("job 'minAvailable' should not be greater than total replicas in tasks;",)
    assert s.ignored == {"Service": 1}
    assert "queues not in the input: q" in said(s.snapshot.gaps)
    assert list(s.snapshot.queues) == ["default"]


def test_the_same_input_gives_the_same_snapshot(tmp_path: Path) -> None:
    manifests = [node(f"n{i}") for i in range(5)] + [hypernode("a", 1, "n3", "n1"), pod("p", "n1")]
    first, second = scenario(tmp_path, *manifests).snapshot, scenario(tmp_path, *reversed(manifests)).snapshot
    assert first.topology.node_names == second.topology.node_names
    assert first.used.tolist() == second.used.tolist()
    assert first.gpu_free.tolist() == second.gpu_free.tolist()


def test_garbage_collection_is_on_again(tmp_path: Path) -> None:
    scenario(tmp_path, node("n0"))
    assert gc.isenabled()
    with pytest.raises(InputError):
        load(tmp_path / "none")
    assert gc.isenabled()


def with_field(manifest: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    *outer, last = path.split("/")
    inner = manifest
    for key in outer:
        inner = inner[key]
    inner[last] = value
    return manifest


@pytest.mark.parametrize(
    ("manifest", "where", "found"),
    [
        (with_field(node("n1"), "status/allocatable/cpu", "lots"), "status.allocatable['cpu']", "text 'lots'"),
        (with_field(node("n1"), "metadata/name", 1), "metadata.name", "a number 1"),
        (device("n0", [[0, 1], [1, 0]], n=1), "spec.topologies.gpu[0].topology", "2 rows"),
        (device("n0", [[0, 1], [1]], n=2), "spec.topologies.gpu[0].topology, row 1", "1 numbers"),
        (node("n0"), "metadata.name", "n0"),
        ({"kind": "Node"}, "apiVersion", "nothing"),
    ],
)
def test_bad_input_names_file_document_field_found_and_expected(
    tmp_path: Path, manifest: dict[str, Any], where: str, found: str
) -> None:
    with pytest.raises(InputError) as caught:
        scenario(tmp_path, node("n0"), manifest)
    error = caught.value
    assert error.source == str(tmp_path / "cluster.json")
    assert error.where == f"document 1, items[1], {where}"
    assert error.got == found
    assert error.expected
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("manifest", "where", "found"),
    [
        (hypernode("a", [1], "n0"), "spec.tier", "a list of 1"),
        (with_field(hypernode("a", 1), "spec/members", [{"type": "Rack"}]), "spec.members[0].type", "text 'Rack'"),
        (
            with_field(
                hypernode("a", 1),
                "spec/members",
                [{"type": "Node", "selector": {"regexMatch": {"pattern": "(?<=x)y"}}}],
            ),
            "spec.members[0].selector.regexMatch.pattern",
            "'(?<=x)y'",
        ),
    ],
)
def test_a_hypernode_that_no_cluster_stores_is_left_out_and_told_with_its_place(
    tmp_path: Path, manifest: dict[str, Any], where: str, found: str
) -> None:
    read = scenario(tmp_path, node("n0"), manifest, hypernode("b", 1, "n0"))
    assert read.snapshot.topology.domain_names == ("b",)
    (refused,) = read.refused
    assert refused.subject == "HyperNode a"
    assert f"{tmp_path / 'cluster.json'}: document 1, items[1], {where}: " in refused.message
    assert f"found {found}" in refused.message


def test_a_matrix_file_of_another_size_or_a_bad_pattern_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text("[[0, 1], [1, 0]]")
    with pytest.raises(InputError, match=r"another number of GPUs than node n0 \(found 2 rows, expected 4 GPUs"):
        scenario(tmp_path, node("n0"), matrices={"n": file})
    with pytest.raises(InputError, match="--matrix: the pattern"):
        scenario(tmp_path, node("n0"), matrices={"[": file})
    with pytest.raises(InputError, match="cannot be read"):
        scenario(tmp_path, node("n0"), matrices={"n": tmp_path / "none"})


def test_pods_that_are_ending_hold_their_room_and_count_for_nobody(tmp_path: Path) -> None:
    group = {
        "kind": "PodGroup",
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "metadata": {"name": "g"},
        "spec": {"minMember": 2},
    }

    def member(name: str, on: str = "", **metadata: Any) -> dict[str, Any]:
        annotations = {"scheduling.k8s.io/group-name": "g"}
        containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
        return {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": name, "annotations": annotations, **metadata},
            "spec": {"nodeName": on, "containers": containers},
        }

    ended = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    pods = [member("a", "n0"), member("b", "n0", **ended), member("c"), member("d", **ended)]
    s = scenario(tmp_path, node("n0"), group, *pods)
    (gang,) = s.gangs
    assert (gang.ready, gang.n_pods) == (1, 1)
    assert [(p.name, p.gang, p.queue, p.terminating) for p in s.snapshot.running] == [
        ("a", "default/g", "default", False),
        ("b", "", "", True),
    ]
    assert s.snapshot.used[0, 0] == 2000
    assert s.snapshot.releasing is not None and s.snapshot.releasing[0, 0] == 1000
    after = s.snapshot.after_endings
    assert (after.used[0, 0], after.releasing, after.after_endings is after) == (1000, None, True)


@pytest.mark.parametrize("path", ["datasets/demo", "datasets/use-case-2/small.yaml"])
def test_what_is_drawn_is_the_snapshot_and_its_objects(path: str, tmp_path: Path) -> None:
    snapshot = load(path).snapshot
    saved = tmp_path / "snapshot.yaml"
    saved.write_text(snapshot_text(snapshot), encoding="utf-8")
    for source in (path, saved):
        objects, drawn = load_to_draw(source)
        assert set(objects.nodes) == set(snapshot.topology.node_names)
        assert set(objects.hypernodes) == set(snapshot.topology.domain_names)
        assert drawn.topology.node_names == snapshot.topology.node_names
        assert drawn.used.tolist() == snapshot.used.tolist()
