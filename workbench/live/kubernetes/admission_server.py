"""`AdmissionServer`: Volcano's admission as an HTTPS server that a Kubernetes API server asks (AdmissionReview v1)."""

from __future__ import annotations

import base64
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast

import orjson

from workbench.control.admission import Webhooks
from workbench.control.kinds import check_identity
from workbench.control.memory_store import MemoryStore
from workbench.control.object_table import ObjectTable
from workbench.control.store import Object
from workbench.control.visible_devices import with_device_variables
from workbench.errors import ClusterError, InputError, StoreError
from workbench.live.kubernetes.bounded_server import BoundedHandler
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.mirror import Mirror
from workbench.live.kubernetes.shapes import mapping
from workbench.live.kubernetes.tls_server import TlsServer
from workbench.objects.fields import get_text

__all__ = ["AdmissionServer", "webhook_configurations"]

#: What admission has to know beside the object at hand.
_KINDS = ("Namespace", "Queue", "HyperNode")

#: Tasks of a Job or of all Jobs of a HyperJob, and patterns of a HyperNode: reviews of more take seconds, in which the
#: cluster waits. Nobody has so many on purpose.
_MOST_PARTS = 1_000

_ADMITTED = {
    "jobs": "batch.volcano.sh",
    "podgroups": "scheduling.volcano.sh",
    "queues": "scheduling.volcano.sh",
    "hypernodes": "topology.volcano.sh",
    "hyperjobs": "training.volcano.sh",
}


