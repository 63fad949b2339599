"""Edits of a pending job: read again, the job differs in what the edit says and in nothing else."""

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from tests.formats.edit_manifests.forms import FORMS, UID, Manifest, job, nodes, started, with_objects
from tests.formats.same_scenario import gang_parts, snapshot_parts
from workbench import load
from workbench.errors import InputError
from workbench.formats.edit_manifests.apply import apply_edits
from workbench.formats.write_manifests import to_yaml
from workbench.model.extras import KoordinatorWish, VolcanoMemory, extras_of
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.labels import Toleration
from workbench.model.scenario import Scenario

TRAIN = "job default/train"
TIER = "volcano.sh/network-topology-highest-tier"
WITH_MINIMUM = [form for form in FORMS if form != "Pod" and not form.startswith("HyperJob")]
WITH_TASKS = ["Job", "Job with PodGroup and pods", "List"]
HYPER = [form for form in FORMS if form.startswith("HyperJob")]
TOLERATION = {"key": "team", "operator": "Equal", "value": "x", "effect": "NoSchedule"}


def read(manifests: list[Manifest]) -> Scenario:
    return load("-", stdin=to_yaml(manifests))


def edited(manifests: list[Manifest], *edits: dict[str, Any]) -> tuple[Scenario, Scenario, list[Manifest]]:
    """The scenario before and after edits, and the edited manifests; what went in is as it was."""
    before = read(manifests)
    kept = copy.deepcopy(manifests)
    result = apply_edits(manifests, edits)
    assert manifests == kept
    return before, read(result), result


def edit(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "subject": TRAIN, "from": None, "to": None, **more}


def whole(gang: Gang, role: Callable[[Role], Role] = lambda role: role, **fields: Any) -> Gang:
    """The gang with other roles, also in the gangs of a HyperJob's Jobs."""
    jobs = tuple(replace(one, gang=one.gang and whole(one.gang, role)) for one in gang.jobs)
    return replace(gang, roles=tuple(map(role, gang.roles)), jobs=jobs, **fields)


def assert_changed(before: Scenario, after: Scenario, wanted: Gang) -> None:
    """Assert that the cluster is as before, and the only gang as wanted."""
    assert snapshot_parts(after.snapshot) == snapshot_parts(before.snapshot)
    assert after.refused == ()
    [found] = after.gangs
    assert gang_parts(found) == gang_parts(wanted)


