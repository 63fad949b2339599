"""Whatever the input was, its manifests are read back as an equal scenario."""

import json
from pathlib import Path

import pytest

from tests.formats.same_scenario import assert_same, read_back
from workbench import load, save
from workbench.errors import InputError
from workbench.formats.fabric.registry import get_format, writable_formats
from workbench.formats.load_documents import load_documents

DATA = Path(__file__).parents[2] / "datasets"

INPUTS = {
    "manifests with running pods and Devices": ["demo"],
    "nodes, HyperNodes and a Job": ["three-level-tree"],
    "a live cluster in a List": ["recorded-cluster"],
    "HyperNodes alone": ["three-level-tree/hypernodes.yaml"],
    "HyperNodes alone and a Job": ["three-level-tree/hypernodes.yaml", "three-level-tree/job-hard-tier-2.yaml"],
    "a HyperJob as in the document": ["hyperjob/document.yaml"],
    "a HyperJob": ["hyperjob/small.yaml"],
    "a switch table in a ConfigMap": [f"switch-affinity/{name}.yaml" for name in ("cluster", "tor-node", "jobs-hard")],
    "a switch table without nodes": ["switch-affinity/tor-node.yaml"],
    "the first use case": ["use-case-1/small.yaml"],
    "the second use case": ["use-case-2/small.yaml"],
    "two RoCE networks": ["two-roce-networks"],
    "a Device": ["koordinator-matrices/node-host04.yaml", "koordinator-matrices/device-host04.yaml"],
    "a file of Slurm": ["one-fabric/topology.conf"],
    "a file of Slurm and a Job": ["one-fabric/topology.conf", "samples/pytorch-job.yaml"],
    "a list of cables": ["one-fabric/ibnetdiscover.out"],
    "a topology in the form of topograph": ["one-fabric/model.yaml"],
}


@pytest.mark.parametrize("paths", INPUTS.values(), ids=INPUTS)
@pytest.mark.parametrize("gpus", [None, 8])
def test_the_manifests_are_read_back_as_an_equal_scenario(paths: list[str], gpus: int | None) -> None:
    loaded = load_documents(*(DATA / path for path in paths), gpus_per_node=gpus)
    matrices = any(notice.code == "not-in-manifests" for notice in loaded.left_out)
    assert_same(loaded.scenario, load(*(DATA / path for path in paths), gpus_per_node=gpus))
    assert_same(read_back(loaded), loaded.scenario, link_types=not matrices)


def test_a_whole_live_cluster_is_read_back_as_an_equal_scenario(live_cluster: Path) -> None:
    loaded = load_documents(live_cluster)
    assert len(loaded.scenario.snapshot.running) == 40
    assert len(loaded.scenario.gangs) == 6
    assert_same(read_back(loaded), loaded.scenario)


def test_matrices_of_files_become_devices_and_what_these_lack_is_told() -> None:
    matrices = {"node0[0-3]": DATA / "koordinator-matrices" / "matrix-a.txt"}
    loaded = load_documents(DATA / "demo" / "cluster.yaml", DATA / "demo" / "devices.yaml", matrices=matrices)
    assert loaded.left_out == ()
    assert_same(read_back(loaded), loaded.scenario, link_types=False)
    topo = load_documents(DATA / "demo" / "cluster.yaml", matrices={"": DATA / "machine-with-nics" / "topo.txt"})
    assert [notice.code for notice in topo.left_out] == ["not-in-manifests"]
    assert "name --matrix again" in topo.left_out[0].message
    assert_same(read_back(topo), topo.scenario, link_types=False)


def test_a_snapshot_file_with_jobs_is_written_as_a_scenario_file(tmp_path: Path) -> None:
    save(load(DATA / "demo").snapshot, tmp_path / "cluster.json")
    loaded = load_documents(tmp_path / "cluster.json", DATA / "demo" / "jobs.yaml")
    assert not loaded.whole_cluster
    assert {manifest["kind"] for manifest in loaded.manifests} == {"Job"}
    assert '"workbench_scenario"' in loaded.text()
    again = read_back(loaded)
    assert_same(again, loaded.scenario)
    assert again.snapshot.gaps == loaded.scenario.snapshot.gaps
    # A scenario file is an input like any other, with jobs or without.
    (tmp_path / "scenario.json").write_text(loaded.text())
    assert_same(read_back(load_documents(tmp_path / "scenario.json")), loaded.scenario)
    (tmp_path / "empty.json").write_text(loaded.text(manifests=[]))
    assert load(tmp_path / "empty.json").gangs == ()


def test_an_error_in_the_jobs_of_a_scenario_file_names_their_place(tmp_path: Path) -> None:
    text = json.dumps({"workbench_scenario": 1, "jobs": "kind: Job\napiVersion: 7\n"})
    (tmp_path / "scenario.json").write_text(text)
    with pytest.raises(InputError, match=r"scenario\.json, jobs: document 1 \(line 1\), apiVersion"):
        load(tmp_path / "scenario.json")


def test_hypernodes_derived_because_they_were_asked_for_are_written() -> None:
    paths = [DATA / "switch-affinity" / f"{name}.yaml" for name in ("cluster", "tor-node", "jobs-soft")]
    loaded = load_documents(*paths, format="tor-node")
    assert any(manifest["kind"] == "HyperNode" for manifest in loaded.manifests)
    assert_same(read_back(loaded), loaded.scenario)


def test_jobs_of_other_schedulers_have_to_be_asked_for_again(tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"schedulerName": "other"}}
    (tmp_path / "pod.json").write_text(json.dumps(pod))
    loaded = load_documents(tmp_path / "pod.json", any_scheduler=True)
    assert [notice.code for notice in loaded.left_out] == ["not-in-manifests"]
    assert_same(load("-", stdin=loaded.text(), any_scheduler=True), loaded.scenario)


def test_slips_that_are_mended_are_mended_in_the_manifests(tmp_path: Path) -> None:
    text = """
{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: top},
 spec: {tier: "2", members: [{name: rack-1}]}}
---
{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: rack1},
 spec: {tier: 1, members: [{name: n0}]}}
---
{version: topology.volcano.sh/v1alpha1, kind: Job, name: j,
 spec: {networkTopology: [{mode: hard}], tasks: [{name: a, template: {spec: {containers: [
   {name: c, resources: {requests: {gpu: 1}}}]}}}]}}
"""
    (tmp_path / "all.yaml").write_text(text)
    loaded = load_documents(tmp_path / "all.yaml")
    assert loaded.scenario.snapshot.topology.domain_names == ("rack-1", "top")
    again = read_back(loaded)
    assert_same(again, loaded.scenario)
    assert not [gap for gap in again.snapshot.gaps if gap.code in ("name-spelt-differently", "gpu-without-domain")]


@pytest.mark.parametrize("name", writable_formats())
@pytest.mark.parametrize("beside", [[], ["three-level-tree/nodes.yaml"]], ids=["alone", "beside Nodes"])
def test_every_format_is_read_back_as_an_equal_scenario(name: str, beside: list[str], tmp_path: Path) -> None:
    if name == "snapshot" and beside:
        pytest.skip("a snapshot is a whole cluster")
    writer = get_format(name).write
    assert writer is not None
    (tmp_path / "fabric").write_text(writer(load(DATA / "three-level-tree").snapshot).text)
    paths = [tmp_path / "fabric", *(DATA / path for path in beside)]
    try:
        wanted = load(*paths)
    except InputError:
        pytest.skip("the written file holds Nodes, too")
    loaded = load_documents(*paths)
    assert_same(loaded.scenario, wanted)
    assert_same(read_back(loaded), wanted)
