"""Edits of manifests do what the edits of values do with which fixes are sought."""

from dataclasses import replace
from typing import Any

import pytest

from tests.formats.edit_manifests.forms import FORMS, Manifest, nodes
from tests.formats.edit_manifests.test_cluster_edits import WITH_PODS, on_nodes
from tests.formats.edit_manifests.test_job_edits import TIER, read
from tests.formats.same_scenario import gang_parts, snapshot_parts
from workbench.evaluate.whatif.cluster_edits import AddNodes, Finish, MakeReady, RemoveTaint, Uncordon
from workbench.evaluate.whatif.edit import Edit, EditedSession
from workbench.evaluate.whatif.job_edits import AllowTier, ChangeSelector, DropAffinity, RaisePriority, Tolerate
from workbench.evaluate.whatif.queue_edits import QueueAmounts, QueueWeight, Withdraw
from workbench.evaluate.whatif.size_edits import FewerReplicas, LowerMinimum
from workbench.formats.edit_manifests.apply import apply_edits
from workbench.model.extras import VolcanoMemory
from workbench.model.gang import Gang, Role
from workbench.model.labels import Requirement, Taint

JOB = "default/train"
TAINT = Taint("team", "x", "NoSchedule")
ON_JOBS: list[Edit] = [
    AllowTier(JOB, 1, 2),
    Tolerate(JOB, TAINT),
    ChangeSelector(JOB, Requirement("disk", "In", ("fast",))),
    ChangeSelector(JOB, Requirement("disk", "In", ("fast",)), Requirement("disk", "In", ("slow",))),
    DropAffinity(JOB, ()),
    RaisePriority(JOB, 0, 5),
    Withdraw(JOB),
]
ON_NODES: list[Edit] = [
    Uncordon(("n0", "n2")),
    MakeReady(("n0", "n1")),
    RemoveTaint(("n1", "n3"), TAINT),
    QueueAmounts("q", "capability", (("cpu", 1000),), (("cpu", 2000), ("nvidia.com/gpu", 4))),
    QueueAmounts("q", "guarantee", (("cpu", None),), (("cpu", 500),)),
    QueueAmounts("q", "deserved", (), (("memory", 1 << 30),)),
    QueueWeight("q", 1, 4),
    AddNodes("rack-1", "n0", 2, ("n0-new-1", "n0-new-2")),
    AddNodes("", "n3", 4, ("n3-new-1",)),
]


def _edited(manifests: list[Manifest], edit: Edit) -> tuple[EditedSession, Any]:
    before = read(manifests)
    # The job in question may be another one.
    case = EditedSession(before.gangs, before.snapshot, before.gangs[0].key if before.gangs else "")
    return edit.apply(case), read(apply_edits(manifests, [edit.to_dict()]))


def _told(gang: Gang) -> dict[str, Any]:
    """A gang without what follows from its pods themselves: annotations that give the tier, priorities."""

    def bare(role: Role) -> Role:
        annotations = {key: value for key, value in role.annotations.items() if key != TIER}
        return replace(role, annotations=annotations, priority=0)

    jobs = tuple(
        replace(one, gang=one.gang and replace(one.gang, roles=tuple(map(bare, one.gang.roles)), priority=0))
        for one in gang.jobs
    )
    return gang_parts(replace(gang, roles=tuple(map(bare, gang.roles)), jobs=jobs))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("edit", ON_JOBS, ids=lambda edit: edit.kind)
def test_a_pending_job(form: str, edit: Edit) -> None:
    manifests = [*nodes(), *FORMS[form]()]
    case, found = _edited(manifests, edit)
    if isinstance(edit, Withdraw):
        assert found.gangs == ()
        return
    assert [_told(gang) for gang in found.gangs] == [_told(gang) for gang in case.gangs]
    assert snapshot_parts(found.snapshot) == snapshot_parts(case.snapshot)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "Pod" and not form.startswith("HyperJob")])
def test_a_smaller_job(form: str) -> None:
    manifests = [*nodes(), *FORMS[form]()]
    case, found = _edited(manifests, LowerMinimum(JOB, 4, 2))
    sizes = [(gang.min_available, gang.n_pods, gang.extra(VolcanoMemory).min_resources) for gang in found.gangs]
    assert sizes == [(gang.min_available, gang.n_pods, gang.extra(VolcanoMemory).min_resources) for gang in case.gangs]
    role = case.gang.roles[-1]
    case, found = _edited(manifests, FewerReplicas(JOB, role.name, role.count, role.count - 1, 1))
    sizes = [(gang.min_available, gang.n_pods, gang.extra(VolcanoMemory).min_resources) for gang in found.gangs]
    assert sizes == [(gang.min_available, gang.n_pods, gang.extra(VolcanoMemory).min_resources) for gang in case.gangs]


@pytest.mark.parametrize("form", ["HyperJob", "HyperJob with Jobs", "HyperJob of the document"])
def test_a_hyper_job_of_fewer_jobs(form: str) -> None:
    case, found = _edited([*nodes(), *FORMS[form]()], LowerMinimum(JOB, 2, 1))
    [gang], [wanted] = found.gangs, case.gangs
    assert (gang.min_available, gang.min_subgroups) == (wanted.min_available, wanted.min_subgroups)


@pytest.mark.parametrize("edit", ON_NODES, ids=lambda edit: f"{edit.kind} {edit.subject}")
def test_nodes_and_queues(edit: Edit) -> None:
    manifests = nodes()
    taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}, {"key": "team", "value": "x"}]
    for one in manifests[:4]:
        one["spec"] = {"unschedulable": True, "taints": [{**taint, "effect": "NoSchedule"} for taint in taints]}
    spec = {"capability": {"cpu": "1"}, "weight": 1}
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}, "spec": spec}
    case, found = _edited([*manifests, queue], edit)
    assert snapshot_parts(found.snapshot) == snapshot_parts(case.snapshot)


@pytest.mark.parametrize("form", WITH_PODS)
def test_a_running_job_ends(form: str) -> None:
    manifests = [*nodes(), *on_nodes(FORMS[form]())]
    gangs = tuple(sorted({pod.gang for pod in read(manifests).snapshot.running if pod.gang}))
    subject = f"job {JOB}" if gangs else f"pod {JOB}"
    case, found = _edited(manifests, Finish(subject, gangs, 0, 0))
    assert snapshot_parts(found.snapshot) == snapshot_parts(case.snapshot)
    assert found.gangs == ()
