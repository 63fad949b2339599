"""`Metadata`, the metadata of a Kubernetes object, and `StatusCondition`, an entry of its status.conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.objects.fields import get_bool, get_map, get_maps, get_text, get_texts, wrong

__all__ = ["Metadata", "Owner", "StatusCondition", "is_stored", "read_metadata", "read_status_conditions"]


@dataclass(frozen=True)
class Owner:
    """One entry of an object's metadata.ownerReferences."""

    kind: str
    name: str
    controller: bool
    uid: str = ""
    api_version: str = ""
    blocks_deletion: bool = False


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of a Kubernetes object: name, namespace, labels, annotations, owners.

    `namespace` is empty for cluster-scoped kinds; `created` (creationTimestamp), `uid` and `resource_version` are empty
    for an object that does not exist yet.
    """

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[Owner, ...] = ()
    created: str = ""

    @property
    def key(self) -> str:
        """The object's identifier: ``namespace/name``, or the name alone for cluster-scoped kinds."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def stored(self) -> bool:
        """Whether the object was read from a cluster (`is_stored`)."""
        return bool(self.uid or self.resource_version)

    @property
    def controller(self) -> Owner | None:
        """The owner reference of the object's controller (``controller: true``); None if it has none."""
        return next((owner for owner in self.owners if owner.controller), None)


def is_stored(data: Mapping[str, Any]) -> bool:
    """Whether an object was read from a cluster: it has metadata.uid or metadata.resourceVersion.

    Only the API server writes these two fields, and it writes both; a status may also be in a manifest written by hand.
    """
    metadata = get_map(data, "metadata", "")
    return bool(metadata.get("uid") or metadata.get("resourceVersion"))


def read_metadata(data: Mapping[str, Any], namespaced: bool) -> Metadata:
    """Read the metadata of a parsed manifest; a namespaced object without a namespace is in ``default``.

    Raises InputError: no name, or a field of the wrong type.
    """
    metadata = get_map(data, "metadata", "")
    name = get_text(metadata, "name", "metadata")
    namespace = (get_text(metadata, "namespace", "metadata") or "default") if namespaced else ""
    if not name:
        raise wrong("metadata.name", None, "the object's name")
    # Keys are namespace/name, and every report prints names on one line.
    for path, text in (("metadata.name", name), ("metadata.namespace", namespace)):
        if not text.isprintable() or "/" in text:
            raise wrong(path, text, "printable text without a slash")
    return Metadata(
        name=name,
        namespace=namespace,
        uid=get_text(metadata, "uid", "metadata"),
        resource_version=get_text(metadata, "resourceVersion", "metadata"),
        labels=get_texts(metadata, "labels", "metadata"),
        annotations=get_texts(metadata, "annotations", "metadata"),
        owners=_owners(metadata) if metadata.get("ownerReferences") else (),
        created=get_text(metadata, "creationTimestamp", "metadata"),
    )


def _owners(metadata: Mapping[str, Any]) -> tuple[Owner, ...]:
    return tuple(
        Owner(
            get_text(item, "kind", path),
            get_text(item, "name", path),
            get_bool(item, "controller", path),
            get_text(item, "uid", path),
            get_text(item, "apiVersion", path),
            get_bool(item, "blockOwnerDeletion", path),
        )
        for path, item in get_maps(metadata, "ownerReferences", "metadata")
    )


@dataclass(frozen=True)
class StatusCondition:
    """One condition of an object: its type, whether it holds (``True``, ``False``, ``Unknown``), and why."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


def read_status_conditions(data: Mapping[str, Any]) -> tuple[StatusCondition, ...]:
    """Read status.conditions of a parsed manifest; raises InputError for a field of the wrong type."""
    return tuple(
        StatusCondition(*(get_text(item, key, path) for key in ("type", "status", "reason", "message")))
        for path, item in get_maps(get_map(data, "status", ""), "conditions", "status")
    )
