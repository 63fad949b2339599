"""Slips that have one meaning are mended with a warning, and give what the corrected file gives."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from workbench.control.cluster import EmbeddedCluster
from workbench.errors import InputError
from workbench.formats.manifests import read_manifests
from workbench.formats.review import review_manifests
from workbench.model.placement import Placement
from workbench.topology.objects_of import hypernodes_in

NODES = "".join(
    f"""---
apiVersion: v1
kind: Node
metadata: {{name: node{i}}}
status: {{allocatable: {{cpu: 8, memory: 32Gi, pods: 110, nvidia.com/gpu: 8}}}}
"""
    for i in range(2)
)

RIGHT = """---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: roce-network0}
spec:
  tier: 2
  members:
  - {type: HyperNode, selector: {exactMatch: {name: nvlink-network0}}}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: nvlink-network0}
spec:
  tier: 1
  members:
  - {type: Node, selector: {exactMatch: {name: node0}}}
  - {type: Node, selector: {exactMatch: {name: node1}}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  minAvailable: 2
  schedulerName: volcano
  networkTopology: {mode: hard, highestTierAllowed: 1}
  tasks:
  - replicas: 2
    name: worker
    template:
      spec:
        restartPolicy: OnFailure
        containers:
        - {name: worker, image: alpine, resources: {limits: {nvidia.com/gpu: 8}}}
"""

MEMBER = "{type: Node, selector: {exactMatch: {name: node0}}}"
PARENT = "{type: HyperNode, selector: {exactMatch: {name: nvlink-network0}}}"

#: Code of the warning, what is right, the slip in its place, and a word of the warning.
SLIPS = [
    ("version-not-api-version", "apiVersion: topology", "version: topology", "write apiVersion: topology.volcano.sh"),
    ("name-outside-metadata", "metadata: {name: roce-network0}", "name: roce-network0", "write metadata: {name: roce"),
    ("text-for-number", "tier: 2", 'tier: "2"', "write tier: 2"),
    ("member-without-selector", MEMBER, "{name: node0, type: Node}", f"write {MEMBER}"),
    ("member-without-selector", MEMBER, "{name: node0}", f"as the tier is 1; write {MEMBER}"),
    ("member-without-selector", PARENT, "{name: nvlink-network0}", f"as the tier is 2; write {PARENT}"),
    ("name-spelt-differently", "name: nvlink-network0}\n", "name: nvlink_network-0}\n", "one name in both places"),
    (
        "job-in-wrong-group",
        "apiVersion: batch.",
        "apiVersion: topology.",
        "write apiVersion: batch.volcano.sh/v1alpha1",
    ),
    ("list-for-object", "{mode: hard, highestTierAllowed: 1}", "[{mode: hard, highestTierAllowed: 1}]", "a dash"),
    ("gpu-without-domain", "nvidia.com/gpu: 8}}}\n", "gpu: 8}}}\n", "write nvidia.com/gpu: 8"),
]


def _write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "input.yaml"
    file.write_text(NODES + text)
    return file


@pytest.mark.parametrize(("code", "right", "wrong", "word"), SLIPS)
def test_a_slip_is_placed_and_run_as_the_corrected_file_with_a_warning(
    code: str, right: str, wrong: str, word: str, tmp_path: Path
) -> None:
    assert right in RIGHT
    expected = wb.load(_write(tmp_path, RIGHT))
    file = _write(tmp_path, RIGHT.replace(right, wrong))

    scenario = wb.load(file)

    told = [gap for gap in scenario.snapshot.gaps if gap not in expected.snapshot.gaps]
    assert {gap.code for gap in told} == {code}
    assert any(word in gap.message for gap in told)
    assert _tree(scenario) == _tree(expected)
    assert _nodes(scenario) == _nodes(expected) == [("nvlink-network0", ["node0", "node1"])]

    cluster = EmbeddedCluster()
    cluster.submit(file)
    cluster.settle()
    assert {notice.code for _, notice in cluster.warnings} == {code}
    assert [(row.name, row.phase) for row in cluster.jobs()] == [("train", "Running")]


@pytest.mark.parametrize("domain", ["kubernetes.io", "koordinator.sh"])
@pytest.mark.parametrize("amounts", ["{D}/gpu-core: 800, {D}/gpu-memory-ratio: 800", "{D}/gpu: 800"])
def test_hundredths_of_gpus_are_read_in_both_spellings_of_koordinator(
    domain: str, amounts: str, tmp_path: Path
) -> None:
    expected = wb.load(_write(tmp_path, RIGHT))
    scenario = wb.load(
        _write(tmp_path, RIGHT.replace("nvidia.com/gpu: 8}}}\n", amounts.replace("{D}", domain) + "}}}\n"))
    )
    assert {gap.code for gap in scenario.snapshot.gaps if gap not in expected.snapshot.gaps} == {"gpu-in-hundredths"}
    assert _nodes(scenario) == _nodes(expected)


def _tree(scenario: wb.Scenario) -> list[tuple[str, int, list[str]]]:
    topology = scenario.snapshot.topology
    return [(one.name, one.tier, sorted(str(member) for member in one.members)) for one in hypernodes_in(topology)]


def _nodes(scenario: wb.Scenario) -> list[tuple[str, list[str]]]:
    (decision,) = wb.schedule(scenario.gangs, scenario.snapshot, "volcano-1.15")
    placement = decision.result
    assert isinstance(placement, Placement)
    return [(placement.hypernode, [pod.node for pod in placement.pods()])]


@pytest.mark.parametrize(("code", "right", "wrong", "word"), SLIPS)
def test_validate_takes_objects_as_they_are_written(
    code: str, right: str, wrong: str, word: str, tmp_path: Path
) -> None:
    manifests = read_manifests([_write(tmp_path, RIGHT.replace(right, wrong))])
    try:
        review = review_manifests(manifests)
    except InputError:
        return
    assert review.refused >= 1


def test_objects_of_a_cluster_are_taken_as_they_are(tmp_path: Path) -> None:
    stored = RIGHT.replace("{name: train}", "{name: train, uid: u, resourceVersion: '1'}")
    file = _write(tmp_path, stored.replace("nvidia.com/gpu: 8}}}\n", "gpu: 8}}}\n"))

    assert "gpu-without-domain" not in {gap.code for gap in wb.load(file).snapshot.gaps}


def test_names_are_not_joined_where_two_objects_could_be_meant(tmp_path: Path) -> None:
    child = RIGHT.split("---\n")[2]
    twins = [child.replace("nvlink-network0", name) for name in ("nvlink.network-0", "nvlink-network-0")]
    file = _write(tmp_path, "---\n".join(["", RIGHT.split("---\n")[1], *twins]))

    assert "name-spelt-differently" not in {gap.code for gap in wb.load(file).snapshot.gaps}
