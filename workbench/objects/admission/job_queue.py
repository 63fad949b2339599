"""Checks of Volcano's webhooks on the queue that a new Job or PodGroup names."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.objects.admission.finding import Fault
from workbench.objects.admission.known import KnownQueue

__all__ = ["job_queue_findings"]

_PATH = "spec.queue"


def job_queue_findings(name: str, queues: Mapping[str, KnownQueue]) -> list[Fault]:
    """Violations concerning the queue `name` of a new Job; `queues` must contain all existing queues.

    Source: docs/reference/volcano-jobs.md, section 3.2.
    """
    queue = queues.get(name)
    if queue is None:
        missing = f'queue.scheduling.volcano.sh "{name}" not found'
        return [Fault(_PATH, f" unable to find job queue: {missing};")]
    found = []
    if queue.state != "Open":
        text = f" can only submit job to queue with state `Open`, queue `{name}` status is `{queue.state}`;"
        found.append(Fault(_PATH, text))
    children = sum(other.parent == name for other in queues.values())
    if name == "root":
        found.append(Fault(_PATH, " can not submit job to root queue;"))
    elif children:
        text = f" can only submit job to leaf queue, queue `{name}` has {children} child queues;"
        found.append(Fault(_PATH, text))
    return found
