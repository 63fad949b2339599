"""The admission cases of the conformance area volcano-jobs, posted to a real API server that asks our webhook.

A case holds what one function of upstream's webhook is given. Here it is made a whole object, and what the API server
stores (or would store) is compared. Cases that no object can be made of are listed in `NOT_POSTED`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.runners.volcano_jobs_asserts import includes, same
from tests.controlplane.live import Live
from tests.waiting import until

pytestmark = pytest.mark.slow

CASES = Path(__file__).parents[1] / "conformance" / "cases" / "volcano-jobs"
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs"
POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
CONTAINERS = [{"name": "fake-name", "image": "busybox:1.24"}]

#: Why a case is not posted, by id.
NOT_POSTED = {
    "webhook-validate/TestValidateJobCreate/validate-valid-job-with-pod-level-resources-less-than-aggregate-contai": (
        "it is of a Kubernetes without resources at the level of pods, which this API server has"
    ),
    "webhook-mutate/TestMpi/add-dependson": "upstream's webhook does not call the function that the case is about",
    "webhook-validate/TestTopoSort/test-1": "the order of tasks that depend on each other is stored nowhere",
    "webhook-validate/TestTopoSort/test-4": "the order of tasks that depend on each other is stored nowhere",
}


def cases(*operations: str) -> list[Any]:
    """The cases of the admission files with one of the operations."""
    found = []
    for file in ("webhook-validate", "webhook-mutate", "podgroup-admission"):
        data = json.loads((CASES / f"{file}.json").read_text("utf-8"))
        found += data["cases"] if isinstance(data, dict) else data
    return [
        pytest.param(one["input"], one["expected"], id=one["id"])
        for one in found
        if one["id"] not in NOT_POSTED and (not operations or one["input"]["op"] in operations)
    ]


def job(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """A Job of a case, with the containers that a case about something else leaves out.

    Upstream's tests bypass the API server, which lets no name with capitals through to any webhook.
    """
    tasks = []
    for task in spec.get("tasks") or ():
        template = task.get("template") or {}
        inner = template.get("spec") or {}
        tasks.append({**task, "template": {**template, "spec": {"containers": CONTAINERS, **inner}}})
    whole = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": dict(metadata), "spec": dict(spec)}
    whole["metadata"]["name"] = metadata["name"].lower()
    whole["metadata"].pop("resourceVersion", None)
    if tasks:
        whole["spec"]["tasks"] = tasks
    return whole


@contextmanager
def queues(live: Live, wanted: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Queues that exist for the time of a case."""
    made = []
    for name, queue in wanted.items():
        spec = {"weight": 1, **({"parent": queue["parent"]} if queue.get("parent") else {})}
        body = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": spec,
        }
        if live.plane.ask("POST", QUEUES, body)[0] == 201:
            made.append(f"{QUEUES}/{name}")
        state = {"status": {"state": queue.get("state") or "Open"}}
        live.plane.ask("PATCH", f"{QUEUES}/{name}/status", state, kind="application/merge-patch+json")
    try:
        yield
    finally:
        for path in made:
            live.plane.ask("DELETE", path)


def asked(live: Live, method: str, path: str, data: Any, allowed: bool = True) -> Any:
    """The answer of the API server to an object that it need not keep; fails where the verdict is another."""
    found: list[Any] = []

    def decided() -> bool:
        found[:] = live.plane.ask(method, path, data, dryRun="All")
        return (found[0] in (200, 201)) == allowed

    # The admission server learns of queues and namespaces a moment later.
    try:
        until(decided, "the verdict", 0.1)
    except AssertionError as error:
        raise AssertionError(f"{error}; {found[0]}: {found[1].get('message')}") from None
    return found[1]


def assert_told(answer: Any, want: Mapping[str, Any]) -> None:
    """Where the webhook refused, it says what upstream's does; the schema may refuse before it."""
    told = str(answer.get("message"))
    if want.get("messageContains") and "admission webhook" in told:
        assert want["messageContains"].strip(" ;").lower() in told.lower()


@pytest.mark.parametrize(("given", "want"), cases("create"))
def test_a_new_job_gets_its_verdict(admitting: Live, given: dict[str, Any], want: dict[str, Any]) -> None:
    metadata = {**given["job"]["metadata"], "name": given["job"]["metadata"]["name"].lower()}
    data = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", **given["job"], "metadata": metadata}
    namespace = metadata.get("namespace", "default")
    admitting.plane.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    with queues(admitting, given["queues"]):
        assert_told(asked(admitting, "POST", JOBS.format(namespace), data, want["allowed"]), want)


@pytest.mark.parametrize(("given", "want"), cases("task-topology-policy"))
def test_a_task_with_a_topology_policy_gets_its_verdict(
    admitting: Live, given: dict[str, Any], want: dict[str, Any]
) -> None:
    others = [{"name": f"other-{number}", "replicas": 1} for number in range(given["taskIndex"])]
    inner = given["task"]["template"]["spec"]
    named = [{**base, **one} for base, one in zip(CONTAINERS, inner["containers"], strict=True)]
    template = {**given["task"]["template"], "spec": {**inner, "containers": named}}
    data = job({"name": "case"}, {"tasks": [*others, {**given["task"], "template": template}]})
    assert_told(asked(admitting, "POST", JOBS.format("default"), data, want["allowed"]), want)


