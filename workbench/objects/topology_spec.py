"""Reading networkTopology of Jobs and PodGroups, and the annotations that replace it on pods without a Job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.model.gang import TopologyConstraint
from workbench.model.notice import Notice
from workbench.objects.fields import child, get_int, get_map, get_text, wrong

__all__ = [
    "DEFAULT_MODE",
    "HIGHEST_TIER_ANNOTATION",
    "MODE_ANNOTATION",
    "constraint_annotation_notes",
    "constraint_annotations_without_effect",
    "constraint_from_annotations",
    "read_constraint",
]

MODE_ANNOTATION = "volcano.sh/network-topology-mode"
HIGHEST_TIER_ANNOTATION = "volcano.sh/network-topology-highest-tier"

#: Default of an absent mode in the schema of every release.
DEFAULT_MODE = "hard"

_INTEGER = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)


def read_constraint(data: Mapping[str, Any], where: str, *, submitted: bool = False) -> TopologyConstraint | None:
    """Read the topology constraint in the field networkTopology of a spec; None if absent.

    Parameters
    ----------
    data : mapping
        The spec that may have the field.
    where : str
        Path of the spec, for error messages.
    submitted : bool
        The object is new: an absent mode becomes hard, the default of every release's schema. Other defaults differ by
    release and are filled in by the policies; an object read from a cluster stays as stored (docs/decisions.md,
    decision 10).
    """
    if data.get("networkTopology") is None:
        return None
    topology = get_map(data, "networkTopology", where)
    where = child(where, "networkTopology")
    mode = get_text(topology, "mode", where, DEFAULT_MODE if submitted else "")
    if mode not in ("hard", "soft", ""):
        raise wrong(child(where, "mode"), mode, "hard or soft")
    return TopologyConstraint(
        mode=mode,  # type: ignore[arg-type]
        highest_tier=get_int(topology, "highestTierAllowed", where),
        highest_tier_name=(
            None if topology.get("highestTierName") is None else get_text(topology, "highestTierName", where)
        ),
    )


def constraint_from_annotations(annotations: Mapping[str, str]) -> TopologyConstraint | None:
    """The topology constraint given by a pod's annotations; None if neither of the two annotations is present.

    The mode is read without regard to case, and an invalid mode counts as hard. A tier that is no integer is ignored,
    but the constraint is then still hard (docs/reference/volcano-topology.md, section 3).
    """
    mode, tier = annotations.get(MODE_ANNOTATION), annotations.get(HIGHEST_TIER_ANNOTATION)
    if mode is None and tier is None:
        return None
    highest = int(tier) if tier is not None and _INTEGER.fullmatch(tier) else None
    return TopologyConstraint(mode="soft" if (mode or "").lower() == "soft" else "hard", highest_tier=highest)


def constraint_annotation_notes(annotations: Mapping[str, str]) -> list[Notice]:
    """Notices about invalid values of the two topology annotations, each with the value used instead."""
    notes = []
    mode, tier = annotations.get(MODE_ANNOTATION), annotations.get(HIGHEST_TIER_ANNOTATION)
    if mode is not None and mode.lower() not in ("hard", "soft"):
        text = f"annotation {MODE_ANNOTATION} is {mode!r}, neither hard nor soft: hard is taken"
        notes.append(Notice("invalid-annotation", text))
    if tier is not None and not _INTEGER.fullmatch(tier):
        text = f"annotation {HIGHEST_TIER_ANNOTATION} is {tier!r}, no whole number: no highest tier is taken"
        notes.append(Notice("invalid-annotation", text))
    return notes


def constraint_annotations_without_effect(data: Mapping[str, Any], where: str, instead: str) -> list[Notice]:
    """A notice if an object has topology annotations that have no effect on its kind; else an empty list.

    `data`: the object or pod template that has the metadata. `where`: path of `data`; empty for an object. `instead`:
    name of the field to use instead, for the message.
    """
    path = child(where, "metadata")
    annotations = get_map(get_map(data, "metadata", where), "annotations", path)
    found = [key for key in (MODE_ANNOTATION, HIGHEST_TIER_ANNOTATION) if key in annotations]
    if not found:
        return []
    text = f"{child(path, 'annotations')}: {' and '.join(found)} without effect here: {instead} counts"
    return [Notice("annotation-without-effect", text)]
