"""Answers and pictures of the comparer, without a browser."""

from __future__ import annotations

import base64
import csv
import dataclasses
import json
import re
import shlex
import threading
from html import escape

import pytest

import workbench
from tests.widgets.page import ask, refused
from workbench.cli import main
from workbench.evaluate.differences import differences
from workbench.evaluate.policy_choices import make_policy
from workbench.evaluate.usual_policies import FIELD
from workbench.evaluate.whatif.advice import advise
from workbench.formats.scheduler_conf import load_config
from workbench.model.explanation import NO_RECORDERS
from workbench.policies import registry
from workbench.policies.composed import Composed
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters
from workbench.policies.volcano.session.session import VolcanoScheduler
from workbench.report.png import to_png
from workbench.report.side_by_side import comparison_svg
from workbench.topology.generate import Fabric
from workbench.topology.job_shape import JobShape, scenario_of
from workbench.widgets import finished_comparison, worker
from workbench.widgets.comparer import PlacementComparer
from workbench.widgets.comparison_view import comparison_view, differences_view, picture_after


@pytest.fixture(autouse=True)
def own_policies(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))


@pytest.fixture
def comparer(said):
    panel = PlacementComparer(workbench.load("datasets/demo"), ["volcano-1.13", "gang"])
    yield panel
    panel.wait(60)
    panel.close()
    panel.wait()


def svg(picture):
    """The parts of a picture, put together as the page does."""
    frame, groups = picture["frame"], picture["groups"]
    *fixed, squares = [[markup for _, markup in group] for group in groups]
    placed = zip(picture["places"], squares, strict=True)
    moved = [f"<g transform='translate({place})'{markup[2:]}" for place, markup in placed]
    drawn = ["".join(group) for group in (*fixed, moved)]
    return frame[0] + "".join(group + after for group, after in zip(drawn, frame[1:], strict=True))


def last(said, kind):
    return next(m["body"] for m in reversed(said) if m["type"] == kind)


def test_every_policy_has_a_picture_and_every_job_a_cell(comparer, said):
    ask(comparer, "state")
    comparer.wait()
    view = last(said, "result")
    assert [p["name"] for p in view["policies"]] == ["volcano-1.13", "gang"] or len(view["policies"]) == 2
    assert [svg(p) for p in view["pictures"]] == [str(picture_after(comparer.comparison, i, 99)) for i in (0, 1)]
    assert [len(job["cells"]) for job in view["jobs"]] == [2] * len(comparer.gangs)
    assert any("Pairs of pods" in chart for chart in view["charts"])


def test_a_result_tells_only_what_is_new_in_its_pictures(comparer, said):
    ask(comparer, "state")
    comparer.wait()
    whole = last(said, "result")
    comparer.choose([("volcano-1.13", {}), ("gang", {}), ("spread", {})])
    comparer.wait()
    told = last(said, "result")
    assert [p["since"] for p in told["pictures"]] == [whole["number"], whole["number"], 0]
    assert told["pictures"][0]["groups"] == [[[0, len(group)]] for group in whole["pictures"][0]["groups"]]
    assert len(json.dumps(told["pictures"][1])) < len(json.dumps(whole["pictures"][1])) / 2
    assert [p["places"] is None for p in told["pictures"]] == [True, True, False]
    # A view that opens has none of it.
    ask(comparer, "state")
    comparer.wait()
    assert [p["since"] for p in last(said, "result")["pictures"]] == [0, 0, 0]


