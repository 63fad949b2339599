"""`connected`: a client of a Dask scheduler, one of this machine that ends with the work, or one at an address.

Local schedulers and workers listen on the loopback address only, encrypted and with a key that exists for one call, so
that other users of the machine cannot give them work.
"""

from __future__ import annotations

import logging
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from workbench.errors import ClusterError, InputError
from workbench.optional import optional

__all__ = ["check_connection", "connected", "cores", "local_cluster"]

_LOOPBACK = "127.0.0.1"
#: Seconds within which a scheduler has to answer, and then to have a worker.
_ANSWER_S = 10
_WORKER_S = 60
#: Most worker processes per core: with many more, none of them starts in time.
_PER_CORE = 4

_ADDRESS = r"((tcp|tls|ws|wss)://)?(\[[^\[\]\s]+\]|[^\[\]:/\s]+):(?P<port>[0-9]{1,5})"
#: Scheme of a scheduler in this process, which has no port.
_SAME_PROCESS = "inproc://"
_ENCRYPTED = ("tls://", "wss://")


#: Settings of Dask for clusters of ours: nobody looks at a profile of the workers or at how late their event loops are,
#: and both cost processor time as long as a cluster lives.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1 hour",
    # Pages of plain http, open to every user of the machine, which show even the code that runs.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


def check_connection(address: str | None, workers: int | None) -> None:
    """Check what `connected` takes, before any work is done.

    Raises InputError: an address of another form; `workers` beside an address, below 1, or more than four per core.

    `address`: SCHEME://HOST:PORT; without a scheme it is TCP, as Dask has it.
    """
    most = _PER_CORE * cores()
    if workers is not None and (address is not None or not 1 <= workers <= most):
        where = "workers" if address is None else "workers, with the address of a scheduler"
        expected = f"1 to {most}, {_PER_CORE} per core of this machine, without an address"
        raise InputError("workers cannot be set so", source=where, got=str(workers), expected=expected)
    if address is None or address.startswith(_SAME_PROCESS):
        return
    form = re.fullmatch(_ADDRESS, address)
    if form is None or not 0 < int(form["port"]) < 1 << 16:
        expected = "tcp://HOST:PORT, such as tcp://10.0.0.1:8786; or tls, ws or wss instead of tcp"
        raise InputError("not the address of a scheduler", source="scheduler", got=repr(address), expected=expected)


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Context manager that yields a `distributed.Client` with at least one worker.

    `address`: address of a scheduler, as `check_connection` accepts it; None: a cluster on this machine that ends with
    the context. `workers`: worker processes on this machine; None: one per core. Raises InputError: no TLS certificates
    for an address of TLS; ClusterError: no scheduler at the address, or it has no worker.
    """
    if address is None:
        with local_cluster(workers or cores()) as cluster, _client(cluster) as client:
            yield client
        return
    with _client(address) as client:
        try:
            client.wait_for_workers(1, timeout=_WORKER_S)
        except TimeoutError:
            raise ClusterError(f"{address}: the scheduler has no worker (waited {_WORKER_S} s)") from None
        yield client


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """Context manager that yields a `distributed.LocalCluster` of worker processes with one thread each.

    Raises ClusterError: the worker processes could not be started.

    `workers`: 1 or more.
    """
    with optional("study"):
        import dask
        from distributed import LocalCluster

    with _no_interrupt(), _started(), dask.config.set(_QUIET):
        cluster = LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=_LOOPBACK,
            protocol="tls://",
            security=True,
            dashboard_address=f"{_LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL + 1,
        )
    try:
        yield cluster
    finally:
        cluster.close()


@contextmanager
def _started() -> Iterator[None]:
    """Context manager that replaces the error of worker processes that did not start by one line.

    A process that is being started imports the script that started it; without the usual guard the script would start
    processes again, which Python refuses.
    """
    try:
        yield
    except RuntimeError as error:
        remedy = "in a script, put the call below: if __name__ == '__main__':"
        raise ClusterError(f"worker processes could not be started ({error}); {remedy}") from error


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Context manager in which new threads and processes ignore Ctrl-C, so that workers print no tracebacks.

    Ctrl-C meanwhile takes effect at the end. The parent alone hears of it, and ends its workers.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Begun later, by the thread that starts the first worker, it would let that thread hear of Ctrl-C again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _client(of: Any) -> Iterator[Any]:
    with optional("study"):
        from distributed import Client
        from distributed.security import Security

    # A client that cannot begin to connect stays half-built; 20 s later its destructor prints a traceback.
    if isinstance(of, str) and of.startswith(_ENCRYPTED):
        known = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
        if known.get("ssl_context") is None:
            expected = "distributed.comm.tls in Dask's configuration: ca-file, client.cert and client.key"
            raise InputError("no certificates for TLS", source="scheduler", got=of, expected=expected)
    try:
        client = Client(of, timeout=_ANSWER_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise ClusterError(f"{of}: no Dask scheduler answers: {error}") from None
    with client:
        yield client
