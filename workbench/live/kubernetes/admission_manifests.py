"""`admission_manifests`: what it takes to run the admission server inside of a cluster, as manifests."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from workbench.live.kubernetes.admission_server import webhook_configurations
from workbench.live.kubernetes.operator_manifests import network_policy, role, workload

__all__ = ["ADMISSION_NAME", "admission_manifests"]

#: Name of the Service, and of all other objects.
ADMISSION_NAME = "topology-workbench-admission"

_PORT = 9443
_READ = ["get", "list", "watch"]
_RULES = [
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": _READ},
    {"apiGroups": ["scheduling.volcano.sh"], "resources": ["queues"], "verbs": _READ},
    {"apiGroups": ["topology.volcano.sh"], "resources": ["hypernodes"], "verbs": _READ},
]


def admission_manifests(
    namespace: str, image: str, schedulers: Sequence[str], certificate: bytes, key: bytes, *, replicas: int = 2
) -> list[dict[str, Any]]:
    """Service account, rights, Secret, Service and Deployment of the admission server, and its registration.

    `namespace`: exists already. `image`: as for `workbench.live.kubernetes.operator_manifests.operator_manifests`.
    `schedulers`: pods with one of these values of schedulerName are sent there. `certificate`, `key`: PEM, for the host
    ``topology-workbench-admission.NAMESPACE.svc``; the certificate is its own authority.
    """
    name = ADMISSION_NAME
    account = {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    metadata = {"name": name, "namespace": namespace}
    tls = {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()}
    probe = {"httpGet": {"path": "/", "port": "https", "scheme": "HTTPS"}}
    container = {
        "name": "admission",
        "image": image,
        "args": [
            *("operator", "admission", "--listen", f"0.0.0.0:{_PORT}", "--tls-cert", "/tls/tls.crt"),
            *("--tls-key", "/tls/tls.key"),
            *(part for one in schedulers for part in ("--scheduler-name", one)),
        ],
        "ports": [{"name": "https", "containerPort": _PORT}],
        "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "livenessProbe": {**probe, "initialDelaySeconds": 30, "periodSeconds": 20, "timeoutSeconds": 10},
        "readinessProbe": probe,
        "volumeMounts": [{"name": "tls", "mountPath": "/tls", "readOnly": True}, {"name": "tmp", "mountPath": "/tmp"}],
    }
    volumes = [{"name": "tls", "secret": {"secretName": name}}, {"name": "tmp", "emptyDir": {}}]
    ports = [{"name": "https", "port": 443, "targetPort": "https"}]
    client = {"service": {"namespace": namespace, "name": name, "path": "/admit"}}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        *role("ClusterRole", name, "", _RULES, account),
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": tls},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": {"app": name}, "ports": ports},
        },
        network_policy(name, namespace, _PORT),
        workload(name, namespace, container, replicas, volumes),
        *webhook_configurations(client, certificate, schedulers),
    ]