def test_an_edit_that_moves_every_node_tells_their_places_and_little_else(said):
    shapes = [JobShape("train", 250, mode="soft"), JobShape("tune", 100, mode="hard", highest_tier=2)]
    scenarios = [scenario_of(Fabric(sizes), shapes) for sizes in ((10, 10, 10), (10, 9, 11))]
    panel = PlacementComparer(scenarios[0], ["gang", "spread"])
    ask(panel, "state")
    panel.wait()
    whole = last(said, "result")["pictures"]
    panel.use(scenarios[1].snapshot)
    panel.wait()
    told = last(said, "result")["pictures"]
    moved = [place != other for place, other in zip(whole[0]["places"], told[0]["places"])]
    assert sum(moved) > 800
    for before, now in zip(whole, told):
        squares = [part for part in now["groups"][-1] if isinstance(part[0], str)]
        assert len(squares) < 250
        assert len(json.dumps(now)) < len(json.dumps(before)) / 2
    panel.close()


def test_a_step_shows_fewer_jobs(comparer):
    ask(comparer, "state")
    comparer.wait()
    none = [svg(picture) for picture in ask(comparer, "step", steps=0)["pictures"]]
    all_ = [svg(picture) for picture in ask(comparer, "step", steps=99)["pictures"]]
    assert len(none) == len(all_) == 2
    assert [re.findall(r"data-jobs='(?=\d)", one) for one in none] == [[], []]
    assert all(re.findall(r"data-jobs='(?=\d)", one) for one in all_)
    assert "0 or more" in refused(comparer, "step", steps=-1)


def test_all_pictures_share_one_legend_and_leave_tool_tips_to_cards(comparer, said):
    ask(comparer, "state")
    comparer.wait()
    result = last(said, "result")
    assert all(gang.key in result["legend"] for gang in comparer.gangs) and "tier 3" in result["legend"]
    for picture in result["pictures"]:
        text = svg(picture)
        assert "tw-legend" not in text
        # The name and the description of the whole picture.
        assert text.count("<title") == 1


def test_a_card_says_what_is_free_and_what_runs_on_a_place(comparer):
    ask(comparer, "state")
    comparer.wait()
    snapshot = comparer.comparison.snapshot
    job, placement = next((d.gang.key, d.result) for d in comparer.comparison.rows[0].in_turn)
    node = placement.topology.node_names[int(placement.node[0])]
    before = dict(ask(comparer, "card", policy=0, steps=0, kind="square", name=node)["lines"])
    card = ask(comparer, "card", policy=0, steps=1, kind="square", name=node)
    lines = dict(card["lines"])
    assert card["title"] == node
    assert lines["placed"].startswith(job) and "placed" not in before
    assert lines["free"] != before["free"] and lines["free"].endswith("of 8 GPUs")
    kind, above = card["around"]["up"]
    assert (kind, lines["in"].split(" (")[0]) == ("hypernode", above)
    top = dict(ask(comparer, "card", policy=0, steps=1, kind=kind, name=above)["lines"])
    assert top["HyperNode"] == f"tier {snapshot.topology.domain_tier(snapshot.topology.domain(above))}"
    assert "no such place" in refused(comparer, "card", policy=0, steps=0, kind="square", name="nowhere")


def test_arrow_keys_reach_every_place_of_a_picture(comparer):
    ask(comparer, "state")
    comparer.wait()
    first = ask(comparer, "card", policy=1, steps=0)
    seen, todo = set(), [(first["kind"], first["name"])]
    while todo:
        place = todo.pop()
        if place not in seen:
            seen.add(place)
            card = ask(comparer, "card", policy=1, steps=0, kind=place[0], name=place[1])
            todo += [tuple(other) for other in card["around"].values()]
    topology = comparer.comparison.snapshot.topology
    assert seen == {("square", n) for n in topology.node_names} | {("hypernode", n) for n in topology.domain_names}


def test_steps_follow_the_order_in_which_the_decisions_were_taken():
    scenario = workbench.load("datasets/demo")
    late, first = scenario.gangs[0], dataclasses.replace(scenario.gangs[1], priority=1000)
    comparison = workbench.compare([late, first], scenario.snapshot, ["gang"])
    assert comparison_view(comparison)["policies"][0]["steps"] == [first.key, late.key]
    one = str(picture_after(comparison, 0, 1))
    assert "data-jobs='1'" in one and "data-jobs='0'" not in one
    assert "data-jobs='0'" in str(picture_after(comparison, 0, 2))


