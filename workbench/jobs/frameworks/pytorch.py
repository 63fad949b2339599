"""Job plugin pytorch: sets the variables for torch.distributed's rendezvous and makes workers wait for the master.

Volcano's variables follow docs/reference/volcano-jobs.md, section 2.5; the variables ``PET_*``, which
``torch.distributed.run`` reads, follow the design document's table (`Addition`).
"""

from __future__ import annotations

from workbench.jobs.frameworks.contract import Object, Plugin, PluginCall
from workbench.jobs.frameworks.pod_edits import (
    accelerators_of,
    edit_containers,
    variable,
    with_env,
    with_init_container,
    with_missing_env,
    with_port,
)
from workbench.jobs.task_pods import domain_name, number_in_name, spec_of, task_key, task_named, tasks_of
from workbench.objects.frameworks import FRAMEWORKS

__all__ = ["PLUGIN"]

_OURS = FRAMEWORKS["pytorch"].additions.env
#: Variables of torch.distributed.run, by what they tell, that repeat one of upstream's.
_OF_UPSTREAM = {"address": "MASTER_ADDR", "port": "MASTER_PORT", "nodes": "WORLD_SIZE", "rank": "RANK"}

#: A try every two seconds, by netcat or by bash where there is no netcat.
_WAIT = """\
echo "waiting for {host}:{port}"
start=$(date +%s)
until nc -z {host} {port} 2>/dev/null || (exec 3<>/dev/tcp/{host}/{port}) 2>/dev/null; do
  if [ $(($(date +%s) - start)) -ge {timeout} ]; then
    echo "{host}:{port} did not listen within {timeout} seconds"
    exit 1
  fi
  sleep 2
done
echo "{host}:{port} is ready"
"""


def _inject(pod: Object, call: PluginCall) -> Object:
    rendezvous = _rendezvous(pod, call)
    if not rendezvous:
        return pod
    if task_key(pod) == call.text("worker") and call.on("wait-master-enabled"):
        pod = with_init_container(pod, _waiting(call, rendezvous["MASTER_ADDR"]))
    variables = [variable(name, value) for name, value in rendezvous.items()]
    port = call.number("port")
    return edit_containers(pod, lambda each: with_env(with_port(each, "pytorchjob-port", port), variables))


def _rendezvous(pod: Object, call: PluginCall) -> dict[str, str]:
    """Environment variables that Volcano's plugin sets on a pod for torch.distributed.

    Empty if the Job has no master task; without a rank if the pod's task is neither master nor worker.
    """
    master = task_named(call.job, call.text("master"))
    if master is None:
        return {}
    roles = (call.text("master"), call.text("worker"))
    size = sum(task.get("replicas") or 0 for task in tasks_of(call.job) if (task.get("name") or "") in roles)
    found = {"MASTER_ADDR": domain_name(call.job, master, 0), "MASTER_PORT": str(call.number("port"))}
    found["WORLD_SIZE"] = str(size)
    if task_key(pod) in roles:
        found["RANK"] = "0" if task_key(pod) == roles[0] else str(number_in_name(pod) + 1)
    return found


def _waiting(call: PluginCall, host: str) -> Object:
    script = _WAIT.format(host=host, port=call.number("port"), timeout=call.number("wait-master-timeout"))
    return {"name": "wait-for-master", "image": call.text("wait-master-image"), "command": ["sh", "-c", script]}


def _extend_pod(pod: Object, call: PluginCall) -> Object:
    """The pod with the variables of torch.distributed.run that its containers do not have yet."""
    rendezvous = _rendezvous(pod, call)
    if not rendezvous:
        return pod
    values = {_OURS[own]: rendezvous[upstream] for own, upstream in _OF_UPSTREAM.items() if upstream in rendezvous}
    values[_OURS["processes"]] = str(accelerators_of(spec_of(pod)))
    return edit_containers(pod, lambda each: with_missing_env(each, values))


PLUGIN = Plugin("pytorch", FRAMEWORKS["pytorch"].flags, inject=_inject, extend_pod=_extend_pod)
