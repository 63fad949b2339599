"""Hooks of several plugins together: order, markers, additions, and inputs that stay as they are."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.runners.volcano_jobs_additions import without_additions
from tests.jobs.frameworks.jobs import env_of, job_of, task_of
from workbench.errors import InputError
from workbench.jobs.create_pod import create_pod
from workbench.jobs.frameworks.contract import SshKeys
from workbench.jobs.frameworks.registry import (
    PLUGINS,
    on_job_add,
    on_job_delete,
    on_job_update,
    on_pod_create,
)
from workbench.jobs.stored_job import as_stored
from workbench.jobs.task_pods import tasks_of
from workbench.objects.frameworks import FRAMEWORKS, Addition

ROOT = Path(__file__).resolve().parents[3]
ROLES = [task_of(name, 2, gpus=2) for name in ("master", "worker", "head", "ps", "scheduler", "server")]
ALL: dict[str, list[str]] = {plugin.name: [] for plugin in PLUGINS}
ALL["pytorch"] = ["--wait-master-enabled"]
JOB = as_stored(job_of(ALL, *ROLES))

Stored = dict[tuple[str, str], Any]


def pod_of(job: dict[str, Any], task: int = 0, index: int = 0) -> dict[str, Any]:
    entry = tasks_of(job)[task]
    return create_pod(job, entry["template"], entry, index)


def done(stored: Stored, outcome: Any) -> Stored:
    after = dict(stored)
    for action in outcome.actions:
        if action.verb == "delete":
            del after[action.kind, action.name]
        else:
            assert ((action.kind, action.name) in after) is (action.verb == "update")
            after[action.kind, action.name] = action.manifest
    return after


def held(job: dict[str, Any], outcome: Any) -> dict[str, Any]:
    return {**job, "status": {"controlledResources": dict(outcome.controlled)}}


def test_the_order_is_the_one_that_the_page_documents() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "jobs.md").read_text("utf-8"), re.MULTILINE)
    assert rows == [plugin.name for plugin in PLUGINS]


def test_the_page_names_every_flag_and_every_addition() -> None:
    page = (ROOT / "docs" / "jobs.md").read_text("utf-8")
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `")}
    missing = [
        name
        for plugin in PLUGINS
        for name in [*(f"`--{flag.name}`" for flag in plugin.flags), *_additions(plugin.name).env.values()]
        if name.strip("`") not in rows[plugin.name]
    ]
    assert missing == []


def _additions(plugin: str) -> Addition:
    return FRAMEWORKS[plugin].additions if plugin in FRAMEWORKS else Addition()


@pytest.mark.parametrize("task", range(len(ROLES)))
def test_without_the_listed_additions_a_pod_is_what_upstream_makes_of_it(task: int) -> None:
    before = pod_of(JOB, task)
    upstream = before
    for plugin in PLUGINS:
        alone = {**JOB, "spec": {**JOB["spec"], "plugins": {plugin.name: ALL[plugin.name]}}}
        added = on_pod_create(before, alone, {plugin.name: ALL[plugin.name]})
        if _additions(plugin.name) == Addition():
            assert without_additions(added, before, "jobname", [plugin.name]) == added
        # One after the other, as upstream runs them, each without its additions.
        hooked = on_pod_create(upstream, JOB, {plugin.name: ALL[plugin.name]})
        upstream = without_additions(hooked, upstream, "jobname", [plugin.name])
    assert without_additions(on_pod_create(before, JOB, ALL), before, "jobname", ALL) == upstream


def test_additions_come_last() -> None:
    ours = {name for each in FRAMEWORKS.values() for name in each.additions.env.values()}
    names = [each["name"] for each in on_pod_create(pod_of(JOB), JOB, ALL)["spec"]["containers"][0]["env"]]
    first = next(i for i, name in enumerate(names) if name in ours)
    assert ours.issuperset(names[first:]) and ours.isdisjoint(names[:first])


def test_the_init_container_of_pytorch_gets_what_every_container_gets_and_that_of_mpi_does_not() -> None:
    worker = on_pod_create(pod_of(JOB, 1), JOB, ALL)
    master = on_pod_create(pod_of(JOB, 0), JOB, ALL)
    (waiting,) = worker["spec"]["initContainers"]
    assert (waiting["name"], env_of(worker, field="initContainers")["VC_TASK_INDEX"]) == ("wait-for-master", "0")
    assert {mount["name"] for mount in waiting["volumeMounts"]} == {"jobname-svc", "jobname-ssh"}
    (waiting,) = master["spec"]["initContainers"]
    assert (waiting["name"], [each["name"] for each in waiting["env"]]) == (
        "wait-for-workers",
        ["IP_LIST", "WAIT_TIMEOUT"],
    )


def test_hcclrank_sees_the_rank_of_pytorch() -> None:
    pod = on_pod_create(pod_of(JOB, 1, 1), JOB, {"hcclrank": [], "pytorch": []})
    assert pod["metadata"]["annotations"]["hccl/rankIndex"] == env_of(pod)["RANK"] == "2"
    alone = on_pod_create(pod_of(JOB, 1, 1), JOB, {"hcclrank": []})
    assert alone["metadata"]["annotations"]["hccl/rankIndex"] == "3"


def test_hooks_do_not_depend_on_the_order_in_which_the_job_names_plugins() -> None:
    backwards = dict(reversed(ALL.items()))
    assert on_pod_create(pod_of(JOB), JOB, backwards) == on_pod_create(pod_of(JOB), JOB, ALL)
    assert on_job_add(JOB, backwards) == on_job_add(JOB, ALL)


def test_inputs_are_never_changed() -> None:
    job, pod = copy.deepcopy(JOB), pod_of(JOB)
    kept = copy.deepcopy(pod)
    on_pod_create(pod, JOB, ALL)
    added = on_job_add(JOB, ALL)
    stored = done({}, added)
    before = copy.deepcopy(stored)
    on_job_update(held(JOB, added), ALL, stored)
    on_job_delete(held(JOB, added), ALL, stored)
    assert (JOB, pod, stored) == (job, kept, before)


class TestMarkers:
    def test_add_twice_makes_nothing_new(self) -> None:
        first = on_job_add(JOB, ALL)
        stored = done({}, first)
        second = on_job_add(held(JOB, first), ALL, stored)
        assert (second.actions, second.controlled) == ((), first.controlled)
        assert first.controlled == {f"plugin-{name}": name for name in ALL if name != "hcclrank"}

    def test_add_again_after_a_lost_marker_finds_the_objects_and_keeps_the_keys(self) -> None:
        first = on_job_add(JOB, ALL, ssh_keys=SshKeys("a", "b"))
        again = on_job_add(JOB, ALL, done({}, first), ssh_keys=SshKeys("c", "d"))
        assert (again.actions, again.controlled) == ((), first.controlled)

    def test_delete_takes_everything_away_and_then_does_nothing(self) -> None:
        added = on_job_add(JOB, ALL)
        stored = done({}, added)
        assert {kind for kind, _ in stored} == {"ConfigMap", "Service", "NetworkPolicy", "Secret"}
        deleted = on_job_delete(held(JOB, added), ALL, stored)
        assert (done(stored, deleted), deleted.controlled) == ({}, {})
        assert on_job_delete(held(JOB, deleted), ALL, {}).actions == ()

    def test_delete_without_a_marker_leaves_everything(self) -> None:
        stored = done({}, on_job_add(JOB, ALL))
        assert on_job_delete(JOB, ALL, stored).actions == ()

    def test_what_is_gone_already_is_not_deleted(self) -> None:
        added = on_job_add(JOB, ALL)
        assert on_job_delete(held(JOB, added), ALL, {}).actions == ()

    def test_markers_of_others_stay(self) -> None:
        job = {**JOB, "status": {"controlledResources": {"volume-pvc-x": "x", "plugin-env": "other"}}}
        added = on_job_add(job, {"env": []})
        assert added.controlled == {"volume-pvc-x": "x", "plugin-env": "env"}
        assert on_job_delete(job, {"env": []}).controlled == {"volume-pvc-x": "x", "plugin-env": "other"}


class TestUpdate:
    def test_hosts_follow_the_replicas_whether_marked_or_not(self) -> None:
        added = on_job_add(JOB, ALL)
        stored = done({}, added)
        more = as_stored(job_of(ALL, *ROLES[:1], {**ROLES[1], "replicas": 3}, *ROLES[2:]))
        for job in (more, held(more, added)):
            after = done(stored, on_job_update(job, ALL, stored))
            changed = {key for key in stored if stored[key] != after[key]}
            assert changed == {("ConfigMap", "jobname-svc"), ("ConfigMap", "jobname-mpi")}
            assert after["ConfigMap", "jobname-svc"]["data"]["VC_WORKER_NUM"] == "3"
            assert "jobname-worker-2.jobname slots=2" in after["ConfigMap", "jobname-mpi"]["data"]["hostfile"]

    def test_equal_hosts_are_not_written_again(self) -> None:
        added = on_job_add(JOB, ALL)
        assert on_job_update(held(JOB, added), ALL, done({}, added)).actions == ()

    def test_fields_that_others_wrote_into_a_config_map_stay(self) -> None:
        stored = {("ConfigMap", "jobname-svc"): {"kind": "ConfigMap", "metadata": {"name": "jobname-svc", "uid": "u"}}}
        after = done(stored, on_job_update(JOB, {"svc": []}, stored))
        assert after["ConfigMap", "jobname-svc"]["metadata"]["uid"] == "u"

    def test_a_secret_is_replaced_where_its_hosts_differ(self) -> None:
        stored = done({}, on_job_add(JOB, {"ssh": []}, ssh_keys=SshKeys("a", "b")))
        more = as_stored(job_of(ALL, {**ROLES[0], "replicas": 3}))
        after = done(stored, on_job_add(more, {"ssh": []}, stored, ssh_keys=SshKeys("c", "d")))
        old, new = (each["Secret", "jobname-ssh"]["data"] for each in (stored, after))
        assert [key for key in old if old[key] != new[key]] == ["id_rsa", "id_rsa.pub", "authorized_keys", "config"]


@pytest.mark.parametrize("hook", [on_job_add, on_job_update, on_job_delete])
def test_an_unknown_plugin_is_told_before_anything_is_done(hook: Any) -> None:
    with pytest.raises(InputError, match=r"spec\.plugins\.new: failed to get plugin new"):
        hook(JOB, {"svc": [], "new": []})


def test_the_error_of_a_plugin_names_it() -> None:
    job = as_stored(job_of({"ray": []}, task_of("worker")))
    with pytest.raises(InputError, match=r"spec\.plugins\.ray: job jobname doesn't have head task head"):
        on_pod_create(pod_of(job), job, {"ray": []})