def test_the_differences_list_only_jobs_on_different_nodes_with_their_moves(comparer, said):
    ask(comparer, "state")
    comparer.wait()
    answer = ask(comparer, "differences")
    assert answer["number"] == last(said, "result")["number"]
    found = differences(comparer.comparison)
    keys = [gang.key for gang in comparer.gangs]
    assert found and [keys[job["index"]] for job in answer["jobs"]] == [one.job for one in found]
    for job, one in zip(answer["jobs"], found, strict=True):
        assert [cell["outcome"] for cell in job["cells"]] == list(one.outcomes)
        assert [cell["moves"] for cell in job["cells"]] == [[m.to_dict() for m in moves] for moves in one.moves]
    comparer.choose([("gang", {}), ("gang", {})])
    comparer.wait()
    assert ask(comparer, "differences")["jobs"] == []


def test_moves_beyond_a_few_are_counted():
    scenario = scenario_of(Fabric((8, 2, 2)), [JobShape("train", 12, mode="soft")])

    def chooses(name, nodes):
        return Composed(name, FunctionPolicy(name, lambda gang, ledger: nodes), GpuLowestIndex(NoParameters()))

    policies = [chooses("first", list(range(12))), chooses("last", list(range(20, 32)))]
    ((first, other),) = [
        job["cells"] for job in differences_view(workbench.compare(scenario.gangs, scenario.snapshot, policies))["jobs"]
    ]
    assert (first["moves"], first["more"]) == ([], 0)
    assert len(other["moves"]) > 4 and len(other["moves"]) + other["more"] == 12 and other["more"] > 0


def test_a_decision_is_explained(comparer):
    ask(comparer, "state")
    comparer.wait()
    assert "<" in ask(comparer, "explain", policy=0, job=comparer.gangs[0].key)["html"]


def too_big(comparer, pods=8):
    """Add a job that no policy can place."""
    text = ask(comparer, "form", name="too-big", pods=pods, gpus=8, cpu=8, mode="hard", tier=1)["text"]
    ask(comparer, "jobs", text=text)
    comparer.wait()


@pytest.mark.slow
def test_a_pending_cell_is_short_and_a_click_says_first_what_would_help(comparer, said, monkeypatch):
    advised = []
    monkeypatch.setattr(
        finished_comparison, "advise", lambda *arguments: advised.append(arguments) or advise(*arguments)
    )
    too_big(comparer, pods=2)
    row = comparer.comparison.rows[0]
    cell = last(said, "result")["jobs"][-1]["cells"][0]
    nearest = row.refusals[0].nearest_misses[0]
    assert cell["outcome"] == "pending"
    assert cell["text"] == f"{nearest.domain} holds {nearest.holds} of {nearest.needs}"
    assert row.advice == {} and len(advised) == 1
    report = advise(*advised[0])
    told = [m["body"] for m in said if m["type"] == "cause"]
    assert [(one["policy"], one["job"]) for one in told] == [(0, "default/too-big")]
    assert report.cause.startswith(told[0]["text"].removesuffix("…"))

    answer = ask(comparer, "explain", policy=0, job="default/too-big")
    html = answer["html"]
    assert len(advised) == 1
    refusal = next(one for one in row.refusals if one.gang.key == "default/too-big")
    assert answer["fix"]["headline"] == report.headline and "would help" in report.headline
    assert [one["text"] for one in answer["fix"]["fixes"]] == [one.text for one in report.fixes]
    of_volcano = next(reason.message for reason in refusal.reasons if reason.code == "gang-unschedulable")
    assert f"Volcano writes: “{escape(of_volcano)}”" in html
    assert f"{nearest.domain} holds" in html


