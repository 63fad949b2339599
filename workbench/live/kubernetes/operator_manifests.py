"""`operator_manifests`: what it takes to run the operator inside of a cluster, as manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.model.labels import HOSTNAME_LABEL

__all__ = ["network_policy", "operator_manifests", "operator_rules", "role", "workload"]

_NAME = "topology-workbench-operator"
_RBAC = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
_ALL = [*_READ, "create", "update", "patch", "delete"]

#: API group, resources and verbs; rights on Secrets stand in roles of their own.
_RULES: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (
    ("", ["nodes", "namespaces"], _READ),
    ("", ["pods"], [*_READ, "create", "patch", "delete"]),
    ("", ["pods/binding"], ["create"]),
    ("", ["configmaps", "persistentvolumeclaims"], _ALL),
    ("", ["services"], ["get", "create", "update", "delete"]),
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


_SECRET: Mapping[str, Any] = {"apiGroups": [""], "resources": ["secrets"]}
_SSH_RULE = {**_SECRET, "verbs": ["get", "create", "update", "delete"]}


def operator_rules() -> list[dict[str, Any]]:
    """The rules of the ClusterRole that the operator needs."""
    return [
        {"apiGroups": [group], "resources": list(plurals), "verbs": list(verbs)} for group, plurals, verbs in _RULES
    ]


def operator_manifests(
    namespace: str,
    image: str,
    arguments: Sequence[str],
    *,
    replicas: int = 2,
    ssh: bool = False,
    secrets: Sequence[tuple[str, str]] = (),
) -> list[dict[str, Any]]:
    """Namespace, service account, rights and Deployment of the operator.

    Parameters
    ----------
    image : str
        With this package and its command ``workbench``; the Dockerfile of the repository makes one.
    arguments : sequence of str
        Options of ``workbench operator run``.
    replicas : int
        One works, the others wait for its Lease.
    ssh : bool
        Whether Jobs may use the plugin ssh, whose keys are Secrets called after the Job. RBAC knows no patterns of
        names, so this is a right on all Secrets, by name and without listing, in a ClusterRole of its own.
    secrets : sequence of (str, str)
        Namespace and name of each Secret that a ``secretRef`` of the discovery names; each gets a Role that allows to
        read it alone.
    """
    account = {"kind": "ServiceAccount", "namespace": namespace, "name": _NAME}
    probe = {"httpGet": {"path": "/metrics", "port": "metrics"}}
    container = {
        "name": "operator",
        "image": image,
        "args": ["operator", "run", "--lease", f"{namespace}/{_NAME}", "--metrics", "0.0.0.0:9090", *arguments],
        "ports": [{"name": "metrics", "containerPort": 9090}],
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "4Gi"}},
        "livenessProbe": {**probe, "initialDelaySeconds": 30, "periodSeconds": 20, "timeoutSeconds": 10},
        "readinessProbe": probe,
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": _NAME, "namespace": namespace}},
        *role("ClusterRole", _NAME, "", operator_rules(), account),
        *(role("ClusterRole", f"{_NAME}-ssh", "", [_SSH_RULE], account) if ssh else ()),
        *(one for where, name in secrets for one in role("Role", f"{_NAME}-{name}", where, [_reading(name)], account)),
        network_policy(_NAME, namespace, 9090),
        workload(_NAME, namespace, container, replicas),
    ]


def workload(
    name: str, namespace: str, container: Mapping[str, Any], replicas: int, volumes: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """A Deployment whose pods have no rights on their node and run on different nodes where that is possible.

    `name`, `namespace`: of the Deployment, and of the service account of its pods. `container`: their container,
    without its security context.
    """
    labels = {"app": name}
    confined = {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    apart = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOSTNAME_LABEL}
    weighed = [{"weight": 100, "podAffinityTerm": apart}]
    pod = {
        "serviceAccountName": name,
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighed}},
        "containers": [{**container, "securityContext": confined}],
        **({"volumes": list(volumes)} if volumes else {}),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def network_policy(name: str, namespace: str, port: int) -> dict[str, Any]:
    """A NetworkPolicy that lets others reach one port of a Deployment's pods, and nothing else of them.

    `name`: name of the Deployment, which the policy has, too; its pods have it in their label ``app``. `namespace`:
    namespace of both. `port`: TCP port.
    """
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "podSelector": {"matchLabels": {"app": name}},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": port}]}],
        },
    }


def _reading(name: str) -> dict[str, Any]:
    """The rule that allows to read one Secret."""
    return {**_SECRET, "resourceNames": [name], "verbs": ["get"]}


def role(
    kind: str, name: str, namespace: str, rules: Sequence[Mapping[str, Any]], account: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A role with the given rules, and its binding to a service account.

    `kind`: {"Role", "ClusterRole"}. `namespace`: empty for a ClusterRole. `account`: the subject of the binding.
    """
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    written = {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}
    ref = {"apiGroup": _RBAC, "kind": kind, "name": name}
    bound = {"apiVersion": f"{_RBAC}/v1", "kind": f"{kind}Binding", "metadata": metadata}
    return written, {**bound, "roleRef": ref, "subjects": [dict(account)]}
