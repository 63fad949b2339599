"""Draw what a preset makes: its HyperNodes and Nodes as items of a drawing."""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.topology.draft import ROOT, Change, Draft
from workbench.topology.draft_objects import draft_of
from workbench.topology.edit_checks import check_size
from workbench.topology.generate import Fabric
from workbench.topology.objects_of import hypernodes_in, nodes_in

__all__ = ["add_fabric", "fabric_line"]


def fabric_line(fabric: Fabric) -> str:
    """Describe what `add_fabric` would draw: ``7 HyperNodes in 3 tiers, 8 nodes of 8 GPUs``."""
    switches = sum(fabric.n_domains(tier) for tier in range(1, fabric.n_tiers + 1))
    tiers, gpus = counted(fabric.n_tiers, "tier"), counted(fabric.shape.n_gpus, "GPU")
    nodes = counted(fabric.n_nodes, "node", form=",")
    links = " with its links" if fabric.matrix is not None else ""
    return f"{counted(switches, 'HyperNode', form=',')} in {tiers}, {nodes} of {gpus}{links}"


def add_fabric(draft: Draft, fabric: Fabric) -> list[Change]:
    """Draw a fabric beside what is drawn already, under its own names.

    Parameters
    ----------
    draft : Draft
        Not changed.

    Raises
    ------
    InputError
        A name that the drawing has already.
    CapacityError
        More items than a drawing takes.
    """
    check_size(draft, fabric.n_nodes + sum(fabric.n_domains(tier) for tier in range(1, fabric.n_tiers + 1)))
    snapshot = fabric.snapshot()
    drawn = list(draft_of(hypernodes_in(snapshot.topology), nodes_in(snapshot)))
    taken = [item.name for item in drawn if draft.find(item.kind, item.name) is not None]
    if taken:
        raise InputError(
            "the drawing has these names already",
            source="preset",
            got=f"{taken[0]} and {counted(len(taken) - 1, 'more name')}" if len(taken) > 1 else taken[0],
            expected="another prefix, or an empty drawing",
        )
    ids = {ROOT: ROOT} | dict(zip((item.id for item in drawn), draft.new_ids(len(drawn)), strict=True))
    return [Change(None, replace(item, id=ids[item.id], parent=ids[item.parent])) for item in drawn]