@pytest.mark.slow
def test_a_pending_cell_without_a_nearest_domain_has_the_beginning_of_the_reason(comparer, said):
    @workbench.policy("talks")
    def talks(gang, ledger):
        return "not today, because the moon is in a house that no job of this size can be placed in"

    ask(comparer, "choose", chosen=[{"name": "talks"}])
    comparer.wait()
    text = last(said, "result")["jobs"][0]["cells"][0]["text"]
    assert text.startswith("not today, because") and text.endswith("…") and len(text) <= 48


def test_a_policy_that_fails_on_a_changed_cluster_still_has_its_reasons(comparer, said, monkeypatch):
    @workbench.policy("once")
    def once(gang, ledger):
        return "not today"

    # What `advise` answers if the policy fails where it is run again.
    monkeypatch.setattr(finished_comparison, "advise", lambda *arguments: None)
    ask(comparer, "choose", chosen=[{"name": "once"}])
    comparer.wait()
    answer = ask(comparer, "explain", policy=0, job=comparer.gangs[0].key)
    assert "not today" in answer["html"] and "fix" not in answer
    assert not any(m["type"] == "cause" for m in said)


def test_a_click_runs_one_session_that_records_one_job(comparer, monkeypatch):
    ask(comparer, "state")
    comparer.wait()
    recorded = []
    schedule = VolcanoScheduler.schedule

    def noted(self, gangs, snapshot, recorders=NO_RECORDERS):
        recorded.append([gangs[i].key for i in recorders])
        return schedule(self, gangs, snapshot, recorders)

    monkeypatch.setattr(VolcanoScheduler, "schedule", noted)
    key = comparer.gangs[-1].key
    ask(comparer, "explain", policy=0, job=key)
    assert recorded == [[key]]


def test_a_job_from_the_form_is_placed(comparer, said):
    text = ask(comparer, "form", name="tiny", pods=2, gpus=1, cpu=1, mode="hard", tier=1)["text"]
    assert ask(comparer, "jobs", text=text) == {"line": 0, "message": "", "jobs": ["default/tiny"]}
    comparer.wait()
    assert comparer.comparison.rows[0].decision("default/tiny") is not None


def test_an_error_in_the_text_has_its_line_and_keeps_the_jobs(comparer):
    text = ask(comparer, "form", name="tiny", pods=2, gpus=1, cpu=1, mode="hard", tier=1)["text"]
    ask(comparer, "jobs", text=text)
    bad = text.replace("replicas: 2", "replicas: two")
    answer = ask(comparer, "jobs", text=bad)
    assert answer["line"] == 1 + bad[: bad.index("replicas")].count("\n")
    assert "replicas" in answer["message"]
    assert [gang.key for gang in comparer.gangs][-1] == "default/tiny"


def test_what_a_job_text_does_not_say_as_it_seems_to_is_told(comparer, said):
    text = ask(comparer, "form", name="tiny", pods=2, gpus=1, cpu=1, mode="hard", tier=1)["text"]
    misspelt = text.replace("networkTopology", "networkTopolgy")
    other = text.replace("tiny", "other").replace("schedulerName: volcano", "schedulerName: default-scheduler")
    queue = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\nspec: {wieght: 1}\n"
    answer = ask(comparer, "jobs", text="---\n".join([misspelt, other, queue]))
    assert answer == {"line": 0, "message": "", "jobs": ["default/tiny"]}
    comparer.wait()
    view = last(said, "result")
    warning = "default/tiny: spec.networkTopolgy is unknown and not read (did you mean networkTopology?)"
    assert all(warning in policy["warnings"] for policy in view["policies"])
    assert [gap for gap in view["gaps"] if "default-scheduler" in gap or "wieght" in gap] == view["gaps"][-2:]
    assert "default-scheduler" in ask(comparer, "jobs", text=other)["message"]
    # The notes go with the text that they are about.
    ask(comparer, "jobs", text=text)
    comparer.wait()
    assert not any("wieght" in gap for gap in last(said, "result")["gaps"])


