"""`AdmissionServer`: Volcano's admission as an HTTPS server that a Kubernetes API server asks (AdmissionReview v1)."""

from __future__ import annotations

import base64
import ssl
import threading
from collections.abc import Collection, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import orjson

from workbench.control.admission import Webhooks
from workbench.control.memory_store import MemoryStore
from workbench.control.store import Object
from workbench.control.visible_devices import with_device_variables
from workbench.errors import ClusterError, StoreError
from workbench.live.kubernetes.connection import Connection
from workbench.live.kubernetes.mirror import Mirror

__all__ = ["AdmissionServer", "webhook_configurations"]

#: What admission has to know beside the object at hand.
_KINDS = ("Namespace", "Queue", "HyperNode")

#: An object of Kubernetes has at most 3 MiB, and a review holds it twice.
_MAX_BYTES = 8 << 20

_ADMITTED = {
    "jobs": "batch.volcano.sh",
    "podgroups": "scheduling.volcano.sh",
    "queues": "scheduling.volcano.sh",
    "hypernodes": "topology.volcano.sh",
    "hyperjobs": "training.volcano.sh",
}


class AdmissionServer:
    """Answers the questions of an API server about new and changed objects.

    Parameters
    ----------
    connection : Connection
        By which queues, namespaces and HyperNodes are read and followed.
    schedulers : collection of str
        Pods with one of these values of schedulerName get the variables of their GPUs.
    host : str
    port : int
        0: a free one.
    certificate, key : Path
        PEM files.
    """

    def __init__(
        self, connection: Connection, schedulers: Collection[str], host: str, port: int, certificate: Path, key: Path
    ) -> None:
        self._mirror = Mirror(connection, _KINDS)
        self._schedulers = frozenset(schedulers)
        self._lock = threading.Lock()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(certificate, key)
            self._http = ThreadingHTTPServer((host, port), self._handler())
        except OSError as error:
            raise ClusterError(f"admission server at {host}:{port}: {error.strerror or error}") from None
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
        self._http.daemon_threads = True

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

        Parameters
        ----------
        request : mapping
            Its uid, operation, object and oldObject.

        Returns
        -------
        dict
            Whether the object is allowed, a JSON patch that fills in defaults, warnings, or the reason of the refusal.
        """
        answer: dict[str, Any] = {"uid": request.get("uid"), "allowed": True}
        data, before = request.get("object"), request.get("oldObject")
        if request.get("operation") not in ("CREATE", "UPDATE") or not isinstance(data, dict):
            return answer
        data = _named(data, request)
        webhooks = Webhooks()
        try:
            with self._lock:
                self._mirror.watch(self._mirror.version)
                self._mirror.forget(self._mirror.version)
                # Admission reads no more of a store than a mirror has.
                store = cast("MemoryStore", self._mirror)
                admitted = webhooks(store, _named(before, request) if before else None, data)
        except StoreError as error:
            code = 422 if error.reason == "Invalid" else 403
            return {**answer, "allowed": False, "status": {"code": code, "message": str(error)}}
        if data.get("kind") == "Pod" and not before and data["spec"].get("schedulerName") in self._schedulers:
            admitted = with_device_variables(admitted)
        warnings = [notice.message for _, notice in webhooks.warnings]
        if warnings:
            answer["warnings"] = warnings
        patch = _patch(data, admitted)
        if patch:
            answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(patch)).decode()}
        return answer

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        review = self.review

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_GET(self) -> None:
                self._answer(200, b"ok", "text/plain")

            def do_POST(self) -> None:
                length = self.headers.get("Content-Length", "")
                if not length.isdigit() or int(length) > _MAX_BYTES:
                    self.close_connection = True
                    self._answer(413, b"too large, or without a length", "text/plain")
                    return
                try:
                    asked = orjson.loads(self.rfile.read(int(length)))
                    request = asked["request"]
                    response = review(request)
                except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
                    self._answer(400, b"no AdmissionReview", "text/plain")
                    return
                body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
                self._answer(200, orjson.dumps(body), "application/json")

            def _answer(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Nothing: what is refused the API server tells to whom it concerns."""

        return Handler


def webhook_configurations(
    client: Mapping[str, Any], ca: bytes, schedulers: Collection[str], name: str = "topology-workbench"
) -> list[dict[str, Any]]:
    """The objects by which an API server asks an `AdmissionServer`.

    Parameters
    ----------
    client : mapping
        Where the server is: ``{"url": "https://…"}``, or ``{"service": {"namespace": …, "name": …}}``.
    ca : bytes
        PEM of the authority of its certificate.
    schedulers : collection of str
        Pods with one of these values of schedulerName are sent there; other pods are created without it.
    name : str
        Of the objects.

    Returns
    -------
    list of dict
        A MutatingWebhookConfiguration: one call both refuses and fills in defaults.
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
    metadata = dict(data.get("metadata") or {})
    for field in ("namespace", "name"):
        if request.get(field) and not metadata.get(field):
            metadata[field] = request[field]
    return {**data, "metadata": metadata}


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
