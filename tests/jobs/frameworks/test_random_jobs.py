"""Rules that hold for any Job and any plugins, held to random ones."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.runners.volcano_jobs_additions import without_additions
from tests.jobs.frameworks.jobs import job_of
from workbench.jobs.create_pod import create_pod
from workbench.jobs.expand import expand_job
from workbench.jobs.frameworks.registry import PLUGINS, on_job_add, on_job_delete, on_job_update, on_pod_create
from workbench.jobs.stored_job import as_stored
from workbench.jobs.task_pods import hosts_of_task, tasks_of

#: Tasks that a plugin cannot do without.
LEADERS = {"ray": "head", "mpi": "master"}
NAMES = ("master", "worker", "head", "ps", "chief", "scheduler", "server", "my-task")
VARIABLES = ("RANK", "PET_NNODES", "DMLC_ROLE", "OWN")


@st.composite
def containers(draw: st.DrawFn, names: tuple[str, ...], least: int) -> list[dict[str, Any]]:
    found = []
    for name in names[: draw(st.integers(least, len(names)))]:
        container: dict[str, Any] = {"name": name, "image": "image"}
        if draw(st.booleans()):
            container["env"] = [{"name": draw(st.sampled_from(VARIABLES)), "value": "v"}]
        if draw(st.booleans()):
            container["ports"] = [{"containerPort": draw(st.sampled_from([22, 6379, 23456]))}]
        if draw(st.booleans()):
            gpus = str(draw(st.integers(0, 8)))
            container["resources"] = {"requests": {"nvidia.com/gpu": gpus}, "limits": {"nvidia.com/gpu": gpus}}
        found.append(container)
    return found


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, Any]:
    plugins = draw(st.lists(st.sampled_from([plugin.name for plugin in PLUGINS]), unique=True))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    names += [task for plugin, task in LEADERS.items() if plugin in plugins and task not in names]
    tasks = []
    for name in names:
        spec: dict[str, Any] = {"containers": draw(containers((draw(st.sampled_from(["head", "worker"])), "side"), 1))}
        spec["initContainers"] = draw(containers(("first", "second"), 0))
        if draw(st.integers(0, 3)) == 0:
            spec["hostname"] = "fixed"
        tasks.append({"name": name, "replicas": draw(st.integers(0, 3)), "template": {"spec": spec}})
    arguments = {"pytorch": [["--wait-master-enabled"]], "svc": [["--inject-hosts-env=false"]], "mpi": [["--slots=3"]]}
    return job_of({name: draw(st.sampled_from([[], *arguments.get(name, [])])) for name in plugins}, *tasks, name="j")


def pods_before(job: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        create_pod(job, task["template"], task, index) for task in tasks_of(job) for index in range(task["replicas"])
    ]


@given(jobs())
def test_upstream_s_pod_is_what_is_left_without_the_additions(given_job: dict[str, Any]) -> None:
    job = as_stored(given_job)
    plugins = job["spec"]["plugins"]
    kept = copy.deepcopy(job)
    for before in pods_before(job):
        upstream = before
        for plugin in PLUGINS:
            if plugin.name in plugins:
                hooked = on_pod_create(upstream, job, {plugin.name: plugins[plugin.name]})
                upstream = without_additions(hooked, upstream, "j", [plugin.name])
        found = on_pod_create(before, job, plugins)
        assert without_additions(found, before, "j", plugins) == upstream
        names = [volume["name"] for volume in found["spec"].get("volumes", ())]
        assert len(names) == len(set(names))
    assert job == kept


@given(jobs())
def test_hooks_are_idempotent_and_delete_undoes_add(given_job: dict[str, Any]) -> None:
    job = as_stored(given_job)
    plugins = job["spec"]["plugins"]
    added = on_job_add(job, plugins)
    stored = {(action.kind, action.name): action.manifest for action in added.actions}
    assert len(stored) == len(added.actions)
    held = {**job, "status": {"controlledResources": added.controlled}}
    assert on_job_add(held, plugins, stored).actions == ()
    assert on_job_update(held, plugins, stored).actions == ()
    deleted = on_job_delete(held, plugins, stored)
    assert sorted((action.kind, action.name) for action in deleted.actions) == sorted(stored)
    assert deleted.controlled == {}


@given(jobs())
def test_whatever_a_pod_refers_to_is_among_the_objects(given_job: dict[str, Any]) -> None:
    objects = expand_job(given_job)
    known = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    for pod in (each for each in objects if each["kind"] == "Pod"):
        spec = pod["spec"]
        volumes = {each["name"]: each for each in spec.get("volumes", ())}
        for each in volumes.values():
            key = ("ConfigMap", each["configMap"]["name"]) if "configMap" in each else ("Secret", each["name"])
            assert key in known
        for container in [*spec["containers"], *spec.get("initContainers", ())]:
            assert {mount["name"] for mount in container.get("volumeMounts", ())} <= volumes.keys()
            for variable in container.get("env", ()):
                if "valueFrom" in variable:
                    reference = variable["valueFrom"]["configMapKeyRef"]
                    assert reference["key"] in known["ConfigMap", reference["name"]]["data"]
    job = as_stored(given_job)
    if "svc" in job["spec"]["plugins"]:
        found = {f"{p['spec']['hostname']}.{p['spec']['subdomain']}" for p in objects if p["kind"] == "Pod"}
        assert found == {host for task in tasks_of(job) for host in hosts_of_task(job, task)}
