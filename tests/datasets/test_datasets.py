"""Every dataset loads, and says what its document says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import workbench
from tests.notices import said
from workbench.formats.fabric.tor_node import TOR_NODE
from workbench.model.topology import Topology
from workbench.topology.diff import diff_topologies
from workbench.topology.generate import Fabric, NodeShape
from workbench.topology.presets import generate, generate_scenario

# Python's own scanner takes a second for these files.
SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

DATASETS = Path(__file__).parents[2] / "datasets"
MATRICES = DATASETS / "koordinator-matrices"

#: Folder or file: nodes, HyperNodes, jobs.
WANT = {
    "three-level-tree": (8, 7, 4),
    "two-roce-networks": (8, 6, 1),
    "koordinator-matrices": (1, 0, 0),
    "use-case-1/small.yaml": (16, 15, 1),
    "use-case-2/small.yaml": (16, 7, 1),
    "demo": (8, 7, 4),
    "switch-affinity/cluster.yaml": (24, 9, 0),
}


#: Descriptions of the same fabric, and the names that differ from those of the HyperNodes.
ONE_FABRIC = {
    "topology.conf": {},
    "model.yaml": {},
    "hosts.csv": {f"leaf-{i}": name for i, name in enumerate(("pod-1-S1", "pod-1-S2", "pod-2-S1", "pod-2-S2"), 1)},
    "ibnetdiscover.out": {f"leaf-{i}": f"leaf-{i}a-group" for i in range(1, 5)},
}


def manifests(path: str) -> list[dict]:
    return [d for d in yaml.load_all((DATASETS / path).read_text(encoding="utf-8"), SAFE) if d]


def test_every_folder_has_a_readme_and_a_line_in_the_list():
    listed = (DATASETS / "README.md").read_text(encoding="utf-8")
    folders = sorted(p.name for p in DATASETS.iterdir() if p.is_dir())
    assert [name for name in folders if not (DATASETS / name / "README.md").is_file()] == []
    assert [name for name in folders if f"[{name}]({name}/README.md)" not in listed] == []


def test_every_file_is_named_in_its_readme():
    files = [p for p in DATASETS.glob("*/*") if p.name != "README.md"]
    assert len(files) >= 15
    missing = [str(p) for p in files if f"`{p.name}`" not in (p.parent / "README.md").read_text(encoding="utf-8")]
    assert missing == []


@pytest.mark.parametrize("path", WANT)
def test_dataset_loads_without_problems(path):
    scenario = workbench.load(DATASETS / path)
    topology = scenario.snapshot.topology
    assert (topology.n_nodes, topology.n_domains, len(scenario.gangs)) == WANT[path]
    assert topology.ready and not topology.problems
    assert not scenario.refused
    assert not scenario.ignored


def test_the_tree_is_the_documents():
    topology = workbench.load(DATASETS / "three-level-tree").snapshot.topology
    table = {
        "s0": (1, "node0 node1", "s4"),
        "s1": (1, "node2 node3", "s4"),
        "s2": (1, "node4 node5", "s5"),
        "s3": (1, "node6 node7", "s5"),
        "s4": (2, "node0 node1 node2 node3", "s6"),
        "s5": (2, "node4 node5 node6 node7", "s6"),
        "s6": (3, "node0 node1 node2 node3 node4 node5 node6 node7", None),
    }
    assert topology.domain_names == tuple(table)
    for name, (tier, nodes, parent) in table.items():
        domain = topology.domain(name)
        assert int(topology.tier[domain]) == tier
        assert " ".join(topology.node_names[i] for i in topology.nodes_of(domain)) == nodes
        assert int(topology.parent[domain]) == (-1 if parent is None else topology.domain(parent))


@pytest.mark.parametrize(
    ("folder", "files", "kind", "params"),
    [
        ("three-level-tree", ["hypernodes.yaml", "nodes.yaml"], "three-level-tree", {}),
        ("two-roce-networks", ["hypernodes.yaml", "nodes.yaml"], "two-roce-networks", {}),
        ("demo", ["cluster.yaml"], "three-level-tree", {}),
        ("use-case-1", ["small.yaml"], "use-case-1", {"pods": 6, "sizes": "2,2,2,2"}),
        ("use-case-2", ["small.yaml"], "use-case-2", {"pods": 8, "group_size": 2, "sizes": "4,2,2"}),
    ],
)
def test_generated_files_are_what_the_preset_makes(folder, files, kind, params):
    assert [m for name in files for m in manifests(f"{folder}/{name}")] == generate(kind, **params)


@pytest.mark.parametrize(
    ("path", "kind", "params"),
    [
        ("use-case-1/job-3000.yaml", "use-case-1", {}),
        ("use-case-1/job-5000.yaml", "use-case-1", {"pods": 5000}),
        ("use-case-2/job-3000.yaml", "use-case-2", {}),
    ],
)
def test_jobs_of_the_use_cases_are_the_presets(path, kind, params):
    assert manifests(path) == [m for m in generate(kind, **params) if m["kind"] == "Job"]


@pytest.mark.parametrize(
    ("path", "kind", "params"),
    [
        ("use-case-1/small.yaml", "use-case-1", {"pods": 6, "sizes": "2,2,2,2"}),
        ("use-case-2/small.yaml", "use-case-2", {"pods": 8, "group_size": 2, "sizes": "4,2,2"}),
    ],
)
def test_loading_objects_and_making_values_give_the_same(path, kind, params):
    loaded, made = workbench.load(DATASETS / path), generate_scenario(kind, **params)
    a, b = loaded.snapshot, made.snapshot
    assert a.resources == b.resources
    assert a.gaps == b.gaps
    for name in ("allocatable", "used", "unschedulable", "gpu_total", "gpu_free", "node_matrix"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert a.labels.rows() == b.labels.rows()
    for name in ("node_names", "domain_names", "tier_names"):
        assert getattr(a.topology, name) == getattr(b.topology, name)
    for name in ("parent", "tier", "member_start", "member_nodes"):
        assert np.array_equal(getattr(a.topology, name), getattr(b.topology, name)), name
    (x,), (y,) = loaded.gangs, made.gangs
    assert (x.key, x.n_pods, x.min_available, x.constraint) == (y.key, y.n_pods, y.min_available, y.constraint)
    assert dict(x.roles[0].requests) == dict(y.roles[0].requests)
    assert x.notes == y.notes
    assert (x.sub_groups, x.min_subgroups, x.sub_grouped) == (y.sub_groups, y.min_subgroups, y.sub_grouped)
    assert x.roles[0].container_gpus == y.roles[0].container_gpus


def test_matrices_are_the_documents():
    a = workbench.load_matrix(MATRICES / "matrix-a.txt")
    b = workbench.load_matrix(MATRICES / "matrix-b.txt")
    assert len(a) == len(b) == 8
    assert (a.gb_s[0, 4], a.gb_s[4, 0], a.gb_s[1, 4], a.gb_s[4, 1]) == (15.77, 5.0, 4.64, 16.81)
    assert (b.gb_s[2, 3], b.gb_s[3, 2]) == (6.02, 96.48)
    assert int((a.gb_s != a.gb_s.T).sum()) // 2 == 23
    assert int((b.gb_s != b.gb_s.T).sum()) // 2 == 24


def test_second_matrix_is_the_devices():
    snapshot = workbench.load(MATRICES / "device-host04.yaml", MATRICES / "node-host04.yaml").snapshot
    carried = snapshot.matrix_of(snapshot.topology.node("host04"))
    assert carried is not None
    assert np.array_equal(carried.gb_s, workbench.load_matrix(MATRICES / "matrix-b.txt").gb_s)


@pytest.mark.parametrize(
    ("matrix", "k", "want_gb_s", "want_sets"),
    [
        ("matrix-a.txt", 4, 48.33, [(0, 1, 2, 3), (4, 5, 6, 7)]),
        ("matrix-a.txt", 6, 15.52, [(0, 1, 2, 3, 5, 6), (0, 1, 2, 5, 6, 7)]),
        ("matrix-b.txt", 4, 48.33, [(4, 5, 6, 7)]),
    ],
)
def test_best_sets_are_those_of_the_document(matrix, k, want_gb_s, want_sets):
    answer = workbench.best_gpus(workbench.load_matrix(MATRICES / matrix), k)
    assert answer.bottleneck_gb_s == want_gb_s
    assert list(answer.ties) == want_sets


def test_both_printouts_of_the_machine_with_nics_tell_the_same_nics_near_the_same_gpus():
    printed, described = (
        workbench.load_matrix(DATASETS / "machine-with-nics" / name) for name in ("topo.txt", "nccl.xml")
    )
    for gpu in range(8):
        assert printed.near([gpu]) == described.near([gpu])
    assert printed.near([4, 6]) == {
        "near_nics": {"mlx5_2": {"4": "PIX"}, "mlx5_3": {"6": "PIX"}},
        "numa_nodes": ["1"],
    }
    # The classes of the links agree, though not their speeds: one table is of types, the other of NCCL's figures.
    assert np.array_equal(printed.link_classes(), described.link_classes())


def test_samples_ask_for_what_the_document_asks():
    scenario = workbench.load(DATASETS / "samples/pytorch-job.yaml", DATASETS / "three-level-tree/nodes.yaml")
    gang = scenario.gang("pytorch-job")
    assert [(role.name, role.count) for role in gang.roles] == [("master", 1), ("worker", 2)]
    assert gang.min_available == 1
    assert gang.constraint is not None
    assert (gang.constraint.mode, gang.constraint.highest_tier) == ("hard", 1)
    several = workbench.load(DATASETS / "samples/hyperjob.yaml").gang("multi-volcano-job")
    assert (several.kind, len(several.jobs), several.n_pods) == ("HyperJob", 40, 1280)
    (hyper_job,) = manifests("samples/hyperjob.yaml")
    (replicated,) = hyper_job["spec"]["replicatedJobs"]
    assert (replicated["replicas"], replicated["templateSpec"]["tasks"][0]["replicas"]) == (40, 32)


def test_demo_cluster_holds_what_its_readme_says():
    snapshot = workbench.load(DATASETS / "demo").snapshot
    assert int(np.bitwise_count(snapshot.gpu_total).sum()) == 64
    assert int(np.bitwise_count(snapshot.gpu_free).sum()) == 60
    assert snapshot.gpu_free[snapshot.topology.node("node1")].tolist() == [0xFF & ~0b101001]
    a = workbench.load_matrix(MATRICES / "matrix-a.txt").gb_s
    b = workbench.load_matrix(MATRICES / "matrix-b.txt").gb_s
    for i in range(8):
        matrix = snapshot.matrix_of(snapshot.topology.node(f"node{i}"))
        assert matrix is not None
        assert np.array_equal(matrix.gb_s, a if i >= 4 else b)


def test_demo_tells_the_policies_apart():
    """What the demo's README says: who keeps the hard job in one half, and who meets a slow direction."""
    scenario = workbench.load(DATASETS / "demo")
    names = ["allocate", "gang", "binpack", "spread", "volcano-1.13", "volcano-1.13+gpu-lowest-index"]
    comparison = workbench.compare(scenario.gangs, scenario.snapshot, names)
    assert comparison.all_placed
    table = comparison.to_dataframe().set_index(["policy", "job"])
    hard = table.xs("default/hard-tier-2", level="job")
    assert hard["lca_tier"].tolist() == [3, 3, 3, 3, 2, 2]
    assert hard.loc["volcano-1.13", "hypernode"] == "s5"
    slowest = table["bottleneck_gb_s"].groupby(level="policy").min()
    assert slowest["volcano-1.13"] == 15.52
    assert slowest["volcano-1.13+gpu-lowest-index"] == 4.64
    pair = table.xs("default/nccl-pair", level="job")["bottleneck_gb_s"]
    assert (pair["volcano-1.13"], pair["volcano-1.13+gpu-lowest-index"]) == (48.33, 6.02)


