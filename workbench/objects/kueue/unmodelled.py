"""Kueue's Configuration, and a notice for each of its fields, and of Kueue's objects, that is not followed.

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
from workbench.objects.fields import child, get_bool, get_list, get_map, wrong
from workbench.objects.metadata import Metadata, read_metadata

__all__ = ["KueueConfiguration", "read_configuration", "unmodelled_notes"]

_BY_USAGE = "admission fair sharing is not modelled: a queue goes by priority and time, not by past usage"

#: By kind: fields (the path, then the key) with what is said about them.
_FIELDS: Mapping[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "ClusterQueue": (
        (("spec", "admissionScope"), _BY_USAGE),
        (
            ("spec", "concurrentAdmissionPolicy"),
            "concurrent admission is not modelled: a workload tries flavors in turn",
        ),
    ),
    "LocalQueue": (
        (("spec", "fairSharing"), f"{_BY_USAGE}, and the weight has no effect"),
        (("spec", "stopPolicy"), "a stopped LocalQueue is not modelled: its workloads are tried"),
    ),
    "Configuration": (
        (("admissionFairSharing",), _BY_USAGE),
        (("featureGates",), "feature gates are not read from it; some are parameters of kueue-0.19 (--set)"),
        (("resources", "transformations"), "resource transformations are not modelled: requests count as they are"),
        (("resources", "excludeResourcePrefixes"), "excluded resources are not modelled: requests count as they are"),
    ),
}

#: Strategies that may be given, the default first.
_STRATEGIES = (
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
)

#: Values that ask for nothing.
_OFF = ("", "None", "NoAdmissionFairSharing")


@dataclass(frozen=True)
class KueueConfiguration(ClusterPart):
    """Kueue's Configuration: strategies of preemption under fair sharing; empty: queues do not share fairly."""

    metadata: Metadata
    fair_sharing: tuple[str, ...] = ()

    kind: ClassVar[str] = "Configuration"
    only_one: ClassVar[bool] = True
    adds_to: ClassVar[type[Extra]] = KueueObjects

    @property
    def entries(self) -> Mapping[str, Any]:
        return {"fair_sharing": self.fair_sharing}


def read_configuration(data: Mapping[str, Any]) -> KueueConfiguration:
    """Read a Configuration, which mostly has no name of its own: it is called ``kueue`` then.

    Raises InputError: a field of the wrong type, or strategies that Kueue does not know.
    """
    named = bool(get_map(data, "metadata", "").get("name"))
    metadata = read_metadata(data, namespaced=True) if named else Metadata("kueue")
    sharing = get_map(data, "fairSharing", "")
    given = tuple(get_list(sharing, "preemptionStrategies", "fairSharing"))
    if given not in ((), *_STRATEGIES):
        expected = " or ".join(f"[{', '.join(each)}]" for each in _STRATEGIES)
        raise wrong("fairSharing.preemptionStrategies", list(given), expected)
    # Its presence turns fair sharing on; v1beta1 also has a switch.
    on = data.get("fairSharing") is not None and get_bool(sharing, "enable", "fairSharing", not _has_switch(data))
    return KueueConfiguration(metadata, (given or _STRATEGIES[0]) if on else ())


def _has_switch(data: Mapping[str, Any]) -> bool:
    return str(data.get("apiVersion")).endswith("/v1beta1")


def unmodelled_notes(data: Mapping[str, Any]) -> list[Notice]:
    """Notices about fields that ask for what is not modelled. `data`: the parsed manifest of an object of Kueue."""
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
