"""Job plugin mxnet: sets up the scheduler, servers and workers of MXNet's parameter server.

Volcano has no such plugin; the variables are those of the design document's table and of Volcano's example Job
(docs/reference/volcano-jobs.md, section 2.9; `Addition`).
"""

from __future__ import annotations

from workbench.jobs.frameworks.contract import Object, Plugin, PluginCall
from workbench.jobs.frameworks.pod_edits import edit_containers, with_missing_env
from workbench.jobs.task_pods import domain_name, replicas_of_task, task_key, task_named, tasks_of
from workbench.objects.frameworks import FRAMEWORKS

__all__ = ["PLUGIN"]

_ENV = FRAMEWORKS["mxnet"].additions.env
_ROLES = ("scheduler", "server", "worker")


def _extend_pod(pod: Object, call: PluginCall) -> Object:
    """The pod with MXNet's environment variables, if it is a scheduler, server or worker.

    Existing variables are kept.
    """
    scheduler = task_named(call.job, call.text("scheduler"))
    role = next((role for role in _ROLES if call.text(role) == task_key(pod)), None)
    if scheduler is None or role is None:
        return pod
    tasks = tasks_of(call.job)
    values = {
        _ENV["host"]: domain_name(call.job, scheduler, 0),
        _ENV["port"]: str(call.number("port")),
        _ENV["servers"]: str(replicas_of_task(tasks, call.text("server"))),
        _ENV["workers"]: str(replicas_of_task(tasks, call.text("worker"))),
        _ENV["role"]: role,
        _ENV["kubernetes"]: "1",
    }
    return edit_containers(pod, lambda each: with_missing_env(each, values))


PLUGIN = Plugin("mxnet", FRAMEWORKS["mxnet"].flags, extend_pod=_extend_pod)
