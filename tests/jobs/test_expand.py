"""A Volcano Job to the objects that it becomes."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

import workbench
from tests.jobs.frameworks.jobs import env_of, job_of, named, pods_of, task_of
from workbench.errors import CapacityError, InputError


def kinds(objects: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["kind"], each["metadata"]["name"]) for each in objects]


def test_a_job_without_plugins_is_its_pods() -> None:
    job = job_of({}, task_of("a", 2), task_of("b"), queue="q", schedulerName="volcano", priorityClassName="high")
    objects = workbench.jobs.expand_job(job)
    assert kinds(objects) == [("Pod", "jobname-a-0"), ("Pod", "jobname-a-1"), ("Pod", "jobname-b-0")]
    assert {pod["metadata"]["labels"]["volcano.sh/queue-name"] for pod in objects} == {"q"}
    assert {(pod["spec"]["schedulerName"], pod["spec"]["priorityClassName"]) for pod in objects} == {
        ("volcano", "high")
    }


def test_everything_is_in_the_job_s_namespace_and_controlled_by_it() -> None:
    objects = workbench.jobs.expand_job(
        job_of({"mpi": [], "ray": []}, task_of("head"), task_of("master"), task_of("worker"))
    )
    assert {each["metadata"]["namespace"] for each in objects} == {"default"}
    (owner,) = {tuple(each["metadata"]["ownerReferences"][0].items()) for each in objects}
    assert dict(owner)["name"] == "jobname" and len(dict(owner)["uid"]) == 36


def test_a_stored_job_keeps_its_uid_and_its_counts() -> None:
    job = job_of({}, task_of("a"))
    job["metadata"] |= {"uid": "11111111-2222-3333-4444-555555555555", "namespace": "ns"}
    job["status"] = {"version": 4, "retryCount": 2}
    (pod,) = workbench.jobs.expand_job(job)
    annotations = pod["metadata"]["annotations"]
    assert annotations["scheduling.k8s.io/group-name"] == "jobname-11111111-2222-3333-4444-555555555555"
    assert (annotations["volcano.sh/job-version"], annotations["volcano.sh/job-retry-count"]) == ("4", "2")
    assert pod["metadata"]["namespace"] == "ns"


@pytest.mark.parametrize(
    ("plugins", "want"),
    [
        ({"pytorch": []}, {"ConfigMap", "Service", "NetworkPolicy"}),
        ({"mpi": []}, {"ConfigMap", "Service", "NetworkPolicy", "Secret"}),
        ({"env": []}, set()),
        ({"ray": [], "svc": ["--disable-network-policy"]}, {"ConfigMap", "Service"}),
    ],
)
def test_plugins_bring_those_that_they_need(plugins: dict[str, list[str]], want: set[str]) -> None:
    job = job_of(plugins, task_of("head"), task_of("master"), task_of("worker"))
    assert {kind for kind, _ in kinds(workbench.jobs.expand_job(job))} - {"Pod"} == want


def test_the_same_job_gives_the_same_objects_and_is_left_as_it_is() -> None:
    claims = [{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}]
    job = job_of({"mpi": [], "env": []}, task_of("master"), task_of("worker", 2), volumes=claims)
    before = copy.deepcopy(job)
    assert workbench.jobs.expand_job(job) == workbench.jobs.expand_job(copy.deepcopy(job))
    assert job == before


def test_no_two_objects_share_a_part() -> None:
    job = job_of({"svc": []}, task_of("a", 2, nodeSelector={"x": "y"}))
    before = copy.deepcopy(job)
    first, second = pods_of(workbench.jobs.expand_job(job))
    first["spec"]["nodeSelector"]["x"] = "z"
    first["spec"]["containers"][0]["env"].clear()
    first["metadata"]["ownerReferences"][0]["name"] = "other"
    assert second["spec"]["nodeSelector"] == {"x": "y"} and second["spec"]["containers"][0]["env"]
    assert second["metadata"]["ownerReferences"][0]["name"] == "jobname"
    assert job == before


def test_claims_are_made_once_and_mounted_by_every_container() -> None:
    volumes = [
        {"mountPath": "/scratch", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}},
        {"mountPath": "/data", "volumeClaimName": "data"},
        {"mountPath": "/again", "volumeClaimName": "data"},
    ]
    objects = workbench.jobs.expand_job(job_of({}, task_of("a", 2), volumes=volumes))
    (claim,) = [each for each in objects if each["kind"] == "PersistentVolumeClaim"]
    assert claim["metadata"]["name"].startswith("jobname-pvc-") and claim["spec"] == {"accessModes": ["ReadWriteOnce"]}
    for pod in pods_of(objects):
        claims = [each["persistentVolumeClaim"]["claimName"] for each in pod["spec"]["volumes"]]
        mounts = [each["mountPath"] for each in pod["spec"]["containers"][0]["volumeMounts"]]
        assert (claims, mounts) == ([claim["metadata"]["name"], "data"], ["/scratch", "/data"])


def test_a_pod_on_the_host_s_network_still_finds_the_others() -> None:
    (pod,) = workbench.jobs.expand_job(job_of({}, task_of("a", hostNetwork=True)))
    assert pod["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_an_unnamed_task_is_named_after_its_position() -> None:
    task = {key: value for key, value in task_of("x").items() if key != "name"}
    assert kinds(workbench.jobs.expand_job(job_of({}, task_of("a"), task)))[-1] == ("Pod", "jobname-default1-0")


class TestKeys:
    JOB = job_of({"ssh": []}, task_of("a"))

    def texts(self, *given: workbench.jobs.SshKeys) -> dict[str, str]:
        keys = {"ssh_keys": given[0]} if given else {}
        data = named(workbench.jobs.expand_job(self.JOB, **keys), "Secret", "jobname-ssh")["data"]
        return {name: base64.b64decode(text).decode() for name, text in data.items()}

    def test_by_default_a_text_that_is_no_key(self) -> None:
        found = self.texts()
        assert "BEGIN" not in found["id_rsa"] and not found["id_rsa.pub"].startswith("ssh-")

    def test_keys_that_are_given(self) -> None:
        found = self.texts(workbench.jobs.SshKeys("private", "public"))
        assert (found["id_rsa"], found["id_rsa.pub"], found["authorized_keys"]) == ("private", "public", "public")

    def test_the_private_key_is_not_shown(self) -> None:
        assert repr(workbench.jobs.SshKeys("secret", "public")) == "SshKeys(public='public')"


BAD = job_of({}, task_of("a"))


def changed(path: str, value: Any) -> dict[str, Any]:
    job = copy.deepcopy(BAD)
    *outer, last = [int(each) if each.isdigit() else each for each in path.split("/")]
    inner: Any = job
    for each in outer:
        inner = inner[each]
    inner[last] = value
    return job


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (job_of({"pytroch": []}, task_of("a")), r"spec\.plugins\.pytroch: failed to get plugin pytroch .*pytorch"),
        (
            job_of({"pytorch": ["--prot=1"]}, task_of("a")),
            r"spec\.plugins\.pytorch\[0\]: .*not defined: -prot .*--port",
        ),
        (job_of({"svc": [], "ray": ["--port=x"]}, task_of("head")), r"spec\.plugins\.ray\[0\]: invalid value \"x\""),
        (job_of({"mpi": ["--port=1", "rest"]}, task_of("a")), r"spec\.plugins\.mpi\[1\]: Volcano stops reading"),
        (job_of({"mpi": ["--", "--port=1"]}, task_of("a")), r"spec\.plugins\.mpi\[1\]: Volcano stops reading"),
        (
            job_of({"mpi": ["--port=70000"]}, task_of("a")),
            r"spec\.plugins\.mpi: impossible value of --port .*1 to 65535",
        ),
        (job_of({"mpi": ["--slots=-1"]}, task_of("a")), r"spec\.plugins\.mpi: impossible value of --slots"),
        (job_of({"ray": []}, task_of("a")), r"spec\.plugins\.ray: job jobname doesn't have head task head"),
        (changed("spec/plugins", {"svc": "--x"}), r"spec\.plugins\.svc: wrong type .*expected a list"),
        (changed("spec/plugins", {"svc": [1]}), r"spec\.plugins\.svc\[0\]: wrong type .*expected text"),
        (changed("spec/plugins", []), r"spec\.plugins: wrong type .*expected a mapping"),
        (changed("spec/tasks", "a"), r"spec\.tasks: wrong type"),
        (changed("spec/tasks/0/replicas", "3"), r"spec\.tasks\[0\]\.replicas: wrong type"),
        (
            changed("spec/tasks/0/template/spec/containers/0/env", {"A": "b"}),
            r"spec\.tasks\[0\]\.template\.spec\.containers\[0\]\.env: wrong type .*expected a list",
        ),
        (
            changed("spec/tasks/0/template/spec/containers/0/ports", ["80"]),
            r"spec\.tasks\[0\]\.template\.spec\.containers\[0\]\.ports\[0\]: wrong type .*expected a mapping",
        ),
        (changed("spec/tasks/0/template/spec/hostname", 5), r"spec\.tasks\[0\]\.template\.spec\.hostname: wrong type"),
        (changed("spec/volumes", [{"mountPath": 1}]), r"spec\.volumes\[0\]\.mountPath: wrong type"),
        (changed("metadata/name", ""), r"metadata\.name: "),
        (changed("kind", "Pod"), r"kind: not a Volcano Job .*found Pod"),
        (changed("apiVersion", "batch/v1"), r"kind: not a Volcano Job .*found Job \(batch/v1\)"),
        (
            job_of({}, task_of("a"), task_of("a")),
            r"Job default/jobname: admission refuses the Job: .*duplicated task name a",
        ),
        (job_of({}), r"admission refuses the Job: No task"),
        ("text", r"expected the parsed manifest of a Job"),
    ],
)
def test_bad_input_is_one_error_with_its_path(job: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        workbench.jobs.expand_job(job)


def test_too_many_pods_are_refused_before_they_are_made() -> None:
    with pytest.raises(CapacityError, match="Job default/jobname has 20,000 pods; at most 10,000"):
        workbench.jobs.expand_job(job_of({}, task_of("a", 10_000), task_of("b", 10_000)))


def test_the_pods_stand_in_the_order_of_tasks_and_indices() -> None:
    pods = workbench.jobs.expand_job(job_of({"env": []}, task_of("a", 12)))
    assert [env_of(pod)["VC_TASK_INDEX"] for pod in pods] == [str(i) for i in range(12)]
