"""`JobLabels`: switch-affinity class, training framework and PodGroup phase of each pending or running job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from workbench.jobs.membership import Membership
from workbench.jobs.owned.rules import pod_group_of, pods_by_gang
from workbench.jobs.roles import JOB_CLASS_LABEL
from workbench.jobs.top_owners import is_owned, outermost
from workbench.model.extras import AscendWish
from workbench.model.gang import Gang
from workbench.objects.frameworks import FRAMEWORKS
from workbench.objects.kinds import ClusterObjects
from workbench.objects.pod import Pod

__all__ = ["JobLabels", "completed", "read_job_labels"]

#: Training framework of a job (MindCluster documents, job label).
FRAMEWORK_LABEL = "framework"

#: Job plugins of Volcano that are training frameworks; of several the first counts.
FRAMEWORK_PLUGINS = tuple(name for name, framework in FRAMEWORKS.items() if framework.is_label)


@dataclass(frozen=True)
class JobLabels:
    """Labels and PodGroup phase that hold for one job as a whole.

    `job_class`: value of the label tor-affinity, taken from the job, its PodGroup, a pod template or a pod, whichever
    has it first; empty if none has it. `framework`: value of the label framework from the same objects, in lower case;
    without it, the name of the job's framework plugin. `phase`: phase of its PodGroup; empty: unknown.
    """

    job_class: str = ""
    framework: str = ""
    phase: str = ""


def read_job_labels(cluster: ClusterObjects, members: Membership) -> dict[str, JobLabels]:
    """The job-wide labels of each Job, PodGroup, Deployment and gang of a top owner, by ``namespace/name``.

    `members` says which pods belong to each of them.
    """
    found = {}
    for key, job in cluster.jobs.items():
        group = members.pod_group_of_job.get(key)
        rows = [job.metadata.labels, *([group.metadata.labels] if group else [])]
        rows += [task.template.labels for task in job.tasks]
        labels = _labels(rows, members.of_job.get(key, ()), group.phase if group else "")
        plugin = next((name for name in FRAMEWORK_PLUGINS if name in job.plugins), "")
        found[key] = replace(labels, framework=labels.framework or plugin)
    for key, pods in members.of_pod_group.items():
        group = cluster.pod_groups.get(key)
        found[key] = _labels([group.metadata.labels] if group else [], pods, group.phase if group else "")
    for key, deployment in cluster.deployments.items():
        if is_owned(deployment.metadata, cluster.top_owners):
            continue
        rows = [deployment.metadata.labels, deployment.template.labels]
        found[key] = _labels(rows, members.of_deployment.get(key, ()), "")
    for name, owner in outermost(cluster.top_owners):
        rows = [owner.metadata.labels, *(template.labels for template in owner.templates)]
        for gang, pods in pods_by_gang(owner, members.of_top_owner.get(name, ())).items():
            group = pod_group_of(pods, cluster.pod_groups)
            found[f"{owner.metadata.namespace}/{gang}"] = _labels(rows, pods, group.phase if group else "")
    return found


def completed(gang: Gang, said: Mapping[str, JobLabels]) -> Gang:
    """A copy of the gang with the job's switch-affinity class, if its pods have none, and the job's framework.

    `said` holds both by ``namespace/name`` of the job.
    """
    labels = said.get(gang.key)
    known = gang.extra(AscendWish)
    if labels is None or ((known.job_class or not labels.job_class) and not labels.framework):
        return gang
    wish = replace(known, job_class=known.job_class or labels.job_class, framework=labels.framework)
    return gang.with_extra(wish)


def _labels(rows: list[Mapping[str, str]], pods: Iterable[Pod], phase: str) -> JobLabels:
    rows = [*rows, *(pod.metadata.labels for pod in pods)]
    job_class = next((row[JOB_CLASS_LABEL] for row in rows if JOB_CLASS_LABEL in row), "")
    framework = next((row[FRAMEWORK_LABEL] for row in rows if FRAMEWORK_LABEL in row), "")
    return JobLabels(job_class, framework.lower(), phase)
