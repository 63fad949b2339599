"""Validation of resource requests and limits of containers and of whole pods, as in Kubernetes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from workbench.errors import InputError
from workbench.model.resources import CPU, MEMORY, quantity_text
from workbench.objects.admission import schema
from workbench.objects.admission.schema import Fault
from workbench.objects.fields import child, get_map, wrong
from workbench.objects.pod import read_pod_spec
from workbench.objects.quantity import parse_quantity

__all__ = ["container_resource_findings", "pod_resource_findings"]


#: Resources of a container without a domain in their names, beside hugepages-SIZE.
_STANDARD = (CPU, MEMORY, "ephemeral-storage")


def container_resource_findings(container: Mapping[str, Any], where: str) -> list[Fault]:
    """Violations in the resources of a container: negative amounts, parts of devices, requests above limits, devices
    without an equal limit.

    `where` is the container's field path.
    """
    return list(_against_limits(get_map(container, "resources", where), child(where, "resources")))


def pod_resource_findings(spec: Mapping[str, Any], where: str) -> list[Fault]:
    """Violations in the resources of a pod as a whole (spec.resources).

    They are checked like a container's, and must also not be below the sum of the containers' requests. `where` is the
    path of `spec`.
    """
    resources, path = get_map(spec, "resources", where), child(where, "resources")
    found = list(_against_limits(resources, path))
    for key in ("requests", "limits"):
        for name in get_map(resources, key, path):
            if name not in (CPU, MEMORY) and not name.startswith("hugepages-"):
                place = f"{path}.{key}[{name}]"
                found.append(Fault(place, schema.unsupported(place, name, (CPU, "hugepages-", MEMORY))))
    together = read_pod_spec({key: spec.get(key) for key in ("containers", "initContainers")}, where).requests
    for name, (text, amount) in _amounts(resources, "requests", path).items():
        total = quantity_text(name, together.get(name, 0))
        if parse_quantity(total) > amount:
            place = f"{path}.requests[{name}]"
            why = f"must be greater than or equal to aggregate container requests of {total}"
            found.append(Fault(place, f'{place}: Invalid value: "{text}": {why}'))
    return found


def _against_limits(resources: Mapping[str, Any], where: str) -> Iterator[Fault]:
    limits, requests = (_amounts(resources, key, where) for key in ("limits", "requests"))
    for key, amounts in (("limits", limits), ("requests", requests)):
        for name, (text, amount) in amounts.items():
            if "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
                place = f"{where}.{key}[{name}]"
                whys = (
                    "must be a standard resource type or fully qualified",
                    "must be a standard resource for containers",
                )
                yield from (Fault(place, f'{place}: Invalid value: "{name}": {why}') for why in whys)
            if amount < 0:
                place = f"{where}.{key}[{name}]"
                yield Fault(place, f'{place}: Invalid value: "{text}": must be greater than or equal to 0')
            if _is_extended(name) and math.ceil(amount * 1000) % 1000:
                place = f"{where}.{key}[{name}]"
                yield Fault(place, f'{place}: Invalid value: "{text}": must be an integer')
    for name, (text, amount) in requests.items():
        device = "/" in name or name.startswith("hugepages-")
        place = f"{where}.requests"
        if name not in limits:
            if device:
                text = f"{where}.limits: Required value: Limit must be set for non overcommitable resources"
                yield Fault(f"{where}.limits", text)
            continue
        limit_text, limit = limits[name]
        if device and amount != limit:
            yield Fault(place, f'{place}: Invalid value: "{text}": must be equal to {name} limit of {limit_text}')
        elif amount > limit:
            why = f"must be less than or equal to {name} limit of {limit_text}"
            yield Fault(place, f'{place}: Invalid value: "{text}": {why}')


def _is_extended(name: str) -> bool:
    """Whether a resource is one of devices such as GPUs, which are given out whole."""
    return "/" in name and not name.startswith("requests.") and "kubernetes.io/" not in name


def _amounts(resources: Mapping[str, Any], key: str, where: str) -> dict[str, tuple[str, Fraction]]:
    """Quantities of one resource list (`key` is ``requests`` or ``limits``), each as written and as an exact number."""
    found = {}
    for name, value in get_map(resources, key, where).items():
        if type(value) not in (str, int, float):
            raise wrong(f"{where}.{key}[{name!r}]", value, "a Kubernetes quantity")
        try:
            found[name] = (str(value), parse_quantity(str(value)))
        except InputError as error:
            raise error.at(where=f"{where}.{key}[{name!r}]") from None
    return found
