"""The three panels with one common scenario."""

from __future__ import annotations

from pathlib import Path

import pytest
from ipywidgets.widgets.widget import _instances

import workbench
from tests.widgets.page import ask, refused
from workbench.errors import InputError
from workbench.evaluate.compare import compare
from workbench.formats.fabric.registry import get_format
from workbench.formats.scenario_file import ScenarioFile, read_scenario, scenario_text
from workbench.model.scheduler_config import PluginOption, SchedulerConfig
from workbench.topology.presets import generate_scenario
from workbench.widgets.workbench import Workbench


@pytest.fixture
def bench():
    bench = Workbench("datasets/demo", ["volcano-1.13", "gang"])
    yield bench
    bench.comparer.wait()
    bench.end()


def outcomes(comparer):
    comparer.wait()
    return {
        (row.policy, d.gang.key): type(d.result).__name__ for row in comparer.comparison.rows for d in row.decisions
    }


def test_it_compares_what_was_loaded(bench):
    bench.comparer.run()
    expected = workbench.load("datasets/demo")
    assert sorted(g.key for g in bench.comparer.gangs) == [g.key for g in expected.gangs]
    direct = workbench.compare(expected.gangs, expected.snapshot, ["volcano-1.13", "gang"])
    assert outcomes(bench.comparer) == {
        (row.policy, d.gang.key): type(d.result).__name__ for row in direct.rows for d in row.decisions
    }


@pytest.mark.slow
def test_an_edit_is_placed_on_at_once(bench):
    ids = [item.id for item in bench.editor.draft if item.kind == "node"]
    bench.editor.edit(op="set", ids=ids, fields={"cordoned": True})
    assert set(outcomes(bench.comparer).values()) == {"Refusal"}
    bench.editor.undo()
    assert "Placement" in outcomes(bench.comparer).values()


def test_a_saved_scenario_is_the_same_again(bench, tmp_path):
    bench.editor.edit(op="add_switches", parent=0, count=1, prefix="new-", nodes_each=2)
    bench.save(tmp_path / "s.json")
    again = Workbench(tmp_path / "s.json")
    assert again.editor.draft == bench.editor.draft
    assert again.comparer.policies == bench.comparer.policies
    assert outcomes(again.comparer) == outcomes(bench.comparer)
    again.save(tmp_path / "t.json")
    assert (tmp_path / "t.json").read_text() == (tmp_path / "s.json").read_text()
    again.end()


CONF = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: binpack
    arguments: {binpack.weight: 7}
    enabledJobOrdr: true
