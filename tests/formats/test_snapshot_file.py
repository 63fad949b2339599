from __future__ import annotations

import dataclasses
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.formats.fabric.forests import read_back, snapshots
from tests.objects.pod_specs import EVERY_RULE
from workbench.errors import InputError
from workbench.formats.snapshot_file import save
from workbench.formats.snapshot_record import snapshot_text
from workbench.model.bandwidth import BandwidthMatrix, SuspiciousLinks
from workbench.model.extras import GpuGroup, GpuPlan, PlannedPod, extras_of
from workbench.model.kueue import Flavor, PodSet, PreferredTerm, SliceLayer, TopologyAssignment, TopologyRequest
from workbench.model.kueue_queues import (
    ClusterQueue,
    Cohort,
    FlavorQuotas,
    PodSetAdmission,
    QueueCheck,
    QueuedWorkload,
    Quota,
    WorkloadAdmission,
)
from workbench.model.kueue_request import KueueObjects
from workbench.model.labels import NodeLabels, NodeTaints, Requirement, Taint, Toleration
from workbench.model.machine_parts import MachineParts
from workbench.model.notice import Notice
from workbench.model.pod_rules import NO_RULES
from workbench.model.running_pod import RunningPod
from workbench.model.snapshot import ClusterSnapshot, Queue, gpu_words
from workbench.model.switches import SwitchStates, SwitchTable
from workbench.objects.admission.gpu_group import GPU_GROUP_NAME_LABEL, GPU_GROUP_REPLICA_LABEL