def test_no_dataset_names_a_machine_path():
    text = "\n".join(p.read_text(encoding="utf-8") for p in sorted(DATASETS.rglob("*")) if p.is_file())
    assert len(text) > 10_000
    assert re.findall(r"(?<![\w.])/(?:work|tmp|root|home/\w+/)\S*", text) == []


def fabric(name: str) -> Topology:
    return workbench.load(DATASETS / "one-fabric" / name).snapshot.topology


@pytest.mark.parametrize("name", ONE_FABRIC)
def test_the_descriptions_of_one_fabric_differ_in_names_only(name):
    found = diff_topologies(fabric("hypernodes.yaml"), fabric(name))
    assert {change.before: change.after for change in found.domains_renamed} == ONE_FABRIC[name]
    assert found.nodes_moved == found.nodes_appeared == found.nodes_vanished == found.domains_moved == ()
    assert found.members_changed == found.domains_appeared == ()


def test_changes_of_cables_are_found():
    before = fabric("ibnetdiscover.out")
    found = diff_topologies(before, fabric("ibnetdiscover-recabled.out"))
    assert [(m.node, m.before, m.after) for m in found.nodes_moved] == [("gpu-06", "leaf-2a-group", "leaf-3a-group")]
    assert [(m.name, m.before, m.after) for m in found.domains_moved] == [("leaf-3a-group", "pod-2", "pod-1")]


