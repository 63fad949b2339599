"""YAML of the five design documents: what is none is refused with every slip, what is runs, mended with warnings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import PUBLIC_DATA
from tests.control.manifests import small_cluster
from workbench.control.cluster import EmbeddedCluster
from workbench.errors import InputError
from workbench.formats.manifests import read_text
from workbench.formats.write_manifests import to_yaml

DESIGNS = PUBLIC_DATA.parent / "designs"
needs_designs = pytest.mark.skipif(not DESIGNS.is_dir(), reason=f"the design documents are not in {DESIGNS}")

TOPOLOGY = "volcano-network-topology-aware-scheduling.md"
PLUGINS = "volcano-distributed-framework-plugins.md"
KOORDINATOR = "koordinator-gpu-topology-aware-scheduling.md"

#: Lines with slips of each block that contains a kind or an API version, by document and line of the block's fence.
SLIPS: dict[tuple[str, int], list[int]] = {
    (TOPOLOGY, 100): [8, 17, 26, 35, 44, 45, 52, 61],  # HyperNodes: `- ` missing before entries, `---` at 45
    (TOPOLOGY, 169): [6, 31, 42, 53, 64],  # HyperNodes: indentation, entries without a dash
    (TOPOLOGY, 280): [8, 9],  # the PyTorch Job: comments with //
    (TOPOLOGY, 322): [7, 7, 8, 13, 14, 18, 21, 27],  # the HyperJob: **, //, curly quotes, indentation
    (PLUGINS, 247): [],
    (KOORDINATOR, 108): [],
    (KOORDINATOR, 140): [],
}


def blocks(document: str) -> dict[int, str]:
    text = (DESIGNS / document).read_text("utf-8")
    found = re.finditer(r"^```[a-z]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return {text.count("\n", 0, one.start()) + 1: one[1] for one in found if re.search("kind:|apiVersion", one[1])}


@needs_designs
def test_the_table_has_every_block_with_an_object() -> None:
    documents = sorted(path.name for path in DESIGNS.glob("*.md"))
    assert [(name, line) for name in documents for line in blocks(name)] == sorted(SLIPS)


@needs_designs
@pytest.mark.parametrize(("document", "line"), [place for place, slips in SLIPS.items() if slips])
def test_what_is_no_yaml_is_refused_with_all_its_slips_and_remedies(document: str, line: int) -> None:
    with pytest.raises(InputError) as caught:
        read_text(blocks(document)[line].encode(), "document")
    said = str(caught.value)
    listed = re.findall(r"lines? (\d+(?:, \d+)*): ", said.partition("to be mended")[2])
    told = sorted(int(number) for numbers in listed for number in numbers.split(", "))
    assert told == SLIPS[document, line], said


@needs_designs
def test_the_ray_cluster_of_the_document_runs(tmp_path: Path) -> None:
    cluster = EmbeddedCluster("volcano-1.15")
    cluster.submit(to_yaml(small_cluster()), blocks(PLUGINS)[247])
    cluster.settle()
    assert [row.phase for row in cluster.jobs()] == ["Running"]
    assert [pod.name for pod in cluster.pods()] == [
        "ray-cluster-job-head-0",
        "ray-cluster-job-worker-0",
        "ray-cluster-job-worker-1",
    ]
    services = {one["metadata"]["name"] for one in cluster.store.list("Service")}
    assert services == {"ray-cluster-job", "ray-cluster-job-head-svc"}
    cluster.delete("Job", "ray-cluster-job")
    cluster.settle()
    assert cluster.store.list("Service") == [] and cluster.pods() == []
