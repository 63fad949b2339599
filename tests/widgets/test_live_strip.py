"""Following a cluster in the Workbench: moments, pausing by an edit, trouble, and the end."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import workbench
from tests.live.test_recording import recorded
from tests.waiting import until
from tests.widgets.page import ask, refused
from workbench.control.views import JobRow
from workbench.errors import ClusterError
from workbench.live import LiveView
from workbench.model.scenario import Scenario
from workbench.topology.generate import Fabric
from workbench.widgets import follower as follower_module
from workbench.widgets.follower import Follower
from workbench.widgets.workbench import Workbench

DEMO = workbench.load("datasets/demo")
BUSY = workbench.load("datasets/recorded-cluster/cluster.json")


class FakeView:
    """A view whose changes a test makes."""

    def __init__(self, scenario: Scenario) -> None:
        self.cluster = SimpleNamespace(context="fake")
        self.now, self.trouble, self.closed = scenario, "", False
        self.error: Exception | None = None
        self._changed = threading.Event()

    def change(self, scenario: Scenario) -> None:
        self.now = scenario
        self._changed.set()

    def update(self, timeout_s: float = 0.0) -> bool:
        changed = self._changed.wait(min(timeout_s, 0.02))
        if changed:
            self._changed.clear()
        if self.error is not None:
            raise self.error
        return changed

    def scenario(self) -> Scenario:
        return self.now

    def jobs(self, *, ask_policy: bool) -> list[JobRow]:
        waiting = [(gang.name, gang.n_pods) for gang in self.now.gangs]
        return [JobRow("ns", name, "Job", "Pending", n, 0, 0, 0, "", None, "no room") for name, n in waiting]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> FakeView:
    view = FakeView(Scenario(DEMO.snapshot, DEMO.gangs[:1]))
    monkeypatch.setattr(follower_module, "_BURST_S", 0.0)
    monkeypatch.setattr("workbench.live.LiveView", lambda context: view)
    return view


@pytest.fixture
def bench(view: FakeView, patient: Any) -> Any:
    bench = Workbench()
    ask(bench._bar, "cluster", name="fake", follow=True)
    yield bench
    bench.comparer.wait()
    bench.end()


def strip_of(bench: Workbench) -> Any:
    return bench.children[1]


def wait_for_news(said: list[Any], number: int = 1) -> None:
    until(lambda: sum(message["type"] == "news" for message in list(said)) >= number, f"news number {number}")


def test_the_first_moment_is_the_scenario_and_later_ones_follow(
    bench: Workbench, view: FakeView, said: list[Any]
) -> None:
    strip = strip_of(bench)
    state = ask(strip, "state")
    assert (state["name"], state["rest"], state["trouble"]) == ("fake", "", "")
    assert [job["job"] for job in state["jobs"]] == [f"ns/{DEMO.gangs[0].name}"]
    assert bench.comparer.gangs == DEMO.gangs[:1]
    view.change(DEMO)
    wait_for_news(said)
    assert len(ask(strip, "moment")["jobs"]) == len(DEMO.gangs)
    assert bench.comparer.gangs == DEMO.gangs
    assert ask(strip, "moment")["clock"] == ask(strip, "state")["clock"], "a moment is taken once"


def test_nodes_that_differ_are_one_step_and_gpus_in_use_are_patched(
    bench: Workbench, view: FakeView, said: list[Any]
) -> None:
    view.change(Scenario(Fabric((2, 3)).snapshot(), ()))
    wait_for_news(said)
    ask(strip_of(bench), "moment")
    assert bench.snapshot.n_nodes == 6 and bench.editor.history.undo_label == "follow the cluster"
    view.change(BUSY)
    wait_for_news(said, 2)
    ask(strip_of(bench), "moment")
    assert bench.snapshot.topology.node_names == BUSY.snapshot.topology.node_names
    assert len(bench.snapshot.running) == len(BUSY.snapshot.running) > 0
    revision = bench.editor.history.revision
    said.clear()
    view.change(replace(BUSY, snapshot=replace(BUSY.snapshot, running=(), gpu_free=BUSY.snapshot.gpu_total)))
    wait_for_news(said)
    ask(strip_of(bench), "moment")
    # A page takes no patch of a revision that it has drawn.
    assert bench.editor.history.revision == revision + 1 and not bench.editor.history.redo_label
    (patch,) = [message["body"] for message in said if message["type"] == "patch"]
    emptied = {item["name"] for item in patch["set"]}
    assert patch["gone"] == [] and emptied
    assert all("used" not in item for item in patch["set"])


def test_jobs_are_placed_once_per_moment(
    bench: Workbench, view: FakeView, said: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []
    run = bench.comparer.run
    monkeypatch.setattr(bench.comparer, "run", lambda: (runs.append(1), run()))
    view.change(Scenario(Fabric((2, 3)).snapshot(), ()))
    wait_for_news(said)
    ask(strip_of(bench), "moment")
    assert bench.snapshot.n_nodes == 6 and len(runs) == 1
    bench.editor.edit(op="add_nodes", count=2, prefix="mine-")
    assert len(runs) == 2 and ask(strip_of(bench), "state")["rest"] == "paused"


def test_an_edit_pauses_and_resume_goes_back(bench: Workbench, view: FakeView, said: list[Any]) -> None:
    strip = strip_of(bench)
    bench.editor.edit(op="add_nodes", count=2, prefix="mine-")
    assert ask(strip, "state")["rest"] == "paused"
    view.change(BUSY)
    wait_for_news(said)
    assert ask(strip, "moment")["rest"] == "paused"
    assert "mine-1" in bench.snapshot.topology.node_names or "mine-0" in bench.snapshot.topology.node_names
    assert ask(strip, "resume")["rest"] == ""
    assert bench.snapshot.topology.node_names == BUSY.snapshot.topology.node_names


def test_resume_without_news_takes_the_edit_back_as_one_step_to_undo(bench: Workbench) -> None:
    bench.editor.edit(op="add_nodes", count=2, prefix="mine-")
    ask(strip_of(bench), "resume")
    assert bench.snapshot.topology.node_names == DEMO.snapshot.topology.node_names
    bench.editor.undo()
    assert bench.snapshot.n_nodes == DEMO.snapshot.n_nodes + 2
    assert ask(strip_of(bench), "state")["rest"] == "paused"


def test_trouble_is_told_and_goes(bench: Workbench, view: FakeView, said: list[Any]) -> None:
    view.trouble = "no answer"
    wait_for_news(said)
    assert ask(strip_of(bench), "state")["trouble"] == "no answer"
    view.trouble, view.error = "", ClusterError("gone for good")
    wait_for_news(said, 2)
    assert ask(strip_of(bench), "state")["trouble"] == "gone for good"
    view.error = None
    wait_for_news(said, 3)
    assert ask(strip_of(bench), "state")["trouble"] == ""


def test_stop_ends_the_thread_and_another_scenario_closes_the_view(bench: Workbench, view: FakeView) -> None:
    strip = strip_of(bench)
    thread = strip._follower._thread
    assert ask(strip, "stop")["rest"] == "stopped"
    thread.join(60)
    assert not thread.is_alive() and view.closed
    ask(bench._bar, "open", text="kind: Node\napiVersion: v1\nmetadata: {name: n}\n", name="n.yaml")
    assert strip not in bench.children


def test_a_follower_that_nobody_started_closes_its_view(view: FakeView) -> None:
    follower = Follower(view)  # type: ignore[arg-type]
    assert follower.first.scenario is view.now
    del follower
    assert view.closed


def test_the_view_is_the_one_of_the_package() -> None:
    assert {"update", "trouble", "scenario", "jobs", "close"} <= set(dir(LiveView))


def test_a_recording_opens_at_its_begin_and_goes_to_any_moment(said: list[Any], patient: Any, tmp_path: Path) -> None:
    text, moments = recorded(steps=6)
    path = tmp_path / "tuesday.jsonl"
    path.write_text(text, "utf-8")
    bench = Workbench(path)
    strip = bench.children[1]
    state = ask(strip, "state")
    assert (state["name"], state["step"], len(state["clocks"])) == ("tuesday.jsonl", 0, len(moments))
    for step in (6, 2, 0, 5):
        assert ask(strip, "seek", step=step)["clock"] == state["clocks"][step]
        nodes = sorted(key.name for key in moments[step] if key.kind == "Node")
        assert sorted(bench.snapshot.topology.node_names) == nodes
    bench.editor.edit(op="add_nodes", count=2, prefix="mine-")
    assert ask(strip, "state")["rest"] == "paused"
    assert ask(strip, "seek", step=5)["rest"] == ""
    assert "mine" not in str(bench.snapshot.topology.node_names)
    for wrong in (7, -1, True, "1", None):
        assert "moment" in refused(strip, "seek", step=wrong)
    bench.comparer.wait()
    bench.end()


def test_a_recording_opens_by_the_button_and_a_live_cluster_has_no_slider(bench: Workbench, patient: Any) -> None:
    assert "no moment of a recording" in refused(strip_of(bench), "seek", step=0)
    ask(bench._bar, "open", text=recorded(steps=2)[0], name="a.jsonl")
    assert len(ask(strip_of(bench), "state")["clocks"]) == 3


@pytest.mark.parametrize(("kind", "rest"), [("pause", "paused"), ("resume", ""), ("stop", "stopped")])
def test_a_view_in_another_tab_hears_what_one_did(bench: Workbench, said: list[Any], kind: str, rest: str) -> None:
    strip = strip_of(bench)
    if kind == "resume":
        ask(strip, "pause")
    said.clear()
    answer = ask(strip, kind)
    told = [message["body"] for message in said if message["type"] == "state"]
    assert answer["rest"] == rest and told[-1] == answer


def test_a_view_in_another_tab_hears_which_moment_is_shown(patient: Any, said: list[Any]) -> None:
    bench = Workbench()
    ask(bench._bar, "open", text=recorded(steps=3)[0], name="a.jsonl")
    answer = ask(strip_of(bench), "seek", step=1)
    assert [message["body"] for message in said if message["type"] == "state"][-1] == answer
    bench.comparer.wait()
    bench.end()
