"""`load_documents`: a scenario together with manifests that say the same, whatever the input was.

The manifests are what a change of the input is made on (`workbench.formats.edit_manifests`); written into one file,
they are read back as an equal scenario.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from workbench.formats.edit_manifests.manifest_set import ManifestSet
from workbench.formats.fabric.intake import Joined
from workbench.formats.fabric.tor_node import tor_config_map, tor_table_of
from workbench.formats.load import load_joined
from workbench.formats.manifests import Document
from workbench.formats.scenario_file import ScenarioFile, scenario_text
from workbench.formats.write_manifests import to_yaml
from workbench.jobs.gangs import read_workload
from workbench.jobs.schedulers import TakenSchedulers
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.device import device_manifest
from workbench.objects.hypernode_manifest import hypernode_manifest, is_hypernode
from workbench.objects.kinds import TOR_NODE_CONFIG_MAP, ClusterObjects
from workbench.objects.node import Node, node_manifest
from workbench.topology.objects_of import nodes_in

__all__ = ["LoadedDocuments", "load_documents"]

Manifest = dict[str, Any]


@dataclass(frozen=True, eq=False)
class LoadedDocuments:
    """A scenario and the manifests that describe it.

    Attributes
    ----------
    manifests : tuple of dict
        One for each object, in the order of the input; Lists are taken apart. With a snapshot file as input they are
        those of the jobs alone.
    whole_cluster : bool
        Whether the manifests describe the cluster, too. False: it came from a snapshot file or a scenario file.
    left_out : tuple of Notice
        What the manifests cannot hold.
    objects : ClusterObjects
        The objects that were read of the input.
    """

    scenario: Scenario
    manifests: tuple[Manifest, ...]
    whole_cluster: bool
    left_out: tuple[Notice, ...] = ()
    objects: ClusterObjects = field(default_factory=ClusterObjects, repr=False)

    @cached_property
    def manifest_set(self) -> ManifestSet:
        """The manifests with what was read of them, for functions that change manifests."""
        return ManifestSet(self.manifests, self.objects)

    def text(self, manifests: Iterable[Mapping[str, Any]] | None = None, cluster: ClusterSnapshot | None = None) -> str:
        """The text of one file that `workbench.load` reads as this scenario, changed or not.

        `manifests`: changed manifests; None: those of this object. `cluster`: the changed cluster; it counts only if
        the manifests do not describe the cluster (`whole_cluster`). None: the scenario's own. Returns: YAML, or the
        JSON of a scenario file if the manifests do not describe the cluster.
        """
        written = to_yaml(self.manifests if manifests is None else manifests)
        if self.whole_cluster:
            return written
        snapshot = cluster or self.scenario.snapshot
        # Reading the jobs tells of them again.
        gaps = tuple(gap for gap in snapshot.gaps if gap not in self.scenario.notes)
        return scenario_text(ScenarioFile(replace(snapshot, gaps=gaps), written))


def load_documents(
    *paths: str | Path,
    matrices: Mapping[str, str | Path] | None = None,
    stdin: bytes | str | None = None,
    format: str | None = None,
    any_scheduler: TakenSchedulers = False,
    gpus_per_node: int | None = None,
) -> LoadedDocuments:
    """Read a scenario as `workbench.load` does, together with manifests that describe it.

    What is no Kubernetes object becomes one: nodes and HyperNodes of network topology files, a switch table, GPUs that
    `gpus_per_node` assumes, and bandwidth matrices (Devices). HyperNodes that are derived from labels of nodes are left
    to be derived again, unless `format` asked for them. Slips that `load` mends are mended in the manifests.

    `matrices`, `stdin`, `format`, `any_scheduler`, `gpus_per_node`: as in `workbench.load`, with its errors.
    """
    kept: list[Manifest] = []

    def keep(document: Document) -> None:
        kept.append(document.data)

    scenario, cluster, joined = load_joined(
        paths, matrices, stdin, format, any_scheduler=any_scheduler, gpus_per_node=gpus_per_node, keep=keep
    )
    left_out = [*_other_schedulers(cluster)] if any_scheduler is True else []
    if joined.snapshot is not None:
        return LoadedDocuments(scenario, tuple(kept), False, tuple(left_out), cluster)
    manifests = _with_hypernodes(kept, cluster, joined)
    manifests = _with_nodes(manifests, cluster, scenario.snapshot, gpus_per_node is not None)
    manifests = _with_switch_table(manifests, cluster, joined)
    if joined.matrices or matrices:
        manifests, lost = _with_matrices(manifests, cluster, scenario.snapshot)
        left_out += lost
    return LoadedDocuments(scenario, tuple(manifests), True, tuple(left_out), cluster)


def _name(manifest: Mapping[str, Any]) -> str:
    name: str = manifest["metadata"]["name"]
    return name


def _is_kind(manifest: Mapping[str, Any], kind: str) -> bool:
    """Whether a manifest is of a kind of Kubernetes' core group."""
    return manifest["kind"] == kind and "/" not in manifest["apiVersion"]


