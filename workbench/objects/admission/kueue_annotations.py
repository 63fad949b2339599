"""Admission of Kueue's annotations on pod templates, as the webhooks of its jobs check them.

Source: Kueue 0.19, pkg/controller/jobframework/tas_validation.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from workbench.errors import InputError
from workbench.model.kueue import SliceLayer, TopologyRequest
from workbench.model.kueue_names import (
    CONSTRAINTS,
    GROUP_NAME,
    INDEX_OFFSET,
    PREFERRED,
    REQUIRED,
    SLICE_REQUIRED,
    SLICE_SIZE,
    UNCONSTRAINED,
)
from workbench.objects.admission.schema import Fault
from workbench.objects.fields import child
from workbench.objects.kueue.annotations import as_bool, as_int32, layer_count_error, read_layers, topology_request
from workbench.objects.names import qualified_name_errors

__all__ = ["AnnotatedPods", "AnnotationFault", "annotation_faults"]

Kind = Literal["Invalid", "Required", "Forbidden", "Duplicate"]

_LEADS = {
    "Invalid": "Invalid value",
    "Required": "Required value",
    "Forbidden": "Forbidden",
    "Duplicate": "Duplicate value",
}


@dataclass(frozen=True)
class AnnotatedPods:
    """Pods of one template, which become one pod set of a workload.

    `count`: number of pods; None: unknown, and sizes are not compared with it. `path`: path of the template's metadata.
    """

    name: str
    annotations: Mapping[str, str]
    count: int | None = None
    path: str = "metadata"


@dataclass(frozen=True)
class AnnotationFault:
    """One error that Kueue finds in the annotations of a pod template.

    Attributes
    ----------
    pods : str
        Name of the pod set.
    annotation : str
        The annotation; empty: the annotations as a whole.
    detail : str
        Kueue's words about it.
    path : str
        Path of the template's annotations.
    value : str or int, optional
        The value found, as far as Kueue says it.
    inside : str
        Path inside the annotation's JSON: ``[1].size``.
    """

    pods: str
    kind: Kind
    annotation: str
    detail: str
    path: str = field(default="", compare=False)
    value: str | int | None = None
    inside: str = ""

    @property
    def fault(self) -> Fault:
        """The error as the API server writes it."""
        path = f"{self.path}[{self.annotation}]{self.inside}" if self.annotation else self.path
        value = "" if self.value is None else f": {json.dumps(self.value, ensure_ascii=False)}"
        detail = f": {self.detail}" if self.detail else ""
        return Fault(self.path, f"{path}: {_LEADS[self.kind]}{value}{detail}")


def annotation_faults(
    pods: Sequence[AnnotatedPods], *, elastic: bool = False, layers_allowed: bool = True
) -> list[AnnotationFault]:
    """Every error that Kueue's webhooks find in the annotations of the pod templates of one job, in their order.

    Sizes, groups and the rules for elastic jobs are checked only if each template by itself is right.

    `pods`: in the order of the job. `elastic`: whether the job is elastic (feature gate ElasticJobsViaWorkloadSlices).
    `layers_allowed`: whether the constraints annotation may be used (feature gate TASMultiLayerTopology).
    """
    found = [fault for each in pods for fault in _Template(each, layers_allowed).faults()]
    if found:
        return found
    for each in pods:
        if elastic:
            found += _elastic(each)
        if each.count is not None:
            found += _sizes(each, each.count)
    return found + _groups(pods, layers_allowed)


class _Template:
    """The checks of one template."""

    def __init__(self, pods: AnnotatedPods, layers_allowed: bool) -> None:
        self._pods = pods
        self._on = pods.annotations
        self._layers_allowed = layers_allowed

    def faults(self) -> list[AnnotationFault]:
        on, found = self._on, []
        if sum(name in on for name in (REQUIRED, PREFERRED, UNCONSTRAINED)) > 1:
            names = ", ".join(json.dumps(name) for name in (REQUIRED, PREFERRED, UNCONSTRAINED))
            found.append(self._fault("Invalid", "", f"must not contain more than one topology annotation: [{names}]"))
        for name in (REQUIRED, PREFERRED, SLICE_REQUIRED):
            if name in on:
                found += [self._invalid(name, error) for error in qualified_name_errors(on[name])]
        if GROUP_NAME in on:
            found += self._group()
        if UNCONSTRAINED in on and as_bool(on[UNCONSTRAINED]) is None:
            found.append(self._invalid(UNCONSTRAINED, "must be a boolean value"))
        found += self._slice_size()
        found += self._offset()
        if SLICE_REQUIRED in on and SLICE_SIZE not in on:
            found.append(self._fault("Required", SLICE_SIZE, f"must be set when '{SLICE_REQUIRED}' is specified"))
        if SLICE_SIZE in on and SLICE_REQUIRED not in on:
            text = f"may not be set when '{SLICE_REQUIRED}' is not specified"
            found.append(self._fault("Forbidden", SLICE_SIZE, text))
        return found + (self._layers() if CONSTRAINTS in on else [])

    def _fault(
        self, kind: Kind, annotation: str, detail: str, value: str | int | None = None, inside: str = ""
    ) -> AnnotationFault:
        return _fault_of(self._pods, kind, annotation, detail, value, inside)

    def _invalid(self, annotation: str, detail: str) -> AnnotationFault:
        return self._fault("Invalid", annotation, detail, self._on[annotation])

    def _beside(self, annotation: str, other: str) -> AnnotationFault:
        return self._fault("Forbidden", annotation, f"may not be set when '{other}' is specified")

    def _group(self) -> list[AnnotationFault]:
        on, found = self._on, []
        name = on[GROUP_NAME]
        if name.isascii() and name.isdigit() and int(name) < 2**64:
            found.append(self._invalid(GROUP_NAME, "must not be a number"))
        found += [self._beside(GROUP_NAME, other) for other in (SLICE_SIZE, SLICE_REQUIRED) if other in on]
        if REQUIRED not in on and PREFERRED not in on:
            text = f"may not be set when neither '{PREFERRED}' nor '{REQUIRED}' is specified"
            found.append(self._fault("Forbidden", GROUP_NAME, text))
        return found

    def _slice_size(self) -> list[AnnotationFault]:
        if SLICE_SIZE not in self._on:
            return []
        size = as_int32(self._on[SLICE_SIZE])
        if size is None:
            return [self._invalid(SLICE_SIZE, "must be a numeric value")]
        return [] if size >= 1 else [self._invalid(SLICE_SIZE, "must be greater than or equal to 1")]

    def _offset(self) -> list[AnnotationFault]:
        """The index offset is written by Kueue itself; a wrong one would keep the pods gated for ever."""
        if INDEX_OFFSET not in self._on:
            return []
        if GROUP_NAME in self._on:
            return [self._beside(INDEX_OFFSET, GROUP_NAME)]
        offset = as_int32(self._on[INDEX_OFFSET])
        wrong = offset is None or offset < 0
        return [self._invalid(INDEX_OFFSET, "must be a non-negative integer")] if wrong else []

    def _layers(self) -> list[AnnotationFault]:
        on, found = self._on, []
        if not self._layers_allowed:
            text = "the TASMultiLayerTopology feature gate must be enabled to use this annotation"
            return [self._fault("Forbidden", CONSTRAINTS, text)]
        found += [self._beside(CONSTRAINTS, other) for other in (SLICE_REQUIRED, SLICE_SIZE) if other in on]
        if GROUP_NAME in on:
            found.append(self._beside(GROUP_NAME, CONSTRAINTS))
        try:
            layers = read_layers(on[CONSTRAINTS])
        except ValueError as error:
            return [*found, self._invalid(CONSTRAINTS, f"must be a valid JSON array: {error}")]
        if wrong := layer_count_error(layers):
            return [*found, self._invalid(CONSTRAINTS, wrong)]
        return found + self._each_layer(layers)

    def _each_layer(self, layers: Sequence[SliceLayer]) -> list[AnnotationFault]:
        found = []
        for i, layer in enumerate(layers):
            found += [
                self._fault("Invalid", CONSTRAINTS, error, layer.level, f"[{i}].topology")
                for error in qualified_name_errors(layer.level)
            ]
            if layer.size < 1:
                text = "must be greater than or equal to 1"
                found.append(self._fault("Invalid", CONSTRAINTS, text, layer.size, f"[{i}].size"))
        first: dict[str, int] = {}
        for i, layer in enumerate(layers):
            if layer.level in first:
                value = f"{layer.level} (also at index {first[layer.level]})"
                found.append(self._fault("Duplicate", CONSTRAINTS, "", value, f"[{i}].topology"))
            first.setdefault(layer.level, i)
        for i in range(1, len(layers)):
            size, parent = layers[i].size, layers[i - 1].size
            if size > 0 and parent % size:
                text = f"must evenly divide the parent layer size {parent}"
                found.append(self._fault("Invalid", CONSTRAINTS, text, size, f"[{i}].size"))
        return found


def _fault_of(
    pods: AnnotatedPods,
    kind: Kind,
    annotation: str,
    detail: str,
    value: str | int | None = None,
    inside: str = "",
) -> AnnotationFault:
    return AnnotationFault(pods.name, kind, annotation, detail, child(pods.path, "annotations"), value, inside)


def _elastic(pods: AnnotatedPods) -> list[AnnotationFault]:
    """An elastic job grows wherever there is room, so it may not ask for a domain."""
    words = ((REQUIRED, "required"), (PREFERRED, "preferred"))
    return [
        _fault_of(pods, "Forbidden", name, f"{word} topology is not supported with elastic jobs")
        for name, word in words
        if name in pods.annotations
    ]


def _sizes(pods: AnnotatedPods, count: int) -> list[AnnotationFault]:
    """Sizes of slices that are above the number of pods."""
    on, text = pods.annotations, f"must not be greater than pod set count {count}"
    found = []
    if SLICE_SIZE in on and (as_int32(on[SLICE_SIZE]) or 0) > count:
        found.append(_fault_of(pods, "Invalid", SLICE_SIZE, text, on[SLICE_SIZE]))
    if CONSTRAINTS in on and (size := read_layers(on[CONSTRAINTS])[0].size) > count:
        found.append(_fault_of(pods, "Invalid", CONSTRAINTS, text, size))
    return found


def _groups(pods: Sequence[AnnotatedPods], layers_allowed: bool) -> list[AnnotationFault]:
    groups: dict[str, list[tuple[AnnotatedPods, TopologyRequest]]] = {}
    for each in pods:
        try:
            request = topology_request(each.annotations, layers_allowed=layers_allowed)
        except InputError:
            continue
        if request is not None and request.group is not None:
            groups.setdefault(request.group, []).append((each, request))
    return [fault for name, members in groups.items() for fault in _group_faults(name, members)]


def _group_faults(name: str, members: Sequence[tuple[AnnotatedPods, TopologyRequest]]) -> list[AnnotationFault]:
    if len(members) != 2:
        text = f"can only define groups of exactly 2 pod sets, got: {len(members)} pod set(s)"
        return [_fault_of(pods, "Invalid", GROUP_NAME, text, name) for pods, _ in members]
    found = []
    (one, mine), (other, yours) = members
    if one.count is not None and other.count is not None and 1 not in (one.count, other.count):
        text = (
            "can only define groups where at least one pod set has only 1 replica, got: "
            f"{one.count} replica(s) and {other.count} replica(s) in the group"
        )
        found += [_fault_of(pods, "Invalid", GROUP_NAME, text, name) for pods in (one, other)]
    if (mine.required, mine.preferred) != (yours.required, yours.preferred):
        text = f"must specify '{REQUIRED}' or '{PREFERRED}' topology consistent with '{{}}' in group '{name}'"
        for pods, partner in ((one, other), (other, one)):
            path = child(partner.path, "annotations")
            found.append(_fault_of(pods, "Invalid", "", text.format(path)))
    return found
