"""The status of a HyperJob, computed from the statuses of its Jobs.

Source: docs/reference/volcano-jobs.md, section 8.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.jobs.hyper_job.children import MEMBER_LABEL
from workbench.objects.fields import get_int, get_map, get_maps
from workbench.objects.hyper_job import HYPER_JOB_LABEL, ReplicatedJob
from workbench.objects.job_status import COUNTERS, read_job_status
from workbench.objects.metadata import Metadata, read_metadata

__all__ = ["hyper_job_status"]

_ENDED = ("Completed", "Failed", "Aborted", "Terminated")


def hyper_job_status(
    data: Mapping[str, Any], hyper_job: Metadata, members: Sequence[ReplicatedJob], jobs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The status of a HyperJob as written in its manifest; a status Completed or Failed stays as it is.

    `data`: the HyperJob's manifest. `jobs`: manifests of the Jobs in its namespace; those with its labels count,
    whoever controls them.
    """
    before = get_map(data, "status", "")
    conditions = [item for _, item in get_maps(before, "conditions", "status")]
    if any(one.get("type") in ("Completed", "Failed") and one.get("status") == "True" for one in conditions):
        return before
    split = sum(member.replicas for member in members)
    ends: Counter[str] = Counter()
    found = []
    for member in members:
        of_member: Counter[str] = Counter()
        states: dict[str, str] = {}
        for job in jobs:
            labels = (metadata := read_metadata(job, namespaced=True)).labels
            if labels.get(HYPER_JOB_LABEL) == hyper_job.name and labels.get(MEMBER_LABEL) == member.name:
                status = read_job_status(job)
                states[metadata.name] = status.phase
                of_member.update({name: getattr(status, name) for name in COUNTERS})
        ends.update(states.values())
        found.append({"name": member.name, "jobStates": states, **of_member})
    terminal = _terminal(ends, split) if members else None
    return {
        "conditions": [*conditions, *([terminal] if terminal else [])],
        "replicatedJobsStatus": found,
        "splitCount": split,
        "observedGeneration": get_int(get_map(data, "metadata", ""), "generation", "metadata") or 0,
    }


def _terminal(ends: Mapping[str, int], split: int) -> dict[str, str] | None:
    """The final condition when all expected Jobs have ended; None before that."""
    counts = [ends.get(phase, 0) for phase in _ENDED]
    if sum(counts) != split:
        return None
    if counts[0] == split:
        message = f"All {split} child vcJobs completed"
        return {"type": "Completed", "status": "True", "reason": "AllChildVCJobsCompleted", "message": message}
    listed = ", ".join(f"{count} {phase.lower()}" for phase, count in zip(_ENDED, counts, strict=True))
    message = f"Some child vcJobs did not complete: {listed}"
    return {"type": "Failed", "status": "True", "reason": "SomeChildVCJobsUnsuccessful", "message": message}