def _other_schedulers(cluster: ClusterObjects) -> Iterable[Notice]:
    """A notice if jobs of other schedulers are placed because they were asked for."""
    for note in read_workload(cluster).notes:
        if note.code == "other-scheduler":
            text = "jobs of other schedulers are placed only where they are asked for: name --any-scheduler again"
            yield Notice("not-in-manifests", text, numbers=note.numbers)


def _with_hypernodes(manifests: Sequence[Manifest], cluster: ClusterObjects, joined: Joined) -> list[Manifest]:
    """The manifests with the HyperNodes of the scenario: under the names that count, and those of other files added."""
    written = [manifest for manifest in manifests if is_hypernode(manifest)]
    others = [manifest for manifest in manifests if not is_hypernode(manifest)]
    # Mending gives HyperNodes the names that their parents use, and keeps their order.
    names = list(cluster.hypernodes)
    if joined.derived and not joined.asked:
        return others
    if joined.derived:
        return [*others, *map(hypernode_manifest, cluster.hypernodes.values())]
    renamed = iter(names)
    result = []
    for manifest in manifests:
        if is_hypernode(manifest):
            name = next(renamed)
            if name != _name(manifest):
                manifest = {**manifest, "metadata": {**manifest["metadata"], "name": name}}
        result.append(manifest)
    added = [hypernode_manifest(cluster.hypernodes[name]) for name in names[len(written) :]]
    return [*result, *added]


def _with_nodes(
    manifests: Sequence[Manifest], cluster: ClusterObjects, snapshot: ClusterSnapshot, assumed: bool
) -> list[Manifest]:
    """The manifests with every node of the scenario, and with labels and resources that other files give to nodes."""
    in_snapshot = {node.name: node for node in nodes_in(snapshot)}
    result, seen = [], set()
    for manifest in manifests:
        if _is_kind(manifest, "Node"):
            name = _name(manifest)
            seen.add(name)
            node = cluster.nodes[name]
            if assumed and not node.allocatable:
                node = replace(node, allocatable=in_snapshot[name].allocatable)
            manifest = _completed(manifest, node)
        result.append(manifest)
    for name, node in in_snapshot.items():
        if name in seen:
            continue
        known = cluster.nodes.get(name, node)
        if assumed and not known.allocatable:
            known = replace(known, allocatable=node.allocatable)
        result.append(node_manifest(known))
    return result


def _completed(manifest: Manifest, node: Node) -> Manifest:
    """The manifest of a Node with the labels and resources that `node` has."""
    metadata, status = manifest["metadata"], manifest.get("status") or {}
    if (metadata.get("labels") or {}) != node.metadata.labels:
        manifest = {**manifest, "metadata": {**metadata, "labels": dict(node.metadata.labels)}}
    if node.allocatable and not (status.get("allocatable") or status.get("capacity")):
        made = node_manifest(node)["status"]["allocatable"]
        manifest = {**manifest, "status": {**status, "allocatable": made}}
    return manifest


def _with_switch_table(manifests: list[Manifest], cluster: ClusterObjects, joined: Joined) -> list[Manifest]:
    """The manifests with the switch table of a file as its ConfigMap, which replaces any in the input."""
    if joined.tors is None or joined.tors is tor_table_of(cluster):
        return manifests
    kept = [
        manifest
        for manifest in manifests
        if not (_is_kind(manifest, "ConfigMap") and _name(manifest) == TOR_NODE_CONFIG_MAP)
    ]
    return [*kept, tor_config_map(joined.tors)]


def _with_matrices(
    manifests: Sequence[Manifest], cluster: ClusterObjects, snapshot: ClusterSnapshot
) -> tuple[list[Manifest], list[Notice]]:
    """The manifests with a Device for each node whose matrix is of a file, and what a Device cannot hold."""
    made: dict[str, Manifest] = {}
    poorer = 0
    for i, name in enumerate(snapshot.topology.node_names):
        matrix, device = snapshot.matrix_of(i), cluster.devices.get(name)
        if matrix is None or (device is not None and device.bandwidth is matrix):
            continue
        mask = int.from_bytes(snapshot.gpu_total[i].astype("<u8").tobytes(), "little")
        gpus = range(len(matrix))
        made[name] = device_manifest(name, gpus, matrix, [gpu for gpu in gpus if not mask >> gpu & 1])
        poorer += _says_more(matrix)
    result = []
    for manifest in manifests:
        if manifest["kind"] == "Device" and manifest["apiVersion"].startswith("scheduling.koordinator.sh/"):
            new = made.pop(_name(manifest), None)
            if new is not None:
                manifest = {**manifest, "spec": {**manifest["spec"], "topologies": new["spec"]["topologies"]}}
        result.append(manifest)
    lost = []
    if poorer:
        text = (
            f"the bandwidths of {counted(poorer, 'node')} are in Devices, without the types of the links, NUMA nodes "
            "and NICs: name --matrix again"
        )
        lost.append(Notice("not-in-manifests", text, numbers={"count": poorer}))
    return [*result, *made.values()], lost


def _says_more(matrix: BandwidthMatrix) -> bool:
    """Whether a matrix has more than bandwidths."""
    return bool(matrix.link_types) or matrix.parts is not None
