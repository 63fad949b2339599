"""Objects of Volcano's kinds, sound and damaged, and what a CRD says of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of, json_schema_of

ROOT = Path(__file__).resolve().parents[3]

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "train"}]}}
TASK = {"name": "worker", "replicas": 2, "template": TEMPLATE}
BASES: dict[str, dict[str, Any]] = {
    "HyperJob": {"replicatedJobs": [{"name": "a", "replicas": 1, "templateSpec": {"tasks": [TASK]}}]},
    "HyperNode": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n"}}}]},
    "Job": {"minAvailable": 1, "networkTopology": {"mode": "hard", "highestTierAllowed": 1}, "tasks": [TASK]},
    "PodGroup": {"minMember": 1, "networkTopology": {"mode": "soft"}},
    "Queue": {"weight": 1, "capability": {"cpu": "4"}},
}

#: Damages by kind: path below spec, new value. Schema, CRD and admission refuse each of them.
DAMAGES: list[tuple[str, tuple[str | int, ...], Any]] = [
    ("HyperJob", ("replicatedJobs", 0, "name"), ""),
    ("HyperJob", ("replicatedJobs", 0, "replicas"), -1),
    ("HyperJob", ("replicatedJobs", 0, "templateSpec"), []),
    ("HyperJob", ("minAvailable",), -1),
    ("HyperJob", ("networkTopology",), {"mode": "firm"}),
    ("HyperNode", ("tier",), "1"),
    ("HyperNode", ("tier",), -1),
    ("HyperNode", ("tierName",), "t" * 254),
    ("HyperNode", ("members",), []),
    ("HyperNode", ("members", 0, "type"), "Rack"),
    ("HyperNode", ("members", 0, "selector"), {}),
    ("HyperNode", ("members", 0, "selector"), {"exactMatch": {"name": "n"}, "regexMatch": {"pattern": "n"}}),
    ("HyperNode", ("members", 0, "selector", "exactMatch", "name"), "N_1"),
    ("HyperNode", ("members", 0, "selector"), {"regexMatch": {"pattern": ""}}),
    ("Job", ("tasks",), []),
    ("Job", ("minAvailable",), "1"),
    ("Job", ("minAvailable",), 2**31),
    ("Job", ("tasks", 0, "replicas"), -1),
    ("Job", ("tasks", 0, "name"), 7),
    ("Job", ("networkTopology", "mode"), "firm"),
    ("Job", ("networkTopology", "highestTierAllowed"), -1),
    ("Job", ("queue",), 1),
    ("Job", ("plugins",), []),
    ("PodGroup", ("minMember",), "1"),
    ("PodGroup", ("networkTopology", "mode"), "firm"),
    ("PodGroup", ("minResources",), []),
    ("Queue", ("weight",), -1),
    ("Queue", ("weight",), "1"),
    ("Queue", ("capability",), {"cpu": True}),
    # Fields that nobody in this package reads.
    ("Queue", ("reclaimable",), "yes"),
    ("Queue", ("parent",), 1),
    ("Queue", ("affinity",), []),
    ("Queue", ("capability",), {"cpu": 0.5}),
    ("Job", ("ttlSecondsAfterFinished",), "60"),
    ("Job", ("runningEstimate",), 60),
    ("HyperJob", ("maxDomains",), "2"),
    ("HyperJob", ("plugins",), {"svc": "none"}),
]

#: What admission refuses and no schema says: rules across fields, and the meaning of texts.
BEYOND_A_SCHEMA: list[tuple[str, tuple[str | int, ...], Any]] = [
    ("Job", ("minAvailable",), 3),
    ("Job", ("tasks",), [TASK, TASK]),
    ("Job", ("networkTopology", "highestTierName"), "rack"),
    ("Job", ("plugins",), {"nothing": []}),
    ("Job", ("policies",), [{"event": "Nothing", "action": "AbortJob"}]),
    ("HyperJob", ("minAvailable",), 2),
    ("HyperNode", ("members", 0, "selector"), {"regexMatch": {"pattern": "("}}),
    ("Queue", ("deserved",), {"cpu": "5"}),
]

#: What the API server drops before it validates, and an editor marks all the same: fields that are null.
NULLS: list[tuple[str, tuple[str | int, ...]]] = [("Job", ("queue",)), ("PodGroup", ("networkTopology",))]


def an_object(kind: str) -> dict[str, Any]:
    version = json_schema_of(kind)["properties"]["apiVersion"]["const"]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": copy.deepcopy(BASES[kind])}


def damaged(kind: str, path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    data = an_object(kind)
    place: Any = data["spec"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return data


def validator(schema: dict[str, Any]) -> Any:
    """A validator of JSON Schema, draft 2020-12. The library is imported late: that takes longer than most tests."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

    return Draft202012Validator(schema)


def by_crd(data: dict[str, Any]) -> bool:
    """Whether a CRD accepts an object; keywords of Kubernetes are read as its documentation says."""
    return not list(refused(structural(data["kind"]), data))


def refused(schema: dict[str, Any], value: Any) -> Iterator[str]:
    if type(value) is dict:
        value = {key: item for key, item in value.items() if item is not None}
    known = schema.get("properties")
    if type(value) is dict and known is not None and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield from (key for key in value if key not in known)
    if schema.get("x-kubernetes-int-or-string") and type(value) not in (int, str):
        yield "neither a number nor text"
    if schema.get("format") == "int32" and type(value) is int and not -(2**31) <= value < 2**31:
        yield "more than 32 bits"
    own = {key: one for key, one in schema.items() if key not in ("properties", "items", "additionalProperties")}
    yield from (error.message for error in validator(own).iter_errors(value))
    if type(value) is dict:
        for key, item in value.items():
            if key in (known or {}):
                yield from refused(known[key], item)  # type: ignore[index]
            elif "additionalProperties" in schema:
                yield from refused(schema["additionalProperties"], item)
    if type(value) is list and "items" in schema:
        for item in value:
            yield from refused(schema["items"], item)


def structural(kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = crd_of(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def shipped() -> Iterator[dict[str, Any]]:
    for path in sorted((ROOT / "datasets").rglob("*.yaml")):
        try:
            documents = list(yaml.safe_load_all(path.read_text("utf-8")))
        except yaml.YAMLError:
            continue
        for one in documents:
            if type(one) is dict and one.get("kind") in SCHEMA_KINDS:
                yield one


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """All objects of our kinds and their released API version inside a parsed case."""
    if type(value) is dict:
        kind = value.get("kind")
        if kind in SCHEMA_KINDS and type(value.get("spec")) is dict:
            released = an_object(str(kind))["apiVersion"]
            if value.get("apiVersion", released) == released:
                yield {"metadata": {"name": "x"}, **value, "apiVersion": released}
        value = list(value.values())
    for item in value if type(value) is list else ():
        yield from objects_in(item)


def of_the_conformance_cases() -> list[dict[str, Any]]:
    """Every object of our kinds in the conformance cases, once."""
    texts = {
        json.dumps(one, sort_keys=True)
        for path in sorted((ROOT / "tests" / "conformance" / "cases").rglob("*.json"))
        for one in objects_in(json.loads(path.read_text("utf-8")))
    }
    return [json.loads(text) for text in sorted(texts)]
