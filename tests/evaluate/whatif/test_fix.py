"""Why a job is pending and the least that helps: every fix was tried, is minimal, and says what others lose by it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

import workbench
from tests.cli.conftest import cluster_yaml, job_yaml
from tests.fabrics import document_tree
from tests.profiles import blocks
from workbench.errors import InputError, UnknownNameError
from workbench.evaluate.whatif import advice
from workbench.evaluate.whatif.advice import advise_session
from workbench.evaluate.whatif.budget import session_work
from workbench.evaluate.whatif.edit import EditedSession
from workbench.evaluate.whatif.fix import FixReport, fix_report
from workbench.evaluate.whatif.sentences import cause_text
from workbench.evaluate.whatif.size_edits import FewerReplicas, LowerMinimum, minimum_name
from workbench.evaluate.whatif.trials import EditTrials
from workbench.formats.load import load
from workbench.model.gang import Gang, Role
from workbench.model.notice import Notice
from workbench.model.placement import Placement, Refusal
from workbench.model.scenario import Scenario
from workbench.policies import Policy, get_policy

POLICIES = ("volcano-1.15", "volcano-1.13", "allocate", "gang", "koordinator-network")


@pytest.fixture
def scenario(tmp_path: Path):
    """Two leaves of two nodes of 8 GPUs (`tests.cli.conftest.cluster_yaml`) and the jobs of the given texts."""

    def call(*jobs: str, cluster: str = cluster_yaml()) -> Scenario:
        (tmp_path / "all.yaml").write_text("---\n".join((cluster, *jobs)), "utf-8")
        return load(tmp_path / "all.yaml")

    return call


def placed(policy: Policy, scenario: Scenario, job: str, edits: tuple) -> bool:
    """Whether a policy places a job, in the whole session, after edits."""
    case = EditedSession(scenario.gangs, scenario.snapshot, job)
    for edit in edits:
        case = edit.apply(case)
    decisions = policy.schedule(case.gangs, case.snapshot)
    return isinstance(decisions[case.position].result, Placement)


def reports_of(scenario: Scenario, policy: str = "volcano-1.15") -> dict[str, FixReport]:
    """The reports of a session; every fix is made once more and places the job, and no part of it does."""
    chosen = get_policy(policy)
    decisions = chosen.schedule(scenario.gangs, scenario.snapshot)
    reports = advise_session(chosen, decisions, scenario.snapshot)
    assert set(reports) == {decision.gang.key for decision in decisions if not decision.placed}
    for key, report in reports.items():
        for fix in report.fixes:
            assert placed(chosen, scenario, key, fix.edits), fix
            for size in range(len(fix.edits)):
                for part in combinations(fix.edits, size):
                    assert not placed(chosen, scenario, key, part), (fix, part)
        assert list(report.fixes) == sorted(report.fixes, key=lambda fix: len(fix.edits))
        assert report.never == all(edit.category == "nodes" for fix in report.fixes for edit in fix.edits)
    return reports


def first_of(report: FixReport) -> list[str]:
    return [edit.text for edit in report.fixes[0].edits]


def texts_of(report: FixReport) -> list[str]:
    return [" and ".join(edit.text for edit in fix.edits) for fix in report.fixes]


def test_a_wider_tier_helps_and_is_the_smallest_one(scenario) -> None:
    (one,) = reports_of(scenario(job_yaml("a", 3, highest_tier=1)), "volcano-1.13").values()
    assert texts_of(one) == ["allow tier 2", "lower minAvailable from 3 to 2"]
    assert one.headline == (
        "never as it is written, even with the cluster to itself: s0 (tier 1) has room for 2 of its 3 pods; "
        "would help: allow tier 2"
    )
    assert one.never_as_written and not one.never


def test_volcano_1_15_wants_room_for_every_pod_so_that_only_fewer_replicas_help(scenario) -> None:
    (one,) = reports_of(scenario(job_yaml("a", 3, highest_tier=1))).values()
    assert texts_of(one) == ["allow tier 2", "2 instead of 3 pods of worker, minAvailable lower by 1"]


def test_the_gang_that_ends_is_named_with_what_it_loses(scenario) -> None:
    """Two gangs of one node each hold a leaf; the job wants both nodes of one leaf."""
    held = cluster_yaml(running={"node0": "one", "node2": "two"})
    (one,) = reports_of(scenario(job_yaml("a", 2, highest_tier=1), cluster=held)).values()
    ends = [fix for fix in one.fixes if fix.edits[0].kind == "finish"]
    assert [fix.edits[0].subject for fix in ends] == ["job default/one", "job default/two"]
    assert ends[0].to_dict()["others"] == [{"job": "default/one", "effect": "ends", "pods": 1, "gpus": 8}]
    assert [holder.job for holder in one.holders] == ["default/one"]


def test_who_then_waits_is_told(scenario) -> None:
    """`a` comes first and takes a leaf; `b` and `c` want one each."""
    jobs = [job_yaml(name, 2, highest_tier=1) for name in ("a", "b", "c")]
    (one,) = reports_of(scenario(*jobs)).values()
    (raised,) = [fix for fix in one.fixes if fix.edits[0].kind == "priority"]
    assert [effect.to_dict() for effect in raised.others] == [{"job": "default/b", "effect": "waits"}]
    assert raised.costs and one.fixes[0].costs == (one.free is None)


def test_a_cordoned_node_is_named(scenario) -> None:
    cluster = cluster_yaml().replace(
        "metadata: {name: node1}\n", "metadata: {name: node1}\nspec: {unschedulable: true}\n"
    )
    (one,) = reports_of(scenario(job_yaml("a", 4), cluster=cluster)).values()
    assert first_of(one) == ["uncordon node1"]
    assert one.headline.startswith("node1 is cordoned; would help: uncordon node1")


def test_what_no_edit_helps_is_never_placed_on_this_cluster(scenario) -> None:
    (one,) = reports_of(scenario(job_yaml("a", 1, gpus=9))).values()
    assert one.fixes == () and one.never and one.headline.startswith("never on this cluster: ")


def test_new_nodes_come_last_and_as_few_as_possible(scenario) -> None:
    """Pods of 8 GPUs with another selector than any node has, and the selector is not to be changed."""
    loaded = scenario(job_yaml("a", 6))
    policy = get_policy("volcano-1.13")
    report = fix_report(policy, loaded.gangs, loaded.snapshot, "default/a", classes=("nodes",))
    (edit,) = report.fixes[0].edits
    assert (edit.kind, edit.before, edit.after) == ("add-nodes", 4, 6) and not report.never


@pytest.mark.parametrize(
    "policy", [*POLICIES[::2], *(pytest.param(name, marks=pytest.mark.slow) for name in POLICIES[1::2])]
)
@pytest.mark.parametrize("seed", blocks(4))
def test_every_fix_holds_on_random_loads(scenario, policy: str, seed: int) -> None:
    import random

    draw = random.Random(seed)
    jobs = [
        job_yaml(f"j{i}", draw.randint(1, 4), gpus=draw.choice([2, 4, 8]), highest_tier=draw.choice([None, 1, 2]))
        for i in range(6)
    ]
    reports_of(scenario(*jobs), policy)


def test_only_classes_that_are_allowed_are_used(scenario) -> None:
    loaded = scenario(job_yaml("a", 3, highest_tier=1))
    policy = get_policy("volcano-1.13")
    report = fix_report(policy, loaded.gangs, loaded.snapshot, "default/a", classes=("shrink",))
    assert {edit.category for fix in report.fixes for edit in fix.edits} == {"shrink"}


def test_a_placed_job_an_unknown_job_and_an_unknown_class_are_refused(scenario) -> None:
    loaded = scenario(job_yaml("a", 1), job_yaml("b", 9))
    policy = get_policy("gang")
    with pytest.raises(InputError, match="nothing to fix"):
        fix_report(policy, loaded.gangs, loaded.snapshot, "default/a")
    with pytest.raises(UnknownNameError, match="default/b"):
        fix_report(policy, loaded.gangs, loaded.snapshot, "default/bb")
    with pytest.raises(UnknownNameError, match="evict"):
        fix_report(policy, loaded.gangs, loaded.snapshot, "default/b", classes=("evikt",))


def test_a_policy_that_fails_on_a_changed_cluster_finds_no_fix_there(scenario) -> None:
    loaded = scenario(job_yaml("a", 3, highest_tier=1))
    policy = get_policy("volcano-1.13")
    tiers = policy.schedule

    def fragile(gangs, snapshot, *recorders):
        if gangs[0].constraint.highest_tier > 1:
            raise ValueError("a tier that the policy does not know")
        return tiers(gangs, snapshot, *recorders)

    policy.schedule = fragile
    report = fix_report(policy, loaded.gangs, loaded.snapshot, "default/a")
    assert texts_of(report) == ["lower minAvailable from 3 to 2"]


def test_the_record_is_plain(scenario) -> None:
    (one,) = reports_of(scenario(job_yaml("a", 3, highest_tier=1))).values()
    assert one.to_dict()["fixes"][0]["edits"] == [
        {
            "kind": "tier",
            "subject": "job default/a",
            "from": 1,
            "to": 2,
            "class": "job",
            "text": "allow tier 2",
        }
    ]


def test_a_scenario_fixes_its_own_jobs(scenario) -> None:
    report = scenario(job_yaml("a", 3, highest_tier=1)).fix("a", "volcano-1.13")
    assert report.fixes[0].text == "allow tier 2" and report.headline in repr(report)


def test_a_dependency_that_is_never_met_is_dropped_or_the_minimum_lowered(scenario) -> None:
    waits = job_yaml("a", 2, gpus=1).replace(
        "  tasks:\n  - name: worker\n", "  tasks:\n  - name: worker\n    dependsOn: {name: [master]}\n"
    )
    master = waits[waits.index("  - name: worker") :].replace("worker", "master").replace("replicas: 2", "replicas: 1")
    text = waits + master.replace("    dependsOn: {name: [master]}\n", "")
    (one,) = reports_of(scenario(text.replace("minAvailable: 2", "minAvailable: 3")), "gang").values()
    assert texts_of(one)[:1] == ["remove dependsOn master from worker"]
    assert "created only after master runs" in one.headline


def test_a_node_that_is_not_ready_is_brought_back(scenario) -> None:
    broken = cluster_yaml().replace(
        'allocatable: {cpu: "96", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}\n',
        'conditions: [{type: Ready, status: "False"}]\n'
        '  allocatable: {cpu: "96", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}\n',
        1,
    )
    (one,) = reports_of(scenario(job_yaml("a", 4), cluster=broken)).values()
    assert first_of(one) == ["bring node0 back to Ready"] and one.headline.startswith("node0 is not ready; ")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [20, 55])
def test_each_of_very_many_jobs_has_a_fix_that_holds_in_the_whole_session(scenario, jobs: int) -> None:
    loaded = scenario(*(job_yaml(f"j{i:02}", 3, highest_tier=1) for i in range(jobs)))
    policy = get_policy("volcano-1.13")
    decisions = policy.schedule(loaded.gangs, loaded.snapshot)
    reports = advise_session(policy, decisions, loaded.snapshot, 100)
    assert len(reports) == jobs and not reports.note
    for report in reports.values():
        assert report.fixes and all(placed(policy, loaded, report.job, fix.edits) for fix in report.fixes)


@pytest.mark.parametrize(("pending", "sessions"), [(12, 40), pytest.param(20, 40, marks=pytest.mark.slow), (12, 1)])
def test_no_fix_is_shown_that_was_not_run_in_the_whole_session(pending: int, sessions: int, monkeypatch) -> None:
    """Jobs of a busy fleet whose queues are full: what helps a job by itself, another job would take."""
    fleet = workbench.generate_scenario("fleet", sizes="4,2,2", busy=70, pending=pending)
    policy = get_policy("volcano-1.15")
    decisions = policy.schedule(fleet.gangs, fleet.snapshot)
    waiting = [decision.gang.key for decision in decisions if not decision.placed]
    monkeypatch.setattr(advice, "MOST_WORK", sessions * session_work(len(fleet.gangs), fleet.snapshot.n_nodes))
    found = advise_session(policy, decisions, fleet.snapshot)
    assert sessions == 1 or any(report.fixes for report in found.values())
    for report in found.values():
        assert all(placed(policy, fleet, report.job, fix.edits) for fix in report.fixes)
        assert "alone" not in report.headline
    without = [key for key in waiting if key not in found or not found[key].fixes]
    assert found.left_out == len(without)
    assert not any(found[key].proved for key in without if key in found)


def test_jobs_beyond_those_that_are_reported_on_are_counted_in_the_note(scenario) -> None:
    loaded = scenario(*(job_yaml(f"j{i}", 3, highest_tier=1) for i in range(5)))
    policy = get_policy("volcano-1.13")
    decisions = policy.schedule(loaded.gangs, loaded.snapshot)
    found = advise_session(policy, decisions, loaded.snapshot, 2)
    assert list(found) == ["default/j0", "default/j1"] and found.note.startswith("advice left out for 3 jobs: ")
    assert not advise_session(policy, decisions, loaded.snapshot, jobs=["default/j3"]).note


def test_the_smallest_priority_is_offered_and_only_jobs_that_make_room_are_rivals(scenario) -> None:
    """`a` takes a leaf as does `b`; `tiny` is before both and uses no GPU that the job needs."""
    jobs = [job_yaml(name, 2, highest_tier=1) for name in ("a", "b", "c")]
    (one,) = reports_of(scenario(*jobs, cluster=cluster_yaml())).values()
    (fix,) = [fix for fix in one.fixes if fix.edits[0].kind == "priority"]
    assert (fix.edits[0].before, fix.edits[0].after) == (0, 1)


def test_a_guarantee_stays_within_what_the_queue_deserves_and_its_capability(scenario) -> None:
    queue = (
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: default}\n"
        "spec: {capability: {nvidia.com/gpu: 8}}\n"
    )
    reports = reports_of(scenario(job_yaml("a", 2), queue))
    edits = [edit for fix in reports["default/a"].fixes for edit in fix.edits]
    assert edits[0].kind == "queue-capability"
    assert all(edit.after["nvidia.com/gpu"] == "8" for edit in edits if edit.kind == "queue-guarantee")


def test_a_smaller_limit_of_a_queue_is_offered_where_a_larger_one_helps_an_earlier_job_instead(scenario) -> None:
    """With 32 GPUs `a` takes the free leaf, with 24 only `b` fits into the queue."""
    queue = (
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: default}\n"
        "spec: {capability: {nvidia.com/gpu: 16}}\n"
    )
    held = cluster_yaml(running={"node0": "one", "node1": "two"})
    reports = reports_of(scenario(job_yaml("a", 2, highest_tier=1), job_yaml("b", 1), queue, cluster=held))
    edits = [fix.edits[0] for fix in reports["default/b"].fixes if fix.edits[0].kind == "queue-capability"]
    assert [edit.after["nvidia.com/gpu"] for edit in edits] == ["24"]


def test_a_name_that_jobs_of_two_namespaces_have_is_ambiguous(scenario) -> None:
    other = job_yaml("a", 9).replace("namespace: default", "namespace: other")
    loaded = scenario(job_yaml("a", 9), other)
    with pytest.raises(InputError, match=r"several jobs have this name .*default/a, other/a"):
        loaded.fix("a")
    assert loaded.fix("other/a", "gang").job == "other/a"


@pytest.mark.parametrize(
    ("kind", "name"),
    [("Job", "minAvailable"), ("PodGroup", "minMember"), ("Deployment", "group-min-member"), ("Gang", "the minimum")],
)
def test_the_minimum_is_called_as_in_the_object_that_is_patched(kind: str, name: str) -> None:
    gang = Gang("d", "j", (Role("w", 2, {}, ()),), 2, kind=kind)
    assert LowerMinimum("d/j", 2, 1, minimum_name(gang)).text == f"lower {name} from 2 to 1"
    assert FewerReplicas.of(gang, gang.roles[0], 1).text == f"1 instead of 2 pods of w, {name} lower by 1"


@pytest.mark.parametrize(
    ("proved", "idle", "cause"),
    [
        (True, "s0 is too small", "never on this cluster: s0 is too small"),
        (False, "s0 is too small", "never as it is written, even with the cluster to itself: s0 is too small"),
        (
            True,
            "",
            "none of the changes that were tried helps: not today; with the cluster to itself it would be placed",
        ),
        (True, None, "none of the changes that were tried helps: not today"),
    ],
)
def test_never_is_said_only_where_an_empty_cluster_refuses_too(proved: bool, idle: str | None, cause: str) -> None:
    gang = workbench.gang("j", cpus=1)
    refusal = Refusal(gang, "moody", {}, (Notice("refused", "not today"),), (), ())
    base = EditTrials(get_policy("gang"), [gang], document_tree(), gang.key).base
    found, _ = cause_text((), refusal, None, base, possible=False, proved=proved, idle=idle)
    assert found == cause


def test_jobs_beyond_the_budget_of_a_session_are_counted_in_a_note(scenario, monkeypatch) -> None:
    """With a tiny budget, the first jobs get their reports and the note counts the others."""
    loaded = scenario(*(job_yaml(f"j{i:02}", 3, highest_tier=1) for i in range(12)))
    policy = get_policy("volcano-1.13")
    decisions = policy.schedule(loaded.gangs, loaded.snapshot)
    monkeypatch.setattr(advice, "MOST_WORK", 3 * session_work(1, loaded.snapshot.n_nodes))
    monkeypatch.setattr(advice, "FEWEST_SESSIONS", 0)
    steps: list[tuple[int, int, str]] = []
    found = advise_session(policy, decisions, loaded.snapshot, progress=lambda *step: steps.append(step))
    assert 0 < len(found) < 12 and found.left_out == 12 - len(found)
    assert found.note.startswith(f"advice left out for {12 - len(found)} jobs: ")
    assert steps[0] == (0, 12, "default/j00") and len(steps) == 12
    monkeypatch.undo()
    assert not advise_session(policy, decisions, loaded.snapshot).note


def test_the_work_of_advice_has_one_limit_for_a_session_of_many_jobs(scenario, monkeypatch) -> None:
    loaded = scenario(*(job_yaml(f"j{i:02}", 3, highest_tier=1) for i in range(12)))
    policy = get_policy("volcano-1.13")
    decisions = policy.schedule(loaded.gangs, loaded.snapshot)
    limit = 10 * session_work(len(loaded.gangs), loaded.snapshot.n_nodes)
    monkeypatch.setattr(advice, "MOST_WORK", limit)
    done: list[int] = []
    run = EditTrials._run
    monkeypatch.setattr(EditTrials, "_run", lambda self, edits: done.append(self.work) or run(self, edits))
    advise_session(policy, decisions, loaded.snapshot, None)
    assert 0 < sum(done) < 2 * limit