def test_a_policy_that_raises_harms_nothing_else(comparer, said):
    @workbench.policy("raises")
    def raises(gang, ledger):
        raise RuntimeError("no idea")

    ask(comparer, "choose", chosen=[{"name": "raises"}, {"name": "gang"}])
    comparer.wait()
    first, second = last(said, "result")["policies"]
    assert last(said, "result")["pictures"][0] is None
    assert "no idea" in first["error"]["message"] and "raises" in first["error"]["traceback"]
    assert second["error"] is None and "<svg" in svg(last(said, "result")["pictures"][1])


def test_a_run_that_takes_long_says_how_far_it_is(comparer, said, monkeypatch):
    monkeypatch.setattr(worker, "_UNTOLD_S", 0.0)
    here, go_on, heard = threading.Event(), threading.Event(), threading.Event()
    known = {"total": 2, "done": 1, "policy": "waits"}

    @workbench.policy("waits")
    def waits(gang, ledger):
        here.set()
        assert go_on.wait(60)

    def hear(event, body):
        said.append({"type": event, "body": body})
        if body == known:
            heard.set()

    monkeypatch.setattr(comparer, "tell", hear)
    ask(comparer, "choose", chosen=[{"name": "gang"}, {"name": "waits"}])
    assert here.wait(60) and heard.wait(60)
    go_on.set()
    comparer.wait(60)
    kinds = [m["type"] for m in said if m["type"] not in ("choices", "cause")]
    assert kinds[-1] == "result" and set(kinds[:-1]) == {"progress"}


def test_a_run_that_is_over_at_once_says_nothing_but_its_result(comparer, said, monkeypatch):
    monkeypatch.setattr(worker, "_UNTOLD_S", 600.0)
    ask(comparer, "state")
    comparer.wait()
    assert [m["type"] for m in said] == ["result"]


def test_work_that_is_cancelled_says_nothing_more(comparer, said):
    @workbench.policy("forever")
    def forever(gang, ledger):
        while True:
            pass

    ask(comparer, "choose", chosen=[{"name": "forever"}])
    assert ask(comparer, "cancel") == {"cancelled": True}
    comparer.wait(60)
    assert not comparer._worker.busy
    assert "result" not in [m["type"] for m in said] and comparer.comparison is None


def test_without_a_cluster_it_says_what_is_missing(said):
    panel = PlacementComparer()
    ask(panel, "state")
    assert last(said, "nothing") == {"missing": "cluster"}
    panel.close()


@pytest.mark.parametrize(
    ("kind", "start"), [("html", "<!doctype html"), ("csv", "policy,job,outcome"), ("svg", "<svg")]
)
def test_exports(comparer, kind, start):
    ask(comparer, "state")
    comparer.wait()
    assert ask(comparer, "export", kind=kind)["text"].lower().startswith(start)


@pytest.mark.slow
def test_the_pictures_are_one_drawing_side_by_side(comparer):
    ask(comparer, "state")
    comparer.wait()
    svg = comparison_svg(comparer.comparison)
    assert ask(comparer, "export", kind="svg") == {"name": "comparison.svg", "type": "image/svg+xml", "text": svg}
    assert svg.count("class='tw-topology'") == 2 and svg.count("class='tw-legend'") == 1
    assert base64.b64decode(ask(comparer, "export", kind="png")["base64"]) == to_png(svg)
    assert "html, csv, svg or png" in refused(comparer, "export", kind="pdf")


@pytest.fixture
def repeated(capsys):
    """What the command line answers to a copied command, by policy."""

    def call(text):
        program, *arguments = shlex.split(text)
        assert program == "workbench" and main([*arguments, "-o", "json"]) in (0, 1)
        return json.loads(capsys.readouterr().out)["policies"]

    return call


def rows_of(comparer):
    return json.loads(json.dumps(comparer.comparison.to_dict()["policies"]))


