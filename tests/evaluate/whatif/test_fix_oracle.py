"""`fix_report` against the oracle `tests.reference.pending` on random clusters, and the oracle by hand.

WORKBENCH_PENDING_CASES is the number of cases per policy that the exam draws (150 unless set), and
WORKBENCH_PENDING_FIRST the first seed.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import workbench as wb
from tests.choice import choices
from tests.evaluate.whatif.pending_cases import POLICIES, Draw, case_of, draw_case
from tests.policies.volcano.cluster_objects import hypernode, loaded, node
from tests.profiles import max_examples
from tests.reference.pending import Case, can_ever, check_report, every_edit, has_started, minimal_sets, own_pods
from tests.reference.pending_edits import CannotApply, apply_all
from workbench.cli import main
from workbench.evaluate.whatif.fix import fix_report
from workbench.model.extras import VolcanoMemory
from workbench.policies import get_policy

Json = dict[str, Any]

NUMBER = int(os.environ.get("WORKBENCH_PENDING_CASES", "150"))
FIRST = int(os.environ.get("WORKBENCH_PENDING_FIRST", "0"))


def judged(draw: Draw) -> list[str]:
    """What the oracle says against the product's answer about a drawn case; empty if the job is not pending."""
    case = case_of(draw)
    if case is None:
        return []
    report = fix_report(case.policy, case.gangs, case.snapshot, case.job).to_dict()
    return check_report(report, case)


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_the_product_agrees_with_the_oracle(policy: str) -> None:
    wrong = {}
    for seed in range(FIRST, FIRST + NUMBER // len(POLICIES)):
        if problems := judged(draw_case(random.Random(seed), policy)):
            wrong[seed] = problems
    first = dict(islice(wrong.items(), 3))
    assert not wrong, f"{len(wrong)} of {NUMBER // len(POLICIES)} cases under {policy}, the first ones: {first}"


@given(rng=choices())
@max_examples(20)
def test_the_product_agrees_with_the_oracle_on_a_few_cases(rng: random.Random) -> None:
    assert not judged(draw_case(rng))


def answer(draw: Draw, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Json, Case, Path] | None:
    """What ``workbench fix`` says about a drawn case, the case, and the changed input; None if nothing is pending."""
    case = case_of(draw)
    if case is None:
        return None
    given, changed, config = folder / "in.json", folder / "out.json", folder / "scheduler.conf"
    changed.unlink(missing_ok=True)
    given.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": draw.objects}), "utf-8")
    arguments = ["fix", str(given), "--job", draw.job, "--policy", draw.policy, "-o", "json", "--out", str(changed)]
    if draw.config is not None:
        config.write_text(json.dumps(draw.config), "utf-8")
        arguments += ["--set", f"config={config}"]
    capsys.readouterr()
    status = main(arguments)
    report = json.loads(capsys.readouterr().out)
    assert status == (0 if report["fixes"] else 1)
    return report, case, changed


def judged_in_files(draw: Draw, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the oracle says against the command's answer, and whether the changed input places the job."""
    found = answer(draw, folder, capsys)
    if found is None:
        return []
    report, case, changed = found
    wrong = check_report(report, case)
    if not report["fixes"]:
        return wrong
    scenario = wb.load(changed)
    started = [
        decision
        for decision in case.policy.schedule(scenario.gangs, scenario.snapshot)
        if decision.gang.key == draw.job and has_started(decision)
    ]
    if not started:
        wrong.append("the changed input does not place the job")
    if own_pods(scenario.snapshot, case.gang) != own_pods(case.snapshot, case.gang):
        wrong.append("the changed input moves or ends the job's own pods")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_the_changed_input_places_the_job(policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {}
    for seed in range(FIRST, FIRST + NUMBER // len(POLICIES)):
        if problems := judged_in_files(draw_case(random.Random(seed), policy), tmp_path, capsys):
            wrong[seed] = problems
    first = dict(islice(wrong.items(), 3))
    assert not wrong, f"{len(wrong)} of {NUMBER // len(POLICIES)} cases under {policy}, the first ones: {first}"


# ---- the oracle by hand: two racks of two nodes, 8 GPUs each ----


def _job(name: str, pods: int, tier: int | None = None, minimum: int | None = None, queue: str = "default") -> Json:
    requests = {"nvidia.com/gpu": "8"}
    template = {
        "spec": {
            "restartPolicy": "OnFailure",
            "containers": [{"name": "c", "image": "train", "resources": {"limits": requests}}],
        }
    }
    spec: Json = {
        "schedulerName": "volcano",
        "queue": queue,
        "minAvailable": pods if minimum is None else minimum,
        "tasks": [{"name": "worker", "replicas": pods, "template": template}],
    }
    if tier is not None:
        spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": tier}
    meta = {"name": name, "namespace": "ns"}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": meta, "spec": spec}


def _case(*jobs: Json, policy: str = "volcano-1.15", cordoned: Sequence[str] = ()) -> Case:
    nodes = [node(f"n{i}", cpu="64", memory="64Gi", gpu="8") for i in range(4)]
    for each in nodes:
        if each["metadata"]["name"] in cordoned:
            each["spec"] = {"unschedulable": True}
    tree = [
        hypernode("rack-0", 1, "n0", "n1"),
        hypernode("rack-1", 1, "n2", "n3"),
        hypernode("row", 2, "rack-0", "rack-1", kind="HyperNode"),
    ]
    scenario = loaded(nodes, tree, list(jobs))
    return Case(get_policy(policy), scenario.gangs, scenario.snapshot, "ns/job")


def _kinds(sets: Sequence[Sequence[Json]]) -> set[tuple[str, ...]]:
    return {tuple(sorted(edit["kind"] for edit in one)) for one in sets}


def test_a_rack_too_small_needs_the_next_tier_or_fewer_pods() -> None:
    case = _case(_job("job", 3, tier=1), policy="volcano-1.13")
    sets = minimal_sets(case)
    assert _kinds([one for one in sets if len(one) == 1]) == {("tier",), ("min-available",), ("replicas",)}
    assert ({"kind": "tier", "subject": "job ns/job", "from": 1, "to": 2},) in sets
    assert can_ever(case)


def test_volcano_1_15_wants_room_for_all_pods_whatever_the_minimum() -> None:
    case = _case(_job("job", 3, tier=1), policy="volcano-1.15")
    assert _kinds(minimal_sets(case, size=1)) == {("tier",), ("replicas",)}


def test_a_cordoned_node_and_a_tier_help_only_together() -> None:
    case = _case(_job("job", 4, tier=1), cordoned=["n3"])
    assert ("tier", "uncordon") in _kinds(minimal_sets(case))
    assert ("tier",) not in _kinds(minimal_sets(case)) and ("uncordon",) not in _kinds(minimal_sets(case))


def test_another_pending_job_can_be_withdrawn_or_come_later() -> None:
    case = _case(_job("job", 3), _job("a", 2))
    sets = _kinds(minimal_sets(case, size=1))
    assert {("priority",), ("withdraw",)} <= sets


def test_new_nodes_are_no_edit_unless_asked() -> None:
    case = _case(_job("job", 5))
    assert ("add-nodes",) not in _kinds(minimal_sets(case, size=1))
    assert ("add-nodes",) in _kinds(minimal_sets(case, size=1, with_nodes=True))


def test_the_job_itself_is_never_finished() -> None:
    case = _case(_job("job", 5))
    with pytest.raises(CannotApply, match="the job itself"):
        apply_all([{"kind": "finish", "subject": "job ns/job", "from": "running", "to": "ended"}], case.state, case.job)


def _fix(*edits: Json, others: Sequence[Json] = ()) -> Json:
    return {"edits": list(edits), "verified": True, "others": list(others), "commands": []}


def _report(*fixes: Json, causes: Sequence[Json] | None = None, never: bool = False) -> Json:
    named = fixes[0]["edits"] if causes is None and fixes else causes or []
    return {"job": "ns/job", "headline": "pending", "causes": named, "fixes": list(fixes), "never": never}


TIER = {"kind": "tier", "subject": "job ns/job", "from": 1, "to": 2}
FEWER = {"kind": "min-available", "subject": "job ns/job", "from": 3, "to": 2}
FIRST_NOW = {"kind": "priority", "subject": "job ns/job", "from": 0, "to": 1}


def test_a_good_report_is_praised() -> None:
    case = _case(_job("job", 3, tier=1), policy="volcano-1.13")
    assert check_report(_report(_fix(TIER), _fix(FEWER)), case) == []


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        (_report(_fix(TIER, FEWER)), "not minimal"),
        (_report(_fix({**FEWER, "from": 4})), "cannot be applied"),
        (_report(_fix(FIRST_NOW)), "does not place"),
        (_report(_fix(TIER), causes=[FIRST_NOW]), "in no minimal set"),
        (_report(_fix(TIER), never=True), "never is true"),
        (_report(), "no fix, but one edit is enough"),
        (_report(_fix(TIER, others=[{"job": "ns/a", "effect": "waits"}])), "which is not so"),
    ],
)
def test_a_faulty_report_is_found_out(report: Json, problem: str) -> None:
    problems = check_report(report, _case(_job("job", 3, tier=1), policy="volcano-1.13"))
    assert any(problem in each for each in problems), problems


def test_who_waits_instead_must_be_told() -> None:
    case = _case(_job("job", 3), _job("a", 2))
    silent = check_report(_report(_fix(FIRST_NOW)), case)
    assert silent == ["fix 0: does not tell that ns/a waits"]
    assert check_report(_report(_fix(FIRST_NOW, others=[{"job": "ns/a", "effect": "waits"}])), case) == []


@given(rng=choices())
@max_examples(20)
def test_every_edit_of_the_oracle_can_be_applied(rng: random.Random) -> None:
    draw = draw_case(rng)
    case = case_of(draw)
    if case is not None:
        for edit in every_edit(case, with_nodes=True):
            apply_all([edit], case.state, case.job)


@given(rng=choices())
@max_examples(20)
def test_a_smaller_job_is_what_its_manifest_would_be(rng: random.Random) -> None:
    draw = draw_case(rng)
    case = case_of(draw)
    if case is None or case.gang.kind != "Job" or case.gang.sub_groups:
        return
    for edit in every_edit(case):
        if edit["kind"] not in ("min-available", "replicas"):
            continue
        changed = copy.deepcopy(draw)
        (job,) = [each for each in changed.objects if each["kind"] == "Job" and each["metadata"]["name"] == "job"]
        if edit["kind"] == "min-available":
            job["spec"]["minAvailable"] = edit["to"]
        else:
            dropped = edit["from"] - edit["to"]
            job["spec"]["minAvailable"] = max(1, job["spec"]["minAvailable"] - dropped)
            (task,) = [each for each in job["spec"]["tasks"] if each["name"] == edit["role"]]
            task["replicas"] -= dropped
        scenario = changed.load()
        (value,) = [gang for gang in apply_all([edit], case.state, case.job)[0] if gang.key == case.job]
        if scenario.refused:
            continue
        gang = scenario.gang(case.job)
        assert (value.min_available, value.n_pods) == (gang.min_available, gang.n_pods)
        if case.gang.ready == 0:
            assert value.extra(VolcanoMemory).min_resources == gang.extra(VolcanoMemory).min_resources, edit
