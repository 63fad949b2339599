"""Node selector terms of a pod's node affinity, as requirements on the labels and the names of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.model.labels import NODE_NAME_FIELD, Requirement
from workbench.objects.fields import child, get_list, get_map, get_maps, get_text, wrong
from workbench.objects.names import is_label_value, qualified_name_errors

__all__ = ["PREFERRED", "REQUIRED", "read_node_term", "read_required_terms"]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELDS = {"metadata.name": NODE_NAME_FIELD}


def read_required_terms(spec: Mapping[str, Any], where: str) -> tuple[tuple[Requirement, ...], ...]:
    """Required node affinity terms of a pod spec, whose path is `where`; an empty term matches no node.

    Returns an empty tuple if the pod has no required node affinity, and one empty term if its list of terms is empty.
    """
    affinity = get_map(get_map(spec, "affinity", where), "nodeAffinity", child(where, "affinity"))
    where = child(where, "affinity.nodeAffinity")
    if affinity.get(REQUIRED) is None:
        return ()
    required, where = get_map(affinity, REQUIRED, where), child(where, REQUIRED)
    return tuple(read_node_term(term, path) for path, term in get_maps(required, "nodeSelectorTerms", where)) or ((),)


def read_node_term(term: Mapping[str, Any], where: str) -> tuple[Requirement, ...]:
    """Requirements of one node selector term, whose path is `where`; empty: the term matches no node.

    A term with a requirement that Kubernetes cannot parse, such as a value that no label can have, matches no node.

    Raises InputError: an unknown operator or field, or a field of the wrong type.
    """
    labels = tuple(_read(term, "matchExpressions", where, fields=False))
    names = tuple(_read(term, "matchFields", where, fields=True))
    return labels + names if all(map(_parses, labels)) and all(map(_parses_field, names)) else ()


def _parses(requirement: Requirement) -> bool:
    values, operator = requirement.values, requirement.operator
    if qualified_name_errors(requirement.key) or not all(map(is_label_value, values)):
        return False
    if operator in ("Exists", "DoesNotExist"):
        return not values
    if operator in ("In", "NotIn"):
        return bool(values)
    return len(values) == 1 and values[0].lstrip("+-").isdecimal()


def _parses_field(requirement: Requirement) -> bool:
    return requirement.operator in ("In", "NotIn") and len(requirement.values) == 1


def _read(term: Mapping[str, Any], key: str, where: str, *, fields: bool) -> Iterator[Requirement]:
    for path, item in get_maps(term, key, where):
        label, operator = get_text(item, "key", path), get_text(item, "operator", path)
        if fields and label not in _FIELDS:
            raise wrong(child(path, "key"), label, "metadata.name, the only field of a node that can be selected")
        if operator not in _OPERATORS:
            raise wrong(child(path, "operator"), operator, ", ".join(_OPERATORS))
        values = get_list(item, "values", path)
        for value in values:
            if type(value) is not str:
                raise wrong(child(path, "values"), value, "a list of text (in quotes)")
        yield Requirement(_FIELDS[label] if fields else label, operator, tuple(values))  # type: ignore[arg-type]
