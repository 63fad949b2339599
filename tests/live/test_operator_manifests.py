"""Manifests of the operator and of the admission server: pods without rights on their node, and no Secret unasked."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from workbench.live.kubernetes.admission_manifests import admission_manifests
from workbench.live.kubernetes.operator_manifests import operator_manifests

OPERATOR = operator_manifests("system", "image", [])
ADMISSION = admission_manifests("system", "image", ["ours"], b"certificate", b"key")


def of_kind(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = (one for one in objects if one["kind"] == kind)
    return found


@pytest.mark.parametrize("objects", [OPERATOR, ADMISSION], ids=["operator", "admission"])
def test_pods_are_confined_probed_and_apart(objects: list[dict[str, Any]]) -> None:
    pod = of_kind(objects, "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert "memory" in container["resources"]["limits"]
    assert "livenessProbe" in container and "readinessProbe" in container
    (apart,) = pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert apart["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    policy = of_kind(objects, "NetworkPolicy")["spec"]
    assert [port["port"] for rule in policy["ingress"] for port in rule["ports"]] == [
        container["ports"][0]["containerPort"]
    ]


def test_secrets_are_readable_only_where_somebody_asks_for_it() -> None:
    def on_secrets(objects: list[dict[str, Any]]) -> list[Any]:
        rules = [rule for one in objects if one["kind"] in ("Role", "ClusterRole") for rule in one["rules"]]
        return [rule.get("resourceNames") for rule in rules if "secrets" in rule["resources"]]

    assert on_secrets(OPERATOR) == on_secrets(ADMISSION) == []
    assert on_secrets(operator_manifests("system", "image", [], secrets=[("a", "b")])) == [["b"]]
    assert on_secrets(operator_manifests("system", "image", [], ssh=True)) == [None]


def test_the_webhook_trusts_the_certificate_that_the_server_shows() -> None:
    (hook, _) = of_kind(ADMISSION, "MutatingWebhookConfiguration")["webhooks"]
    assert base64.b64decode(hook["clientConfig"]["caBundle"]) == b"certificate"
    assert base64.b64decode(of_kind(ADMISSION, "Secret")["data"]["tls.crt"]) == b"certificate"
    service = of_kind(ADMISSION, "Service")["metadata"]
    assert hook["clientConfig"]["service"] == {**service, "path": "/admit"}
