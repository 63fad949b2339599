"""The training frameworks that have a job plugin, each declared once: flags, leading task, needs, and our additions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.objects.flags import PORTS, Flag

__all__ = ["FRAMEWORKS", "Addition", "Framework"]


@dataclass(frozen=True)
class Addition:
    """The names that one job plugin of this project adds and Volcano's does not; ``{job}`` stands for the Job's name.

    `flags`: arguments that Volcano's plugin does not know. `env`: environment variables of containers, by what they
    tell. `volume`, `mount`, `init_container`: volume and init container of a pod, and the path on which the volume is
    mounted in containers; empty: none. `config_map`: name of the ConfigMap that the Job owns; empty: none.
    """

    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    volume: str = ""
    mount: str = ""
    init_container: str = ""
    config_map: str = ""


@dataclass(frozen=True)
class Framework:
    """What is known of one framework's job plugin, whatever its pods become.

    Attributes
    ----------
    flags : tuple of Flag
        Arguments of the plugin; the meaning of one that names a task begins with "task of".
    leader : str
        The flag that names the task that leads the framework.
    in_volcano : bool
        Whether Volcano has the plugin; it refuses a Job that names another one.
    needs_keys : bool
        Whether admission adds the plugin ssh; it adds svc for every framework.
    is_label : bool
        Whether the plugin tells the training framework of a job without the label ``framework``.
    additions : Addition
        What the plugin of this project adds to upstream's (docs/decisions.md, decision 7). Without these names a pod is
        exactly what upstream makes of it.
    """

    flags: tuple[Flag, ...]
    leader: str
    in_volcano: bool = True
    needs_keys: bool = False
    is_label: bool = False
    additions: Addition = Addition()


#: By plugin. Of several plugins of one Job, the first tells the framework of the job.
FRAMEWORKS: Mapping[str, Framework] = {
    "pytorch": Framework(
        flags=(
            Flag("master", "master", "task of the master"),
            Flag("worker", "worker", "task of the workers"),
            Flag("port", 23456, "port of the master", PORTS),
            Flag("wait-master-enabled", False, "workers wait until the master listens"),
            Flag("wait-master-timeout", 300, "seconds that a worker waits", range(1 << 31)),
            Flag("wait-master-image", "busybox:1.36.1", "image of the waiting init container"),
        ),
        leader="master",
        is_label=True,
        additions=Addition(
            env={
                "address": "PET_MASTER_ADDR",
                "port": "PET_MASTER_PORT",
                "nodes": "PET_NNODES",
                "rank": "PET_NODE_RANK",
                "processes": "PET_NPROC_PER_NODE",
            },
        ),
    ),
    "tensorflow": Framework(
        flags=(
            Flag("ps", "ps", "task of the parameter servers"),
            Flag("worker", "worker", "task of the workers"),
            Flag("chief", "chief", "task of the chief"),
            Flag("evaluator", "evaluator", "task of the evaluators"),
            Flag("port", 2222, "port of every pod", PORTS),
        ),
        leader="chief",
        is_label=True,
    ),
    "mxnet": Framework(
        flags=(
            Flag("scheduler", "scheduler", "task of the scheduler"),
            Flag("server", "server", "task of the parameter servers"),
            Flag("worker", "worker", "task of the workers"),
            Flag("port", 9000, "port of the scheduler", PORTS),
        ),
        leader="scheduler",
        in_volcano=False,
        is_label=True,
        additions=Addition(
            flags=("scheduler", "server", "worker", "port"),
            env={
                "host": "DMLC_PS_ROOT_URI",
                "port": "DMLC_PS_ROOT_PORT",
                "servers": "DMLC_NUM_SERVER",
                "workers": "DMLC_NUM_WORKER",
                "role": "DMLC_ROLE",
                "kubernetes": "DMLC_USE_KUBERNETES",
            },
        ),
    ),
    "mpi": Framework(
        flags=(
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
        leader="master",
        needs_keys=True,
        is_label=True,
        additions=Addition(
            flags=("slots", "wait-worker-image", "wait-worker-timeout"),
            env={"host file": "OMPI_MCA_orte_default_hostfile"},
            volume="{job}-mpi",
            mount="/etc/mpi",
            init_container="wait-for-workers",
            config_map="{job}-mpi",
        ),
    ),
    "ray": Framework(
        flags=(
            Flag("head", "head", "task of the head"),
            Flag("headContainer", "head", "container of Ray in the head's pod"),
            Flag("worker", "worker", "task of the workers"),
            Flag("workerContainer", "worker", "container of Ray in a worker's pod"),
            Flag("port", 6379, "port of the global control store", PORTS),
            Flag("dashboardPort", 8265, "port of the dashboard", PORTS),
            Flag("clientPort", 10001, "port of the client server", PORTS),
        ),
        leader="head",
    ),
}
