"""The admission server, asked by a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controlplane.live import Live

pytestmark = pytest.mark.slow

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


def posted(admitting: Live, data: dict[str, Any]) -> tuple[int, Any]:
    """Status and answer of the API server to a new Job that it need not keep."""
    return admitting.plane.ask("POST", JOBS, data, dryRun="All")


def job(**spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    tasks = [{"name": "worker", "replicas": 2, "template": template}]
    kind = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    return {**kind, "metadata": {"name": "train"}, "spec": {"tasks": tasks, "queue": "default", **spec}}


def test_defaults_are_filled_in(admitting: Live) -> None:
    status, stored = posted(admitting, job())
    assert status == 201, stored
    assert (stored["spec"]["minAvailable"], stored["spec"]["maxRetry"]) == (2, 3)


def test_a_pod_with_gpus_learns_them_by_annotations(admitting: Live) -> None:
    limits = {"nvidia.com/gpu": "2"}
    own = [{"name": "CUDA_VISIBLE_DEVICES", "value": "own"}]
    containers = [
        {"name": "a", "image": "i", "resources": {"limits": limits}},
        {"name": "b", "image": "i"},
        {"name": "c", "image": "i", "resources": {"limits": limits}, "env": own},
    ]
    spec = {"schedulerName": "topology-workbench", "containers": containers}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    status, stored = admitting.plane.ask("POST", PODS, pod, dryRun="All")
    assert status == 201, stored
    first, second, third = stored["spec"]["containers"]
    paths = {one["name"]: one["valueFrom"]["fieldRef"]["fieldPath"] for one in first["env"]}
    assert paths == {
        "NVIDIA_VISIBLE_DEVICES": "metadata.annotations['topology-workbench/nvidia-visible-devices-0']",
        "CUDA_VISIBLE_DEVICES": "metadata.annotations['topology-workbench/cuda-visible-devices-0']",
    }
    assert "env" not in second
    assert [one["name"] for one in third["env"]] == ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"]
    other = {**pod, "spec": {**spec, "schedulerName": "default-scheduler"}}
    assert "env" not in admitting.plane.ask("POST", PODS, other, dryRun="All")[1]["spec"]["containers"][0]


def test_what_is_no_review_is_refused(admitting: Live) -> None:
    import ssl
    import urllib.error
    import urllib.request

    config = admitting.plane.ask(
        "GET", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/topology-workbench"
    )[1]
    url = config["webhooks"][0]["clientConfig"]["url"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for body in (b"{}", b"[]", b"no json", b'{"request": 3}'):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url, data=body, context=context)
        assert caught.value.code == 400
