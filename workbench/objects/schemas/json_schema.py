"""JSON Schema (draft 2020-12) and CustomResourceDefinitions of Volcano's kinds, made from the types of this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.errors import UnknownNameError
from workbench.objects.schemas import core_v1
from workbench.objects.schemas.notation import SCALARS, Field, read_types
from workbench.objects.schemas.rules import DESCRIPTIONS, ONE_SELECTOR, REQUIRED, RULES
from workbench.objects.schemas.unknown import types

__all__ = ["SCHEMA_KINDS", "crd_of", "json_schema_of", "served_version"]

Schema = dict[str, Any]


class _Served(NamedTuple):
    group: str
    version: str
    plural: str
    namespaced: bool
    short: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]


_AGE = ("Age", "date", ".metadata.creationTimestamp")
_SERVED: Mapping[str, _Served] = {
    "HyperJob": _Served("training.volcano.sh", "v1alpha1", "hyperjobs", True, ("hj",), (_AGE,)),
    "HyperNode": _Served(
        "topology.volcano.sh",
        "v1alpha1",
        "hypernodes",
        False,
        ("hn",),
        (("Tier", "string", ".spec.tier"), ("NodeCount", "integer", ".status.nodeCount"), _AGE),
    ),
    "Job": _Served(
        "batch.volcano.sh",
        "v1alpha1",
        "jobs",
        True,
        ("vcjob", "vj"),
        (
            ("Status", "string", ".status.state.phase"),
            ("minAvailable", "integer", ".status.minAvailable"),
            ("Running", "integer", ".status.running"),
            _AGE,
        ),
    ),
    "PodGroup": _Served(
        "scheduling.volcano.sh",
        "v1beta1",
        "podgroups",
        True,
        ("pg", "podgroup-v1beta1"),
        (("Status", "string", ".status.phase"), ("minMember", "integer", ".spec.minMember"), _AGE),
    ),
    "Queue": _Served(
        "scheduling.volcano.sh",
        "v1beta1",
        "queues",
        False,
        ("q", "queue-v1beta1"),
        (("State", "string", ".status.state"), ("Parent", "string", ".spec.parent"), _AGE),
    ),
}

#: Kinds of which there is a schema.
SCHEMA_KINDS = tuple(_SERVED)

_POD_TYPES = frozenset(read_types(core_v1.TYPES))
_INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}
#: Kubernetes' quantities: a decimal number with a binary or decimal unit, or an exponent.
_QUANTITY = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
_SCALARS: Mapping[str, Schema] = {
    "text": {"type": "string"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "quantity": {"type": ["integer", "string"], "pattern": _QUANTITY},
    "any": {},
    "keys": {"type": "object", "additionalProperties": {"type": "string"}},
}
_OWN_FIELDS = {("HyperJobSpec", "networkTopology"): Field("one", "NetworkTopology")}


def _served(kind: str) -> _Served:
    if kind not in _SERVED:
        raise UnknownNameError("kind", kind, _SERVED)
    return _SERVED[kind]


def _fields(name: str) -> dict[str, Field]:
    return {**types()[name], **{key: field for (owner, key), field in _OWN_FIELDS.items() if owner == name}}


def served_version(kind: str) -> str:
    """API group and version (``GROUP/VERSION``) of a kind of `SCHEMA_KINDS`."""
    served = _served(kind)
    return f"{served.group}/{served.version}"


def json_schema_of(kind: str) -> Schema:
    """The JSON Schema of a kind, for editors: unknown fields are refused, in pod templates too.

    Raises UnknownNameError: there is no schema of this kind.

    `kind`: one of `SCHEMA_KINDS`.
    """
    served = _served(kind)
    definitions: dict[str, Schema] = {}
    _define(kind, definitions)
    root = definitions.pop(kind)
    root["properties"]["apiVersion"] = {"const": served_version(kind)}
    root["properties"]["kind"] = {"const": kind}
    root["required"] = ["apiVersion", "kind", "metadata", *root.get("required", [])]
    # The metadata of the object itself must have a name; that of a template need not.
    root["properties"]["metadata"] = {
        "$ref": "#/$defs/ObjectMeta",
        "required": ["name"],
        "properties": {"name": {"minLength": 1}},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{kind} ({served.group}/{served.version})",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _define(name: str, definitions: dict[str, Schema]) -> None:
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": {}}
    definitions[name] = schema
    if name in REQUIRED:
        schema["required"] = list(REQUIRED[name])
    if name == ONE_SELECTOR:
        schema |= {"minProperties": 1, "maxProperties": 1}
    for key, field in _fields(name).items():
        if field.base not in SCALARS and field.base not in definitions:
            _define(field.base, definitions)
        schema["properties"][key] = _with_rules(_by_reference(field, name), name, key)


def _by_reference(field: Field, owner: str) -> Schema:
    if isinstance(field.of, Field):
        inner = _by_reference(field.of, owner)
        return _collection(field, inner)
    if field.of not in SCALARS:
        one: Schema = {"$ref": f"#/$defs/{field.of}"}
    else:
        one = _scalar(field.of, owner)
    return one


def _collection(field: Field, inner: Schema) -> Schema:
    if field.form == "list":
        return {"type": "array", "items": inner}
    return {"type": "object", "additionalProperties": inner}


def _scalar(name: str, owner: str) -> Schema:
    schema = dict(_SCALARS[name])
    return {**schema, **_INT32} if name == "int" and not _of_pods(owner) else schema


def _of_pods(name: str) -> bool:
    """Whether Kubernetes itself defines a type; numbers in it may have 64 bits."""
    return name in _POD_TYPES


def _with_rules(schema: Schema, name: str, key: str) -> Schema:
    # A rule narrows the range of its type and replaces its bound.
    rules = dict(RULES.get((name, key), {}))
    items = rules.pop("items", None)
    merged = {**schema, **rules}
    if key == "creationTimestamp":
        # Programs that generate manifests write null here.
        merged["type"] = ["string", "null"]
    if items:
        merged["items"] = {**merged["items"], **items}
    if (name, key) in DESCRIPTIONS:
        merged["description"] = DESCRIPTIONS[name, key]
    return merged


def crd_of(kind: str) -> Schema:
    """The CustomResourceDefinition of a kind, with a structural schema; pod templates are accepted as they are.

    Raises UnknownNameError: there is no schema of this kind.

    `kind`: one of `SCHEMA_KINDS`.
    """
    served = _served(kind)
    root = _structural_type(kind)
    # The API server checks these three itself.
    root["properties"] |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "status": _status(kind),
    }
    columns = [{"name": name, "type": form, "jsonPath": path} for name, form, path in served.columns]
    version = {
        "name": served.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }
    names = {"kind": kind, "listKind": f"{kind}List", "plural": served.plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{served.plural}.{served.group}"},
        "spec": {
            "group": served.group,
            "names": {**names, "shortNames": list(served.short)},
            "scope": "Namespaced" if served.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _status(kind: str) -> Schema:
    status: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if kind == "HyperNode":
        status["properties"] = {"nodeCount": {"type": "integer", "format": "int64", "minimum": 0}}
    return status


def _structural_type(name: str) -> Schema:
    # Upstream's pod templates need a large schema too; what is inside them is checked when the pods are created.
    if name == "PodSpec":
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema: Schema = {"type": "object"}
    if name in REQUIRED:
        schema["required"] = list(REQUIRED[name])
    if name == ONE_SELECTOR:
        schema |= {"minProperties": 1, "maxProperties": 1}
    schema["properties"] = {
        key: _with_structural_rules(_structural(field, name), name, key) for key, field in _fields(name).items()
    }
    return schema


def _structural(field: Field, owner: str) -> Schema:
    if isinstance(field.of, Field):
        return _collection(field, _structural(field.of, owner))
    match field.of:
        case "any":
            return {"x-kubernetes-preserve-unknown-fields": True}
        case "quantity":
            anyhow = [{"type": "integer"}, {"type": "string"}]
            return {"x-kubernetes-int-or-string": True, "anyOf": anyhow, "pattern": _QUANTITY}
        case "int":
            return {"type": "integer", "format": "int64" if _of_pods(owner) else "int32"}
        case str() as name if name not in SCALARS:
            return _structural_type(name)
        case name:
            return dict(_SCALARS[name])


def _with_structural_rules(schema: Schema, name: str, key: str) -> Schema:
    merged = _with_rules(schema, name, key)
    # Kubernetes knows no examples.
    for one in (merged, merged.get("items")):
        if isinstance(one, dict):
            one.pop("examples", None)
    return merged
