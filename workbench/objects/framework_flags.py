"""Flags of Volcano's framework plugins (such as pytorch and mpi), used by admission and by the plugins' models."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.objects.flags import PORTS, Flag

__all__ = ["FRAMEWORK_FLAGS"]

#: By plugin.
FRAMEWORK_FLAGS: Mapping[str, tuple[Flag, ...]] = {
    "mpi": (
        Flag("master", "master", "task of the master"),
        Flag("worker", "worker", "task of the workers"),
        Flag("port", 22, "port of sshd", PORTS),
        Flag("slots", 0, "slots of each worker in the host file; 0: its accelerators, at least 1", range(1 << 31)),
        Flag(
            "wait-worker-image",
            "busybox:1.36.1",
            "image of the init container in which the master waits for its workers",
        ),
        Flag("wait-worker-timeout", 300, "seconds that the master waits", range(1 << 31)),
    ),
    "pytorch": (
        Flag("master", "master", "task of the master"),
        Flag("worker", "worker", "task of the workers"),
        Flag("port", 23456, "port of the master", PORTS),
        Flag("wait-master-enabled", False, "workers wait until the master listens"),
        Flag("wait-master-timeout", 300, "seconds that a worker waits", range(1 << 31)),
        Flag("wait-master-image", "busybox:1.36.1", "image of the waiting init container"),
    ),
    "tensorflow": (
        Flag("ps", "ps", "task of the parameter servers"),
        Flag("worker", "worker", "task of the workers"),
        Flag("chief", "chief", "task of the chief"),
        Flag("evaluator", "evaluator", "task of the evaluators"),
        Flag("port", 2222, "port of every pod", PORTS),
    ),
    "ray": (
        Flag("head", "head", "task of the head"),
        Flag("headContainer", "head", "container of Ray in the head's pod"),
        Flag("worker", "worker", "task of the workers"),
        Flag("workerContainer", "worker", "container of Ray in a worker's pod"),
        Flag("port", 6379, "port of the global control store", PORTS),
        Flag("dashboardPort", 8265, "port of the dashboard", PORTS),
        Flag("clientPort", 10001, "port of the client server", PORTS),
    ),
    "mxnet": (
        Flag("scheduler", "scheduler", "task of the scheduler"),
        Flag("server", "server", "task of the parameter servers"),
        Flag("worker", "worker", "task of the workers"),
        Flag("port", 9000, "port of the scheduler", PORTS),
    ),
}
