"""`Workbench`: the Jupyter widget that joins topology editor, matrix loader and placement comparer on one scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import ipywidgets

from workbench.errors import InputError
from workbench.evaluate.choices import make_policy, with_config
from workbench.evaluate.usual_policies import USUAL_POLICIES
from workbench.formats.scenario_file import (
    ScenarioFile,
    load_with_job_text,
    parse_scenario,
    read_scenario,
    scenario_text,
)
from workbench.formats.whole_file import write_whole
from workbench.model.snapshot import ClusterSnapshot, Scenario
from workbench.widgets.comparer import PlacementComparer
from workbench.widgets.editor import TopologyEditor
from workbench.widgets.matrix_loader import MatrixLoader
from workbench.widgets.panel import Panel
from workbench.widgets.scenario_bar import ScenarioBar

__all__ = ["Workbench"]


class Workbench(ipywidgets.VBox):  # type: ignore[misc]
    """Jupyter widget to draw a topology, load a bandwidth matrix, and compare placements on the drawn cluster.

    Parameters
    ----------
    source : path, Scenario or ClusterSnapshot, optional
        A file or folder in any form that `workbench.load` reads, a file that `save` wrote, or a value. Nothing: begin
        with an empty drawing.
    policies : sequence of str, optional
        Policies compared at first; by default those of a saved scenario.

    Attributes
    ----------
    editor : TopologyEditor
    matrices : MatrixLoader
        Its "assign" gives the matrix to the nodes selected in the editor.
    comparer : PlacementComparer
    """

    def __init__(
        self,
        source: str | Path | Scenario | ClusterSnapshot | None = None,
        policies: Sequence[str] | None = None,
    ) -> None:
        self._bar = ScenarioBar(self._text, self.open_text)
        super().__init__([self._bar])
        # The page arranges the parts by these class names (js/bench.js, panel.css).
        self.add_class("wb-bench")
        self._show(*_begin(source), policies)

    @property
    def snapshot(self) -> ClusterSnapshot:
        """The drawn cluster as a `ClusterSnapshot`."""
        return self.editor.snapshot

    def save(self, path: str | Path) -> None:
        """Write the drawing, the text of the jobs, the policies and their configuration into one file.

        Raises
        ------
        InputError
            The file cannot be written, or there are jobs or a scheduler configuration that were handed in as values: a
            file holds texts.
        """
        write_whole(path, self._text())

    def open_text(self, text: str, name: str = "text") -> None:
        """Replace the scenario by the text of a file that `save` wrote, or of manifests.

        The three widgets are replaced; the old drawing and its history are lost.

        Raises
        ------
        InputError
            As `workbench.load`; nothing has changed then.
        """
        begun = parse_scenario(text.encode(), name)
        given = Scenario(begun.snapshot, ()) if begun is not None and begun.snapshot is not None else None
        if begun is None:
            try:
                scenario, jobs = load_with_job_text("-", text)
                given, begun = Scenario(scenario.snapshot, ()), ScenarioFile(scenario.snapshot, jobs)
            except InputError as error:
                raise error.of(name) from None
        before = self._panels
        self._show(begun, given)
        _close(before)

    def end(self) -> None:
        """Cancel running work, and close the three widgets."""
        self.comparer.cancel()
        self._bar.close()
        _close(self._panels)
        self.layout.close()
        self.close()

    def _text(self) -> str:
        if self.comparer.given:
            names = ", ".join(gang.key for gang in self.comparer.given)
            expected = "jobs as text: give `Workbench` their files, or write them under “Jobs”"
            raise InputError(
                "jobs handed in as values cannot be saved", source="scenario", got=names, expected=expected
            )
        comparer = self.comparer
        return scenario_text(ScenarioFile(self.snapshot, comparer.text, tuple(comparer.policies), comparer.config))

    def _show(self, begun: ScenarioFile, given: Scenario | None, policies: Sequence[str] | None = None) -> None:
        """Make the three widgets for a scenario and put them on the page.

        `begun` is the content of a scenario file, `given` a scenario passed as a value, or None.
        """
        names = [(name, {}) for name in policies] if policies is not None else list(begun.policies)
        config = begun.config
        for name, parameters in names:
            make_policy(name, parameters if config is None else with_config(name, parameters, config))
        editor = TopologyEditor(begun.snapshot)
        comparer = PlacementComparer(given, [name for name, _ in names] or USUAL_POLICIES, config)
        if names:
            comparer.choose(names)
        if begun.jobs:
            comparer.take_jobs(begun.jobs)
        self.editor, self.comparer = editor, comparer
        self.matrices = MatrixLoader(assign=editor.assign)
        editor.changed.append(self._drawn)
        editor.wants_gpus = lambda: any(role.n_gpus for gang in comparer.gangs for role in gang.roles)
        comparer.jobs_changed.append(editor.ask_for_gpus)
        comparer.ended.append(self._bar.show_result)
        self._panels: dict[str, Panel] = {"drawing": editor, "matrix": self.matrices, "placements": comparer}
        for name, panel in self._panels.items():
            panel.add_class(f"wb-part-{name}")
        self._bar.show_result("")
        self.children = [self._bar, *self._panels.values()]

    def _drawn(self) -> None:
        self.comparer.use(self.editor.snapshot_later())


def _close(panels: Mapping[str, Panel]) -> None:
    """Close the given widgets; ipywidgets keeps every widget in memory, layouts too, until it is closed."""
    for panel in panels.values():
        panel.close()


def _begin(source: str | Path | Scenario | ClusterSnapshot | None) -> tuple[ScenarioFile, Scenario | None]:
    if source is None:
        return ScenarioFile(None), None
    if isinstance(source, ClusterSnapshot):
        return ScenarioFile(source), Scenario(source, ())
    if isinstance(source, Scenario):
        return ScenarioFile(source.snapshot), source
    saved = read_scenario(source)
    if saved is not None:
        return saved, Scenario(saved.snapshot, ()) if saved.snapshot is not None else None
    scenario, jobs = load_with_job_text(source)
    return ScenarioFile(scenario.snapshot, jobs), Scenario(scenario.snapshot, ())
