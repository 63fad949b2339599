"""Recordings of live clusters: what was followed is seen again, forwards and backwards."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.control.kinds import key_of
from workbench.control.store import StoreChange
from workbench.errors import InputError
from workbench.live import Recording, is_recording, record

RECORDED = Path(__file__).parents[2] / "datasets" / "recorded-cluster" / "cluster.json"

Moments = list[dict[Any, Any]]


def recorded(seed: int = 3, steps: int = 12) -> tuple[str, Moments]:
    """A recording in which pods, nodes and groups come and go, and all objects of each moment."""
    draw = random.Random(seed)
    everything = {key_of(one): one for one in json.loads(RECORDED.read_bytes())["items"]}
    present = {key: one for key, one in everything.items() if key.kind != "Pod"}
    view: Any = SimpleNamespace(cluster=SimpleNamespace(context="demo"), objects=list(present.values()), heard=[])
    file, now = io.BytesIO(), [1_000_000_000.0]
    record(view, file, lambda: now[0])
    moments = [dict(present)]
    for _ in range(steps):
        now[0] += draw.choice([0.25, 1.0, 60.0])
        changes: list[StoreChange] = []
        for key in draw.sample(sorted(everything), 6):
            before = present.get(key)
            if before is None:
                present[key] = everything[key]
            elif key.kind == "Pod" or draw.random() < 0.3:
                del present[key]
            else:
                present[key] = {**before, "metadata": {**before["metadata"], "labels": {"step": str(len(moments))}}}
            changes.append(StoreChange(len(changes) + 1, key, before, present.get(key)))
        for told in view.heard:
            told(changes)
        moments.append(dict(present))
    return file.getvalue().decode(), moments


def seen(recording: Recording) -> tuple[Any, ...]:
    """What of a moment tables and policies read."""
    snapshot = recording.snapshot
    running = sorted((one.name, one.node, one.gpu_mask) for one in snapshot.running)
    gangs = [(gang.key, gang.n_pods) for gang in recording.scenario().gangs]
    return snapshot.topology.node_names, running, gangs, recording.jobs(ask_policy=True), recording.pods()


def test_every_moment_has_the_objects_that_it_had() -> None:
    text, moments = recorded()
    recording = Recording(text)
    assert is_recording(text) and recording.context == "demo" and len(recording.clocks) == len(moments)
    assert recording.clocks[0] == "01:46:40.0" and list(recording.clocks) == sorted(recording.clocks)
    for step, moment in enumerate(moments):
        recording.seek(step)
        assert {key_of(one): one for one in recording.objects} == moment


def test_a_moment_is_the_same_whichever_way_one_came() -> None:
    text, moments = recorded(seed=5)
    fresh = []
    for step in range(len(moments)):
        recording = Recording(text)
        recording.seek(step)
        fresh.append(seen(recording))
    assert len({str(one) for one in fresh}) > len(moments) // 2
    order = [*range(len(moments)), *range(len(moments))]
    random.Random(1).shuffle(order)
    wandering = Recording(text)
    for step in order:
        wandering.seek(step)
        assert seen(wandering) == fresh[step]


def test_a_line_that_was_not_written_to_its_end_is_left_out() -> None:
    text, moments = recorded(steps=3)
    assert len(Recording(text[:-20]).clocks) == len(moments) - 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: ["{", *lines[1:]], "no head of a recording"),
        (
            lambda lines: [lines[0].replace(":1,", ":9,"), *lines[1:]],
            "another version of recordings (found 9,",
        ),
        (lambda lines: lines[:1], "a recording without a moment"),
        (lambda lines: [*lines, "{}"], "line 6: no moment of a recording"),
        (lambda lines: [*lines, "[]"], "line 6: no moment of a recording"),
        (lambda lines: [*lines, '{"t":1,"put":[1],"gone":[]}'], "line 6: no moment of a recording"),
        (lambda lines: [*lines, '{"t":0,"put":[],"gone":[["a"]]}'], "line 6: no moment of a recording"),
        (lambda lines: [*lines, '{"t":0,"put":[],"gone":[]}'], "line 6: time goes back"),
    ],
)
def test_a_damaged_recording_is_one_error(change: Any, told: str) -> None:
    lines = recorded(steps=3)[0].splitlines()
    with pytest.raises(InputError) as caught:
        Recording("\n".join(change(lines)) + "\n", "a.jsonl")
    assert told in str(caught.value) and str(caught.value).startswith("a.jsonl") and "\n" not in str(caught.value)


def test_a_file_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(recorded(steps=2)[0], "utf-8")
    assert len(Recording.read(path).clocks) == 3
    path.write_text('{"about": "something else"}\n', "utf-8")
    for one in (path, tmp_path / "none.jsonl"):
        with pytest.raises(InputError, match=one.name):
            Recording.read(one)


@pytest.mark.parametrize("step", [-1, 3])
def test_a_moment_beyond_the_ends_is_refused(step: int) -> None:
    recording = Recording(recorded(steps=2)[0])
    with pytest.raises(InputError, match="expected 0 to 2"):
        recording.seek(step)
    assert recording.step == 0


def test_of_several_changes_at_once_the_last_counts() -> None:
    file, view = io.BytesIO(), SimpleNamespace(cluster=SimpleNamespace(context="c"), objects=[], heard=[])
    record(view, file, lambda: 0.0)  # type: ignore[arg-type]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}}
    steps: Sequence[StoreChange] = [StoreChange(1, key_of(pod), None, pod), StoreChange(2, key_of(pod), pod, None)]
    view.heard[0](steps)
    assert json.loads(file.getvalue().splitlines()[-1]) == {"t": 0.0, "put": [], "gone": [["Pod", "ns", "p"]]}


@pytest.mark.parametrize("seconds", ["1e300", "-1", '"nan"', "true", "null", "1e11"])
def test_a_moment_without_a_time_is_one_error(seconds: str) -> None:
    head = '{"recording":1,"context":"c","began":"2026-01-01T00:00:00+00:00"}'
    lines = (head, '{"t":0.0,"put":[],"gone":[]}', '{"t":SECONDS,"put":[],"gone":[]}'.replace("SECONDS", seconds))
    with pytest.raises(InputError, match="line 3"):
        Recording("\n".join((*lines, "")))


def test_a_recording_that_began_at_the_end_of_time_is_one_error() -> None:
    head = '{"recording":1,"context":"c","began":"9999-12-31T23:59:59+00:00"}'
    with pytest.raises(InputError, match="moments before the year 10000"):
        Recording("\n".join((head, '{"t":60,"put":[],"gone":[]}', "")))
