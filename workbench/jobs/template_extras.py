"""`extras_of_templates`: what the pod templates of an object request of single schedulers, as extras of its gang.

Jobs of Volcano, Deployments and all top owners pass their templates here, so that a reader of annotations or labels is
written once, for all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbench.jobs.kueue_request import read_kueue_request
from workbench.jobs.roles import JOB_CLASS_LABEL, RoleTemplate, first_gang_groups, first_gather, read_gpu_group
from workbench.model.extras import AscendWish, Extra, KoordinatorWish
from workbench.model.notice import Notice
from workbench.objects.metadata import Metadata

__all__ = ["extras_of_templates"]


#: Reads one extra of the owner's metadata and templates; notices about what cannot be read are appended to the list.
_Reader = Callable[[Metadata, Sequence[RoleTemplate], list[Notice]], Extra]


def extras_of_templates(owner: Metadata, roles: Sequence[RoleTemplate], notes: list[Notice]) -> list[Extra]:
    """The extras that follow from the metadata of an object and from its pod templates.

    `owner`: metadata of the object that has the templates. `notes`: receives notices about annotations and labels that
    cannot be read.
    """
    return [read(owner, roles, notes) for read in _READERS]


def _koordinator(owner: Metadata, roles: Sequence[RoleTemplate], notes: list[Notice]) -> Extra:
    groups = {read_gpu_group(role.template.labels, notes) for role in roles}
    annotations = [owner.annotations, *(role.template.annotations for role in roles)]
    return KoordinatorWish(
        gpu_group=groups.pop() if len(groups) == 1 else None,
        gather=first_gather(annotations, notes),
        gang_groups=first_gang_groups(annotations, notes),
    )


def _ascend(owner: Metadata, roles: Sequence[RoleTemplate], notes: list[Notice]) -> Extra:
    labels = [owner.labels, *(role.template.labels for role in roles)]
    return AscendWish(job_class=next((row[JOB_CLASS_LABEL] for row in labels if JOB_CLASS_LABEL in row), ""))


_READERS: tuple[_Reader, ...] = (_koordinator, _ascend, read_kueue_request)
