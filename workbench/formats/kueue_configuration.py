"""Kueue's Configuration inside the ConfigMap of its controller manager."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.formats.config_maps import parse_text
from workbench.model.notice import Notice
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import read_metadata

if TYPE_CHECKING:
    from workbench.cluster.changes import ObjectChange

__all__ = ["add_object", "configuration_change", "configuration_in"]

#: Key of the ConfigMap, which Kueue's manifests call kueue-manager-config.
_KEY = "controller_manager_config.yaml"


def configuration_in(data: Mapping[str, Any], source: str) -> dict[str, Any] | None:
    """The Configuration in a ConfigMap, under the name of the ConfigMap; None: the object has none.

    Raises InputError: a text under the key that is not YAML.

    Parameters
    ----------
    data : mapping
        A parsed manifest.
    source : str
        Its file, for errors.
    """
    if (data.get("apiVersion"), data.get("kind")) != ("v1", "ConfigMap"):
        return None
    held = data.get("data")
    text = held.get(_KEY) if isinstance(held, dict) else None
    if not isinstance(text, str):
        return None
    try:
        inner = parse_text(text, source, lambda found: found)
    except InputError as error:
        raise _under_key(error) from None
    if not isinstance(inner, dict) or not str(inner.get("apiVersion")).startswith("config.kueue.x-k8s.io/"):
        return None
    return {**inner, "metadata": data.get("metadata")}


def add_object(
    cluster: ClusterObjects, data: Mapping[str, Any], source: str, place: str = "", *, accepted: bool = False
) -> None:
    """Add a parsed manifest to the objects of an input; of a ConfigMap with Kueue's Configuration, that Configuration.

    Errors and notices about the Configuration name the key of the ConfigMap. Raises InputError and CapacityError: as
    `ClusterObjects.add`.

    `source`: file of the manifest, for errors; `place` and `accepted`: as in `ClusterObjects.add`.
    """
    inner = configuration_in(data, source)
    if inner is None:
        cluster.add(data, place, accepted=accepted)
        return
    try:
        cluster.add(inner, place, accepted=accepted)
    except InputError as error:
        raise _under_key(error) from None
    name = f"Configuration {read_metadata(data, namespaced=True).key}"
    if name in cluster.notes:
        cluster.notes[name] = _told(cluster.notes[name])


def configuration_change(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> ObjectChange | None:
    """The change of Kueue's Configuration when a ConfigMap changes; None: neither version of the ConfigMap has one.

    `before`, `after`: manifests of the ConfigMap; None: there was or is none. Raises InputError: as `add_object`.
    """
    from workbench.cluster.changes import read_change

    for data in (after, before):
        inner = None if data is None else configuration_in(data, "")
        if inner is not None:
            try:
                change = read_change(inner, gone=data is not after)
            except InputError as error:
                raise _under_key(error) from None
            return None if change is None else replace(change, notes=_told(change.notes))
    return None


def _told(notes: Iterable[Notice]) -> tuple[Notice, ...]:
    return tuple(replace(note, message=f"data[{_KEY}], {note.message}") for note in notes)


def _under_key(error: InputError) -> InputError:
    where = f"data[{_KEY}], {error.where}" if error.where else f"data[{_KEY}]"
    return InputError(error.message, source=error.source, where=where, got=error.got, expected=error.expected)