def scaled(gang: Gang, minimum: int) -> dict[str, Any]:
    """The extras of a gang of equal pods that needs fewer of them."""
    least = gang.extra(VolcanoMemory).min_resources
    if least is None:
        return {"extras": gang.extras}
    amounts = {name: amount * minimum // gang.min_available for name, amount in least.items()}
    fewer = replace(gang.extra(VolcanoMemory), min_resources=amounts)
    return {"extras": extras_of(*gang.extras.values(), fewer)}


@pytest.mark.parametrize("form", FORMS)
def test_a_higher_tier(form: str) -> None:
    def raised(constraint: TopologyConstraint | None) -> TopologyConstraint:
        assert constraint is not None
        return replace(constraint, highest_tier=2)

    before, after, _ = edited([*nodes(), *FORMS[form]()], edit("tier", **{"from": 1, "to": 2}))
    [gang] = before.gangs
    jobs = tuple(
        replace(one, gang=one.gang and replace(one.gang, constraint=raised(one.gang.constraint))) for one in gang.jobs
    )
    groups = tuple(replace(group, constraint=raised(group.constraint)) for group in gang.sub_groups)
    wanted = replace(gang, constraint=raised(gang.constraint), sub_groups=groups, jobs=jobs)
    if TIER in gang.roles[0].annotations:
        wanted = whole(wanted, lambda role: replace(role, annotations={**role.annotations, TIER: "2"}))
    assert_changed(before, after, wanted)


def test_a_higher_tier_of_partitions_leaves_higher_and_soft_limits_alone() -> None:
    one = job()
    tier = {"highestTierName": "tier-1"}
    for task, topology in zip(one["spec"]["tasks"], ({"mode": "soft"}, {"mode": "hard", **tier}), strict=True):
        task["partitionPolicy"] = {"totalPartitions": 1, "partitionSize": task["replicas"], "networkTopology": topology}
    one["spec"]["networkTopology"]["highestTierAllowed"] = 3
    before, after, _ = edited([*nodes(), one], edit("tier", **{"from": "tier-1", "to": 2}))
    [gang], [found] = before.gangs, after.gangs
    assert found.constraint == gang.constraint
    constraints = {group.policy: group.constraint for group in found.sub_groups}
    assert constraints == {"master": TopologyConstraint("soft"), "worker": TopologyConstraint("hard", 2)}


@pytest.mark.parametrize("form", WITH_MINIMUM)
def test_a_smaller_minimum(form: str) -> None:
    before, after, _ = edited([*nodes(), *FORMS[form]()], edit("min-available", **{"from": 4, "to": 2}))
    [gang] = before.gangs
    wanted = replace(gang, min_available=2, **scaled(gang, 2))
    if form == "GpuGroup":
        assert gang.extra(KoordinatorWish).gpu_group is not None
        group = replace(gang.extra(KoordinatorWish).gpu_group, replica=2)
        [found] = after.gangs
        assert found.extra(KoordinatorWish).gpu_group == group
        assert found.min_available == 2
        return
    if form == "Gang":
        wanted = whole(wanted, lambda role: replace(role, annotations=after.gangs[0].roles[0].annotations))
    assert_changed(before, after, wanted)


def test_a_smaller_minimum_with_new_minimums_of_roles() -> None:
    change = edit("min-available", roles={"worker": 1}, **{"from": 4, "to": 2})
    before, after, result = edited([*nodes(), *with_objects(job(uid=UID))], change)
    [gang] = before.gangs
    wanted = whole(
        replace(gang, min_available=2, **scaled(gang, 2)),
        lambda role: replace(role, min_available=1),
    )
    assert_changed(before, after, wanted)
    [group] = [one for one in result if one["kind"] == "PodGroup"]
    assert group["spec"]["minTaskMember"] == {"master": 1, "worker": 1}
    assert group["spec"]["minMember"] == 2


@pytest.mark.parametrize("form", HYPER)
def test_a_smaller_minimum_of_a_hyper_job_counts_jobs(form: str) -> None:
    before, after, _ = edited([*nodes(), *FORMS[form]()], edit("min-available", **{"from": 2, "to": 1}))
    [gang] = before.gangs
    assert_changed(before, after, replace(gang, min_available=4, min_subgroups={"jobs": 1}, **scaled(gang, 4)))


@pytest.mark.parametrize("form", WITH_MINIMUM)
def test_fewer_pods_of_a_role(form: str) -> None:
    roles = [role.name for role in read([*nodes(), *FORMS[form]()]).gangs[0].roles]
    name = "worker" if "worker" in roles else roles[0]
    before, after, _ = edited([*nodes(), *FORMS[form]()], edit("replicas", role=name, **{"from": 3, "to": 2}))
    [gang], [found] = before.gangs, after.gangs

    def smaller(role: Role) -> Role:
        if role.name != name:
            return role
        least = None if role.min_available is None else role.min_available - 1
        cut = {key: tuple(value[:-1]) for key in _OF_PODS if (value := getattr(role, key)) is not None}
        created = min(role.n_created, role.count - 1)
        return replace(role, count=role.count - 1, min_available=least, n_created=created, **cut)

    order = tuple(one for one in gang.order if one != "train-worker-2")
    wanted = whole(gang, smaller, min_available=3, order=order, **scaled(gang, 3))
    if form in ("Gang", "GpuGroup", "PodGroup of Koordinator"):
        assert (found.n_pods, found.min_available) == (3, 3)
        assert len({str(role) for role in found.roles}) == 1
        return
    assert_changed(before, after, wanted)


_OF_PODS = ("pod_names", "pod_uids", "pod_resource_versions")


@pytest.mark.parametrize("form", HYPER)
def test_fewer_pods_of_a_role_in_a_hyper_job(form: str) -> None:
    change = edit("replicas", role="a-0-worker", **{"from": 3, "to": 2})
    _, after, _ = edited([*nodes(), *FORMS[form]()], change)
    [found] = after.gangs
    # Jobs that do not exist yet are made of one template.
    second = 3 if form == "HyperJob with Jobs" else 2
    counts = {role.name: role.count for role in found.roles}
    assert counts == {"a-0-master": 1, "a-0-worker": 2, "a-1-master": 1, "a-1-worker": second}
    assert [group.min_available for group in found.sub_groups] == [3, second + 1]


def test_fewer_pods_of_an_elastic_job_keep_a_minimum_of_one() -> None:
    one = job()
    one["spec"]["minAvailable"] = 1
    for task in one["spec"]["tasks"]:
        task["minAvailable"] = 0
    _, after, result = edited([*nodes(), one], edit("replicas", role="worker", **{"from": 3, "to": 1}))
    assert (after.gangs[0].n_pods, after.gangs[0].min_available) == (2, 1)
    assert result[-1]["spec"]["minAvailable"] == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_toleration_in_every_role(form: str) -> None:
    before, after, result = edited([*nodes(), *FORMS[form]()], edit("toleration", to=[TOLERATION]))
    added = Toleration("team", "Equal", "x", "NoSchedule")
    [gang] = before.gangs
    wanted = whole(
        gang,
        lambda role: replace(role, filter=replace(role.filter, tolerations=(*role.filter.tolerations, added))),
    )
    assert_changed(before, after, wanted)
    with pytest.raises(InputError, match=r"edit toleration of job default/train: every role"):
        apply_edits(result, [edit("toleration", to=[TOLERATION])])


def test_a_toleration_of_any_value() -> None:
    wanted = {"key": "team", "operator": "Exists", "value": "", "effect": ""}
    _, after, result = edited([*nodes(), job()], edit("toleration", to=[wanted]))
    assert after.gangs[0].roles[0].filter.tolerations == (Toleration("team", "Exists"),)
    [tolerations] = [task["template"]["spec"]["tolerations"] for task in result[-1]["spec"]["tasks"][:1]]
    assert tolerations == [{"key": "team", "operator": "Exists"}]


@pytest.mark.parametrize("form", FORMS)
def test_no_selector(form: str) -> None:
    old = {"key": "disk", "operator": "In", "values": ["fast"]}
    before, after, _ = edited([*nodes(), *FORMS[form]()], edit("selector", **{"from": old}))
    [gang] = before.gangs
    wanted = whole(gang, lambda role: replace(role, filter=replace(role.filter, required=())))
    assert_changed(before, after, wanted)


@pytest.mark.parametrize("form", FORMS)
def test_another_selector(form: str) -> None:
    old = {"key": "disk", "operator": "In", "values": ["fast"]}
    new = {"key": "disk", "operator": "In", "values": ["slow"]}
    before, after, _ = edited([*nodes(), *FORMS[form]()], edit("selector", **{"from": old, "to": new}))
    [gang] = before.gangs
    [requirement] = gang.roles[0].filter.required
    wanted = whole(
        gang,
        lambda role: replace(
            role, filter=replace(role.filter, required=(dataclasses.replace(requirement, values=("slow",)),))
        ),
    )
    assert_changed(before, after, wanted)


def test_a_selector_of_several_values_becomes_an_affinity() -> None:
    old = {"key": "disk", "operator": "In", "values": ["fast"]}
    new = {"key": "disk", "operator": "In", "values": ["fast", "slow"]}
    _, after, _ = edited([*nodes(), job()], edit("selector", **{"from": old, "to": new}))
    [term] = after.gangs[0].roles[0].filter.any_of
    assert [(one.key, one.values) for one in term] == [("zone", ("a", "b")), ("disk", ("fast", "slow"))]


@pytest.mark.parametrize("form", FORMS)
def test_no_affinity(form: str) -> None:
    before, after, result = edited([*nodes(), *FORMS[form]()], edit("affinity"))
    [gang] = before.gangs
    assert_changed(before, after, whole(gang, lambda role: replace(role, filter=replace(role.filter, any_of=()))))
    assert b"affinity" not in orjson.dumps(result)


def without_dependency(role: Role) -> Role:
    return replace(role, depends_on=(), depends_on_any=False, n_created=0)


@pytest.mark.parametrize("form", WITH_TASKS)
def test_no_dependency(form: str) -> None:
    change = edit("dependency", role="worker", **{"from": ["master"], "to": []})
    before, after, result = edited([*nodes(), *FORMS[form]()], change)
    assert_changed(before, after, whole(before.gangs[0], without_dependency))
    assert b"dependsOn" not in orjson.dumps(result)


@pytest.mark.parametrize("form", HYPER)
def test_no_dependency_in_a_job_of_a_hyper_job(form: str) -> None:
    change = edit("dependency", role="a-1-worker", **{"from": ["master"], "to": []})
    before, after, _ = edited([*nodes(), *FORMS[form]()], change)
    [gang] = before.gangs
    # Jobs that do not exist yet are made of one template.
    changed = ["a-1"] if form == "HyperJob with Jobs" else ["a-0", "a-1"]

    def of_gang(role: Role) -> Role:
        return without_dependency(role) if role.name[:3] in changed else role

    jobs = tuple(
        replace(one, gang=one.gang and whole(one.gang, without_dependency if one.name[-3:] in changed else replace))
        for one in gang.jobs
    )
    assert_changed(before, after, replace(gang, roles=tuple(map(of_gang, gang.roles)), jobs=jobs))


@pytest.mark.parametrize("form", FORMS)
def test_a_higher_priority(form: str) -> None:
    before, after, result = edited([*nodes(), *FORMS[form]()], edit("priority", **{"from": 0, "to": 1001}))
    [gang] = before.gangs
    wanted = replace(gang, priority=1001)
    if gang.kind in ("Deployment", "Gang", "GpuGroup", "Pod"):
        wanted = whole(wanted, lambda role: replace(role, priority=1001))
    if gang.kind == "HyperJob":
        jobs = [replace(one, gang=one.gang and replace(one.gang, priority=1001)) for one in gang.jobs]
        wanted = replace(wanted, jobs=tuple(jobs))
    assert_changed(before, after, wanted)
    assert [one["metadata"]["name"] for one in result if one["kind"] == "PriorityClass"] == ["priority-1001"]


def test_a_priority_that_a_class_has_needs_no_new_class() -> None:
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in (("low", 1), ("high", 1001), ("also-high", 1001))
    ]
    _, after, result = edited([*nodes(), *classes, job()], edit("priority", **{"from": 0, "to": 1001}))
    assert after.gangs[0].priority == 1001
    assert len(result) == len(nodes()) + 4
    assert result[-1]["spec"]["priorityClassName"] == "also-high"


