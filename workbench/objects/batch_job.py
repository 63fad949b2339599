"""`BatchJob`: the Job of Kubernetes (batch/v1), read from a manifest; a JobSet has its `JobSpec` in templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.model.notice import Notice
from workbench.objects.fields import child, get_bool, get_map, get_text, wrong
from workbench.objects.pod import PodTemplate
from workbench.objects.top_owner import OwnedPods, TopOwner, get_pods, has_condition, owner_metadata, read_role_template

__all__ = ["BatchJob", "JobSpec", "read_batch_job", "read_job_spec"]

_MODES = ("Indexed", "NonIndexed")


@dataclass(frozen=True)
class JobSpec:
    """The spec of a Job of Kubernetes.

    `parallelism`: pods that run at a time. `completions`: pods that must succeed; None: one that succeeds is enough,
    and no pod is made after it. `indexed`: each pod has one of the indices from 0 to `completions` - 1 (completionMode
    Indexed).
    """

    parallelism: int
    completions: int | None
    indexed: bool
    template: PodTemplate

    @property
    def pods(self) -> int:
        """Pods that run at a time at the beginning: no more than there are completions."""
        return self.parallelism if self.completions is None else min(self.parallelism, self.completions)


@dataclass(frozen=True)
class BatchJob(TopOwner):
    """A Job of Kubernetes as read from a manifest. `succeeded`: pods that have succeeded according to its status."""

    spec: JobSpec
    succeeded: int

    @property
    def pods(self) -> tuple[OwnedPods, ...]:
        return (OwnedPods("main", self.spec.pods, self.spec.template, "parallelism"),)


def read_job_spec(spec: Mapping[str, Any], where: str, notes: list[Notice]) -> JobSpec:
    """Read the spec of a Job of Kubernetes; parallelism is 1 if absent.

    Raises InputError: a field of the wrong type, a negative number, an unknown completion mode, or an indexed Job
    without completions.

    `where`: path of `spec`. `notes`: receives a notice about a template without containers.
    """
    mode = get_text(spec, "completionMode", where) or "NonIndexed"
    if mode not in _MODES:
        raise wrong(child(where, "completionMode"), mode, " or ".join(_MODES))
    parallelism = get_pods(spec, "parallelism", where, default=1)
    completions = None
    if spec.get("completions") is not None:
        completions = get_pods(spec, "completions", where, default=1)
    elif spec.get("parallelism") is None:
        # The API server fills in 1 where both are absent.
        completions = 1
    if completions is None and mode == "Indexed":
        text = "an Indexed Job needs the number of its indices"
        raise InputError(text, where=child(where, "completions"), got="nothing", expected="a number of pods")
    return JobSpec(parallelism, completions, mode == "Indexed", read_role_template(spec, where, notes))


def read_batch_job(data: Mapping[str, Any]) -> BatchJob:
    """Read a Job of Kubernetes from a parsed manifest. Raises InputError: as `read_job_spec`."""
    notes: list[Notice] = []
    spec, status = get_map(data, "spec", ""), get_map(data, "status", "")
    metadata = owner_metadata(data, notes)
    return BatchJob(
        metadata=metadata,
        kind="BatchJob",
        suspended=get_bool(spec, "suspend", "spec"),
        finished=has_condition(data, ("Complete", "SuccessCriteriaMet", "Failed", "FailureTarget")),
        spec=read_job_spec(spec, "spec", notes),
        succeeded=get_pods(status, "succeeded", "status", default=0),
        notes=tuple(notes),
    )
