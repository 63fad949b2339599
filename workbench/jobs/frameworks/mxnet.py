"""Job plugin mxnet: sets up the scheduler, servers and workers of MXNet's parameter server.

Volcano has no such plugin; the variables are those of the design document's table and of Volcano's example Job
(docs/reference/volcano-jobs.md, section 2.9; `DESIGN_ADDITIONS`).
"""

from __future__ import annotations

from workbench.jobs.frameworks.additions import DESIGN_ADDITIONS
from workbench.jobs.frameworks.contract import Object, Plugin, PluginCall
from workbench.jobs.frameworks.pod_edits import edit_containers, with_missing_env
from workbench.jobs.task_pods import domain_name, replicas_of_task, task_key, task_named, tasks_of
from workbench.objects.framework_flags import FRAMEWORK_FLAGS

__all__ = ["PLUGIN"]

_OURS = DESIGN_ADDITIONS["mxnet"]
_SCHEDULER, _SERVER, _WORKER, _PORT = _OURS.flags
_ROLES = (_SCHEDULER, _SERVER, _WORKER)
_ROOT_HOST, _ROOT_PORT, _SERVERS, _WORKERS, _ROLE, _KUBERNETES = _OURS.env


def _extend_pod(pod: Object, call: PluginCall) -> Object:
    """The pod with MXNet's environment variables, if it is a scheduler, server or worker.

    Existing variables are kept.
    """
    scheduler = task_named(call.job, call.text(_SCHEDULER))
    role = next((role for role in _ROLES if call.text(role) == task_key(pod)), None)
    if scheduler is None or role is None:
        return pod
    tasks = tasks_of(call.job)
    values = {
        _ROOT_HOST: domain_name(call.job, scheduler, 0),
        _ROOT_PORT: str(call.number(_PORT)),
        _SERVERS: str(replicas_of_task(tasks, call.text(_SERVER))),
        _WORKERS: str(replicas_of_task(tasks, call.text(_WORKER))),
        _ROLE: role,
        _KUBERNETES: "1",
    }
    return edit_containers(pod, lambda each: with_missing_env(each, values))


PLUGIN = Plugin("mxnet", FRAMEWORK_FLAGS["mxnet"], extend_pod=_extend_pod)
