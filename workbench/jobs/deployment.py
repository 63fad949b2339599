"""`gang_of_deployment`: convert a Deployment or StatefulSet with Volcano's annotations to a gang."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from workbench.jobs.pod_group_of_pods import pod_group_of_pods
from workbench.jobs.roles import Priorities, RoleTemplate, gates, make_role, notes_about
from workbench.jobs.template_extras import extras_of_templates
from workbench.model.extras import VolcanoMemory, extras_of
from workbench.model.gang import Gang
from workbench.objects.deployment import Deployment
from workbench.objects.metadata import Metadata
from workbench.objects.pod import Pod

__all__ = ["ROLE", "gang_of_deployment"]

#: A Deployment has one kind of pods.
ROLE = "pod"


def gang_of_deployment(deployment: Deployment, pods: Sequence[Pod], priorities: Priorities) -> Gang | None:
    """The pending replicas of a Deployment or StatefulSet as a gang.

    The minimum comes from the Deployment's annotation, everything else from the template's, but for Koordinator's
    gather rules and the job class, which either may give (docs/reference/volcano-topology.md, section 3, "Pods without
    a Job").

    Returns None if no replica is pending.

    `pods`: the Deployment's existing pods, in any state.
    """
    template = deployment.template
    notes = notes_about([(ROLE, template.spec)])
    # A ReplicaSet replaces finished and terminating pods, so only running ones count.
    ready = sum(pod.runs for pod in pods)
    notes += gates(pods)
    waiting = [pod.metadata for pod in pods if pod.pending]
    count = max(deployment.replicas - ready - sum(pod.waits and pod.gated for pod in pods), 0)
    if count == 0:
        return None
    names = _names(deployment, pods, waiting, count)
    role = make_role(
        ROLE,
        template.spec,
        count,
        priorities,
        notes,
        labels=template.labels,
        annotations=template.annotations,
        first_index=ready,
        pod_names=names,
        pods=waiting if len(waiting) == count else (),
    )
    extras = extras_of_templates(deployment.metadata, [RoleTemplate(ROLE, deployment.replicas, template)], notes)
    pod = Metadata("", deployment.metadata.namespace, labels=template.labels, annotations=template.annotations)
    group = pod_group_of_pods("", pod, template, deployment.metadata.annotations)
    return Gang(
        namespace=deployment.metadata.namespace,
        name=deployment.metadata.name,
        roles=(role,),
        min_available=deployment.min_member,
        constraint=group.constraint,
        queue=group.queue,
        priority=role.priority,
        kind=deployment.kind,
        ready=ready,
        notes=tuple(notes),
        uid=deployment.metadata.uid,
        resource_version=deployment.metadata.resource_version,
        extras=extras_of(VolcanoMemory(min_resources=group.min_resources or {}), *extras),
    )


def _names(
    deployment: Deployment, pods: Sequence[Pod], waiting: Sequence[Metadata], count: int
) -> tuple[str, ...] | None:
    """Names of the pending pods, as far as they are known: those that exist, or the next ones of a StatefulSet.

    `pods`: all that exist; `waiting`: the pending ones of these; `count`: the pending replicas.
    """
    if len(waiting) == count:
        return tuple(pod.name for pod in waiting)
    if deployment.kind != "StatefulSet":
        return None
    taken = {pod.metadata.name for pod in pods if not pod.pending}
    numbered = (f"{deployment.metadata.name}-{i}" for i in range(deployment.replicas + len(pods)))
    return tuple(islice((name for name in numbered if name not in taken), count))
