"""The PodGroup that Volcano's controller makes for pods without a Job: bare pods, and those of a ReplicaSet or
StatefulSet.

Source: docs/reference/volcano-jobs.md, section 6.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from workbench.jobs.min_resources import min_resources_of_pods
from workbench.objects.deployment import QUEUE_ANNOTATION, min_member_of
from workbench.objects.metadata import Metadata, Owner
from workbench.objects.pod import PodTemplate
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION, PodGroup
from workbench.objects.topology_spec import constraint_from_annotations

__all__ = ["group_name", "pod_group_of_pods", "rebuilt_pod_group", "wants_group"]

_PREEMPTABLE, _COOLDOWN, _ZONE = "volcano.sh/preemptable", "volcano.sh/cooldown-time", "volcano.sh/revocable-zone"
_MIN_AVAILABLE, _MAX_UNAVAILABLE = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"


def group_name(pod: Metadata) -> str:
    """Name of the PodGroup that Volcano makes for a pod, derived from the pod's controller or, without one, the pod
    itself.
    """
    return f"podgroup-{pod.controller.uid if pod.controller else pod.uid}"


def pod_group_of_pods(
    name: str, pod: Metadata, template: PodTemplate, owner_annotations: Mapping[str, str] | None
) -> PodGroup:
    """The PodGroup that Volcano makes for a pod and for all other pods that its owner creates from the same template.

    `name`: name of the PodGroup. `owner_annotations`: annotations of the object that controls the pod directly; None:
    no owner, or its annotations are not inherited.
    """
    own = owner_annotations or {}
    min_member = min_member_of(own)
    alone = Owner("Pod", pod.name, True, pod.uid, "v1", True)
    return PodGroup(
        metadata=Metadata(
            name=name,
            namespace=pod.namespace,
            labels={key: pod.labels[key] for key in (_PREEMPTABLE, _COOLDOWN) if key in pod.labels},
            annotations=_annotations(own, pod.annotations),
            owners=pod.owners if pod.controller else (alone,),
        ),
        min_member=min_member,
        min_task_member={},
        queue=template.annotations.get(QUEUE_ANNOTATION) or "default",
        priority_class=template.spec.priority_class,
        constraint=constraint_from_annotations(template.annotations),
        min_resources=min_resources_of_pods(template, min_member) or None,
        phase="Pending",
    )


def _annotations(owner: Mapping[str, str], pod: Mapping[str, str]) -> dict[str, str]:
    """Annotations of a new PodGroup: the owner's in Volcano's domain; the pod's about preemption take precedence."""
    budget = _MIN_AVAILABLE if _MIN_AVAILABLE in pod else _MAX_UNAVAILABLE
    kept = {key: value for key, value in owner.items() if key.startswith("volcano.sh/")}
    return kept | {key: pod[key] for key in (_PREEMPTABLE, _COOLDOWN, _ZONE, budget) if key in pod}


def rebuilt_pod_group(stored: PodGroup, made: PodGroup) -> PodGroup:
    """The stored PodGroup with spec, labels and annotations of `made`; equal to `stored` if nothing has to be written.

    Annotations that other programs added to the stored PodGroup are lost, as in a cluster.
    """
    metadata = replace(stored.metadata, labels=made.metadata.labels, annotations=made.metadata.annotations)
    return replace(made, metadata=metadata, phase=stored.phase)


def wants_group(pod: Metadata, scheduler: str, schedulers: Collection[str]) -> bool:
    """Whether Volcano makes a PodGroup for a pod: the pod names none yet, and its schedulerName is Volcano's or empty.

    `scheduler`: schedulerName of the pod; empty: none. `schedulers`: values of schedulerName that mean Volcano.
    """
    return scheduler in ("", *schedulers) and not pod.annotations.get(GROUP_NAME_ANNOTATION)