def test_one_wrong_cable_makes_one_leaf_of_two_and_is_named():
    wrong = workbench.load(DATASETS / "one-fabric" / "ibnetdiscover-one-wrong-cable.out").snapshot
    found = diff_topologies(fabric("ibnetdiscover.out"), wrong.topology)
    assert [domain.name for domain in found.domains_vanished] == ["leaf-3a-group", "pod-1", "pod-2"]
    text = "only gpu-05 joins leaf-2a/leaf-2b and leaf-3a/leaf-3b to one HyperNode: a wrong cable?"
    assert text in said(wrong.gaps)


SWITCHES = DATASETS / "switch-affinity"


def test_the_switch_dataset_is_what_the_generator_and_the_converter_make():
    fabric = Fabric((4, 3, 2), prefixes=("leaf", "spine", "top"), shape=NodeShape(devices={"huawei.com/Ascend910": 8}))
    assert manifests("switch-affinity/cluster.yaml") == fabric.manifests()
    cluster = workbench.load(SWITCHES / "cluster.yaml").snapshot
    text = TOR_NODE.write(cluster).text
    assert (SWITCHES / "tor-node.yaml").read_text(encoding="utf-8").strip("-\n") == text.strip("-\n")


@pytest.mark.parametrize(
    ("mode", "want_pending"),
    [
        # Both halves of the tree have room, but not for six pods in one of them.
        ("hard", {"switch-affinity": 0, "volcano-1.13": 1, "volcano-1.15": 1, "gang": 0, "spread": 0}),
        ("soft", {"switch-affinity": 0, "volcano-1.13": 0, "volcano-1.15": 0, "gang": 0, "spread": 0}),
    ],
)
@pytest.mark.parametrize("table", [(), ("tor-node.yaml",)])
def test_the_kinds_of_job_compared_with_the_rest(mode, want_pending, table):
    files = [SWITCHES / name for name in ("cluster.yaml", f"jobs-{mode}.yaml", *table)]
    scenario = workbench.load(*files)
    compared = workbench.compare(scenario.gangs, scenario.snapshot, policies=list(want_pending))
    rows = {row.policy.partition("+")[0]: row.metrics for row in compared.rows}
    assert {policy: len(run.pending) for policy, run in rows.items()} == want_pending
    assert all(run.switches.cross_jobs == 3 - len(run.pending) for run in rows.values())
    assert rows["switch-affinity"].switches.shared == 1
    assert rows["switch-affinity"].switches.pairs_across == 44
    if mode == "soft":
        assert rows["volcano-1.15"].switches.most_shared == 2