def test_the_copied_command_repeats_the_comparison(comparer, repeated, tmp_path):
    conf = tmp_path / "volcano scheduler.conf"
    conf.write_text(CONF)
    comparer.choose([("volcano-1.13+gpu-lowest-index", {}), ("gang", {})])
    comparer.configure(load_config(conf))
    comparer.wait()
    answer = ask(comparer, "command")
    assert answer["to_save"] == [] and f"--set 'config={conf}'" in answer["text"]
    again, rows = repeated(answer["text"]), rows_of(comparer)
    assert [one["metrics"] for one in again] == [row["metrics"] for row in rows]
    assert [one["parameters"] for one in again] == [row["parameters"] for row in rows]
    assert again[0]["parameters"]["binpack_weight"] == 7


def test_the_copied_command_has_the_parameters(comparer, repeated):
    comparer.choose([("spread", {"gpu_weight": 2.5}), ("random", {"seed": "4"})])
    comparer.wait()
    again, rows = repeated(ask(comparer, "command")["text"]), rows_of(comparer)
    assert [one["parameters"] for one in again] == [row["parameters"] for row in rows]
    assert [one["metrics"] for one in again] == [row["metrics"] for row in rows]
    assert (again[0]["parameters"]["gpu_weight"], again[1]["parameters"]["seed"]) == (2.5, 4)


def test_the_copied_command_writes_tables_and_parameters_of_the_gpu_part(comparer, repeated):
    table = {"cpu": 3, "memory": 2}
    comparer.choose([("volcano-1.13+gpu-bottleneck", {"binpack_resources": table, "gpu.symmetric": "max"})])
    comparer.wait()
    (again,) = repeated(ask(comparer, "command")["text"])
    assert again["parameters"] == rows_of(comparer)[0]["parameters"]
    assert again["parameters"]["binpack_resources"] == table and again["parameters"]["gpu.symmetric"] == "max"


@pytest.mark.slow
def test_what_no_file_holds_is_named_to_be_saved(comparer):
    too_big(comparer)
    assert ask(comparer, "command")["to_save"] == ["jobs.yaml"]
    comparer.use(comparer.snapshot, [])
    comparer.wait()
    answer = ask(comparer, "command")
    assert answer["to_save"] == ["cluster.yaml", "jobs.yaml"]
    assert answer["text"] == "workbench compare cluster.yaml jobs.yaml --policies volcano-1.13,gang"


@pytest.mark.slow
def test_what_the_command_line_cannot_say_is_refused(comparer, monkeypatch):
    comparer.choose([("random", {"seed": 1}), ("random", {"seed": 2})])
    assert "random is compared twice" in refused(comparer, "command")
    comparer.choose([("volcano-1.13", {"binpack_weight": "5"}), ("allocate", {})])
    assert "one value for every policy that has the parameter" in refused(comparer, "command")

    def mine(gang, ledger):
        return "not today"

    monkeypatch.setattr(mine, "__module__", "__main__")
    workbench.policy("mine")(mine)
    comparer.choose([("mine+gpu-lowest-index", {})])
    assert "is defined in this notebook" in refused(comparer, "command")


@pytest.mark.slow
def test_an_exported_table_holds_no_formula(comparer):
    @workbench.policy("=mine")
    def mine(gang, ledger):
        return "@SUM(A1)"

    ask(comparer, "choose", chosen=[{"name": "=mine"}])
    comparer.wait()
    cells = [cell for row in csv.reader(ask(comparer, "export", kind="csv")["text"].splitlines()) for cell in row]
    assert "'=mine" in cells and not [cell for cell in cells if cell.startswith(("=", "@", "+"))]


CONF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
- plugins:
  - name: predicates
  - name: binpack
    arguments: {binpack.weight: 7}
  - name: network-topology-aware
