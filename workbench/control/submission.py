"""Manifests submitted to an embedded cluster: read, put in order and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.control.kinds import Ref, check_identity, is_known, key_of
from workbench.control.memory_store import MemoryStore
from workbench.control.store import Object
from workbench.errors import InputError
from workbench.formats.kueue_configuration import configuration_in
from workbench.formats.manifests import Document, Manifests, read_manifests
from workbench.model.notice import Notice
from workbench.objects.fields import wrong
from workbench.objects.metadata import is_stored
from workbench.objects.pod_group import KOORDINATOR_GROUPS

__all__ = ["documents_of", "in_order", "is_kueue_file", "unfollowed", "write_object"]

#: Kinds that are stored and read, beside those that `workbench.control.kinds` knows.
_READ = frozenset(f"PodGroup.{group}" for group in KOORDINATOR_GROUPS)
#: The kind of the file that configures Kueue, which no API server stores.
_KUEUE_FILE = "Configuration.config.kueue.x-k8s.io"

#: Kinds that others refer to, in the order in which they are created.
_FIRST = ("Namespace", "PriorityClass", "Queue", "Node", "Device", "HyperNode")


def documents_of(source: str | Path | Mapping[str, Any], number: int) -> list[Document]:
    """Documents of a source, the `number`-th: a file or folder, text of several lines, or a parsed manifest."""
    if isinstance(source, Mapping):
        return [Document(dict(source), f"object {number + 1}", "")]
    if not (isinstance(source, str) and "\n" in source):
        return read_manifests([source]).documents
    name = f"text {number + 1}"
    try:
        return [replace(one, source=name) for one in read_manifests(["-"], source).documents]
    except InputError as error:
        raise error.of(name) from None


def in_order(documents: Sequence[Document]) -> list[Document]:
    """Documents in the order in which they are created; an InputError if one is no object of Kubernetes.

    Objects come after those that they refer to by their kinds, else in the order given.
    """
    for document in documents:
        if type(document.data.get("apiVersion")) is not str or type(document.data.get("kind")) is not str:
            raise document.error(wrong("apiVersion", None, "every Kubernetes object has apiVersion and kind"))
        try:
            check_identity(document.data)
        except InputError as error:
            raise document.error(error) from None
    return sorted(documents, key=_rank)


def _rank(document: Document) -> int:
    kind = document.data.get("kind")
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def write_object(store: MemoryStore, data: Object) -> None:
    """Create an object, replace the one of its name, or take over one that another cluster stored."""
    if is_stored(data):
        store.adopt([data])
    elif store.get(key_of(data)) is None:
        store.create(data)
    else:
        store.update(data)


def is_kueue_file(document: Document) -> bool:
    """Whether a document is Kueue's Configuration, a file of its manager and no object of a cluster."""
    return key_of(document.data).kind == _KUEUE_FILE


def unfollowed(document: Document) -> list[tuple[Ref, Notice]]:
    """The object with a notice, if no part of an embedded cluster follows its kind, or Kueue's Configuration in it.

    `document`: one that `in_order` has checked. Raises InputError: an object that `workbench.load` would not read, with
    the same text.
    """
    from workbench.formats.read_files import read_objects

    key = key_of(document.data)
    try:
        holds = configuration_in(document.data, document.source) is not None
    except InputError as error:
        raise document.error(error) from None
    if (is_known(key.kind) or key.kind in _READ) and not holds:
        return []
    read = read_objects(Manifests([document]))
    text = "Kueue's Configuration is" if holds else "this kind is"
    text += " not modelled in an embedded cluster: no controller, queue or scheduler follows it"
    if not read.ignored:
        text += "; 'workbench place', 'compare' and 'simulate' do"
    return [(key if key.name else key._replace(name="kueue"), Notice("not-modelled", text))]
