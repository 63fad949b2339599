"""`Lease`: by a Lease object one of several operators is chosen, as Kubernetes' own controllers do it."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from workbench.cancel.progress import LOG
from workbench.control.kinds import Ref, api_path
from workbench.errors import ClusterError, InputError, StoreError, WorkbenchError
from workbench.live.kubernetes.connection import NoSuchApi
from workbench.live.kubernetes.writer import Writer
from workbench.live.threads import within

__all__ = ["Lease"]

#: Seconds after which a holder that does not renew counts as gone, seconds without renewal after which a holder stops
#: by itself, and seconds between two tries: the values of Kubernetes' controllers.
DURATION_S, RENEW_DEADLINE_S, RETRY_S = 15.0, 10.0, 2.0

#: Seconds that a renewal may take: one that hangs leaves time for another one, by a connection that may be better.
_REQUEST_S = 4.0

T = TypeVar("T")


class _Work(Protocol):
    """What only the holder of the Lease does: `workbench.live.kubernetes.loop.Loop`."""

    stopped: threading.Event

    def start(self) -> None:
        """Begin."""

    def run(self) -> None:
        """Work until stopped."""

    def stop(self) -> None:
        """Let `run` return."""

    def close(self) -> None:
        """Give up what `start` has taken."""


class Lease:
    """One Lease object, and this process as a candidate for it.

    `identity`: name of this candidate; None: host name, process number and a random part. Clocks of several machines
    are not compared: a holder counts as gone when its record has not changed for `DURATION_S` seconds of the observer's
    own clock. A holder counts from before its request was sent, stops `RENEW_DEADLINE_S` seconds after that whether or
    not an answer has come, and ends its own requests then.
    """

    # `hold` is the whole life: `acquire` until it is ours, the work beside `_keep`, which renews it, and `release`.
    # `_spec` is what is written into the object.

    def __init__(self, namespace: str, name: str, identity: str | None = None) -> None:
        self.key = Ref("Lease", namespace, name)
        self.identity = identity or f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"
        self._seen: tuple[str, float] = ("", 0.0)

    @classmethod
    def named(cls, text: str) -> Lease:
        """The Lease of a text ``NAMESPACE/NAME``; `InputError` for any other text."""
        namespace, slash, name = text.partition("/")
        if not slash or not namespace or not name or "/" in name:
            raise InputError("not a Lease", source="--lease", got=repr(text), expected="NAMESPACE/NAME")
        return cls(namespace, name)

    def hold(self, connection: Writer, work: _Work, tell: Callable[[str], object] = lambda _: None) -> None:
        """Wait for the Lease, do the work while holding it, and release it.

        Raises ClusterError: the Lease was lost, because the API server did not answer in time or another process took
        it.

        `connection`: used for nothing but the Lease. `work`: started once the Lease is held; stopped when it is lost.
        `tell`: called with a line of text when this process waits and when it begins.
        """
        told = ""
        while not work.stopped.is_set():
            begun = time.monotonic()
            holder = _in_time(RENEW_DEADLINE_S, connection, lambda: self.acquire(connection))
            if holder == self.identity:
                break
            if holder != told:
                waits = f"waits: {holder} holds the Lease {self.key.namespace}/{self.key.name}"
                LOG.info(waits)
                tell(waits)
                told = holder
            work.stopped.wait(RETRY_S)
        if work.stopped.is_set():
            return
        holds = f"{self.identity} holds the Lease {self.key.namespace}/{self.key.name}"
        LOG.info(holds)
        tell(holds)
        lost: list[str] = []
        ended = threading.Event()
        keep = (connection, work, begun, ended, lost)
        keeper = threading.Thread(target=self._keep, args=keep, name="lease", daemon=True)
        keeper.start()
        try:
            work.start()
            work.run()
        finally:
            ended.set()
            keeper.join()
            work.close()
            if not lost:
                self.release(connection)
        if lost:
            raise ClusterError(f"the Lease {self.key.namespace}/{self.key.name} was lost: {lost[0]}")

    def acquire(self, connection: Writer) -> str:
        """Try to take or renew the Lease; returns the identity of its holder afterwards."""
        try:
            lease: dict[str, Any] | None = connection.get_object(api_path(*self.key))
        except NoSuchApi:
            lease = None
        spec = self._spec(lease)
        try:
            if lease is None:
                metadata = {"namespace": self.key.namespace, "name": self.key.name}
                data = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
                connection.write("POST", api_path(self.key.kind, self.key.namespace), data)
                return self.identity
            holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
            record = f"{holder} {(lease.get('spec') or {}).get('renewTime')}"
            if record != self._seen[0]:
                self._seen = record, time.monotonic()
            if holder not in ("", self.identity) and time.monotonic() - self._seen[1] < DURATION_S:
                return holder
            connection.write("PUT", api_path(*self.key), {**lease, "spec": spec})
        except StoreError as error:
            if error.reason not in ("Conflict", "AlreadyExists"):
                raise
            return "another candidate"
        return self.identity

    def release(self, connection: Writer) -> None:
        """Give the Lease back, so that the next candidate need not wait for its end."""

        def give_back() -> None:
            lease = connection.get_object(api_path(*self.key))
            if (lease.get("spec") or {}).get("holderIdentity") == self.identity:
                lease["spec"] = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
                connection.write("PUT", api_path(*self.key), lease)

        try:
            _in_time(_REQUEST_S, connection, give_back)
        except ClusterError:
            # It ends by itself.
            return

    def _keep(self, connection: Writer, work: _Work, renewed: float, ended: threading.Event, lost: list[str]) -> None:
        """Renew the Lease until the work has ended; stop the work by the clock when that fails for too long."""
        why = ""
        while not ended.wait(max(0.0, min(RETRY_S, renewed + RENEW_DEADLINE_S - time.monotonic()))):
            begun = time.monotonic()
            left = renewed + RENEW_DEADLINE_S - begun
            if left <= 0:
                lost.append(why or "it was not renewed")
                work.stop()
                # The step at hand may be long, or hang: from here on it can write nothing.
                work.close()
                return
            try:
                holder = _in_time(min(left, _REQUEST_S), connection, lambda: self.acquire(connection))
                if holder == self.identity:
                    renewed = begun
                else:
                    why = f"{holder} holds it"
            except Exception as error:
                # A try that the deadline cuts short says less than what is known already.
                if not why or time.monotonic() < renewed + RENEW_DEADLINE_S:
                    why = str(error) if isinstance(error, WorkbenchError) else f"internal error: {type(error).__name__}"

    def _spec(self, lease: dict[str, Any] | None) -> dict[str, Any]:
        before = {} if lease is None else lease.get("spec") or {}
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        same = before.get("holderIdentity") == self.identity
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(DURATION_S),
            "acquireTime": before.get("acquireTime", now) if same else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (lease is not None and not same),
        }


def _in_time(timeout_s: float, connection: Writer, ask: Callable[[], T]) -> T:
    """The result of some requests about the Lease, which must not outlast a deadline."""
    try:
        return within(timeout_s, ask, "lease-request", connection.interrupt)
    except TimeoutError:
        raise ClusterError(f"no answer within {timeout_s:.0f} s") from None