@pytest.mark.parametrize("form", FORMS)
def test_a_withdrawn_job_leaves_nothing_behind(form: str) -> None:
    before, after, result = edited([*nodes(), *FORMS[form]()], edit("withdraw"))
    assert after.gangs == ()
    assert snapshot_parts(after.snapshot) == snapshot_parts(before.snapshot)
    assert {one["kind"] for one in result} == {"Node", "HyperNode"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit("tier", subject="job default/other", to=2), r"edit tier of job default/other: no job of this name"),
        (edit("tier", to=1), "no hard topology constraint below this tier"),
        (edit("tier", to="two"), "to: wrong type or value"),
        (edit("affinity", subject=7), "subject: wrong type or value"),
        (edit("enlarge"), "kind: no kind of edit"),
        (edit("replicas", role="nobody", **{"from": 3, "to": 2}), "no role of this name"),
        (edit("dependency", role="master"), "no task of this name with dependsOn"),
        (edit("selector", **{"from": {"key": "disk", "values": ["slow"]}}), "no role of the job selects disk=slow"),
    ],
)
def test_an_edit_without_a_subject_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply_edits([*nodes(), *with_objects(job(uid=UID))], [change])


def test_fewer_pods_of_a_partitioned_role_are_fewer_partitions() -> None:
    one = job()
    one["spec"] |= {"minAvailable": 7}
    worker = one["spec"]["tasks"][1]
    worker |= {"replicas": 6, "minAvailable": 6}
    worker["partitionPolicy"] = {"totalPartitions": 3, "partitionSize": 2, "minPartitions": 3}
    _, after, result = edited([*nodes(), one], edit("replicas", role="worker", **{"from": 6, "to": 4}))
    assert after.refused == ()
    [gang] = after.gangs
    assert (gang.n_pods, gang.min_available, gang.min_subgroups) == (5, 5, {"worker": 2})
    assert [group.pods for group in gang.sub_groups] == [(1, 2), (3, 4)]
    assert result[-1]["spec"]["tasks"][1]["partitionPolicy"]["totalPartitions"] == 2
    _, after, _ = edited([*nodes(), one], edit("replicas", role="worker", **{"from": 6, "to": 0}))
    assert [(gang.n_pods, gang.min_available, gang.sub_groups) for gang in after.gangs] == [(1, 1, ())]
    with pytest.raises(InputError, match="role worker consists of whole partitions"):
        apply_edits([one], [edit("replicas", role="worker", **{"from": 6, "to": 5})])


def test_a_smaller_role_leaves_a_minimum_above_the_pods_that_run() -> None:
    made = with_objects(job(uid=UID))
    started(made[2:4])
    change = edit("replicas", role="worker", **{"from": 2, "to": 0})
    _, after, _ = edited([*nodes(), *made], change)
    assert after.gangs == ()
    change = edit("replicas", role="worker", **{"from": 2, "to": 1})
    _, after, result = edited([*nodes(), *made], change)
    assert [(gang.ready, gang.n_pods, gang.min_available) for gang in after.gangs] == [(2, 1, 3)]
    made[0]["spec"]["minAvailable"] = 3
    _, after, result = edited([*nodes(), *made], change)
    assert after.gangs[0].min_available == 3
    assert [one["spec"]["minAvailable"] for one in result if one["kind"] == "Job"] == [3]


def test_a_higher_tier_where_a_constraint_names_none() -> None:
    one = job(spec={**job()["spec"], "networkTopology": {}})
    _, after, result = edited([*nodes(), one], edit("tier", to=2))
    assert after.gangs[0].constraint == TopologyConstraint("hard", 2)
    assert result[-1]["spec"]["networkTopology"] == {"mode": "hard", "highestTierAllowed": 2}
