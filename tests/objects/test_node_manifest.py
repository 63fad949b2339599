from __future__ import annotations

from workbench.model.labels import Taint
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node, node_manifest, read_node


def test_what_is_written_is_read_back():
    node = Node(
        Metadata("n0", labels={"b": "1", "a": "2"}),
        {"cpu": 1500, "memory": 1 << 30, "nvidia.com/gpu": 8},
        (Taint("k", "v", "NoSchedule"), Taint("bare", "", "")),
        True,
        "10.0.0.1",
    )
    written = node_manifest(node)
    assert read_node(written) == node
    assert written["status"]["allocatable"] == {"cpu": "1500m", "memory": "1073741824", "nvidia.com/gpu": "8"}
    assert list(written["metadata"]["labels"]) == ["a", "b"]


def test_what_a_node_has_not_is_not_written():
    assert node_manifest(Node(Metadata("n0"), {})) == {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}}
