"""`operator_manifests`: what it takes to run the operator inside of a cluster, as manifests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["operator_manifests", "operator_rules"]

_NAME = "topology-workbench-operator"
_RBAC = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
_ALL = [*_READ, "create", "update", "patch", "delete"]

#: API group, resources and verbs. Secrets are those of the job plugin ssh, read and written by name.
_RULES: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (
    ("", ["nodes", "namespaces"], _READ),
    ("", ["pods"], [*_READ, "create", "patch", "delete"]),
    ("", ["pods/binding"], ["create"]),
    ("", ["configmaps", "persistentvolumeclaims"], _ALL),
    ("", ["services", "secrets"], ["get", "create", "update", "delete"]),
    ("apps", ["deployments", "replicasets", "statefulsets"], _READ),
    ("networking.k8s.io", ["networkpolicies"], ["get", "create", "update", "delete"]),
    ("scheduling.k8s.io", ["priorityclasses"], _READ),
    ("batch.volcano.sh", ["jobs"], _ALL),
    ("batch.volcano.sh", ["jobs/status"], ["patch"]),
    ("bus.volcano.sh", ["commands"], [*_READ, "delete"]),
    ("scheduling.volcano.sh", ["podgroups"], _ALL),
    ("scheduling.volcano.sh", ["queues"], _READ),
    ("scheduling.volcano.sh", ["podgroups/status", "queues/status"], ["patch"]),
    ("topology.volcano.sh", ["hypernodes"], _ALL),
    ("topology.volcano.sh", ["hypernodes/status"], ["patch"]),
    ("training.volcano.sh", ["hyperjobs"], _READ),
    ("training.volcano.sh", ["hyperjobs/status"], ["patch"]),
    ("scheduling.koordinator.sh", ["devices"], _READ),
    ("coordination.k8s.io", ["leases"], ["get", "create", "update"]),
)


def operator_rules() -> list[dict[str, Any]]:
    """The rules of the ClusterRole that the operator needs."""
    return [
        {"apiGroups": [group], "resources": list(plurals), "verbs": list(verbs)} for group, plurals, verbs in _RULES
    ]


def operator_manifests(namespace: str, image: str, arguments: Sequence[str], replicas: int = 2) -> list[dict[str, Any]]:
    """Namespace, service account, rights and Deployment of the operator.

    Parameters
    ----------
    namespace : str
    image : str
        With this package and its command ``workbench``; the Dockerfile of the repository makes one.
    arguments : sequence of str
        Options of ``workbench operator run``.
    replicas : int
        One works, the others wait for its Lease.
    """
    labels = {"app": _NAME}
    account = {"kind": "ServiceAccount", "namespace": namespace, "name": _NAME}
    container = {
        "name": "operator",
        "image": image,
        "args": ["operator", "run", "--lease", f"{namespace}/{_NAME}", "--metrics", "0.0.0.0:9090", *arguments],
        "ports": [{"name": "metrics", "containerPort": 9090}],
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod = {"serviceAccountName": _NAME, "containers": [container]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _NAME, "namespace": namespace}},
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": _NAME}, "rules": operator_rules()},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _NAME},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": _NAME},
            "subjects": [account],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": _NAME, "namespace": namespace, "labels": labels},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    ]
