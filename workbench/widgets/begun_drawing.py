"""`begin_drawing`: prepare what a topology editor begins with, in any thread."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from workbench.cancel import reached
from workbench.errors import InputError
from workbench.formats.load import load_to_draw
from workbench.formats.manifest_text import HyperNodeText
from workbench.model.no_collection import no_collection
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.objects.fields import shown
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.topology.draft import Draft
from workbench.topology.draft_objects import draft_of
from workbench.topology.objects_of import hypernodes_in, nodes_in

__all__ = ["BegunDrawing", "begin_drawing"]


class BegunDrawing(NamedTuple):
    """A drawing without a history.

    `text`: the HyperNodes as YAML. `snapshot`: the cluster that is drawn, whose pods and queues the drawing does not
    show; None: it has none.
    """

    draft: Draft
    text: HyperNodeText
    snapshot: ClusterSnapshot | None


def begin_drawing(
    source: Topology | ClusterSnapshot | Scenario | ClusterObjects | str | Path | None,
) -> BegunDrawing:
    """Draw a topology, a cluster or a file; None: an empty drawing.

    Raises InputError: anything else, or a file that `workbench.load` refuses.
    """
    # Half of the time for 100,000 nodes went to collections that free nothing.
    with no_collection():
        objects, snapshot = _content(source)
        reached("drawing the nodes", 0, 0)
        draft = draft_of(objects.hypernodes.values(), objects.nodes.values())
        reached("writing the HyperNodes", 0, 0)
        text = HyperNodeText()
        text.write(objects.hypernodes)
    return BegunDrawing(draft, text, snapshot)


def _content(
    source: Topology | ClusterSnapshot | Scenario | ClusterObjects | str | Path | None,
) -> tuple[ClusterObjects, ClusterSnapshot | None]:
    if source is None:
        return ClusterObjects(), None
    if isinstance(source, ClusterObjects):
        return source, None
    if isinstance(source, str | Path):
        return load_to_draw(source)
    if isinstance(source, Scenario):
        source = source.snapshot
    if isinstance(source, ClusterSnapshot):
        return ClusterObjects.of(hypernodes_in(source.topology), nodes_in(source)), source
    if isinstance(source, Topology):
        nodes = [Node(Metadata(name), {}) for name in source.node_names]
        return ClusterObjects.of(hypernodes_in(source), nodes), None
    raise InputError(
        "nothing that can be drawn", source="source", got=shown(source), expected="a topology, a snapshot or a file"
    )