"""


def test_a_saved_scenario_keeps_the_scheduler_configuration(bench, tmp_path):
    bench.comparer.choose([("volcano-1.13", {}), ("gang", {})])
    ask(bench.comparer, "configure", text=CONF, name="volcano-scheduler.conf")
    bench.save(tmp_path / "s.json")
    again = Workbench(tmp_path / "s.json")
    assert again.comparer.config == bench.comparer.config and again.comparer.config.notes
    assert ask(again.comparer, "state")["config"] == "volcano-scheduler.conf"
    bench.comparer.wait()
    again.comparer.wait()
    rows = [panel.comparison.rows[0] for panel in (bench.comparer, again.comparer)]
    assert rows[0].parameters == rows[1].parameters and rows[0].parameters["config"] is not None
    # A file may hold a configuration that none of its policies reads at the moment.
    again.comparer.choose([("gang", {})])
    again.save(tmp_path / "t.json")
    third = Workbench(tmp_path / "t.json")
    assert third.comparer.config == bench.comparer.config
    for one in (again, third):
        one.end()


def test_a_configuration_made_by_hand_is_not_lost_on_the_way_to_a_file(bench, tmp_path):
    bench.comparer.choose([("volcano-1.13", {})])
    bench.comparer.configure(SchedulerConfig(("allocate",), ((PluginOption("gang"),),)))
    with pytest.raises(InputError, match="a configuration without a text cannot be saved"):
        bench.save(tmp_path / "s.json")
    assert not (tmp_path / "s.json").exists()


def test_jobs_without_a_text_are_not_lost_on_the_way_to_a_file(tmp_path):
    bench = Workbench(workbench.load("datasets/demo"))
    with pytest.raises(InputError, match="handed in as values cannot be saved"):
        bench.save(tmp_path / "s.json")
    assert not (tmp_path / "s.json").exists()
    bench.comparer.wait()
    bench.end()


@pytest.mark.parametrize("jobs", ["", "kind: Foo\n", "a: ["], ids=["no job", "no job's kind", "no YAML"])
def test_opening_scenarios_keeps_the_widgets_of_one_before_and_no_more(jobs):
    before = set(_instances)
    bench = Workbench("datasets/demo")
    own = len(_instances)
    text = scenario_text(ScenarioFile(bench.snapshot, jobs))
    bench.open_text(text)
    two = len(_instances)
    assert own < two < 2 * own
    bench.open_text(text)
    assert len(_instances) == two
    bench.comparer.wait()
    bench.end()
    assert set(_instances) == before


@pytest.mark.slow
def test_the_page_saves_and_opens_the_same_file(bench, tmp_path):
    bench.editor.edit(op="add_switches", parent=0, count=1, prefix="new-", nodes_each=2)
    bench.save(tmp_path / "s.json")
    text = ask(bench._bar, "save")["text"]
    assert text == (tmp_path / "s.json").read_text()
    bare = Workbench()
    empty = bare.editor
    ask(bare._bar, "open", text=text, name="s.json")
    assert bare.editor is not empty and bare.editor.draft == bench.editor.draft
    assert outcomes(bare.comparer) == outcomes(bench.comparer)
    # What is drawn from now on is placed on by the new comparer.
    nodes = [item.id for item in bare.editor.draft if item.kind == "node"]
    bare.editor.edit(op="set", ids=nodes, fields={"cordoned": True})
    assert set(outcomes(bare.comparer).values()) == {"Refusal"}
    bare.end()


def test_opening_is_one_step_to_undo_and_keeps_the_policies(bench):
    bench.comparer.choose([("spread", {}), ("volcano-1.13", {"binpack_weight": "3"})])
    bench.editor.edit(op="add_switches", parent=0, count=1, prefix="new-", nodes_each=2)
    drawn, jobs, chosen, first = bench.editor.draft, bench.comparer.text, bench.comparer.policies, bench.editor
    manifests = Path("datasets/demo/cluster.yaml").read_text()
    ask(bench._bar, "open", text=manifests, name="cluster.yaml")
    assert bench.editor is not first and bench.comparer.policies == chosen and bench.comparer.text == ""
    assert bench.editor.history.undo_label == "open cluster.yaml"
    bench.editor.edit(op="add_switches", parent=0, count=1, prefix="later-", nodes_each=1)
    opened = bench.editor
    assert opened.undo() and bench.editor is opened
    assert ask(opened, "undo")["done"]
    assert bench.editor is first and bench.editor.draft == drawn and bench.comparer.text == jobs
    assert bench.children[1] is first and bench.editor.history.redo_label == "open cluster.yaml"
    bench.comparer.wait()
    line = bench._bar._result
    opened.changed[0]()
    assert bench._bar._result == line
    # Forward again, and back by the step of another file: the one between is the one before.
    assert bench.editor.redo() and bench.editor is opened
    ask(bench._bar, "open", text=manifests, name="again.yaml")
    assert bench.editor.undo() and bench.editor is opened and bench.editor.history.undo_label == ""
    # Its own step has been forgotten with what it led to.
    assert not bench.editor.undo()


def test_manifests_are_opened_too_and_a_bad_file_changes_nothing(bench):
    before = bench.children
    for text in ("a: b: c", '{"workbench_scenario":2}', '{"workbench_scenario":1,"policies":[{"name":"nobody"}]}'):
        assert refused(bench._bar, "open", text=text, name="bad.json")
        assert bench.children is before
    # The file is called what the person calls it.
    assert refused(bench._bar, "open", text="a: b: c", name="bad.yaml").startswith("bad.yaml: line 1")
    manifests = "\n---\n".join(Path(f"datasets/demo/{name}.yaml").read_text() for name in ("cluster", "jobs"))
    ask(bench._bar, "open", text=manifests, name="all.yaml")
    assert len(bench.editor.snapshot.topology.node_names) == 8 and len(bench.comparer.gangs) == 4


def test_from_nothing_it_says_what_is_missing():
    bench = Workbench()
    bench.editor.edit(op="add_switches", count=2, nodes_each=2)
    assert bench.snapshot.n_nodes == 4 and bench.comparer.comparison is None
    bench.end()


@pytest.mark.parametrize(
    "text",
    [
        '{"workbench_scenario":2}',
        '{"workbench_scenario":1,"policies":3}',
        '{"workbench_scenario"',
        '{"workbench_scenario":1,"config":{"name":"c","text":"a: 1"}}',
    ],
)
def test_a_damaged_scenario_is_one_error(tmp_path, text):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(InputError, match=r"s\.json"):
        read_scenario(tmp_path / "s.json")


def test_a_scenario_without_a_cluster_is_read_back(tmp_path):
    from workbench.formats.scenario_file import ScenarioFile

    empty = ScenarioFile(None, "# nothing\n", (("gang", {}),))
    (tmp_path / "s.json").write_text(scenario_text(empty))
    assert read_scenario(tmp_path / "s.json") == empty


def pods_on_gpus(comparer):
    comparer.wait()
    return sum(row.metrics["pods_placed"] for row in comparer.comparison.rows)


@pytest.mark.slow
def test_nodes_without_gpus_are_asked_about_where_jobs_want_some(bench, said):
    text = Path("datasets/one-fabric/topology.conf").read_text()
    assert ask(bench.editor, "state")["without_gpus"] == []
    ask(bench.editor, "import", text=text, name="topology.conf")
    ids = ask(bench.editor, "without_gpus")["ids"]
    assert sorted(bench.editor.draft[i].name for i in ids) == [f"gpu-{i:02d}" for i in range(1, 13)]
    assert pods_on_gpus(bench.comparer) == 0
    ask(bench.editor, "edit", op="set", ids=ids, fields={"gpus": 8})
    assert ask(bench.editor, "without_gpus")["ids"] == [] and pods_on_gpus(bench.comparer) > 0
    ask(bench.editor, "undo")
    assert ask(bench.editor, "state")["without_gpus"] == ids

    # Nothing to ask where no job wants any.
    said.clear()
    bench.comparer.use(bench.snapshot, [])
    bench.comparer.take_jobs("")
    bench.comparer.wait()
    assert [m["body"] for m in said if m["type"] == "without_gpus"][-1] == {"ids": []}
    assert ask(bench.editor, "without_gpus")["ids"] == []


def test_half_of_a_character_in_the_jobs_is_refused_when_saved(bench, tmp_path):
    bench.comparer.take_jobs("\ud800")
    with pytest.raises(InputError, match="jobs: not text"):
        bench.save(tmp_path / "scenario.json")
    assert list(tmp_path.iterdir()) == []


def test_a_seed_that_no_file_could_hold_is_refused_before(bench, tmp_path):
    chosen = [{"name": "random", "parameters": {"seed": 2**64}}]
    assert "that fits 64 bits" in refused(bench.comparer, "choose", chosen=chosen)
    bench.save(tmp_path / "scenario.json")


@pytest.mark.slow
def test_the_bar_tells_the_outcome_of_every_comparison(bench):
    bench.comparer.run()
    bench.comparer.wait()
    assert ask(bench._bar, "state")["line"] == "4 placed"
    nodes = [item.id for item in bench.editor.draft if item.kind == "node"]
    bench.editor.edit(op="set", ids=nodes[1:], fields={"cordoned": True})
    bench.comparer.wait()
    counts = {
        row.policy: sum(type(d.result).__name__ == "Placement" for d in row.decisions)
        for row in bench.comparer.comparison.rows
    }
    line = ask(bench._bar, "state")["line"]
    for policy, placed in counts.items():
        assert (f"{placed} placed" in line) == bool(placed)
        assert f"{4 - placed} pending" in line
        assert (policy in line) == (len(set(counts.values())) > 1)
    bench.comparer.choose([])
    assert ask(bench._bar, "state")["line"] == "no policy yet"


@pytest.mark.parametrize("format", ["snapshot", "cluster", "slurm"])
def test_a_cluster_in_any_format_opens_by_its_path_or_its_text(format, tmp_path):
    """Once only Kubernetes manifests opened: the jobs were looked for in a second reading, of manifests only."""
    scenario = generate_scenario("three-level-tree")
    written = get_format(format).write(scenario.snapshot)
    path = tmp_path / ("topology.conf" if format == "slurm" else f"{format}.yaml")
    path.write_text(written.text, encoding="utf-8")
    bench = Workbench(path)
    assert bench.snapshot.topology.node_names == scenario.snapshot.topology.node_names
    bench.end()
    bench = Workbench()
    bench.open_text(written.text, path.name)
    assert bench.snapshot.topology.node_names == scenario.snapshot.topology.node_names
    bench.end()


def test_what_the_page_shows_is_at_hand_in_the_next_cell(bench):
    bench.comparer.run()
    shown = bench.comparison
    assert shown is not None and shown is bench.comparer.comparison
    assert set(shown.to_dataframe()["job"]) == {gang.key for gang in bench.gangs}
    again = compare(bench.gangs, bench.snapshot, [row.policy for row in shown.rows])
    assert again.to_dataframe()["outcome"].tolist() == shown.to_dataframe()["outcome"].tolist()
    for name in ("editor", "matrices", "comparer", "comparison", "gangs", "snapshot"):
        assert getattr(Workbench, name).__doc__, name
    bench.comparer.choose([])
    assert bench.comparison is None