def same(a: Any, b: Any) -> bool:
    """Whether two values hold the same, arrays and nested values included."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if dataclasses.is_dataclass(a):
        fields = [f.name for f in dataclasses.fields(a) if f.compare]
        return type(a) is type(b) and all(same(getattr(a, name), getattr(b, name)) for name in fields)
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "nvidia.com/gpu"]), st.integers(0, 2**50), max_size=2)
TEXTS = st.dictionaries(st.sampled_from(["a", "b.c/d", "null", "1"]), st.text(max_size=5), max_size=3)


def _shares(masks: list[int], free: list[int], rng: random.Random) -> np.ndarray:
    """Thousandths of some of the GPUs that are not wholly free."""
    width = max(masks).bit_length()
    rows = [[rng.randint(0, 1000) * (not bits >> gpu & 1) for gpu in range(width)] for bits in free]
    return np.array(rows, dtype=np.int16).reshape(len(masks), width)


#: Kueue's objects with every kind of value that their fields have.
KUEUE = KueueObjects(
    {"t": ("rack", "host")},
    (Flavor("f", "t", {"pool": "é"}, (Toleration("k"),), (Taint("k", "v", "NoSchedule"),)), Flavor("plain")),
    (
        ClusterQueue("q", "c", ((FlavorQuotas("f", {"cpu": Quota(5, None, 3)}),),), checks=(QueueCheck("p", ("f",)),)),
        ClusterQueue("r", borrow_max_priority=-1, try_next_if_preempting=False),
    ),
    {"ns/l": "q"},
    (Cohort("c", "top"),),
    ("p",),
    (
        QueuedWorkload(
            "ns/w",
            "q",
            (
                PodSet(
                    "main",
                    2,
                    {"cpu": 1},
                    TopologyRequest(required="rack", slices=(SliceLayer("host", 2),)),
                    {"a": "b"},
                    (),
                    ((Requirement("a", "In", ("b", "c")),),),
                    (PreferredTerm(3, (Requirement("a", "Exists"),)),),
                    min_count=1,
                ),
            ),
            created=1.5,
            admission=WorkloadAdmission(
                "q",
                (PodSetAdmission("main", {"cpu": "f"}, {"cpu": 2}, 2, TopologyAssignment(("host",), ((("h",), 2),))),),
            ),
            checks={"p": "Ready"},
        ),
    ),
)


@st.composite
def whole(draw: st.DrawFn) -> ClusterSnapshot:
    """A snapshot in which every field holds something."""
    base = draw(snapshots(mixed=True, free=True, named=True))
    n = base.n_nodes
    masks = [draw(st.integers(0, 2**70)) for _ in range(n)]
    free = [mask & draw(st.integers(0, 2**70)) for mask in masks]
    words = gpu_words([*masks, *free])
    finite = st.floats(0, 1e6)
    diagonal = draw(st.sampled_from([0.0, math.inf, math.nan, -1.0]))
    a, b = draw(finite), draw(finite)
    doubt = SuspiciousLinks("p2p-disabled", ((0, 1), (1, 0)), draw(st.text(max_size=5)))
    parts = draw(st.sampled_from([None, MachineParts(), MachineParts({"mlx5_0": ("PIX", "é")}, ("0", "0,1"))]))
    matrix = BandwidthMatrix(
        np.array([[diagonal, a], [b, 0.1]]),
        ("x", "é"),
        draw(st.text(max_size=5)),
        (("", "NV2"), ("→", "")),
        (doubt,),
        parts,
    )
    rows = [draw(TEXTS) for _ in range(n)]
    taints = [draw(st.sampled_from([(), (Taint("k", "v", "NoSchedule"), Taint("", "", ""))])) for _ in range(n)]
    pods = tuple(
        RunningPod(
            f"ns{i}",
            draw(st.text(min_size=1, max_size=4)),
            draw(st.integers(-1, n - 1)),
            draw(AMOUNTS),
            gang=draw(st.sampled_from(["", "ns/g"])),
            role="r",
            gpu_mask=draw(st.integers(0, 2**70)),
            labels=draw(TEXTS),
            annotations=draw(TEXTS),
            queue=draw(st.sampled_from(["", "q"])),
            terminating=draw(st.booleans()),
            job_class=draw(st.sampled_from(["", "normal-schema"])),
            group_phase=draw(st.sampled_from(["", "Running"])),
            gpu_group=draw(st.sampled_from([None, GpuGroup("g", 2)])),
            assumed=draw(AMOUNTS),
            uid=draw(st.sampled_from(["", "1-2"])),
            resource_version=draw(st.sampled_from(["", "7"])),
            leaving=draw(st.sampled_from(["", "ml/g"])),
            gpu_milli=draw(st.sampled_from([0, 1, 999])),
            rules=draw(st.sampled_from([NO_RULES, EVERY_RULE])),
            priority=draw(st.sampled_from([0, -5, 1000])),
        )
        for i in range(draw(st.integers(0, 3)))
    )
    queue = Queue(
        "q",
        draw(st.integers(0, 9)),
        draw(AMOUNTS),
        draw(st.none() | AMOUNTS),
        None,
        draw(st.integers(-3, 3)),
        draw(st.sampled_from(["", "2026-01-01T00:00:00Z"])),
    )
    cut = draw(st.integers(0, n))
    rows_of_nodes = [
        ("tor-0", "10.0.0.1", [(node, i) for i, node in enumerate(range(cut))]),
        ("b", "", [(node, i + 1) for i, node in enumerate(range(cut, n))]),
    ]
    preset = SwitchStates.of([draw(st.sampled_from(["idle", "exclusive", "shared/unhealthy"])) for _ in range(2)])
    switches = SwitchTable.build(rows_of_nodes, n, draw(st.none() | st.integers(1, 99)), preset, "double_layer")
    return dataclasses.replace(
        base,
        extras=extras_of(*draw(st.sampled_from([(), (KUEUE,)]))),
        switches=draw(st.sampled_from([None, switches])),
        labels=NodeLabels.from_rows(base.topology.node_names, rows),
        taints=NodeTaints.from_rows(taints),
        unschedulable=np.array([draw(st.booleans()) for _ in range(n)], dtype=np.bool_),
        not_ready=np.array([draw(st.booleans()) for _ in range(n)], dtype=np.bool_),
        allocatable=np.full_like(base.allocatable, draw(st.integers(0, 2**62))),
        used=np.full_like(base.used, draw(st.integers(-5, 2**40))),
        gpu_total=words[:n].copy(),
        gpu_free=words[n:].copy(),
        gpu_shares=draw(st.none() | st.just(_shares(masks, free, draw(st.randoms(use_true_random=False))))),
        matrices=(matrix,),
        node_matrix=np.array([draw(st.integers(-1, 0)) for _ in range(n)], dtype=np.int32),
        queues={"default": Queue("default"), "q": queue},
        running=pods,
        records={"ns/g": "s1", "ns/g/sub": ""},
        exclusive=draw(st.sampled_from([{}, {"ns/h/h-m-0": "s1"}])),
        gaps=(Notice("no-hypernodes", "something is missing", "the tree", {"count": 2, "share": 0.5}),),
        source="a test",
        taken_at="2026-01-01T00:00:00Z",
        addresses=tuple(f"10.0.0.{i}" if i % 2 else "" for i in range(n)),
        node_uids=draw(st.none() | st.tuples(*[st.sampled_from(["", "1-2", "é"])] * n)),
        node_resource_versions=draw(st.none() | st.tuples(*[st.sampled_from(["", "7"])] * n)),
        gpu_plans=(
            GpuPlan("ns", GpuGroup("g", 2), (PlannedPod("p", "n", draw(st.integers(0, 2**70))),), "2026-01-01"),
        ),
    )


@pytest.mark.slow
@given(whole(), st.booleans())
def test_nothing_is_lost(snapshot, yaml):
    text = snapshot_text(snapshot, yaml=yaml)
    again = read_back(text)
    assert same(again, snapshot)
    assert snapshot_text(again, yaml=yaml) == text


def test_every_field_of_a_snapshot_is_varied_by_these_tests():
    named = {field.name for field in dataclasses.fields(ClusterSnapshot)}
    assert named == {
        "topology", "resources", "allocatable", "used", "labels", "taints", "unschedulable", "gpu_total", "gpu_free",
        "matrices", "node_matrix", "queues", "running", "records", "gaps", "source", "taken_at",
        "addresses", "switches", "gpu_plans", "node_uids", "node_resource_versions",
        "gpu_shares", "exclusive", "not_ready", "extras",
    }  # fmt: skip


def test_every_field_of_a_running_pod_is_varied_by_these_tests():
    assert {field.name for field in dataclasses.fields(RunningPod)} == {
        "namespace", "name", "node", "requests", "gang", "role", "gpu_mask", "labels", "annotations", "queue",
        "terminating", "job_class", "group_phase", "assumed", "uid", "resource_version", "gpu_milli",
        "gpu_group", "rules", "priority", "leaving",
    }  # fmt: skip


def test_the_group_of_a_running_pod_is_that_of_its_labels_in_a_file_without_it():
    labels = {GPU_GROUP_NAME_LABEL: "g", GPU_GROUP_REPLICA_LABEL: "2"}
    pod = RunningPod("d", "p", 0, {"cpu": 1}, labels=labels)
    snapshot = dataclasses.replace(read_back("SwitchName=a Nodes=n1\n"), running=(pod,))
    old = json.loads(snapshot_text(snapshot))
    assert "gpu_group" not in json.dumps(old)
    again = read_back(json.dumps(old))
    assert again.running == (dataclasses.replace(pod, gpu_group=GpuGroup("g", 2)),)


def test_what_is_no_tree_stays_so(tmp_path):
    text = "SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c Nodes=n1\nSwitchName=d Nodes=n1,n2\n"
    snapshot = read_back(text)
    save(snapshot, tmp_path / "s.json")
    assert same(workbench.load(tmp_path / "s.json").snapshot, snapshot)
    assert not snapshot.topology.ready


def test_gaps_of_a_file_from_before_they_had_codes_are_read():
    old = record() | {"gaps": ["no Node in the input"]}
    (gap,) = read_back(json.dumps(old)).gaps
    assert gap == Notice("unclassified", "no Node in the input")
    again = json.loads(snapshot_text(read_back(json.dumps(old))))["gaps"]
    assert again == [gap.to_dict()]


def test_a_saved_cluster_with_the_same_jobs_places_alike(tmp_path):
    scenario = workbench.load("datasets/demo")
    save(scenario.snapshot, tmp_path / "s.yaml")
    again = workbench.load(tmp_path / "s.yaml").snapshot
    assert same(again, scenario.snapshot)
    for policy in ("volcano", "binpack"):
        before = workbench.schedule(scenario.gangs, scenario.snapshot, policy)
        after = workbench.schedule(scenario.gangs, again, policy)
        assert [repr(decision.result) for decision in before] == [repr(decision.result) for decision in after]


JOB = (
    '{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"j"},"spec":{"minAvailable":1,"tasks":'
    '[{"name":"t","replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]}}'
)


def test_jobs_may_stand_beside_it_and_no_second_cluster(tmp_path):
    save(read_back("SwitchName=a Nodes=n1\n"), tmp_path / "s.json")
    (tmp_path / "job.json").write_text(JOB)
    assert [gang.key for gang in workbench.load(tmp_path / "s.json", tmp_path / "job.json").gangs] == ["default/j"]
    (tmp_path / "node.json").write_text('{"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"}}')
    with pytest.raises(InputError, match=r"a snapshot is a whole cluster .*1 node beside it"):
        workbench.load(tmp_path / "s.json", tmp_path / "node.json")
    (tmp_path / "t.conf").write_text("SwitchName=a Nodes=n1\n")
    with pytest.raises(InputError, match="1 more fabric file "):
        workbench.load(tmp_path / "t.conf", tmp_path / "s.json")


def test_matrices_are_assigned_to_its_nodes(tmp_path):
    base = read_back("SwitchName=a Nodes=n1,m1\n")
    words = gpu_words([3, 3])
    save(dataclasses.replace(base, gpu_total=words, gpu_free=words.copy()), tmp_path / "s.json")
    (tmp_path / "m.txt").write_text("0 5\n5 0\n")
    (tmp_path / "big.txt").write_text("0 5 5\n5 0 5\n5 5 0\n")
    snapshot = workbench.load(tmp_path / "s.json", matrices={"^n": tmp_path / "m.txt"}).snapshot
    assert [snapshot.matrix_of(snapshot.topology.node(name)) is not None for name in ("n1", "m1")] == [True, False]
    with pytest.raises(InputError, match="another number of GPUs than node"):
        workbench.load(tmp_path / "s.json", matrices={"^n": tmp_path / "big.txt"})


def record() -> dict[str, Any]:
    return json.loads(snapshot_text(read_back("SwitchName=a Nodes=n[1-2]\n")))


@pytest.mark.parametrize(
    ("key", "value", "want"),
    [
        ("workbench_snapshot", 2, "not a snapshot .*found workbench_snapshot: 2"),
        ("nodes", ["n1", "n1"], "nodes: the same node twice"),
        ("nodes", "n1", "nodes: wrong type"),
        ("allocatable", [[1, 2, 3]], "allocatable: wrong type or value .*2 x 3"),
        ("allocatable", [[1, 2, 3], [1, 2]], "allocatable: wrong type"),
        ("allocatable", [[1, 2, 3], [1, 2, 0.5]], "allocatable: wrong type"),
        ("allocatable", [[1, 2, 3], [1, 2, 2**70]], "allocatable: wrong type"),
        ("allocatable", [], "allocatable: wrong type"),
        ("node_matrix", [0, -1], "node_matrix: wrong type or value .*from -1 to -1"),
        ("unschedulable", [2], "unschedulable: wrong type"),
        ("gpu_free", ["0"], "gpu_free: wrong type"),
        ("gpu_free", ["0", "x"], r"gpu_free\[1\]: wrong type"),
        ("gpu_free", ["0", "f" * 300], r"gpu_free\[1\]: wrong type"),
        ("addresses", ["a"], "addresses: wrong type"),
        ("labels", {"k": {"values": ["v"], "codes": [0, 1]}}, "codes: wrong type or value"),
        ("taints", {"sets": [[]], "codes": [0, 1]}, "taints.codes"),
        ("domains", [{"name": "a", "tier": 1, "nodes": [[0, 3]]}], r"domains\[0\].nodes"),
        ("domains", [{"name": "a", "tier": 1, "nodes": [[0, 2], [0, 2]]}], r"domains\[0\].nodes: .*runs"),
        ("domains", [{"name": "a", "nodes": []}], r"domains\[0\].tier"),
        ("domains", [{"name": "a", "tier": 1, "parent": "a"}], "a domain inside itself"),
        ("domains", [{"name": "a", "tier": 1, "parent": "b"}], "a parent that is not there"),
        ("matrices", [{"gb_s": [[0, "x"], [1, 0]]}], r"matrices\[0\].gb_s"),
        ("matrices", [{"gb_s": [[0, 10**400], [1, 0]]}], r"matrices\[0\].gb_s"),
        ("matrices", [{"gb_s": [[0, 1]]}], "the matrix is not square"),
        ("matrices", [{"gb_s": [[0]], "link_types": [[1]]}], r"matrices\[0\].link_types"),
        ("matrices", [{"gb_s": [[0]], "link_types": [["", ""]]}], "link types of another size"),
        ("matrices", [{"gb_s": [[0]], "suspicious": [{"pairs": [[0]]}]}], r"suspicious\[0\].pairs"),
        ("matrices", [{"gb_s": [[0]], "suspicious": [{"pairs": [[0, 1]]}]}], r"pairs: wrong type or value"),
        ("running", [{"name": "p", "node": 5}], r"running\[0\].node"),
        ("running", [{"name": "p", "node": 0, "gpu_mask": "0", "requests": {"cpu": "1"}}], "requests"),
        ("running", [{"name": "p", "node": 0, "gpu_mask": "0", "what": 1}], r"running\[0\].what"),
        (
            "running",
            [{"name": "p", "node": 0, "gpu_mask": "0", "rules": {"topologySpreadConstraints": [{"maxSkew": 0}]}}],
            r"running\[0\].rules.topologySpreadConstraints\[0\].topologyKey",
        ),
        ("queues", [{"name": "q", "weight": "1"}], "wrong type"),
        ("gaps", "none", "gaps: wrong type .*a list"),
        ("gaps", [1], r"gaps\[0\]: wrong type .*code, message, subject and numbers"),
        ("gaps", [{"message": "what is this?"}], r"gaps\[0\]: wrong type .*code"),
        ("gaps", [{"code": "taint", "message": 1}], r"gaps\[0\].message: wrong type"),
        ("gaps", [{"code": "taint", "numbers": {"count": "2"}}], r"gaps\[0\].numbers.count: wrong type .*a number"),
    ],
)
def test_a_bad_field_is_refused_with_its_name(key, value, want):
    with pytest.raises(InputError, match=want):
        read_back(json.dumps(record() | {key: value}))


@pytest.mark.parametrize("key", ["nodes", "domains", "resources"])
def test_a_snapshot_without_what_it_is_of_is_refused(key):
    with pytest.raises(InputError, match=rf"stdin: {key}: the field is missing"):
        read_back(json.dumps({name: value for name, value in record().items() if name != key}))


def test_a_file_that_broke_off_is_refused_with_its_line():
    text = snapshot_text(read_back("SwitchName=a Nodes=n[1-2]\n"))
    with pytest.raises(InputError, match=r"stdin: line \d+, column \d+: not JSON"):
        read_back(text[: len(text) // 2])


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be written"):
        save(read_back("SwitchName=a Nodes=n1\n"), tmp_path / "no" / "s.json")
