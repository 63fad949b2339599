"""Job plugin mpi: tells the MPI master the hosts of its workers.

Volcano's part, ports and MPI_HOST, follows docs/reference/volcano-jobs.md, section 2.6. The design document adds the
host file with slots, the variable that names it and the init container that waits for the workers (`Addition`).
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.jobs.frameworks.contract import (
    Action,
    Object,
    Plugin,
    PluginCall,
    data_written,
    deleted_if_there,
    object_of_job,
)
from workbench.jobs.frameworks.pod_edits import (
    accelerators_of,
    config_map_volume,
    edit_containers,
    edit_init_containers,
    variable,
    with_env,
    with_init_container,
    with_missing_env,
    with_mount,
    with_port,
    with_volume,
)
from workbench.jobs.task_pods import hosts_of_task, name_of, task_key, task_named, template_spec_of
from workbench.objects.frameworks import FRAMEWORKS

__all__ = ["PLUGIN"]

_OURS = FRAMEWORKS["mpi"].additions
_FILE = "hostfile"

#: Asks each worker in turn, and all of them again after five seconds; the shell's own SECONDS is bash's alone.
_WAIT = """\
start=$(date +%s)
while true; do
  missing=
  for host in ${IP_LIST}; do
    if ! ping -c 1 -W 5 "${host}" >/dev/null 2>&1; then
      missing=${host}
      break
    fi
  done
  if [ -z "${missing}" ]; then
    exit 0
  fi
  if [ $(($(date +%s) - start)) -gt "${WAIT_TIMEOUT}" ]; then
    echo "${missing} did not answer within ${WAIT_TIMEOUT} seconds"
    exit 1
  fi
  sleep 5
done
"""


def _inject(pod: Object, call: PluginCall) -> Object:
    variables = []
    if task_key(pod) == call.text("master"):
        worker = task_named(call.job, call.text("worker"))
        if worker is None:
            return pod
        variables.append(variable("MPI_HOST", ",".join(hosts_of_task(call.job, worker))))

    def edit(container: Object) -> Object:
        container = with_port(container, "mpijob-port", call.number("port"))
        return with_env(container, variables) if variables else container

    return edit_containers(edit_init_containers(pod, edit), edit)


def _extend_pod(pod: Object, call: PluginCall) -> Object:
    """The pod with the MPI host file and, for the master, the init container; unchanged without workers."""
    worker = _worker(call)
    if worker is None:
        return pod
    name = _config_map_name(call)
    pod = with_volume(pod, config_map_volume(name))
    values, mount = {_OURS.env["host file"]: f"{_OURS.mount}/{_FILE}"}, {"name": name, "mountPath": _OURS.mount}
    pod = edit_containers(pod, lambda each: with_missing_env(with_mount(each, mount), values))
    return with_init_container(pod, _waiting(call, worker)) if task_key(pod) == call.text("master") else pod


def _waiting(call: PluginCall, worker: Object) -> Object:
    hosts = " ".join(hosts_of_task(call.job, worker))
    environment = [variable("IP_LIST", hosts), variable("WAIT_TIMEOUT", str(call.number("wait-worker-timeout")))]
    command = ["sh", "-c", _WAIT]
    return {
        "name": _OURS.init_container,
        "image": call.text("wait-worker-image"),
        "command": command,
        "env": environment,
    }


def _extend_job(call: PluginCall) -> Iterable[Action]:
    worker = _worker(call)
    if worker is None:
        return ()
    slots = call.number("slots")
    if slots < 1:
        slots = accelerators_of(template_spec_of(worker))
    data = {_FILE: "\n".join(f"{host} slots={slots}" for host in hosts_of_task(call.job, worker))}
    return data_written(call, object_of_job(call.job, "v1", "ConfigMap", _config_map_name(call), data=data))


def _on_delete(call: PluginCall) -> Iterable[Action]:
    return deleted_if_there(call, "ConfigMap", _config_map_name(call))


def _worker(call: PluginCall) -> Object | None:
    """The Job's worker task, an entry of spec.tasks; None if there is none or it has no replica."""
    worker = task_named(call.job, call.text("worker"))
    return worker if worker is not None and worker.get("replicas") else None


def _config_map_name(call: PluginCall) -> str:
    return _OURS.config_map.format(job=name_of(call.job))


PLUGIN = Plugin(
    "mpi", FRAMEWORKS["mpi"].flags, inject=_inject, extend_pod=_extend_pod, extend_job=_extend_job, on_delete=_on_delete
)