class AdmissionServer:
    """Answers the questions of an API server about new and changed objects.

    `connection`: by which queues, namespaces and HyperNodes are read and followed. `schedulers`: pods with one of these
    values of schedulerName get the variables of their GPUs. `port`: 0: a free one. `certificate`, `key`: PEM files,
    read again when they change.
    """

    # `start`, `run`, `stop` and `close` are its life. A request goes through `answer_to` (bytes) to `review` (objects),
    # which asks the mirror's `_known` table.

    def __init__(
        self, connection: Connection, schedulers: Collection[str], host: str, port: int, certificate: Path, key: Path
    ) -> None:
        self._mirror = Mirror(connection, _KINDS)
        self._schedulers = frozenset(schedulers)
        self._lock = threading.Lock()
        self._table: ObjectTable | None = None
        try:
            self._http = TlsServer((host, port), self._handler(), certificate, key)
        except OSError as error:
            raise ClusterError(f"admission server at {host}:{port}: {error.strerror or error}") from None

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self._http.server_address[1])

    def start(self) -> None:
        """Read what admission has to know; `ClusterError` if the API server does not answer."""
        self._mirror.start()

    def run(self) -> None:
        """Answer until `stop` is called."""
        self._http.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        """Let `run` return; must be called from another thread."""
        self._http.shutdown()

    def close(self) -> None:
        """Give up the port and the watches."""
        self._http.server_close()
        self._mirror.close()

    def review(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The response to the request of an AdmissionReview.

        `request`: its uid, operation, object and oldObject. Returns whether the object is allowed, a JSON patch that
        fills in defaults, warnings, or the reason of the refusal.
        """
        answer: dict[str, Any] = {"uid": request.get("uid"), "allowed": True}
        data, before = request.get("object"), request.get("oldObject")
        if request.get("operation") not in ("CREATE", "UPDATE") or not isinstance(data, dict):
            return answer
        for each, what in ((data, "object"), (before or {}, "oldObject")):
            if not isinstance(each, dict) or not isinstance(each.get("metadata") or {}, dict):
                return _refused(answer, 422, f"{what}: no mapping, or one whose metadata is none")
        if text := _too_many_parts(data):
            return _refused(answer, 413, text)
        data, before = _named(data, request), _named(before, request) if before else None
        for each, what in ((data, "object"), (before or data, "oldObject")):
            try:
                check_identity(each)
                for field in ("apiVersion", "kind"):
                    get_text(each, field, "")
            except InputError as error:
                return _refused(answer, 422, f"{what}: {error}")
        webhooks = Webhooks()
        try:
            # Admission reads no more of a store than a mirror has.
            store = cast("MemoryStore", self._known())
            admitted = webhooks(store, before, data)
        except StoreError as error:
            return _refused(answer, 422 if error.reason == "Invalid" else 403, str(error))
        asks_for = mapping(data.get("spec")).get("schedulerName")
        if data.get("kind") == "Pod" and not before and asks_for in self._schedulers:
            admitted = with_device_variables(admitted)
        warnings = [notice.message for _, notice in webhooks.warnings]
        if warnings:
            answer["warnings"] = warnings
        patch = _patch(data, admitted)
        if patch:
            answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(patch)).decode()}
        return answer

    def _handler(self) -> type[BoundedHandler]:
        server = self

        class Handler(BoundedHandler):
            def answer_to(self, body: bytes) -> tuple[int, bytes, str]:
                return server.answer_to(body)

        return Handler

    def _known(self) -> ObjectTable:
        """What the mirror knows now, as a table that does not change, so that reviews need not wait for each other."""
        with self._lock:
            self._mirror.watch(self._mirror.version)
            self._mirror.forget(self._mirror.version)
            if self._table is None or self._table.version != self._mirror.version:
                self._table = self._mirror.table()
            return self._table

    def answer_to(self, body: bytes) -> tuple[int, bytes, str]:
        """Status, body and content type of the answer to the body of a request."""
        try:
            asked = orjson.loads(body)
        except orjson.JSONDecodeError:
            asked = None
        request = asked.get("request") if isinstance(asked, dict) else None
        if not isinstance(request, dict):
            return 400, b"no AdmissionReview", "text/plain"
        try:
            response = self.review(request)
        except Exception as error:
            # The API server tells it to whoever wrote the object, which it then refuses.
            return 500, f"internal error: {type(error).__name__}; please report it".encode(), "text/plain"
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        return 200, orjson.dumps(review), "application/json"


def webhook_configurations(
    client: Mapping[str, Any], ca: bytes, schedulers: Collection[str], name: str = "topology-workbench"
) -> list[dict[str, Any]]:
    """The objects by which an API server asks an `AdmissionServer`.

    Returns A MutatingWebhookConfiguration: one call both refuses and fills in defaults.

    `client`: where the server is: ``{"url": "https://…"}``, or ``{"service": {"namespace": …, "name": …}}``. `ca`: PEM
    of the authority of its certificate. `schedulers`: pods with one of these values of schedulerName are sent there;
    other pods are created without it.
    """
    config = {**client, "caBundle": base64.b64encode(ca).decode()}
    common = {
        "clientConfig": config,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
    }
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "resources": [plural], "operations": ["CREATE", "UPDATE"]}
        for plural, group in _ADMITTED.items()
    ]
    names = ", ".join(f"'{one}'" for one in sorted(schedulers))
    ours = f"has(object.spec.schedulerName) && object.spec.schedulerName in [{names}]"
    pods = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}]
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [
                {"name": "objects.topology-workbench.io", "rules": rules, **common},
                {
                    "name": "pods.topology-workbench.io",
                    "rules": pods,
                    "matchConditions": [{"name": "own-pods", "expression": ours}],
                    **common,
                },
            ],
        }
    ]


def _named(data: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """The object with the namespace and the name of the request, which an object that is being created may lack."""
    metadata = dict(mapping(data.get("metadata")))
    for field in ("namespace", "name"):
        if request.get(field) and not metadata.get(field):
            metadata[field] = request[field]
    return {**data, "metadata": metadata}


def _refused(answer: Mapping[str, Any], code: int, message: str) -> dict[str, Any]:
    return {**answer, "allowed": False, "status": {"code": code, "message": message}}


def _too_many_parts(data: Mapping[str, Any]) -> str:
    """Why an object has too many parts for a review; empty if it has not."""
    spec = mapping(data.get("spec"))
    tasks = len(_list(spec, "tasks"))
    for member in map(mapping, _list(spec, "replicatedJobs")):
        for template in (mapping(member.get("templateSpec")), mapping(member.get("template"))):
            tasks += len(_list(template, "tasks")) + len(_list(mapping(template.get("spec")), "tasks"))
    patterns = sum("regexMatch" in mapping(mapping(one).get("selector")) for one in _list(spec, "members"))
    for number, what in ((tasks, "tasks"), (patterns, "patterns")):
        if number > _MOST_PARTS:
            return f"{number:,} {what}: an object may have {_MOST_PARTS:,}"
    return ""


def _list(data: Mapping[str, Any], key: str) -> list[Any]:
    found = data.get(key)
    return found if isinstance(found, list) else []


def _patch(before: Object, after: Object) -> list[dict[str, Any]]:
    """A JSON patch (RFC 6902) of whole fields of an object, and of its metadata."""
    found: list[dict[str, Any]] = []
    for parent, old, new in (("", before, after), ("/metadata", before["metadata"], after["metadata"])):
        for name in sorted(set(old) | set(new)):
            if (not parent and name == "metadata") or old.get(name) == new.get(name):
                continue
            step = {"op": "add", "value": new[name]} if name in new else {"op": "remove"}
            found.append({**step, "path": f"{parent}/{name}"})
    return found
