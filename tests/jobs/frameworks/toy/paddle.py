"""Job plugin paddle: tells every pod the addresses of the trainers."""

from __future__ import annotations

from workbench.jobs.frameworks.contract import Object, Plugin, PluginCall
from workbench.jobs.frameworks.pod_edits import edit_containers, with_missing_env
from workbench.jobs.task_pods import hosts_of_task, task_named
from workbench.objects.frameworks import FRAMEWORKS

__all__ = ["PLUGIN"]

_PADDLE = FRAMEWORKS["paddle"]


def _extend_pod(pod: Object, call: PluginCall) -> Object:
    trainer = task_named(call.job, call.text("trainer"))
    if trainer is None:
        return pod
    hosts = ",".join(f"{host}:{call.number('port')}" for host in hosts_of_task(call.job, trainer))
    values = {_PADDLE.additions.env["endpoints"]: hosts}
    return edit_containers(pod, lambda each: with_missing_env(each, values))


PLUGIN = Plugin("paddle", _PADDLE.flags, extend_pod=_extend_pod)