"""


def test_a_dropped_configuration_is_that_of_every_policy_that_reads_one(comparer, said):
    ask(comparer, "configure", text=CONF, name="volcano-scheduler.conf")
    comparer.wait()
    assert last(said, "configured") == {"config": "volcano-scheduler.conf"}
    volcano, gang = comparer.comparison.rows
    assert volcano.parameters["binpack_weight"] == 7 and comparer.config.source == "volcano-scheduler.conf"
    assert "config" not in gang.parameters and volcano.parameters != make_policy("volcano-1.13", {}).parameters
    # A policy that is added later has it too, and a view that opens is told.
    ask(comparer, "choose", chosen=[{"name": "volcano-1.13"}, {"name": "volcano-1.15"}])
    comparer.wait()
    assert [row.parameters["binpack_weight"] for row in comparer.comparison.rows] == [7, 7]
    assert ask(comparer, "state")["config"] == "volcano-scheduler.conf"
    assert comparer.policies == [("volcano-1.13", {}), ("volcano-1.15", {})]
    assert "<" in ask(comparer, "explain", policy=0, job=comparer.gangs[0].key)["html"]
    ask(comparer, "configure", text=None)
    comparer.wait()
    assert last(said, "configured") == {"config": None}
    assert comparer.comparison.rows[0].parameters == make_policy("volcano-1.13", {}).parameters


def test_a_file_that_is_no_configuration_and_a_comparison_without_a_reader_change_nothing(comparer):
    jobs = ask(comparer, "form", name="tiny", pods=2, gpus=1, cpu=1, mode="none")["text"]
    assert "jobs.yaml: the document: no scheduler configuration" in refused(
        comparer, "configure", text=jobs, name="jobs.yaml"
    )
    ask(comparer, "choose", chosen=[{"name": "gang"}])
    assert "no compared policy reads a configuration" in refused(comparer, "configure", text=CONF, name="a.conf")
    ask(comparer, "choose", chosen=[{"name": "volcano-1.13", "parameters": {"binpack_weight": "3"}}])
    assert "binpack_weight" in refused(comparer, "configure", text=CONF, name="a.conf")
    assert comparer.config is None


def test_a_policy_from_a_cell_is_told_at_once_and_replaces_itself(comparer, said):
    @workbench.policy("mine")
    def mine(gang, ledger):
        return "not today"

    assert "mine" in [choice["name"] for choice in last(said, "choices")["choices"]]
    ask(comparer, "choose", chosen=[{"name": "mine"}])
    comparer.wait()
    assert last(said, "result")["jobs"][0]["cells"][0]["outcome"] == "pending"

    @workbench.policy("mine")
    def mine_again(gang, ledger):
        raise LookupError("no idea")

    comparer.wait()
    assert last(said, "result")["policies"][0]["error"]["message"] == "LookupError: no idea"
    comparer.close()
    comparer.wait()
    told = []
    comparer.send = lambda content, buffers=None: told.append(content)
    workbench.policy("mine")(mine)
    comparer.wait()
    assert not told


def test_field_stands_for_the_twin_of_each_scheduler(comparer, said):
    answer = ask(comparer, "choose", chosen=[{"name": "gang"}, {"name": "volcano-1.13"}, {"name": "field"}])
    names = ["gang", "volcano-1.13", "volcano-1.15", "kueue-0.19", "kube-1.37-topology", "kube-default"]
    assert [one["name"] for one in answer["chosen"]] == names == [name for name, _ in comparer.policies]
    comparer.wait()
    view = last(said, "result")
    assert [one["name"].partition(" (")[0] for one in view["policies"]] == names
    assert not any(one.get("error") for one in view["policies"])
    assert any("kube-default" in one["name"] and one["warnings"] for one in view["policies"])
    # Parameters that were set before stay, and the name adds nothing where every twin is there.
    comparer.choose([("kueue-0.19", {"balanced": "true"}), ("field", {})])
    assert comparer.policies[0] == ("kueue-0.19", {"balanced": "true"}) and len(comparer.policies) == 5
    comparer.choose([*comparer.policies, ("field", {})])
    assert len(comparer.policies) == 5


def test_a_comparer_of_the_field():
    with_all = PlacementComparer(policies="field")
    try:
        assert [name for name, _ in with_all.policies] == list(FIELD)
    finally:
        with_all.close()
