"""`Read`, the result of every reader of a job log, and `make_gang`, which makes a gang of a row of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.model.counted import counted
from workbench.model.gang import Gang, Role, TopologyConstraint
from workbench.model.job_log import GPU, LoggedJob
from workbench.model.notice import Notice

__all__ = ["GPU", "Read", "left_out", "make_gang", "rounded_up"]


@dataclass
class Read:
    """Jobs in the order of the file, quotas by queue, and notices."""

    jobs: list[LoggedJob] = field(default_factory=list)
    quotas: dict[str, Mapping[str, int]] = field(default_factory=dict)
    notes: list[Notice] = field(default_factory=list)


def left_out(no_gpus: int, no_times: int) -> list[Notice]:
    """The notices that jobs of a log were left out; nothing if there were none.

    `no_gpus`: number of jobs that ask for no GPU. `no_times`: number of jobs without a start or an end.
    """
    found = []
    if no_gpus:
        text = f"{counted(no_gpus, 'job')} without GPUs left out"
        found.append(Notice("jobs-without-gpus", text, numbers={"count": no_gpus}))
    if no_times:
        text = f"{counted(no_times, 'job')} without a start or an end left out"
        found.append(Notice("jobs-without-times", text, numbers={"count": no_times}))
    return found


def rounded_up(uneven: int) -> list[Notice]:
    """The notice that the GPUs of `uneven` jobs do not divide over their nodes; nothing if there are none."""
    if not uneven:
        return []
    text = f"{counted(uneven, 'job')} whose GPUs do not divide over the nodes: rounded up on each"
    return [Notice("gpus-rounded-up", text, numbers={"count": uneven})]


def make_gang(
    name: str,
    pods: int,
    requests: Mapping[str, int],
    *,
    queue: str = "default",
    priority: int = 0,
    min_available: int | None = None,
    constraint: TopologyConstraint | None = None,
) -> Gang:
    """Make a gang of equal pods with one container each.

    `requests`: requests of each pod, base units; zeros are left out. `queue`, `priority`, `constraint`: as in `Gang`.
    `min_available`: None: all pods.
    """
    asked = {key: amount for key, amount in requests.items() if amount}
    role = Role("worker", pods, asked, (asked[GPU],) if GPU in asked else ())
    needed = pods if min_available is None else min_available
    return Gang("default", name, (role,), needed, constraint=constraint, queue=queue, priority=priority)
