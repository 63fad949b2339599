"""`job_notices`: what will go wrong with a Job that admission accepts, told before anybody submits it.

`unmet_dependency_of_job` tells whether the dependsOn of its tasks keeps a Job from ever starting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.errors import InputError
from workbench.jobs.frameworks.effects import may_have_notices, plugin_notices
from workbench.jobs.membership import role_of
from workbench.jobs.roles import Priorities, notes_about
from workbench.jobs.volcano_job import gang_of_job
from workbench.model.dependencies import unmet_dependency
from workbench.model.notice import Notice
from workbench.objects.admission import refusal_of
from workbench.objects.fields import get_map, group_kind
from workbench.objects.hyper_job import job_manifest, read_members
from workbench.objects.job import Job, read_job
from workbench.objects.metadata import read_metadata
from workbench.objects.pod import Pod, read_pod, read_template

__all__ = ["job_notices", "plugin_notices_of", "unmet_dependency_of_job", "unread_notices_of"]

#: Kinds of which a controller makes pods from one template.
_WITH_TEMPLATE = ("Deployment", "ReplicaSet", "StatefulSet")


def job_notices(manifest: Mapping[str, Any]) -> list[Notice]:
    """Notices about a Job, or the Jobs of a HyperJob, that is accepted and cannot run as written.

    `manifest`: a parsed object of any kind.

    Returns notices about dependsOn that keeps the Job from ever starting, and those of `plugin_notices`. Empty
    for other kinds, and for a Job that admission refuses.
    """
    found = []
    for path, job in _jobs(manifest):
        if _refused(job):
            continue
        why = unmet_dependency_of_job(read_job(job))
        notices = plugin_notices(job) if why is None else [replace(why, subject="spec.tasks"), *plugin_notices(job)]
        found += [replace(notice, subject=_within(path, notice.subject)) for notice in notices]
    return found


def plugin_notices_of(manifest: Mapping[str, Any]) -> list[Notice]:
    """The notices of `job_notices` that concern job plugins."""
    found = []
    for path, job in _jobs(manifest):
        if may_have_notices(job) and not _refused(job):
            found += [replace(notice, subject=_within(path, notice.subject)) for notice in plugin_notices(job)]
    return found


def unread_notices_of(manifest: Mapping[str, Any]) -> list[Notice]:
    """Notices about fields of the pods of an object that restrict the choice of nodes and are not modelled.

    `manifest`: a parsed object: a Pod, a Job or HyperJob, or an object with a pod template. Empty for other kinds.
    """
    kind = manifest.get("kind")
    if kind == "Pod":
        pod = read_pod(manifest)
        return notes_about([(pod.metadata.name, pod.spec)])
    if kind in _WITH_TEMPLATE:
        return notes_about([("pod", read_template(get_map(manifest, "spec", ""), "spec").spec)])
    tasks = [task for _, job in _jobs(manifest) for task in read_job(job).tasks]
    return notes_about((task.name, task.template.spec) for task in tasks)


def _jobs(manifest: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Path of the spec and manifest of each Job, one for each entry of a HyperJob."""
    kind = group_kind(manifest)
    if kind == ("batch.volcano.sh", "Job"):
        return [("spec", manifest)]
    if kind == ("training.volcano.sh", "HyperJob"):
        metadata = read_metadata(manifest, namespaced=True)
        return [
            (member.path, job_manifest(metadata, member, f"{metadata.name}-{member.name}-0"))
            for member in read_members(manifest)
        ]
    return []


def _refused(job: Mapping[str, Any]) -> bool:
    try:
        return bool(refusal_of(job))
    except InputError:
        return True


def _within(path: str, subject: str) -> str:
    return path + subject.removeprefix("spec")


def unmet_dependency_of_job(job: Job, pods: Sequence[Pod] = ()) -> Notice | None:
    """Notice that a Job can never start because of dependsOn (`unmet_dependency`); None if it can.

    `pods`: the Job's existing pods; empty for a Job that is not submitted yet.
    """
    if not any(task.depends_on for task in job.tasks):
        return None
    gang = gang_of_job(job, pods, None, Priorities({}))
    if gang is None:
        return None
    running = Counter(role_of(pod) for pod in pods if pod.runs)
    return unmet_dependency(gang, [role.count + role.succeeded + running[role.name] for role in gang.roles])
