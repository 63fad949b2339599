"""Fields of Kueue's objects, and of its Configuration, that the workbench does not follow: a notice for each.

Source: Kueue 0.19, apis/kueue/v1beta2 and apis/config/v1beta2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.model.extras import Extra
from workbench.model.kueue_request import KueueObjects
from workbench.model.notice import Notice
from workbench.objects.cluster_part import ClusterPart
from workbench.objects.fields import child, get_map
from workbench.objects.metadata import Metadata, read_metadata

__all__ = ["KueueConfiguration", "read_configuration", "unmodelled_notes"]

_SHARED = "fair sharing is not modelled: queues borrow and are preempted as without it"
_BY_USAGE = "admission fair sharing is not modelled: a queue goes by priority and time, not by past usage"

#: By kind: fields (the path, then the key) with what is said about them.
_FIELDS: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "ClusterQueue": (
        (("spec", "fairSharing"), f"{_SHARED}, and the weight has no effect"),
        (("spec", "admissionScope"), _BY_USAGE),
        (
            ("spec", "concurrentAdmissionPolicy"),
            "concurrent admission is not modelled: a workload tries flavors in turn",
        ),
    ),
    "Cohort": ((("spec", "fairSharing"), f"{_SHARED}, and the weight has no effect"),),
    "LocalQueue": (
        (("spec", "fairSharing"), f"{_BY_USAGE}, and the weight has no effect"),
        (("spec", "stopPolicy"), "a stopped LocalQueue is not modelled: its workloads are tried"),
    ),
    "Configuration": (
        (("fairSharing",), _SHARED),
        (("admissionFairSharing",), _BY_USAGE),
        (("featureGates",), "feature gates are not read from it; some are parameters of kueue-0.19 (--set)"),
        (("resources", "transformations"), "resource transformations are not modelled: requests count as they are"),
        (("resources", "excludeResourcePrefixes"), "excluded resources are not modelled: requests count as they are"),
    ),
}

#: Values that ask for nothing.
_OFF = ("", "None", "NoAdmissionFairSharing")


@dataclass(frozen=True)
class KueueConfiguration(ClusterPart):
    """Kueue's Configuration, of which nothing is followed."""

    metadata: Metadata

    kind: ClassVar[str] = "Configuration"
    adds_to: ClassVar[type[Extra]] = KueueObjects

    @property
    def entries(self) -> Mapping[str, Any]:
        return {}


def read_configuration(data: Mapping[str, Any]) -> KueueConfiguration:
    """Read a Configuration, which mostly has no name of its own: it is called ``kueue`` then."""
    named = bool(get_map(data, "metadata", "").get("name"))
    return KueueConfiguration(read_metadata(data, namespaced=True) if named else Metadata("kueue"))


def unmodelled_notes(data: Mapping[str, Any]) -> list[Notice]:
    """Notices about fields that ask for what is not modelled.

    Parameters
    ----------
    data : mapping
        The parsed manifest of an object of Kueue.
    """
    found = []
    for path, said in _FIELDS.get(str(data.get("kind")), ()):
        where, holder = "", data
        for step in path[:-1]:
            where, holder = child(where, step), get_map(holder, step, where)
        if _asks(holder.get(path[-1])):
            found.append(Notice("not-modelled", f"{child(where, path[-1])}: {said}"))
    return found


def _asks(value: object) -> bool:
    """Whether the value of a field asks for something: it is neither empty nor switched off."""
    if isinstance(value, Mapping):
        off = value.get("enable") is False or value.get("admissionMode") in _OFF
        return bool(value) and not off
    return bool(value) and value not in _OFF
