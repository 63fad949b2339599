"""`apply`: bring objects into a live cluster, the kinds of Volcano among them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.control.kinds import Ref, api_path, key_of
from workbench.control.store import Object
from workbench.errors import ClusterError, StoreError
from workbench.live.kubernetes.connection import NoSuchApi
from workbench.live.kubernetes.writer import MERGE_PATCH, Writer
from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of

__all__ = ["FAKE_NODE", "apply", "apply_kinds"]

#: Annotation of the nodes that `apply` writes: no kubelet runs there, and fake ones may act for them.
FAKE_NODE = "topology-workbench/fake-node"

#: Seconds that the API server has to serve a kind whose definition it has stored.
_PATIENCE_S = 60.0

#: Kinds that others refer to, in the order in which they are created.
_FIRST = ("Namespace", "PriorityClass", "Queue", "Node", "Device", "HyperNode", "ConfigMap")

#: Queues that Volcano makes itself.
_QUEUES: Sequence[Object] = [
    {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": reclaimable},
    }
    for name, reclaimable in (("root", False), ("default", True))
]


def apply_kinds(connection: Writer) -> None:
    """Define the kinds of Volcano that the cluster lacks, and its queues; what is there stays as it is.

    Raises ClusterError: the API server refuses, or does not serve a kind within a minute.
    """
    crds = [crd_of(kind) for kind in SCHEMA_KINDS]
    for crd in crds:
        _created(connection, crd)
    for crd in crds:
        spec = crd["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
        _until_served(connection, path)
    for queue in _QUEUES:
        _created(connection, queue)


def apply(connection: Writer, objects: Iterable[Object], progress: Callable[[int], object] | None = None) -> list[Ref]:
    """Create objects, or change those that exist to what is given; namespaces are made where they are missing.

    Raises ClusterError: an object is refused; those before it stay.

    `objects`: manifests. Their uid, resourceVersion and status are left out, except the status of a Node, which no
    kubelet would write. `progress`: called with the number of objects written so far. Returns list of Ref: identities
    in the order in which the objects were written.
    """
    ordered = sorted(objects, key=_rank)
    keys = [key_of(one) for one in ordered]
    for name in sorted({key.namespace for key in keys} - {"", "default"}, key=str.encode):
        _created(connection, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for number, (key, data) in enumerate(zip(keys, ordered, strict=True), 1):
        body = _as_new(key, data)
        if not _created(connection, body):
            connection.write("PATCH", api_path(*key), body, MERGE_PATCH)
            if key.kind == "Node":
                connection.write("PATCH", f"{api_path(*key)}/status", {"status": body.get("status")}, MERGE_PATCH)
        if progress is not None:
            progress(number)
    return keys


def _as_new(key: Ref, data: Object) -> dict[str, Any]:
    dropped = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
    metadata = {name: value for name, value in (data.get("metadata") or {}).items() if name not in dropped}
    if key.namespace:
        metadata["namespace"] = key.namespace
    if key.kind == "Node":
        metadata["annotations"] = {**(metadata.get("annotations") or {}), FAKE_NODE: "true"}
        return {**data, "metadata": metadata, "status": _node_status(data.get("status") or {})}
    return {**{name: value for name, value in data.items() if name != "status"}, "metadata": metadata}


def _node_status(status: Mapping[str, Any]) -> dict[str, Any]:
    """A node's status with what the API server asks for; a manifest may leave `capacity` out."""
    allocatable = status.get("allocatable") or status.get("capacity") or {}
    # A scheduler counts what is allocatable, and Kubernetes refuses pods beyond 0 of them.
    allocatable = {"pods": "110", **allocatable}
    ready = {"type": "Ready", "status": "True", "reason": "FakeNode", "message": "no kubelet: a fake node"}
    return {
        **status,
        "allocatable": allocatable,
        "capacity": {**allocatable, **(status.get("capacity") or {})},
        "conditions": status.get("conditions") or [ready],
    }


def _created(connection: Writer, data: Object) -> bool:
    """Create an object; False if one of its name exists."""
    key = key_of(data)
    try:
        connection.write("POST", api_path(key.kind, key.namespace), data)
    except StoreError as error:
        if error.reason == "AlreadyExists":
            return False
        raise
    return True


def _until_served(connection: Writer, path: str) -> None:
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        try:
            connection.get(path, limit="1")
            return
        except NoSuchApi:
            if time.monotonic() > give_up:
                raise ClusterError(
                    f"{connection.cluster.server}: {path} is not served after {_PATIENCE_S:g} s"
                ) from None
        time.sleep(0.1)


def _rank(data: Object) -> int:
    kind = data.get("kind")
    return _FIRST.index(str(kind)) if kind in _FIRST else len(_FIRST)
