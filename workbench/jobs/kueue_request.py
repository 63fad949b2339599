"""`with_kueue_request`: what the pod templates of a gang request of Kueue by their annotations."""

from __future__ import annotations

from dataclasses import replace

from workbench.errors import InputError
from workbench.model.gang import Gang
from workbench.model.kueue_names import QUEUE_NAME
from workbench.model.kueue_request import KueueRequest, KueueRole
from workbench.model.notice import Notice
from workbench.objects.kueue.annotations import TOPOLOGY_ANNOTATIONS, topology_request

__all__ = ["with_kueue_request"]


def with_kueue_request(gang: Gang) -> Gang:
    """A copy of the gang with the `KueueRequest` that its roles make; the gang itself if they make none.

    Kueue refuses pods whose annotations contradict each other; annotations that cannot be read count as absent here,
    with a notice.
    """
    queue = next((role.labels[QUEUE_NAME] for role in gang.roles if QUEUE_NAME in role.labels), "")
    roles, notes = [], list(gang.notes)
    for role in gang.roles:
        if not any(name in role.annotations for name in TOPOLOGY_ANNOTATIONS):
            continue
        try:
            request = topology_request(role.annotations)
        except InputError as error:
            text = f"role {role.name}: no topology is requested of Kueue: {error}"
            notes.append(Notice("invalid-annotation", text, f"role {role.name}"))
            continue
        if request is not None:
            roles.append(KueueRole(role.name, request))
    if len(notes) > len(gang.notes):
        gang = replace(gang, notes=tuple(notes))
    return gang.with_extra(KueueRequest(queue, tuple(roles))) if queue or roles else gang
