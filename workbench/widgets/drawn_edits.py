"""`drawn_changes`: how a drawing changes by edits of a cluster; `hidden_edits`: the edits that no drawing shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.errors import InputError
from workbench.evaluate.whatif.cluster_edits import AddNodes, MakeReady, NodesEdit, RemoveTaint, Uncordon
from workbench.evaluate.whatif.edit import Edit
from workbench.model.labels import CORDON_TAINT, NOT_READY_TAINTS
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.topology.draft import ROOT, Change, Draft, Item

__all__ = ["drawn_changes", "hidden_edits"]

#: Label that names the node itself.
_HOSTNAME = "kubernetes.io/hostname"


def hidden_edits(edits: Sequence[Edit]) -> list[Edit]:
    """The edits of what a drawing does not show: queues, running gangs, terminating pods."""
    return [edit for edit in edits if not isinstance(edit, NodesEdit | AddNodes)]


def drawn_changes(draft: Draft, edits: Sequence[Edit]) -> list[Change]:
    """Changes of a drawing that make the edits of nodes among `edits`.

    Raises InputError: a node that is not drawn, or one that a failed switch or link cuts off.

    `draft`: not changed.
    """
    after: dict[int, Item] = {}
    new: list[Change] = []
    for edit in edits:
        if isinstance(edit, NodesEdit):
            for name in edit.nodes:
                item = _node(draft, name)
                after[item.id] = _edited(draft, after.get(item.id, item), edit)
        elif isinstance(edit, AddNodes):
            new += _added(draft, edit)
    return [*(Change(draft[i], item) for i, item in after.items()), *new]


def _node(draft: Draft, name: str) -> Item:
    item = draft.find("node", name)
    if item is None:
        raise InputError("the node is not drawn", source="drawing", got=name)
    return item


def _edited(draft: Draft, item: Item, edit: NodesEdit) -> Item:
    node = item.node or Node(Metadata(item.name), {})
    if isinstance(edit, Uncordon):
        broken = next((one for one in draft.ancestors(item.id) if one.failed or one.link_failed), None)
        if broken is not None:
            raise InputError(
                "the node is cut off", source="drawing", got=f"{item.name} under {broken.name}, which failed"
            )
        taints = tuple(taint for taint in node.taints if taint.key != CORDON_TAINT)
        node = replace(node, unschedulable=False, taints=taints)
        return replace(item, cordoned=False, failed=False, link_failed=False, node=item.node and node)
    if isinstance(edit, MakeReady):
        taints = tuple(taint for taint in node.taints if taint.key not in NOT_READY_TAINTS)
        return replace(item, node=replace(node, not_ready=False, taints=taints))
    if isinstance(edit, RemoveTaint):
        return replace(item, node=replace(node, taints=tuple(one for one in node.taints if one != edit.taint)))
    raise InputError("the drawing does not show this", source="drawing", got=edit.text)


def _added(draft: Draft, edit: AddNodes) -> list[Change]:
    like = _node(draft, edit.like)
    switch = draft.find("switch", edit.hypernode) if edit.hypernode else None
    if edit.hypernode and switch is None:
        raise InputError("the HyperNode is not drawn", source="drawing", got=edit.hypernode)
    changes = []
    for item_id, name in zip(draft.new_ids(len(edit.names)), edit.names):
        labels = {key: name if key == _HOSTNAME else value for key, value in like.labels.items()}
        node = None
        if like.node is not None:
            metadata = replace(like.node.metadata, name=name, labels=labels)
            node = replace(like.node, metadata=metadata, taints=(), unschedulable=False, not_ready=False)
        item = replace(
            like, id=item_id, name=name, parent=switch.id if switch is not None else ROOT, labels=labels, node=node
        )
        changes.append(Change(None, replace(item, cordoned=False, failed=False, link_failed=False)))
    return changes
