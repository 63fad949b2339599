"""`Writer`: requests to one API server that change objects; the operator, the kind helper and discovery make one."""

from __future__ import annotations

from typing import Any

import orjson

from workbench.errors import ClusterError, StoreError
from workbench.live.kubernetes.connection import Connection, Forbidden
from workbench.optional import optional

with optional("live"):
    import httpx

__all__ = ["JSON_PATCH", "MERGE_PATCH", "Writer"]

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

#: Reasons of an API server's Status that `StoreError.reason` takes over.
_REASONS = frozenset({"AlreadyExists", "NotFound", "Conflict", "Invalid"})


class Writer(Connection):
    """A connection to an API server by which objects are read and written. The parameters are those of `Connection`."""

    def _guarded(self, inner: httpx.BaseTransport) -> httpx.BaseTransport:
        return inner

    def write(self, method: str, path: str, body: Any, content_type: str = "application/json", **query: str) -> Any:
        """Send one change, and return the parsed answer.

        Raises StoreError: the API server or an admission webhook refuses the change. Raises ClusterError: no answer
        that can be used; whether the change took effect is unknown. `Forbidden` is told apart.

        `method`: {"POST", "PUT", "PATCH", "DELETE"}. `path`: absolute: ``/api/v1/namespaces/default/pods``. `body`:
        sent as JSON. `content_type`: that of the body; a PATCH says by it which kind of patch it is.
        """
        request = self._request(method, path, query, orjson.dumps(body), content_type)
        answer = self._answered(request)
        if 200 <= answer.status < 300:
            return self._judged(method, path, answer.status, answer.content)
        status = _status(answer.content)
        message = str(status.get("message") or "")
        if status.get("reason") in _REASONS:
            raise StoreError(str(status["reason"]), message)
        if message.startswith("admission webhook"):
            raise StoreError("Denied", message)
        if status.get("reason") == "Forbidden":
            raise Forbidden(f"{self._place}: {message}")
        if status.get("reason") == "BadRequest":
            raise StoreError("Invalid", message)
        if message:
            raise ClusterError(f"{self._place}: {method} {path}: {message}")
        return self._judged(method, path, answer.status, answer.content)


def _status(content: bytes) -> dict[str, Any]:
    """The Status object in an answer; empty where the answer is something else, such as plain text."""
    try:
        parsed = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return parsed if isinstance(parsed, dict) and parsed.get("kind") == "Status" else {}
