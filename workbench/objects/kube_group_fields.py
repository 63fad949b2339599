"""Fields of the groups of scheduling.k8s.io, and notices about others, which the API server drops."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.model.notice import Notice
from workbench.objects.fields import child
from workbench.objects.schemas import Unknown, unknown_notes

__all__ = ["KUBE_GROUP", "kube_group_notes"]

KUBE_GROUP = "scheduling.k8s.io"

#: Names of fields, each with those inside it; None: what is inside is not looked at.
_Fields = Mapping[str, "_Fields | None"]


def _spec(minimum: str, **more: _Fields | None) -> _Fields:
    return {
        "schedulingPolicy": {"basic": {}, "gang": {minimum: None}},
        "schedulingConstraints": {"topology": {"key": None}},
        "disruptionMode": None,
        "priority": None,
        "priorityClassName": None,
        "preemptionPolicy": None,
        "parentCompositePodGroupName": None,
        **more,
    }


_REFERENCE: _Fields = {"workloadName": None, "templateName": None, "podGroupTemplateName": None}
_GROUP = _spec("minCount", workloadRef=_REFERENCE, podGroupTemplateRef=None, resourceClaims=None)
_COMPOSITE = _spec("minGroupCount", workloadRef=_REFERENCE, compositePodGroupTemplateRef=None)
#: Templates name themselves, and templates of composites hold others.
_WORKLOAD: _Fields = {"controllerRef": None, "podGroupTemplates": None, "compositePodGroupTemplates": None}

_SPECS: Mapping[str, _Fields] = {"PodGroup": _GROUP, "CompositePodGroup": _COMPOSITE, "Workload": _WORKLOAD}
_TOP = ("apiVersion", "kind", "metadata", "spec", "status")


def kube_group_notes(data: Mapping[str, Any]) -> list[Notice]:
    """Notices about fields that a PodGroup, CompositePodGroup or Workload of scheduling.k8s.io does not have.

    `data`: the parsed manifest; empty for objects of other kinds.
    """
    group, kind = str(data.get("apiVersion")).rpartition("/")[0], str(data.get("kind"))
    if group != KUBE_GROUP or kind not in _SPECS:
        return []
    known: _Fields = {**dict.fromkeys(_TOP), "spec": _SPECS[kind]}
    return unknown_notes(_unknown(data, known, ""))


def _unknown(data: Any, known: _Fields, where: str) -> Iterator[Unknown]:
    if isinstance(data, list):
        for i, each in enumerate(data):
            yield from _unknown(each, known, f"{where}[{i}]")
    elif isinstance(data, dict):
        for name, value in data.items():
            if name not in known:
                yield Unknown(where, str(name), next(iter(difflib.get_close_matches(str(name), known, 1)), ""))
            elif (inside := known[name]) is not None:
                yield from _unknown(value, inside, child(where, name))
