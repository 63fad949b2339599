"""What a workbench begins with: a file, a live cluster, a recording or a scenario, and its drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import InputError
from workbench.formats.job_text import load_with_job_text
from workbench.formats.load import load_objects
from workbench.formats.scenario_file import ScenarioFile, parse_scenario, read_scenario
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.kinds import ClusterObjects
from workbench.widgets.begun_drawing import BegunDrawing, begin_drawing
from workbench.widgets.follower import Follower, Replay

__all__ = ["Beginning", "Named", "begin", "read_cluster", "read_text"]


#: Policies by name, each with its parameters.
Named = tuple[tuple[str, Mapping[str, Any]], ...]


class Beginning(NamedTuple):
    """What a workbench begins with.

    Attributes
    ----------
    given : Scenario, optional
        The scenario as a value, if there is one.
    follower : Follower or Replay, optional
        Follower of the live cluster, or the recording of one, that the scenario is the first moment of.
    objects : callable, optional
        Reads the objects of the cluster again; None: there are none, as with a value.
    """

    content: ScenarioFile
    given: Scenario | None
    drawing: BegunDrawing
    follower: Follower | Replay | None = None
    objects: Callable[[], ClusterObjects] | None = None


def read_text(text: str, name: str) -> Beginning:
    """Read the text of a scenario file, of a recording, or of manifests."""
    from workbench.live import Recording, is_recording

    if is_recording(text):
        return _followed(Replay(Recording(text, name), name))
    begun = parse_scenario(text.encode(), name)
    if begun is not None:
        return _drawn(begun)
    try:
        scenario, jobs = load_with_job_text("-", text)
    except InputError as error:
        raise error.of(name) from None
    return _drawn(ScenarioFile(scenario.snapshot, jobs), lambda: load_objects("-", stdin=text))


def read_cluster(context: str, follow: bool) -> Beginning:
    """Read a live cluster as it is now; nothing is written to it."""
    from workbench.live import LiveView, take_snapshot

    if not follow:
        return read_text(take_snapshot(context).to_json().decode(), f"context {context}")
    return _followed(Follower(LiveView(context)))


def _followed(follower: Follower | Replay) -> Beginning:
    scenario = follower.first.scenario
    return Beginning(ScenarioFile(scenario.snapshot), scenario, begin_drawing(scenario), follower)


def begin(source: str | Path | Scenario | ClusterSnapshot | None, policies: Named | None) -> Beginning:
    """What a workbench begins with; `policies`, if given, replace those of a scenario file."""
    begun = _begun_of(source)
    return begun if policies is None else begun._replace(content=replace(begun.content, policies=policies))


def _begun_of(source: str | Path | Scenario | ClusterSnapshot | None) -> Beginning:
    if source is None:
        return _drawn(ScenarioFile(None))
    if isinstance(source, ClusterSnapshot):
        return _drawn(ScenarioFile(source))
    if isinstance(source, Scenario):
        return Beginning(ScenarioFile(source.snapshot), source, begin_drawing(source.snapshot))
    path = Path(source)
    if path.suffix == ".jsonl":
        from workbench.live import Recording

        return _followed(Replay(Recording.read(path), path.name))
    saved = read_scenario(source)
    if saved is not None:
        return _drawn(saved)
    scenario, jobs = load_with_job_text(source)
    return _drawn(ScenarioFile(scenario.snapshot, jobs), lambda: load_objects(source))


def _drawn(content: ScenarioFile, objects: Callable[[], ClusterObjects] | None = None) -> Beginning:
    """The content of a scenario file with its drawing; `objects` reads those of its cluster again."""
    snapshot = content.snapshot
    given = None if snapshot is None else Scenario(snapshot, ())
    return Beginning(content, given, begin_drawing(snapshot), objects=objects)
