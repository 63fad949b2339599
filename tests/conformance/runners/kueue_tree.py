"""Rows of `cases/kueue-tas` about the tree of a topology and what holds its nodes: the file `tree`."""

from __future__ import annotations

from typing import Any

from tests.conformance.registry import Runners
from tests.conformance.runners import kueue_values as read
from workbench.model.kueue_names import is_placed_by_topology
from workbench.objects.pod import read_pod
from workbench.policies.kueue.assignments import node_of
from workbench.policies.kueue.flavor_snapshot import FlavorSnapshot, is_node_of_flavor
from workbench.policies.kueue.leaves import leaf_id
from workbench.policies.kueue.level_tree import is_inside
from workbench.policies.kueue.values import Flavor, PodSet


def register(runners: Runners) -> None:
    """Register the operations of the file."""
    runners.op("tree", "tree", given=("levels", "nodes", "node_labels"), want=("domains",))(tree)
    runners.op("tree", "nodes-of-flavor", given=("levels", "nodes", "node_labels"), want=("nodes",))(nodes_of_flavor)
    runners.op("tree", "has-level", given=("levels", "topology"), want=("has",))(has_level)
    runners.op("tree", "belongs-to", given=("path", "domain"), want=("belongs",))(belongs_to)
    runners.op("tree", "node-of-domain", given=("levels", "values"), want=("node",))(node_of_domain)
    runners.op("tree", "pod-is-tas", given=("annotations",), want=("tas",))(pod_is_tas)
    runners.op("tree", "pod-counts-as-non-tas", given=("annotations", "node", "phase"), want=("counts",))(counts_itself)


def _snapshot(given: dict[str, Any]) -> FlavorSnapshot:
    flavor = Flavor("flavor", "default", given["node_labels"])
    return FlavorSnapshot(given["levels"], flavor, [read.node(each) for each in given["nodes"]])


def tree(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Every domain with its id, path, parent, and what its leaf is."""
    snapshot = _snapshot(given)
    leaves, nodes = snapshot.leaves, snapshot.nodes
    found = []
    for level, paths in enumerate(leaves.tree.paths):
        leaf = level == leaves.tree.depth - 1
        for domain, path in enumerate(paths):
            above = leaves.tree.paths[level - 1][leaves.tree.parent[level][domain]] if level else None
            free = snapshot.free(domain)["cpu"] if leaf else 0
            found.append(
                {
                    "level": level,
                    "id": leaf_id(leaves.values(domain)) if leaf else ",".join(path),
                    "path": list(path),
                    "parent": None if above is None else ",".join(above),
                    "leaf": leaf,
                    "node": nodes[domain][0].name if leaf and leaves.by_host else "",
                    "cpu": str(free // 1000),
                }
            )
    assert sorted(found, key=_place) == sorted(want["domains"], key=_place)


def _place(domain: dict[str, Any]) -> tuple[int, list[str]]:
    return domain["level"], domain["path"]


def nodes_of_flavor(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Names of the nodes that the flavor takes into its tree."""
    labels, levels = given["node_labels"], given["levels"]
    found = [node.name for node in map(read.node, given["nodes"]) if is_node_of_flavor(node, labels, levels)]
    assert sorted(found) == sorted(want["nodes"])


def has_level(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Whether a flavor has the levels that a pod set asks for."""
    snapshot = FlavorSnapshot(given["levels"], Flavor("flavor", "default"), [])
    pods = PodSet("main", 1, {}, read.topology_request(given["topology"], None))
    assert snapshot.has_level(pods) == want["has"]


def belongs_to(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Whether a domain is another one or inside it."""
    assert is_inside(tuple(given["path"]), tuple(given["domain"])) == want["belongs"]


def node_of_domain(given: dict[str, Any], want: dict[str, Any]) -> None:
    """The node that the domain of an assignment is."""
    assert node_of(tuple(given["levels"]), tuple(given["values"])) == want["node"]


def pod_is_tas(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Whether Kueue places a pod by topology."""
    assert is_placed_by_topology(given["annotations"]) == want["tas"]


def counts_itself(given: dict[str, Any], want: dict[str, Any]) -> None:
    """Whether a pod holds its node by itself, because no assignment of Kueue holds it."""
    manifest = {
        "metadata": {"name": "p", "namespace": "default", "annotations": given["annotations"]},
        "spec": {"nodeName": given["node"], "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": given["phase"] or "Running"},
    }
    pod = read_pod(manifest)
    assert (pod.holds_resources and not is_placed_by_topology(pod.metadata.annotations)) == want["counts"]
