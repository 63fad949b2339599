"""`read_kueue_request`, `with_kueue_request`: what the pod templates of a gang request of Kueue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.errors import InputError
from workbench.jobs.roles import RoleTemplate
from workbench.model.gang import Gang
from workbench.model.kueue_names import MIN_PARALLELISM, QUEUE_NAME, TOPOLOGY_ANNOTATIONS
from workbench.model.kueue_request import KueueRequest, KueueRole
from workbench.model.notice import Notice
from workbench.model.number_text import whole_number
from workbench.objects.metadata import Metadata

__all__ = ["read_kueue_request", "with_kueue_request"]


def read_kueue_request(owner: Metadata, roles: Sequence[RoleTemplate], notes: list[Notice]) -> KueueRequest:
    """What an object and its pod templates request of Kueue: the LocalQueue, topology, fewest pods.

    Kueue refuses pods whose annotations contradict each other; annotations that cannot be read count as absent here,
    with a notice.

    `owner`: metadata of the object that has the templates. `notes`: receives a notice for each role whose annotations
    cannot be read.
    """
    labels = [owner.labels, *(role.template.labels for role in roles)]
    queue = next((row[QUEUE_NAME] for row in labels if QUEUE_NAME in row), "")
    least = whole_number(owner.annotations.get(MIN_PARALLELISM, "")) if len(roles) == 1 else None
    found = []
    for role in roles:
        made = _role(role.role, role.template.annotations, notes, role)
        if least and least < role.pods:
            made = replace(made or KueueRole(role.role), min_count=least)
        if made is not None:
            found.append(made)
    return KueueRequest(queue, tuple(found))


def with_kueue_request(gang: Gang) -> Gang:
    """A copy of a gang of pods with the `KueueRequest` that they make; the gang itself if they make none.

    A gang that has one, from the templates of its object, stays as it is.
    """
    if gang.extra(KueueRequest) != KueueRequest():
        return gang
    queue = next((role.labels[QUEUE_NAME] for role in gang.roles if QUEUE_NAME in role.labels), "")
    notes = list(gang.notes)
    roles = [made for role in gang.roles if (made := _role(role.name, role.annotations, notes)) is not None]
    if len(notes) > len(gang.notes):
        gang = replace(gang, notes=tuple(notes))
    return gang.with_extra(KueueRequest(queue, tuple(roles))) if queue or roles else gang


def _role(
    name: str, annotations: Mapping[str, str], notes: list[Notice], of: RoleTemplate | None = None
) -> KueueRole | None:
    """What the pods of one role request; `of` gives the labels in which they have their indices; None: no request."""
    if not any(each in annotations for each in TOPOLOGY_ANNOTATIONS):
        return None
    from workbench.objects.kueue.annotations import topology_request

    try:
        request = topology_request(
            annotations,
            index_label=(of.pod_index_label if of else "") or None,
            sub_group_label=(of.sub_group_label if of else "") or None,
            sub_group_count=(of.sub_groups if of else 0) or None,
        )
    except InputError as error:
        note = Notice("invalid-annotation", f"role {name}: no topology is requested of Kueue: {error}", f"role {name}")
        if note not in notes:
            notes.append(note)
        return None
    return None if request is None else KueueRole(name, request)
