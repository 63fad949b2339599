"""`FabricFormat`, the interface of a network topology format, and `FabricRecords`, the result of reading a file.

A reader sees one file only. `workbench.formats.load` joins the result with Nodes, jobs and other files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.hypernode import HyperNode, make_hypernode
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node

if TYPE_CHECKING:
    from workbench.formats.fabric.smallest_cut import Wiring
    from workbench.objects.tor_node import TorNodeTable

__all__ = ["FabricFormat", "FabricRecords", "Sample", "Written", "make_node", "switch_heights", "switch_tree"]

# A key at the left edge of a line: a top-level key of a block mapping.
_TOP_KEY = re.compile(r"""^["']?([A-Za-z_][\w.-]*)["']?\s*:(?=\s|$)""", re.MULTILINE)
_FLOW_KEY = re.compile(r'"([A-Za-z_][\w.-]*)"\s*:')
# The first key of a manifest as tools write it, in JSON or YAML, after comments and document markers.
_MANIFEST = re.compile(r"""(?:\s*(?:---|\#[^\n]*)(?:\n|$))*\s*\{?\s*["']?(?:apiVersion|kind)["']?\s*:""")


@dataclass(frozen=True)
class Sample:
    """The text of a file whose format is to be detected.

    `text`: the whole text, without a byte order mark. `path`: name of the file, for formats that only the name
    distinguishes.
    """

    text: str
    path: str

    @cached_property
    def json(self) -> Any:
        """The parsed value of the text if it is JSON; None if it is not."""
        if self.text.lstrip()[:1] not in ("{", "["):
            return None
        try:
            return orjson.loads(self.text)
        except orjson.JSONDecodeError:
            return None

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys at the top level of the text, a JSON object or else a YAML mapping in block style.

        If the text is a stream of several JSON objects, only the keys at its beginning are found.
        """
        if self.json is not None:
            return frozenset(self.json) if isinstance(self.json, dict) else frozenset()
        head = self.text[:4096].lstrip("- \t\r\n")
        if head.startswith(("<?xml", "<graphml")):
            return frozenset()
        if head.startswith("{"):
            return frozenset(_FLOW_KEY.findall(head))
        return frozenset(_TOP_KEY.findall(self.text))

    @property
    def is_manifest(self) -> bool:
        """Whether the text holds Kubernetes objects, which are read by kind."""
        # Most inputs are manifests, and large: their first key tells without parsing them a second time.
        if _MANIFEST.match(self.text[:4096]):
            return True
        return {"apiVersion", "kind"} <= self.keys


@dataclass(frozen=True)
class FabricRecords:
    """Contents of a network topology file: HyperNodes, Nodes and further values.

    Attributes
    ----------
    hypernodes : tuple of HyperNode
        Distinct names; a smaller tier is closer, 1 the closest.
    nodes : tuple of Node
        Every node that the file names, each once, with the labels and resources that the file knows.
    matrices : mapping of str to BandwidthMatrix
        By node, where the file describes the inside of a machine.
    notes : tuple of Notice
        Notices about missing or ignored parts of the file; they become ``snapshot.gaps``.
    tors : TorNodeTable, optional
        Switch table with addresses, positions and states, if the file is a switch table.
    snapshot : ClusterSnapshot, optional
        The snapshot, if the file is a whole snapshot; then nothing else is set.
    wiring : Wiring, optional
        The cables between switches, if the file lists them.
    """

    hypernodes: tuple[HyperNode, ...] = ()
    nodes: tuple[Node, ...] = ()
    matrices: Mapping[str, BandwidthMatrix] = field(default_factory=dict)
    notes: tuple[Notice, ...] = ()
    tors: TorNodeTable | None = None
    snapshot: ClusterSnapshot | None = None
    wiring: Wiring | None = None


@dataclass(frozen=True)
class Written:
    """Result of writing a snapshot: the text, and one sentence for each part of the snapshot that the format cannot
    hold.
    """

    text: str
    losses: tuple[str, ...] = ()


@dataclass(frozen=True)
class FabricFormat:
    """A file format for network topologies: its name, and functions to detect, read, derive and write it.

    Attributes
    ----------
    name : str
        The name that users type after ``--from`` and ``--to``.
    title : str
        Description in one line.
    detect : callable, optional
        Function that tells by its content whether a text, which is no Kubernetes manifest, is in this format; None: the
        format is no text, but derived from objects.
    read : callable, optional
        (text, source) -> FabricRecords; InputError names the line or field.
    derive : callable, optional
        ClusterObjects -> FabricRecords, or None if the objects have nothing of this format; for fabrics that are
        described by Kubernetes objects other than HyperNodes. Called if the input has no HyperNode, or by ``--from``.
    write : callable, optional
        Function from a ClusterSnapshot to a `Written`; None: the format cannot be written.
    """

    name: str
    title: str
    detect: Callable[[Sample], bool] | None = None
    read: Callable[[str, str], FabricRecords] | None = None
    derive: Callable[[ClusterObjects], FabricRecords | None] | None = None
    write: Callable[[ClusterSnapshot], Written] | None = None


def make_node(name: str, labels: Mapping[str, str] | None = None, allocatable: Mapping[str, int] | None = None) -> Node:
    """Make a Node object for a node that a network topology file names.

    `labels`: labels of the node; None: the file gives none. `allocatable`: resources of the node in base units; None:
    the file gives none.
    """
    return Node(Metadata(name, labels=dict(labels or {})), dict(allocatable or {}))


def switch_heights(children: Mapping[str, Sequence[str]], nodes: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Height of each switch, 1 for a switch with only nodes below, in byte order of the names.

    `children`, `nodes`: as for `switch_tree`.
    """
    names = sorted({*children, *nodes}, key=str.encode)
    known = set(names)
    height: dict[str, int] = {}
    for name in names:
        # Without recursion: a chain of switches may be as deep as the file is long.
        path = [name]
        while path:
            top = path[-1]
            if top not in height:
                height[top] = 0
                path += [child for child in children.get(top, ()) if child not in height]
            else:
                below = (height[child] for child in children.get(top, ()) if child != top and child in known)
                height[top] = height[top] or 1 + max(below, default=0)
                path.pop()
    return {name: height[name] for name in names}


def switch_tree(
    children: Mapping[str, Sequence[str]], nodes: Mapping[str, Sequence[str]], tier_names: Mapping[str, str] = {}
) -> tuple[HyperNode, ...]:
    """Make HyperNodes of a tree of switches; a switch's tier is its height, 1 for a switch with only nodes below.

    `children`, `nodes`: switches, and nodes, directly below each switch; every switch is a key of at least one of the
    two mappings. A child that is a key of neither stays a member without a HyperNode, as in manifests. `tier_names`:
    name of the tier of each switch. Returns: HyperNodes in byte order of their names. Links that prevent a tree are
    kept, and are reported by `workbench.topology.build`; for the height of a switch inside a cycle only the switches
    outside the cycle count.
    """
    height = switch_heights(children, nodes)
    return tuple(
        make_hypernode(
            name,
            height[name],
            nodes=nodes.get(name, ()),
            children=children.get(name, ()),
            tier_name=tier_names.get(name, ""),
        )
        for name in height
    )
