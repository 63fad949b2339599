"""`notes_of`: parts of an accepted object that have no effect, or that the API server fills in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.admission.hyper_job import unknown_in_hyper_job
from workbench.objects.admission.topology_holders import topology_holders
from workbench.objects.admission.topology_spec import constraint_defaults
from workbench.objects.deployment import min_member_notes, scheduler_notes
from workbench.objects.fields import child, get_map, get_maps, get_texts, group_kind
from workbench.objects.hyper_job import DOCUMENT_GROUP, hyper_job_notes, released_form
from workbench.objects.metadata import is_stored
from workbench.objects.pod import read_template
from workbench.objects.pod_group import GROUP_NAME_ANNOTATION
from workbench.objects.schemas import DESCRIBED_KINDS, unknown_in, unknown_notes
from workbench.objects.schemas.unknown import KIND_TYPES
from workbench.objects.top_owner import TOP_OWNERS
from workbench.objects.topology_spec import constraint_annotation_notes, constraint_annotations_without_effect

__all__ = ["NOTED_KINDS", "annotation_notes", "notes_of"]

#: (API group, kind) of the objects whose fields are known, but for those of Kueue.
NOTED_KINDS = DESCRIBED_KINDS | {(DOCUMENT_GROUP, "HyperJob")}

_REPLICATED = ("Deployment", "StatefulSet")


def notes_of(data: Mapping[str, Any], *, accepted: bool = False) -> list[Notice]:
    """Notices about an input object that is accepted although parts of it have no effect.

    The notices concern unknown fields and keys, defaults that the schema of every release writes into the
    networkTopology of an object that was not read from a cluster, and annotations with invalid values. Unknown fields
    of a Pod that has a node are ignored, because the Pod is scheduled already.

    `data`: the parsed manifest. `accepted`: whether `review` has accepted the object, which then has no unknown field.
    """
    group, kind = group_kind(data)
    if (group, kind) in KIND_TYPES or (group, kind) in TOP_OWNERS:
        notes = annotation_notes(data) if kind == "StatefulSet" else []
        return notes if accepted else [*unknown_notes(unknown_in(data)), *notes]
    if (group, kind) not in NOTED_KINDS:
        return []
    notes = annotation_notes(data)
    if data["kind"] == "Pod" and get_map(data, "spec", "").get("nodeName"):
        return notes
    if data["kind"] == "HyperJob":
        notes = [*hyper_job_notes(data), *notes]
        data = released_form(data)
    fills_in = data["kind"] in ("Job", "PodGroup", "HyperJob") and not is_stored(data)
    holders = topology_holders(data, Release.V1_15) if fills_in else []
    filled = {path: value for holder in holders for path, value in constraint_defaults(*holder, Release.V1_15).items()}
    unknown = () if accepted else unknown_in_hyper_job(data) if data["kind"] == "HyperJob" else unknown_in(data)
    return [
        *unknown_notes(unknown),
        *(
            Notice("default-filled-in", f"{path}: {value} is filled in, as the API server does")
            for path, value in filled.items()
        ),
        *notes,
    ]


def annotation_notes(data: Mapping[str, Any]) -> list[Notice]:
    """Notices about annotations that are invalid (with the value used instead) or have no effect on this kind of
    object.
    """
    metadata = get_map(data, "metadata", "")
    spec = get_map(data, "spec", "")
    if data["kind"] in _REPLICATED:
        template = read_template(spec, "spec")
        own = get_texts(metadata, "annotations", "metadata")
        ignored = constraint_annotations_without_effect(data, "", "the annotation in spec.template.metadata")
        notes = [*min_member_notes(own), *constraint_annotation_notes(template.annotations), *ignored]
        return notes if is_stored(data) else [*notes, *scheduler_notes(template)]
    if data["kind"] == "Job":
        tasks = [
            (child(path, "template"), get_map(item, "template", path)) for path, item in get_maps(spec, "tasks", "spec")
        ]
        return [
            note
            for path, holder in (("", data), *tasks)
            for note in constraint_annotations_without_effect(holder, path, "spec.networkTopology")
        ]
    # A controller copies the annotations of its object to the PodGroup; the notice belongs to that object.
    if data["kind"] == "PodGroup" and not metadata.get("ownerReferences"):
        return constraint_annotations_without_effect(data, "", "spec.networkTopology")
    if data["kind"] == "Pod" and metadata.get("annotations"):
        annotations = get_texts(metadata, "annotations", "metadata")
        return [] if GROUP_NAME_ANNOTATION in annotations else constraint_annotation_notes(annotations)
    return []
