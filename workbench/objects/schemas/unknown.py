"""Find fields, labels and annotations of a manifest that do not exist, as the API server's strict decoding does."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from workbench.model.labels import SOURCE_LABEL
from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.fields import child, group_kind
from workbench.objects.schemas import core_v1, volcano
from workbench.objects.schemas.notation import SCALARS, Field, read_types

__all__ = [
    "DESCRIBED_KINDS",
    "KIND_TYPES",
    "KNOWN_KEYS",
    "Unknown",
    "in_domain",
    "strict_text",
    "types",
    "unknown_in",
    "unknown_notes",
]

#: Labels and annotations in the domain volcano.sh that Volcano, its agent or this package reads or writes. Source:
#: constants of Volcano after 1.15 and of volcano-global 0.3; docs/reference/volcano-jobs.md,
#: docs/reference/volcano-topology.md.
_DOMAIN = "volcano.sh"
_NAMES = {
    "scheduling.volcano.sh": "group-min-member group-min-resources group-name queue-allocation-gate queue-name",
    "volcano.sh": """
        bind-phase bind-time burst-name closed-by-parent colocation controller-out-of-sync cooldown-time
        createdByJobFlow createdByJobTemplate cronjob-scheduled-timestamp dequeue-strategy devices-to-allocate
        enable-quota-burst forward-cluster gpu-assigned gpu-index hierarchy hierarchy-weights hypercluster hyperjob-name
        hypernode hypernodes inqueue-timeout jdb-max-unavailable jdb-min-available job-allocated-hypernode
        job-forwarding job-name job-namespace job-retry-count job-spec job-type job-version namespace.weight
        network-bandwidth-rate network-topology-highest-tier network-topology-mode network-topology-source
        nodegroup-name nodegroup-resource-limits numa-topology-policy original-qos-level partition-id pp-spec-hash
        predicate-time preemptable qos-level queue-name quota-burst-time replicatedjob-name resource-group
        revocable-zone silo-resource sla-waiting-time task-index task-instance task-priority task-spec
        task-topology task-topology-affinity task-topology-anti-affinity task-topology-task-order template-uid
        topology-decision vcjob-template-spec-hash vgpu-ids-new vgpu-mode vgpu-node vgpu-time
    """,
}
KNOWN_KEYS = frozenset(f"{domain}/{name}" for domain, names in _NAMES.items() for name in names.split())


def in_domain(key: str) -> bool:
    """Whether a label or annotation key has the prefix volcano.sh or one of its subdomains."""
    domain, slash, _ = key.partition("/")
    return bool(slash) and f".{domain}".endswith(f".{_DOMAIN}")


#: (API group, kind) of the objects whose fields are known.
DESCRIBED_KINDS = frozenset(
    {
        ("", "Pod"),
        ("apps", "Deployment"),
        ("batch.volcano.sh", "Job"),
        ("scheduling.volcano.sh", "PodGroup"),
        ("scheduling.volcano.sh", "Queue"),
        ("topology.volcano.sh", "HyperNode"),
        ("training.volcano.sh", "HyperJob"),
    }
)

#: Names of types that are not the kind's own, and kinds whose fields are known and whose admission is not modelled.
KIND_TYPES = {
    ("batch", "Job"): "BatchJob",
    ("apps", "StatefulSet"): "StatefulSet",
    ("scheduling.k8s.io", "PodGroup"): "KubePodGroup",
    ("scheduling.k8s.io", "CompositePodGroup"): "CompositePodGroup",
    ("scheduling.k8s.io", "Workload"): "KubeWorkload",
}


@dataclass(frozen=True)
class Unknown:
    """A field that the object's kind does not have, or a label or annotation in Volcano's domain that no program reads.

    `where`: path of the mapping that contains the field; empty: the object. `meant`: the closest known name, or the
    replacement; empty: none is close. `is_key`: whether the name is a label or an annotation instead of a field.
    """

    where: str
    name: str
    meant: str = ""
    is_key: bool = False

    @property
    def path(self) -> str:
        """Field path of the unknown name itself."""
        return child(self.where, self.name)

    @property
    def hint(self) -> str:
        """The text "did you mean …?" with the closest known name; empty if no known name is close."""
        return f" (did you mean {self.meant}?)" if self.meant else ""


@cache
def types() -> Mapping[str, Mapping[str, Field]]:
    """All described types by name, the Kubernetes kinds included, each as a mapping of field name to `Field`."""
    return read_types(core_v1.TYPES, volcano.TYPES)


def unknown_in(data: Mapping[str, Any], release: Release = Release.V1_15) -> list[Unknown]:
    """Find fields and keys of a manifest that its kind does not have in a Volcano release.

    `data`: a parsed manifest; of kinds whose fields are not known its pod templates alone are searched. A field whose
    value has the wrong type is not entered. `release`: 1.13 lacks some fields. The result is in the order of the
    manifest.
    """
    found: list[Unknown] = []
    named, known = group_kind(data), _looked_into(release)
    kind = KIND_TYPES.get(named, named[1])
    if kind in known:
        _search_object(data, kind, None, known, found)
    else:
        _search_templates(data, None, known, found)
    return found


def strict_text(found: Iterable[Unknown]) -> str:
    """The API server's strict-decoding error text for unknown fields; unknown keys are reported in the same form.

    Empty if there are none.
    """
    found = list(found)
    fields = [f'unknown field "{one.path}"{one.hint}' for one in found if not one.is_key]
    keys = [f'{one.where}: unknown key "{one.name}"{one.hint}' for one in found if one.is_key]
    return "; ".join([f"strict decoding error: {', '.join(fields)}", *keys] if fields else keys)


def unknown_notes(found: Iterable[Unknown]) -> list[Notice]:
    """Notices about unknown fields of an object that is used nevertheless; items of one list share a notice."""
    alike: dict[tuple[str, str], list[Unknown]] = {}
    for one in found:
        alike.setdefault((_POSITION.sub("", one.where), one.name), []).append(one)
    notes = []
    for first, *others in alike.values():
        what = f"{first.where}: the key {first.name}" if first.is_key else first.path
        more = f" (and in {len(others)} more places)" if others else ""
        text = f"{what}{more} is unknown and not read{first.hint}"
        notes.append(Notice("unknown-field", text, numbers={"count": 1 + len(others)}))
    return notes


_POSITION = re.compile(r"\[[0-9]+\]")
#: Place of a value, as a linked list: the place of its container, and its key or position there; None: the object.
_Way = tuple["_Way", str | int] | None


@cache
def _looked_into(release: Release) -> Mapping[str, Mapping[str, Field | None]]:
    """For each type its fields in a Volcano release; the value is None for a field whose content is not checked."""

    def inside(field: Field) -> Field | None:
        return None if field.base in SCALARS and field.base != "keys" else field

    return {
        name: {
            key: inside(field) for key, field in fields.items() if not (field.since_1_15 and release is Release.V1_13)
        }
        for name, fields in types().items()
    }


# Appends to one list and builds no paths on the way, for speed: every manifest read is searched, also of 100,000 pods.
def _search_object(
    data: Mapping[str, Any],
    name: str,
    way: _Way,
    known: Mapping[str, Mapping[str, Field | None]],
    found: list[Unknown],
) -> None:
    fields = known[name]
    for key, value in data.items():
        field = fields.get(key, _MISSING)
        if field is _MISSING:
            found.append(Unknown(_path(way), str(key), _meant(name, str(key), fields)))
        elif field is not None and value:
            _search_field(value, field, (way, key), known, found)


_MISSING = Field("one", "any")


def _search_templates(
    value: Any, way: _Way, known: Mapping[str, Mapping[str, Field | None]], found: list[Unknown]
) -> None:
    """Search each pod template inside a value, which are told by the containers in their spec."""
    spec = value.get("spec") if type(value) is dict else None
    if type(spec) is dict and type(spec.get("containers")) is list:
        _search_object(value, "PodTemplateSpec", way, known, found)
    elif type(value) is dict or type(value) is list:
        for key, inner in value.items() if type(value) is dict else enumerate(value):
            _search_templates(inner, (way, key if type(key) is int else str(key)), known, found)


def _search_field(
    value: Any, field: Field, way: _Way, known: Mapping[str, Mapping[str, Field | None]], found: list[Unknown]
) -> None:
    of = field.of
    if field.form == "list":
        for i, item in enumerate(value if type(value) is list else ()):
            _search_field(item, of, (way, i), known, found)  # type: ignore[arg-type]
    elif type(value) is not dict:
        return
    elif field.form == "map":
        for key, item in value.items():
            _search_field(item, of, (way, str(key)), known, found)  # type: ignore[arg-type]
    elif of == "keys":
        # The labels of a HyperNode that was discovered name it by any label of the nodes.
        for key in () if SOURCE_LABEL in value else value:
            if type(key) is str and key not in KNOWN_KEYS and in_domain(key):
                found.append(Unknown(_path(way), key, _meant_key(key), is_key=True))
    else:
        _search_object(value, of, way, known, found)  # type: ignore[arg-type]


def _path(way: _Way) -> str:
    if way is None:
        return ""
    before, last = way
    return f"{_path(before)}[{last}]" if isinstance(last, int) else child(_path(before), last)


def _meant(name: str, key: str, fields: Iterable[str]) -> str:
    if (name, key) in volcano.MEANT:
        return volcano.MEANT[name, key]
    if key in types()[name]:
        return ""  # a field of newer releases: suggest no other name
    known = {field.lower(): field for field in fields}
    close = difflib.get_close_matches(key.lower(), known, n=1)
    return known[close[0]] if close else ""


def _meant_key(key: str) -> str:
    """Known key probably meant by an unknown one: same name under another domain, or else the closest."""
    name = key.partition("/")[2]
    alike = sorted(known for known in KNOWN_KEYS if known.endswith(f"/{name}"))
    close = alike or difflib.get_close_matches(key, sorted(KNOWN_KEYS), n=1, cutoff=0.75)
    return close[0] if close else ""
