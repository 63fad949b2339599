"""`TopologyEditor`: a Jupyter widget for drawing HyperNodes and nodes.

The drawing and its history are kept in Python; the page sends operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from workbench.cancel import finish
from workbench.cluster.assemble import assemble
from workbench.errors import InputError
from workbench.evaluate.whatif.edit import Edit, EditedSession
from workbench.formats.fabric.registry import get_format, writable_formats
from workbench.formats.load import load_objects
from workbench.formats.manifest_text import TextError
from workbench.model.bandwidth import BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.no_collection import no_collection
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.topology import Topology
from workbench.objects.fields import shown
from workbench.objects.kinds import ClusterObjects
from workbench.topology import edits
from workbench.topology.draft import ROOT, Change, Draft, Item, differences
from workbench.topology.draft_objects import (
    draft_of,
    fabric_line,
    hypernodes_after,
    hypernodes_of,
    import_over,
    nodes_of,
)
from workbench.topology.history import Beside, History
from workbench.topology.objects_of import hypernodes_in, nodes_in
from workbench.topology.redraw import carry_over
from workbench.widgets.begun_drawing import BegunDrawing, begin_drawing
from workbench.widgets.drawn_edits import drawn_changes, hidden_edits
from workbench.widgets.editor_answers import (
    findings_of,
    items_named,
    names_in_text,
    preset_forms,
    renames_switch,
    suffix_of,
)
from workbench.widgets.editor_ops import NOTHING, Copied, changes_of, fabric_asked
from workbench.widgets.item_card import GpusInUse, item_card
from workbench.widgets.loading import Loading
from workbench.widgets.lost_pods import HitJob, hit_jobs, lost_line
from workbench.widgets.messages import one_line, page_words, text_in
from workbench.widgets.panel import STATIC, Panel
from workbench.widgets.worker import Worker

__all__ = ["TopologyEditor"]

#: Most HyperNodes and nodes shown as YAML: of the whole drawing, else of the selection.
MOST_TEXT = 1_500
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_KINDS: tuple[Literal["", "switch", "node"], ...] = ("", "switch", "node")


class TopologyEditor(Panel):
    """Jupyter widget for drawing a topology or changing an existing one.

    `source`: initial drawing: a value, or a file in any format that `workbench.load` reads; empty by default. The
    queues, running pods, GPUs and matrices of a snapshot stay with its nodes.

    Attributes
    ----------
    history : History
        The operations that can be undone and redone.
    changed : list of callable
        Called without arguments after every change of the drawing but those of `show_moment`.
    wants_gpus : callable
        Function that tells whether jobs request GPUs; if so, the page asks what to do about nodes without GPUs. By
        default it returns False.

    Examples
    --------
    >>> import workbench as wb
    >>> editor = wb.TopologyEditor(wb.generate_scenario("three-level-tree"))
    >>> editor.topology
    Topology(8 nodes, 7 HyperNodes (4 of tier 1, 2 of tier 2, 1 of tier 3))
    """

    # Overview:
    #   the drawing    a `Draft` with its history: an operation, by Python (`edit`, `make`) or the page (`_edit`), is a
    #                  list of changes, which `_spread` draws in all views and keeps for the YAML text
    #   the text       written when somebody looks at it (`_keep`, `_write`)
    #   the cluster    GPUs in use and matrices stay beside the drawing (`_hold`, `_refill`, `assign`)
    #   from the page  one handler for each message, below `_state`

    _esm = STATIC / "editor.js"
    handlers = {
        "state": "_state",
        "edit": "_edit",
        "undo": "_undo",
        "redo": "_redo",
        "copy": "_copy",
        "select": "_select",
        "find": "_find",
        "preset": "_preset",
        "card": "_card",
        "without_gpus": "_without_gpus",
        "text": "_text",
        "apply_text": "_apply_text",
        "lint": "_lint",
        "import": "_import",
        "arrived": "_arrived",
        "give_up": "_give_up",
        "export": "_export",
    }

    def __init__(
        self, source: Topology | ClusterSnapshot | Scenario | ClusterObjects | BegunDrawing | str | Path | None = None
    ) -> None:
        super().__init__()
        begun = source if isinstance(source, BegunDrawing) else begin_drawing(source)
        self.history = History(begun.draft)
        #: Ids of the items selected on the page; those that are gone stay, because undo brings them back.
        self._selected: list[int] = []
        self.changed: list[Callable[[], None]] = []
        self.wants_gpus: Callable[[], bool] = lambda: False
        self._copied = NOTHING
        self._yaml = begun.text
        #: Changes that are not yet written into the text, by id.
        self._unwritten: dict[int, Change] = {}
        self._linting = Worker()
        self._importing: Loading[tuple[str, ClusterObjects]] = Loading(self.tell)
        self._before = begun.snapshot
        self._matrices: dict[int, BandwidthMatrix] = {}
        with no_collection():
            self._in_use = GpusInUse(self._before)
        #: What policies would do with running jobs that lose pods, as the page shows it.
        self._restarts: dict[str, Any] = {"policies": [], "rows": []}

    @property
    def draft(self) -> Draft:
        return self.history.draft

    @property
    def selection(self) -> list[str]:
        """Names of the items selected on the page, as they are called now, in the order of the page."""
        return [self.draft[i].name for i in self._selected if i in self.draft]

    @property
    def selected(self) -> list[Item]:
        """The switches and nodes that are selected on the page and still drawn, as they are now."""
        return [self.draft[i] for i in sorted(self._selected) if i in self.draft]

    def objects(self) -> ClusterObjects:
        """The drawing as HyperNodes and Nodes; nodes that a failed switch or link cuts off are cordoned."""
        return _objects_of(self.draft)

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The drawing as a cluster on which jobs can be placed."""
        return self.snapshot_later()()

    def snapshot_later(self) -> Callable[[], ClusterSnapshot]:
        """A function that makes the snapshot of the current drawing when it is called, in any thread."""
        draft, before, assigned = self.draft.copy(), self._before, self._assigned()

        def make() -> ClusterSnapshot:
            snapshot = assemble(_objects_of(draft), source="drawing")[0]
            if before is not None:
                snapshot = carry_over(snapshot, before)
            for matrix, names in assigned:
                chosen = np.array([name in names for name in snapshot.topology.node_names], dtype=np.bool_)
                fits = np.bitwise_count(snapshot.gpu_total).sum(axis=1) == len(matrix)
                snapshot = snapshot.with_matrix(matrix, chosen & fits)
            return snapshot

        return make

    @property
    def topology(self) -> Topology:
        """The drawing as a `Topology`, with its problems."""
        return self.snapshot.topology

    def assign(self, matrix: BandwidthMatrix, names: Collection[str] | None = None) -> list[str]:
        """Assign a GPU bandwidth matrix to nodes of the drawing.

        `names`: nodes, or switches with all nodes under them, or RE2 patterns of whole names such as ``node-.*``; by
        default the selection on the page. Returns the nodes that got the matrix: those with as many GPUs as the matrix.
        Raises InputError: an unknown name, an empty selection, or no node with that many GPUs.
        """
        tops = [item.id for item in self.selected] if names is None else items_named(self.draft, names)
        if not tops:
            raise InputError(
                "no node is selected",
                source="editor",
                expected="nodes or switches selected in the drawing, or their names",
            )
        nodes = [item for item in edits.sub_tree(self.draft, tops) if item.kind == "node"]
        fitting = [node for node in nodes if node.gpus == len(matrix)]
        if not fitting:
            found = ", ".join(sorted({str(node.gpus) for node in nodes})) or "no node"
            raise InputError(
                "none of these nodes has the matrix's number of GPUs",
                source="editor",
                got=f"nodes of {found} GPUs" if nodes else found,
                expected=counted(len(matrix), "GPU"),
            )
        self._matrices.update((node.id, matrix) for node in fitting)
        self._notify()
        return [node.name for node in fitting]

    @property
    def hit_jobs(self) -> list[HitJob]:
        """The running jobs with pods on nodes of the drawing that are cut off or cordoned, by name."""
        return hit_jobs(self.draft, self._before)

    def show_restarts(self, restarts: Mapping[str, Any]) -> None:
        """Show what policies would do with those jobs, as `workbench.widgets.restarts.restart_table` says it."""
        # The page is told only of a change: most comparisons end without any such job.
        if restarts == self._restarts or not (restarts["rows"] or self._restarts["rows"]):
            return
        self._restarts = dict(restarts)
        self.tell("restarts", self._restarts)

    def edit(self, **op: Any) -> None:
        """Carry out an operation of the page from Python, such as ``editor.edit(op="add_switches", count=32,
        nodes_each=16)``.
        """
        self._edit(op)

    def show_moment(self, snapshot: ClusterSnapshot) -> None:
        """Show the drawn cluster as it is at another moment; only what differs is drawn anew.

        `snapshot`: nodes and HyperNodes that differ from the drawing become one step of the history.

        Notes
        -----
        The functions in `changed` are not called: the caller knows of the change, and of what else the moment brings.
        """
        cluster = ClusterObjects.of(hypernodes_in(snapshot.topology), nodes_in(snapshot))
        changes = differences(self.draft, draft_of(cluster.hypernodes.values(), cluster.nodes.values()))
        before = self._hold(snapshot)
        made = self.history.do("follow the cluster", changes) if changes else ()
        if made:
            self._draw(made)
        self._refill(before, {change.id for change in made})

    def _hold(self, snapshot: ClusterSnapshot | None) -> GpusInUse:
        """Take another snapshot for what the drawing does not show; returns what was in use before."""
        before, self._before, self._in_use = self._in_use, snapshot, GpusInUse(snapshot)
        return before

    def _refill(self, before: GpusInUse, told: Collection[int] = ()) -> None:
        """Tell the page of nodes, beside those it was told of, on which other GPUs are in use than before."""
        refilled = [
            item
            for item in self.draft
            if item.kind == "node" and item.id not in told and before.of(item) != self._in_use.of(item)
        ]
        if refilled:
            self.history.revision += 1
            self.tell("patch", {"set": [self._record(item) for item in refilled], "gone": [], **self._marks()})

    @property
    def undo_label(self) -> str:
        """Name of the operation that `undo` would undo; empty if there is none."""
        return self.history.undo_label

    def check(self, edits: Sequence[Edit], case: EditedSession) -> None:
        """Raise InputError if edits of the cluster (`workbench.evaluate.whatif`) cannot be made in the drawing."""
        drawn_changes(self.draft.copy(), edits)

    def make(self, label: str, edits: Sequence[Edit], case: EditedSession, beside: Beside) -> None:
        """Make edits of the cluster as one operation called `label`.

        `edits`: of nodes, which are drawn, and of queues and running pods, which are not. `case`: the session in which
        they were tried. `beside`: what the operation has changed besides the drawing. Raises InputError: as `check`;
        nothing has changed then.
        """
        changes, before = drawn_changes(self.draft, edits), self._before
        after = before
        if hidden := hidden_edits(edits):
            changed = EditedSession(case.gangs, before if before is not None else self.snapshot, case.job)
            for edit in hidden:
                changed = edit.apply(changed)
            after = changed.snapshot

        def undo() -> None:
            beside.undo()
            self._refill(self._hold(before))

        def redo() -> None:
            beside.redo()
            self._refill(self._hold(after))

        made = self.history.do(label, changes, Beside(undo, redo))
        was = self._hold(after)
        self._draw(made)
        self._refill(was, {change.id for change in made})
        self._notify()

    def ask_for_gpus(self) -> None:
        """Have the page ask what to do about nodes without GPUs if jobs request GPUs.

        Otherwise remove that question.
        """
        self.tell("without_gpus", self._without_gpus({}))

    def undo(self) -> bool:
        """Undo the last operation on the drawing; returns False if there is none."""
        return self._walk(self.history.undo_label, self.history.undo)

    def redo(self) -> bool:
        """Repeat the operation undone last; returns False if there is none."""
        return self._walk(self.history.redo_label, self.history.redo)

    def _walk(self, label: str, step: Callable[[], Sequence[Change]]) -> bool:
        """Undo or redo the operation called `label`; returns False if there is none."""
        if label:
            # An operation may have changed the jobs alone.
            self._draw(step())
            self._notify()
        return bool(label)

    # ---- requests of the page ----

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        # The first collection after a large drawing was made takes a second; the page need not wait for it.
        with no_collection():
            items = [self._record(item) for item in self.draft]
        return {
            "items": items,
            "formats": list(writable_formats()),
            "presets": preset_forms(),
            "without_gpus": self._without_gpus({})["ids"],
            "restarts": self._restarts,
            **self._importing.state,
            **self._marks(),
        }

    def _edit(self, op: dict[str, Any]) -> dict[str, Any]:
        label, changes = changes_of(self.draft, op, self._copied)
        made = self.history.do(label, changes)
        new = [change.id for change in made if change.before is None]
        matrix = fabric_asked(op).matrix if op["op"] == "preset" else None
        if matrix is not None:
            self._matrices.update((i, matrix) for i in new if self.draft[i].kind == "node")
        told: dict[str, Any] = {}
        if new and op.get("select_in") is not None:
            # Sent with the patch: the view draws once, and need not ask for its new selection.
            added = set(new)
            tops = [item_id for item_id in new if self.draft[item_id].parent not in added]
            self._selected = tops
            told = {"view": op["select_in"], "selected": tops}
        self._spread(made, told=told)
        return {"made": new}

    def _undo(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"done": self.undo()}

    def _redo(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"done": self.redo()}

    def _copy(self, body: dict[str, Any]) -> dict[str, Any]:
        mark = body.get("mark", "")
        if not isinstance(mark, str):
            raise InputError("no mark of a copy", source="editor", where="mark", got=shown(mark), expected="a text")
        self._copied = Copied(mark, edits.sub_tree(self.draft, self._known(body)))
        return {"copied": len(self._copied.items)}

    def _select(self, body: dict[str, Any]) -> dict[str, Any]:
        self._selected = self._known(body)
        return {}

    def _find(self, body: dict[str, Any]) -> dict[str, Any]:
        pattern, label, wanted = (text_in(body, key) for key in ("pattern", "label", "kind"))
        kind = next((kind for kind in _KINDS if kind == wanted), None)
        if kind is None:
            raise InputError("no kind of items", source="editor", got=shown(wanted), expected="switch, node or empty")
        return {"ids": edits.select(self.draft, pattern, label, kind)}

    def _card(self, body: dict[str, Any]) -> dict[str, Any]:
        item_id = body.get("id")
        if type(item_id) is not int:
            raise InputError("no id of an item", source="editor", got=shown(item_id), expected="a whole number")
        return item_card(self.draft, item_id, self._in_use, self._before)

    def _preset(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"line": fabric_line(fabric_asked(body))}

    def _without_gpus(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"ids": edits.without_gpus(self.draft) if self.wants_gpus() else []}

    def _text(self, body: dict[str, Any]) -> dict[str, Any]:
        names, why = self._to_show_as_text(self._known(body))
        self._write()
        listed = None if names is None else sorted(names)
        return {"text": "" if why else self._yaml.part(names), "names": listed, "why": why}

    def _apply_text(self, body: dict[str, Any]) -> dict[str, Any]:
        names = names_in_text(body)
        if names is None and len(self.draft) > MOST_TEXT:
            raise InputError(_too_many(len(self.draft)), source="text", expected="the text of a part")
        self._write()
        try:
            written = self._yaml.read(text_in(body, "text"), names)
        except TextError as error:
            return {"line": error.line, "message": one_line(str(error))}
        wanted = draft_of(self._yaml.hypernodes, nodes_of(self.draft))
        made = self.history.do("edit YAML", differences(self.draft, wanted))
        self._spread(made, but_text=True)
        return {"line": 0, "message": "", "names": None if names is None else written}

    def _lint(self, body: dict[str, Any]) -> dict[str, Any]:
        # All rules on 20,000 nodes take longer than an edit may wait.
        draft = self.draft.copy()

        def work() -> None:
            found = findings_of(draft)
            finish()
            self.tell("findings", found)

        self._linting.start(work)
        return {}

    def _import(self, body: dict[str, Any]) -> dict[str, Any]:
        name, text, format = text_in(body, "name", "text"), text_in(body, "text"), text_in(body, "format") or None

        def read() -> tuple[str, ClusterObjects]:
            try:
                return name, load_objects("-", stdin=text, format=format)
            except InputError as error:
                raise error.of(name) from None

        return self._arrived({}) if self._importing.begin(name, read) else {"waiting": True}

    def _arrived(self, body: dict[str, Any]) -> dict[str, Any]:
        """Put what was read into the drawing; an empty answer if there is nothing."""
        found = self._importing.take()
        if found is None:
            return {}
        name, cluster = found
        wanted = import_over(self.draft, cluster)
        if not len(wanted):
            raise InputError("no HyperNode and no Node", source=name, expected="a topology")
        made = self.history.do(f"import {name}", differences(self.draft, wanted))
        self._spread(made)
        return {"name": name, "made": len(made)}

    def _give_up(self, body: dict[str, Any]) -> dict[str, Any]:
        self._importing.cancel()
        return {}

    def close(self) -> None:
        """Cancel the reading of a file, and remove the widget from the page."""
        self._importing.cancel()
        super().close()

    def _export(self, body: dict[str, Any]) -> dict[str, Any]:
        name = text_in(body, "format", "hypernodes")
        chosen = get_format(name)
        if chosen.write is None:
            raise InputError("cannot be written", source=name, expected=", ".join(writable_formats()))
        written = chosen.write(self.snapshot)
        return {
            "name": f"topology-{name}{suffix_of(written.text)}",
            "text": written.text,
            "losses": list(map(page_words, written.losses)),
        }

    # ---- synchronising page, text and drawing ----

    def _known(self, body: dict[str, Any]) -> list[int]:
        ids = body.get("ids", [])
        # The page may name what another view has deleted in the meantime.
        return [i for i in ids if type(i) is int and i in self.draft] if isinstance(ids, list) else []

    def _to_show_as_text(self, ids: Sequence[int]) -> tuple[set[str] | None, str]:
        """Names of the HyperNodes whose YAML text is shown for the items (None: all), and why none is shown, or ""."""
        if len(self.draft) <= MOST_TEXT:
            return None, ""
        # A node is a line in the text of the HyperNode that holds it.
        tops = {item.id if item.kind == "switch" else item.parent for item in map(self.draft.__getitem__, ids)} - {ROOT}
        part = edits.sub_tree(self.draft, tops)
        if not part:
            return set(), f"{_too_many(len(self.draft))}. Select a switch or a node to see its part."
        if len(part) > MOST_TEXT:
            return set(), f"{_too_many(len(part))}. Select a smaller part."
        return {item.name for item in part if item.kind == "switch"}, ""

    def _record(self, item: Item) -> dict[str, Any]:
        """What the page knows of an item: its fields, and how many of its GPUs are in use if any are."""
        used = self._in_use.of(item)
        return {**item.to_dict(), "used": used} if used else item.to_dict()

    def _marks(self) -> dict[str, Any]:
        return {
            "revision": self.history.revision,
            "undo": self.history.undo_label,
            "redo": self.history.redo_label,
            "lost": lost_line(self.hit_jobs),
        }

    def _assigned(self) -> list[tuple[BandwidthMatrix, set[str]]]:
        by_matrix: dict[BandwidthMatrix, set[str]] = {}
        for item_id, matrix in self._matrices.items():
            if item_id in self.draft:
                by_matrix.setdefault(matrix, set()).add(self.draft[item_id].name)
        return list(by_matrix.items())

    def _keep(self, changes: Sequence[Change]) -> None:
        """Queue changes for the YAML text, which is rewritten only when needed because ruamel.yaml is slow."""
        for change in changes:
            earlier = self._unwritten.get(change.id)
            self._unwritten[change.id] = Change(earlier.before, change.after) if earlier is not None else change
        # Documents are found by the names in the text: at most one step may rename between two updates.
        if any(renames_switch(change) for change in changes):
            self._write()

    def _write(self) -> None:
        """Write the queued changes into the YAML text."""
        changes = [change for change in self._unwritten.values() if change.before or change.after]
        self._unwritten.clear()
        if changes:
            self._yaml.write(hypernodes_after(self.draft, changes))

    def _notify(self) -> None:
        for told in self.changed:
            told()

    def _spread(self, changes: Sequence[Change], but_text: bool = False, told: Mapping[str, Any] = _NOTHING) -> bool:
        """Draw changes as `_draw` does, and call the functions in `changed`; returns False without changes."""
        if changes:
            self._draw(changes, but_text, told)
            self._notify()
        return bool(changes)

    def _draw(self, changes: Sequence[Change], but_text: bool = False, told: Mapping[str, Any] = _NOTHING) -> None:
        """Send changes and the message `told` to every view, and queue them for the YAML text.

        With `but_text` the YAML text is left alone, because the changes come from it.
        """
        if not but_text:
            self._keep(changes)
        self.tell(
            "patch",
            {
                "set": [self._record(change.after) for change in changes if change.after is not None],
                "gone": [change.id for change in changes if change.after is None],
                **self._marks(),
                **told,
            },
        )


def _objects_of(draft: Draft) -> ClusterObjects:
    return ClusterObjects.of(hypernodes_of(draft), nodes_of(draft, only_reachable=True))


def _too_many(count: int) -> str:
    return f"{count:,} HyperNodes and nodes are too many to edit as text (at most {MOST_TEXT:,})"
