"""`TopologyEditor`: draw HyperNodes and nodes; Python owns the drawing and its history, the page sends operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.errors import InputError
from workbench.formats.assemble import assemble
from workbench.formats.manifest_text import HyperNodeText, TextError
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.objects.kinds import ClusterObjects
from workbench.topology import edits
from workbench.topology.draft import Change, Draft, Item, differences
from workbench.topology.draft_objects import draft_of, hypernodes_after, hypernodes_of, nodes_of
from workbench.topology.history import History
from workbench.widgets.editor_ops import changes_of
from workbench.widgets.panel import STATIC, Panel

__all__ = ["TopologyEditor"]

#: HyperNodes and nodes up to which the YAML of the whole drawing is shown; above, that of what is selected.
WHOLE_TEXT = 1_500


class TopologyEditor(Panel):
    """Draw a topology, or change one.

    Parameters
    ----------
    source : ClusterObjects, optional
        What to begin with; nothing by default.

    Attributes
    ----------
    draft : Draft
    history : History
    selection : list of str
        Names of what is selected on the page.
    """

    _esm = STATIC / "editor.js"
    handlers = {
        "state": "_state",
        "edit": "_edit",
        "undo": "_undo",
        "redo": "_redo",
        "copy": "_copy",
        "select": "_select",
        "find": "_find",
        "text": "_text",
        "apply_text": "_apply_text",
    }

    def __init__(self, source: ClusterObjects | None = None) -> None:
        super().__init__()
        self.history = History(Draft())
        self.selection: list[str] = []
        self._clipboard: list[Item] = []
        self._yaml = HyperNodeText()
        if source is not None:
            self.history = History(draft_of(source.hypernodes.values(), source.nodes.values()))
            self._yaml.write(source.hypernodes)

    @property
    def draft(self) -> Draft:
        return self.history.draft

    def objects(self) -> ClusterObjects:
        """The drawing as HyperNodes and Nodes; what a failure cuts off is cordoned."""
        cluster = ClusterObjects()
        cluster.hypernodes.update((h.name, h) for h in hypernodes_of(self.draft))
        cluster.nodes.update((node.name, node) for node in nodes_of(self.draft, only_reachable=True))
        return cluster

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The drawing as a cluster that jobs can be placed on."""
        return assemble(self.objects(), source="drawing")[0]

    @property
    def topology(self) -> Topology:
        """The drawing as a topology, with its problems."""
        return self.snapshot.topology

    def edit(self, **op: Any) -> None:
        """Do what the page would ask for: ``editor.edit(op="add_switches", count=32, nodes_each=16)``."""
        self._edit(op)

    def undo(self) -> bool:
        """Take the last step back; False when there is none."""
        return self._spread(self.history.undo())

    def redo(self) -> bool:
        """Do the last undone step again; False when there is none."""
        return self._spread(self.history.redo())

    # ---- what the page asks ----

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"items": [item.to_dict() for item in self.draft], **self._marks()}

    def _edit(self, op: dict[str, Any]) -> dict[str, Any]:
        label, changes = changes_of(self.draft, op, self._clipboard)
        made = self.history.do(label, changes)
        self._spread(made)
        return {"made": [change.id for change in made if change.before is None]}

    def _undo(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"done": self.undo()}

    def _redo(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"done": self.redo()}

    def _copy(self, body: dict[str, Any]) -> dict[str, Any]:
        self._clipboard = edits.sub_tree(self.draft, self._known(body))
        return {"copied": len(self._clipboard)}

    def _select(self, body: dict[str, Any]) -> dict[str, Any]:
        self.selection = [self.draft[i].name for i in self._known(body)]
        return {}

    def _find(self, body: dict[str, Any]) -> dict[str, Any]:
        label = str(body.get("label", ""))
        return {"ids": edits.select(self.draft, str(body.get("pattern", "")), label, body.get("kind") or "")}

    def _text(self, body: dict[str, Any]) -> dict[str, Any]:
        names = self._shown_in_text(body)
        return {"text": self._yaml.part(names), "whole": names is None}

    def _apply_text(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            self._yaml.read(str(body.get("text", "")), self._shown_in_text(body))
        except TextError as error:
            return {"line": error.line, "message": str(error)}
        wanted = draft_of(self._yaml.hypernodes, nodes_of(self.draft))
        made = self.history.do("edit YAML", differences(self.draft, wanted))
        self._spread(made, but_text=True)
        return {"line": 0, "message": ""}

    # ---- keeping page, text and drawing in step ----

    def _known(self, body: dict[str, Any]) -> list[int]:
        ids = body.get("ids", [])
        # The page may name what another view has deleted in the meantime.
        return [i for i in ids if type(i) is int and i in self.draft] if isinstance(ids, list) else []

    def _shown_in_text(self, body: dict[str, Any]) -> set[str] | None:
        if len(self.draft) <= WHOLE_TEXT:
            return None
        return {item.name for item in edits.sub_tree(self.draft, self._known(body)) if item.kind == "switch"}

    def _marks(self) -> dict[str, Any]:
        return {
            "revision": self.history.revision,
            "undo": self.history.undo_label,
            "redo": self.history.redo_label,
        }

    def _spread(self, changes: Sequence[Change], but_text: bool = False) -> bool:
        """Tell every view what changed, and write it into the text."""
        if not changes:
            return False
        if not but_text:
            self._yaml.write(hypernodes_after(self.draft, changes))
        self.tell(
            "patch",
            {
                "set": [change.after.to_dict() for change in changes if change.after is not None],
                "gone": [change.id for change in changes if change.after is None],
                **self._marks(),
            },
        )
        return True

