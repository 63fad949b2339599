"""`Workbench`: the Jupyter widget that joins topology editor, matrix loader and placement comparer on one scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import ipywidgets

from workbench.errors import InputError
from workbench.evaluate.compare import Comparison
from workbench.evaluate.policy_choices import make_policy, with_config
from workbench.evaluate.usual_policies import USUAL_POLICIES
from workbench.formats.scenario_file import ScenarioFile, scenario_text
from workbench.formats.whole_file import write_whole
from workbench.model.gang import Gang
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.topology.history import Beside
from workbench.widgets.beginning import Beginning, Named, begin, read_cluster, read_text
from workbench.widgets.comparer import PlacementComparer
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.follower import ClusterMoment, Follower, Replay
from workbench.widgets.live_strip import LiveStrip
from workbench.widgets.matrix_loader import MatrixLoader
from workbench.widgets.panel import Panel
from workbench.widgets.restarts import LostJobRestarts
from workbench.widgets.scenario_bar import ScenarioBar

__all__ = ["Workbench"]


class _Shown(NamedTuple):
    """The widgets of one scenario."""

    editor: TopologyEditor
    comparer: PlacementComparer
    matrices: MatrixLoader
    strip: LiveStrip | None
    panels: Mapping[str, Panel]
    restarts: LostJobRestarts | None


class Workbench(ipywidgets.VBox):  # type: ignore[misc]
    """Jupyter widget to draw a topology, load a bandwidth matrix, and compare placements on the drawn cluster.

    `source`: a file or folder in any form that `workbench.load` reads, a file that `save` wrote, a recording of a
    cluster (``.jsonl``), or a value. Nothing: begin with an empty drawing. `policies`: policies compared at first; by
    default those of a saved scenario. `matrices`: its button "assign" gives the loaded matrix to the nodes selected in
    the editor. `comparison`: the result that the page shows. `snapshot`: the cluster and the jobs that the page shows.

    Notes
    -----
    The button "Cluster …" reads a live cluster of the user's kubeconfig as it is now: what runs takes up room in the
    drawing, and what waits becomes the jobs. *Follow* keeps both as the cluster is until something is edited, which
    pauses: the edits, and jobs written under "Jobs", are then tried on that moment.

    A file that is not read at once is read in the background, with its progress and a button to cancel on
    the page. Until then the drawing is empty; `editor`, `matrices`, `comparer`, `snapshot` and `save` wait for the
    file, and raise its error.

    Examples
    --------
    >>> import workbench as wb
    >>> bench = wb.Workbench(wb.generate_scenario("three-level-tree"), ["binpack", "spread"])
    >>> bench.snapshot.n_nodes
    8
    """

    # Three panels over one history. A scenario that is opened makes new panels (`_show`, `_put`); the step back shows
    # the former ones again (`_keep`, `_swap`). The drawn cluster is what the comparer compares on; its outcome is told
    # in the bar (`_tell_result`).

    def __init__(
        self,
        source: str | Path | Scenario | ClusterSnapshot | None = None,
        policies: Sequence[str] | None = None,
    ) -> None:
        self._shown: _Shown | None = None
        #: The scenario before the last *Open …*, or after one that was undone, with the two steps that lead there.
        self._other: _Shown | None = None
        self._way: tuple[Beside, ...] = ()
        #: Whether what is shown only stands in for a file that is being read.
        self._stands_in = False
        self._bar: ScenarioBar[Beginning] = ScenarioBar(self._text, read_text, self._show, read_cluster)
        super().__init__([self._bar])
        # The page arranges the parts by these class names (js/bench.js, panel.css).
        self.add_class("wb-bench")
        named: Named | None = None if policies is None else tuple((name, {}) for name in policies)
        if not isinstance(source, str | Path):
            self._show(begin(source, named))
        elif not self._bar.load(Path(source).name, lambda: begin(source, named)):
            self._show(begin(None, named))
            self._stands_in = True

    @property
    def editor(self) -> TopologyEditor:
        """The panel in which the topology is drawn."""
        self._bar.show_loaded(wait=True)
        return self._editor

    @property
    def matrices(self) -> MatrixLoader:
        """The panel that loads bandwidth matrices and assigns them to the nodes selected in the drawing."""
        self._bar.show_loaded(wait=True)
        return self._matrices

    @property
    def comparer(self) -> PlacementComparer:
        """The panel that compares policies on the drawn cluster; its `comparison` is the result as a value."""
        self._bar.show_loaded(wait=True)
        return self._comparer

    @property
    def comparison(self) -> Comparison | None:
        """The result that the page shows, as a value; None while a cluster, a job or a policy is missing.

        Waits for a comparison that is running. ``bench.comparison.to_dataframe()`` has a row per policy and job,
        ``to_dict()`` is the JSON form; in Jupyter the value itself shows tables and pictures.
        """
        comparer = self.comparer
        comparer.wait(causes=False)
        return comparer.comparison

    @property
    def gangs(self) -> tuple[Gang, ...]:
        """Gangs that the page compares, of the scenario and of “Jobs …”.

        With `snapshot` they are what functions such as `workbench.compare` and `workbench.place` take.
        """
        return self.comparer.gangs

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The drawn cluster as a `ClusterSnapshot`."""
        return self.editor.snapshot

    def save(self, path: str | Path) -> None:
        """Write the drawing, the text of the jobs, the policies and their configuration into one file.

        Raises InputError: the file cannot be written, or jobs or a scheduler configuration were passed as Python
        values, which have no text to save.
        """
        self._bar.show_loaded(wait=True)
        write_whole(path, self._text())

    def open_text(self, text: str, name: str = "text") -> None:
        """Replace the scenario by the text of a file that `save` wrote, or of manifests.

        The three widgets are replaced, which is one step to undo in the editor. The compared policies stay if the text
        names none.

        Raises InputError: as `workbench.load`; nothing has changed then.
        """
        begun = read_text(text, name)
        self._bar.give_up()
        self._show(begun, name)

    def end(self) -> None:
        """Cancel running work, and close the three widgets."""
        self._bar.close()
        for shown in (self._shown, self._other):
            if shown is not None:
                shown.comparer.cancel()
                if shown.restarts is not None:
                    shown.restarts.cancel()
                _close(shown.panels)
        self.layout.close()
        self.close()

    def _text(self) -> str:
        comparer = self._comparer
        if comparer.given:
            names = ", ".join(gang.key for gang in comparer.given)
            expected = "jobs as text: give `Workbench` their files, or write them under “Jobs”"
            raise InputError(
                "jobs handed in as values cannot be saved", source="scenario", got=names, expected=expected
            )
        return scenario_text(
            ScenarioFile(self._editor.snapshot, comparer.text, tuple(comparer.policies), comparer.config)
        )

    def _show(self, begun: Beginning, name: str = "") -> None:
        """Make the widgets for a scenario, called `name`, and put them on the page, as one step to undo."""
        content, given = begun.content, begun.given
        names = list(content.policies)
        config = content.config
        if not names and self._shown is not None:
            names, config = list(self._comparer.policies), config or self._comparer.config
        for policy, parameters in names:
            make_policy(policy, parameters if config is None else with_config(policy, parameters, config))
        editor = TopologyEditor(begun.drawing)
        comparer = PlacementComparer(given, [policy for policy, _ in names] or USUAL_POLICIES, config)
        if names:
            comparer.choose(names)
        if content.jobs:
            comparer.take_jobs(content.jobs)
        matrices = MatrixLoader(assign=editor.assign)

        def place_again() -> None:
            # The step that leaves a scenario changes nothing in it.
            if self._present.editor is editor:
                comparer.use(editor.snapshot_later())

        editor.changed.append(place_again)
        editor.wants_gpus = lambda: any(role.n_gpus for gang in comparer.gangs for role in gang.roles)
        comparer.steps = editor
        comparer.jobs_changed.append(editor.ask_for_gpus)
        comparer.ended.append(lambda line: self._tell_result(comparer, line))
        restarts = None if begun.objects is None else LostJobRestarts(editor, comparer, begun.objects)
        if restarts is not None:
            comparer.ended.append(lambda _: restarts.look())
        panels: dict[str, Panel] = {"drawing": editor, "matrix": matrices, "placements": comparer}
        for part, panel in panels.items():
            panel.add_class(f"wb-part-{part}")
        strip = None if begun.follower is None else _strip_of(begun.follower, editor, comparer)
        if strip is not None:
            panels["live"] = strip
        before, shown = self._shown, _Shown(editor, comparer, matrices, strip, panels, restarts)
        self._put(shown)
        self._bar.show_result("")
        if before is not None:
            self._keep(before, shown, f"open {name or self._bar.name}")
        self._stands_in = False

    @property
    def _editor(self) -> TopologyEditor:
        return self._present.editor

    @property
    def _comparer(self) -> PlacementComparer:
        return self._present.comparer

    @property
    def _matrices(self) -> MatrixLoader:
        return self._present.matrices

    @property
    def _present(self) -> _Shown:
        assert self._shown is not None
        return self._shown

    def _put(self, shown: _Shown) -> None:
        """Put the widgets of a scenario on the page."""
        self._shown = shown
        self.children = [
            self._bar,
            *([] if shown.strip is None else [shown.strip]),
            shown.editor,
            shown.matrices,
            shown.comparer,
        ]

    def _keep(self, before: _Shown, shown: _Shown, label: str) -> None:
        """Record a step in the histories of both scenarios that leads from one to the other; forget an earlier one."""
        if self._other is not None:
            for step in self._way:
                before.editor.history.forget(step)
            _close(self._other.panels)
            self._other = None
        if self._stands_in:
            _close(before.panels)
            return
        before.comparer.cancel()
        back = Beside(lambda: self._swap(before, before.editor.history.undo), _nothing)
        again = Beside(_nothing, lambda: self._swap(shown, shown.editor.history.redo))
        before.editor.history.do(label, (), again)
        shown.editor.history.do(label, (), back)
        self._other, self._way = before, (back, again)

    def _swap(self, shown: _Shown, step: Callable[[], object]) -> None:
        """Show the other scenario; its history takes the same `step` as that of the one that is shown."""
        self._other = self._present
        self._other.comparer.cancel()
        step()
        self._put(shown)
        shown.comparer.run()

    def _tell_result(self, comparer: PlacementComparer, line: str) -> None:
        """Show the outcome of a comparison in the bar, unless the comparer is hidden."""
        if comparer is self._comparer:
            self._bar.show_result(line)


def _strip_of(follower: Follower | Replay, editor: TopologyEditor, comparer: PlacementComparer) -> LiveStrip:
    """A strip whose moments are drawn and placed on; an edit pauses it, so that nothing of the user's is lost."""

    def show(moment: ClusterMoment) -> None:
        editor.show_moment(moment.scenario.snapshot)
        comparer.use(editor.snapshot_later(), moment.scenario.gangs)

    strip = LiveStrip(follower, show)
    editor.changed.append(strip.pause)
    return strip


def _nothing() -> None:
    """A side of a step that changes nothing."""


def _close(panels: Mapping[str, Panel]) -> None:
    """Close the given widgets; ipywidgets keeps every widget in memory, layouts too, until it is closed."""
    for panel in panels.values():
        panel.close()
