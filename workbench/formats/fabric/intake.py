"""Recognise network topology files among the inputs, and join their contents with the cluster's other objects."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.kinds import ClusterObjects
from workbench.objects.node import Node

if TYPE_CHECKING:
    from workbench.objects.tor_node import TorNodeTable

__all__ = ["FabricIntake", "Joined"]


@dataclass
class Joined:
    """The joint contents of several network topology files.

    Attributes
    ----------
    notes : list of Notice
        Notices for ``snapshot.gaps``.
    matrices : dict of str to BandwidthMatrix
        Bandwidth matrices by node name.
    tors : TorNodeTable, optional
        The switch table from a file, or else from the ConfigMap; None: there is none.
    snapshot : ClusterSnapshot, optional
        The snapshot, if one of the files is a snapshot file, which describes the whole cluster.
    formats : dict of str to str
        Format of each fabric file that was recognised by its content, by the name of the file.
    derived : bool
        Whether the HyperNodes were derived from other objects, such as labels of nodes.
    asked : bool
        Whether a format was named by ``--from``.
    """

    notes: list[Notice] = field(default_factory=list)
    matrices: dict[str, BandwidthMatrix] = field(default_factory=dict)
    tors: TorNodeTable | None = None
    snapshot: ClusterSnapshot | None = None
    formats: dict[str, str] = field(default_factory=dict)
    derived: bool = False
    asked: bool = False

    def add(self, cluster: ClusterObjects, records: FabricRecords, given: bool) -> None:
        """Add the contents of one network topology file to a cluster's objects.

        `cluster`: objects of the cluster, changed in place. `given`: whether the cluster's nodes come from manifests,
        so that the file adds no further nodes.
        """
        _add(cluster, records, given)
        self.matrices.update(records.matrices)
        self.notes += records.notes
        self.tors = records.tors or self.tors


@dataclass
class FabricIntake:
    """Collects the network topology files among the input files, and joins their contents with the cluster's objects.

    `wanted`: format named by ``--from``, in which every file without Kubernetes objects is read; if HyperNodes of this
    format are derived from Kubernetes objects, such as node labels, they are derived. None: the content of each file
    decides. `found`, `sources`, `formats`: contents of the files, and the names of the files and of their formats.
    """

    # The reader of manifests offers each file to `claim`, which takes those that are network topologies. After the last
    # file `join` adds what was found to the cluster's objects, and derives HyperNodes where none were read (`_derive`).

    wanted: FabricFormat | None = None
    found: list[FabricRecords] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, name: str | None) -> FabricIntake:
        """Make the intake for the format called `name` (None: detect by content).

        Raises UnknownNameError for other names.
        """
        if name is None:
            return cls()
        from workbench.formats.fabric.registry import get_format

        return cls(get_format(name))

    def claim(self, content: bytes, source: str) -> bool:
        """Read a file if it is a network topology.

        Returns False if it is not, so that the caller reads it as manifests.

        Raises InputError: the reader of the format refuses the text. A format that the content suggested is named,
        because the file may be something else.
        """
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return False
        if "\0" in text or not text.strip():
            return False
        if Sample(text, source).is_manifest:  # as most inputs are, which need none of the formats
            return False
        chosen = self.wanted or _detect(text, source)
        if chosen is None or chosen.read is None:
            return False
        try:
            records = chosen.read(text, source)
        except InputError as error:
            if self.wanted is not None:
                raise _of_another(text, source, chosen) or error from None
            raise error.remarking(f"read as {chosen.name} ({chosen.title}), --from FORMAT forces another") from None
        self.add(records, source, chosen.name)
        return True

    def add(self, records: FabricRecords, source: str, format: str) -> None:
        """Add the contents of one network topology file.

        `records`: what was read from the file. `source`: name of the file. `format`: name of the file's format.
        """
        self.found.append(records)
        self.sources.append(source)
        self.formats.append(format)

    def join(self, cluster: ClusterObjects, *, derive: bool = True) -> Joined:
        """Add the contents of the network topology files to the objects that were read from manifests.

        If there are Node manifests, the files only add labels and HyperNodes; otherwise the nodes that the files name
        become the cluster's. If two files name one node, their labels are merged, and a later file takes precedence.
        With `derive`, a cluster without HyperNodes gets HyperNodes derived from other objects, such as labels of nodes.

        Raises InputError: a HyperNode stands in two inputs, a snapshot file is combined with other objects of a
        cluster, or there is nothing from which the format named by ``--from`` could be derived.
        """
        whole = [records.snapshot for records in self.found if records.snapshot is not None]
        if whole:
            _check_alone(cluster, len(self.found))
            return Joined(snapshot=whole[0])
        given = bool(cluster.nodes)
        joined = Joined(tors=_tor_table(cluster), asked=self.wanted is not None)
        wanted = self.wanted
        if wanted is not None and wanted.derive is not None and not self.found:
            cluster.hypernodes.clear()
        for records, source in zip(self.found, self.sources, strict=True):
            # Servers are bound to nodes by address, and the nodes are only known here.
            bound = records
            if records.tors is not None and given:
                from workbench.formats.fabric.tor_node import tor_records

                bound = tor_records(records.tors, cluster.nodes)
            try:
                joined.add(cluster, bound, given)
            except InputError as error:
                raise error.at(source=source) from None
        if cluster.hypernodes and cluster.level_topologies:
            names = ", ".join(sorted(cluster.level_topologies))
            joined.notes.append(
                Notice(
                    "left-aside",
                    f"HyperNodes are given: {names} left aside",
                    numbers={"count": len(cluster.level_topologies)},
                )
            )
        derived = self._derive(cluster) if derive and not cluster.hypernodes else None
        if derived is not None:
            joined.add(cluster, derived, bool(cluster.nodes))
            joined.derived = True
        elif wanted is not None and not self.found:
            raise InputError(f"nothing in the format {wanted.name}", source="--from", expected=wanted.title)
        return joined

    def _derive(self, cluster: ClusterObjects) -> FabricRecords | None:
        from workbench.formats.fabric.registry import FORMATS

        for entry in FORMATS if self.wanted is None else (self.wanted,):
            records = entry.derive(cluster) if entry.derive is not None else None
            if records is not None:
                return records
        return None


def _tor_table(cluster: ClusterObjects) -> TorNodeTable | None:
    if not cluster.tor_nodes:
        return None
    from workbench.formats.fabric.tor_node import tor_table_of

    return tor_table_of(cluster)


def _detect(text: str, source: str) -> FabricFormat | None:
    from workbench.formats.fabric.registry import detect_format

    return detect_format(text, source)


def _of_another(text: str, source: str, wanted: FabricFormat) -> InputError | None:
    """The error for a text that another program printed, and that the format named by ``--from`` cannot be."""
    from workbench.formats.printouts import known_printout

    found = known_printout(text)
    if found is None:
        return None
    got = f"what looks like {found.what}"
    return InputError(f"not in the format {wanted.name}", source=source, got=got, expected=found.instead)


def _check_alone(cluster: ClusterObjects, files: int) -> None:
    """Raise InputError for cluster objects or other files beside a snapshot file; jobs are allowed."""
    rooms = {
        "nodes": ("node", ""),
        "hypernodes": ("hypernode", ""),
        "devices": ("device", ""),
        "tor_nodes": ("tor node", ""),
        "level_topologies": ("level topology", "level topologies"),
    }
    found = {room: len(getattr(cluster, room)) for room in rooms}
    beside = [counted(count, *rooms[room]) for room, count in found.items() if count]
    held = sum(pod.holds_resources for pod in cluster.pods.values())
    beside += [counted(held, "running pod")] if held else []
    beside += [counted(files - 1, "more fabric file")] if files > 1 else []
    if beside:
        raise InputError("a snapshot is a whole cluster", got=", ".join(beside) + " beside it", expected="jobs only")


def _add(cluster: ClusterObjects, records: FabricRecords, given: bool) -> None:
    for hypernode in records.hypernodes:
        if hypernode.name in cluster.hypernodes:
            raise InputError("the same HyperNode in two inputs", got=hypernode.name, expected="each HyperNode once")
        cluster.hypernodes[hypernode.name] = hypernode
    for node in records.nodes:
        known = cluster.nodes.get(node.name)
        if known is None:
            if not given:
                cluster.nodes[node.name] = node
        else:
            cluster.nodes[node.name] = _joined(known, node, given)


def _joined(known: Node, more: Node, given: bool) -> Node:
    """Combine two descriptions of a node: with `given`, labels and resources of `known` win, else those of `more`."""
    if not more.metadata.labels and not more.allocatable:
        return known
    first, second = (more.metadata.labels, known.metadata.labels)
    if not given:
        first, second = second, first
    allocatable = known.allocatable or more.allocatable if given else {**known.allocatable, **more.allocatable}
    return replace(known, metadata=replace(known.metadata, labels={**first, **second}), allocatable=allocatable)
