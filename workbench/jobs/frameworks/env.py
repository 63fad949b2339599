"""Job plugin env: sets environment variables that tell each container the index of its pod in the task.

Source: docs/reference/volcano-jobs.md, section 2.1.
"""

from __future__ import annotations

from workbench.jobs.frameworks.contract import Object, Plugin, PluginCall
from workbench.jobs.frameworks.pod_edits import edit_containers, edit_init_containers, variable, with_env
from workbench.jobs.task_pods import index_in_name

__all__ = ["PLUGIN"]

_NAMES = ("VK_TASK_INDEX", "VC_TASK_INDEX")


def _inject(pod: Object, call: PluginCall) -> Object:
    index = index_in_name(pod)
    variables = [variable(name, index) for name in _NAMES]
    pod = edit_containers(pod, lambda container: with_env(container, variables))
    return edit_init_containers(pod, lambda container: with_env(container, variables))


PLUGIN = Plugin("env", inject=_inject)
