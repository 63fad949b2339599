"""What job plugins of this project add to pods and Jobs beyond what Volcano's plugins of the same name do."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DESIGN_ADDITIONS", "Addition"]


@dataclass(frozen=True)
class Addition:
    """The names that one job plugin of this project adds and Volcano's does not; ``{job}`` stands for the Job's name.

    Attributes
    ----------
    flags : tuple of str
        Arguments that Volcano's plugin does not know.
    env : tuple of str
        Environment variables of containers.
    volumes, mounts, init_containers : tuple of str
        Volumes and init containers of pods; the paths on which the volumes are mounted in containers.
    config_maps : tuple of str
        Names of ConfigMaps that the Job owns.
    """

    flags: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    init_containers: tuple[str, ...] = ()
    config_maps: tuple[str, ...] = ()


#: By plugin (docs/decisions.md, decision 7). Without them a pod is exactly what upstream makes of it. Upstream has no
#: plugin mxnet at all and refuses a Job that names it.
DESIGN_ADDITIONS = {
    "pytorch": Addition(
        env=("PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE"),
    ),
    "mpi": Addition(
        flags=("slots", "wait-worker-image", "wait-worker-timeout"),
        env=("OMPI_MCA_orte_default_hostfile",),
        volumes=("{job}-mpi",),
        mounts=("/etc/mpi",),
        init_containers=("wait-for-workers",),
        config_maps=("{job}-mpi",),
    ),
    "mxnet": Addition(
        flags=("scheduler", "server", "worker", "port"),
        env=(
            "DMLC_PS_ROOT_URI",
            "DMLC_PS_ROOT_PORT",
            "DMLC_NUM_SERVER",
            "DMLC_NUM_WORKER",
            "DMLC_ROLE",
            "DMLC_USE_KUBERNETES",
        ),
    ),
}