@pytest.mark.parametrize(("given", "want"), cases("update"))
def test_a_changed_job_gets_its_verdict(admitting: Live, given: dict[str, Any], want: dict[str, Any]) -> None:
    old = job(given["oldJob"]["metadata"], given["oldJob"]["spec"])
    new = job(given["job"]["metadata"], given["job"]["spec"])
    path = JOBS.format(old["metadata"]["namespace"])
    with queues(admitting, {name: {} for name in {old["spec"]["queue"], new["spec"]["queue"]} - {"default"}}):
        stored = admitting.plane.create(old, path)
        one = f"{path}/{old['metadata']['name']}"
        try:
            # The stored Job has its defaults, and a user changes what the case changes.
            spec = changed(stored["spec"], old["spec"], new["spec"])
            assert_told(asked(admitting, "PUT", one, {**stored, "spec": spec}, want["allowed"]), want)
        finally:
            admitting.plane.ask("DELETE", one)


def changed(stored: Any, old: Any, new: Any) -> Any:
    """`stored` with what differs between two values that have no defaults filled in."""
    if old == new:
        return stored
    if isinstance(old, dict) and isinstance(new, dict):
        kept = {key: value for key, value in stored.items() if key in new or key not in old}
        return kept | {key: changed(stored.get(key), old.get(key), value) for key, value in new.items()}
    if isinstance(old, list) and isinstance(new, list):
        both = min(len(old), len(new))
        return [changed(*three) for three in zip(stored[:both], old[:both], new[:both], strict=True)] + new[both:]
    return new


@pytest.mark.parametrize(("given", "want"), cases("mutate-tasks"))
def test_tasks_get_their_defaults(admitting: Live, given: dict[str, Any], want: dict[str, Any]) -> None:
    stored = asked(admitting, "POST", JOBS.format("default"), job({"name": "case"}, {"tasks": given["tasks"]}))
    tasks = stored["spec"]["tasks"]
    assert len(tasks) == len(want["tasks"])
    assert all(includes(task, wanted) for task, wanted in zip(tasks, want["tasks"], strict=True)), tasks


@pytest.mark.parametrize(("given", "want"), cases("mutate-plugins"))
def test_plugins_bring_the_plugins_that_they_need(admitting: Live, given: dict[str, Any], want: dict[str, Any]) -> None:
    # The names that the arguments of every plugin name by default.
    tasks = [{"name": name, "replicas": 1} for name in ("master", "worker", "head")]
    spec = {"tasks": tasks, **({"plugins": given["plugins"]} if given["plugins"] is not None else {})}
    stored = asked(admitting, "POST", JOBS.format("default"), job({"name": "case"}, spec))["spec"].get("plugins") or {}
    wanted = want["plugins"] or {}
    assert stored.keys() == wanted.keys()
    assert all(same(arguments, wanted[name]) for name, arguments in stored.items())


@pytest.mark.parametrize(("given", "want"), cases("mutate-job"))
def test_a_job_gets_its_defaults(admitting: Live, given: dict[str, Any], want: dict[str, Any]) -> None:
    named = given["spec"].get("queue")
    with queues(admitting, {named: {}} if named else {}):
        stored = asked(admitting, "POST", JOBS.format("default"), job({"name": "case"}, given["spec"]))
    assert {key: stored["spec"][key] for key in want} == want


def pod_group(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(("given", "want"), cases("validate-podgroup"))
def test_a_new_pod_group_gets_its_verdict(admitting: Live, given: dict[str, Any], want: dict[str, Any]) -> None:
    data = pod_group(given["podGroup"]["metadata"], given["podGroup"]["spec"])
    with queues(admitting, given["queues"]):
        assert_told(asked(admitting, "POST", POD_GROUPS.format("default"), data, want["allowed"]), want)


@pytest.mark.parametrize(("given", "want"), cases("mutate-podgroup"))
def test_a_pod_group_gets_the_queue_of_its_namespace(
    admitting: Live, given: dict[str, Any], want: dict[str, Any]
) -> None:
    namespace = {"metadata": {"name": "of-the-case", "annotations": given["namespaceAnnotations"]}}
    admitting.plane.ask("POST", "/api/v1/namespaces", namespace)
    data = pod_group({"name": "case"}, {"queue": given["queue"]})
    with queues(admitting, {given["queue"]: {}} if given["queue"] != "default" else {}):
        stored = asked(admitting, "POST", POD_GROUPS.format("of-the-case"), data)
    patch = want["patch"]
    assert stored["spec"]["queue"] == (patch[0]["value"] if patch else given["queue"])


def test_every_case_is_posted_or_listed() -> None:
    operations = {"create", "update", "task-topology-policy", "mutate-tasks", "mutate-plugins", "mutate-job"}
    operations |= {"validate-podgroup", "mutate-podgroup"}
    assert len(cases()) == len(cases(*operations)) and len(cases()) + len(NOT_POSTED) == 72
