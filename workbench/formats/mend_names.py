"""Names that Kubernetes does not allow are replaced, in an object and wherever others refer to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.formats.manifests import Document
from workbench.model.notice import Notice
from workbench.objects.hypernode import HyperNode
from workbench.objects.names import is_subdomain

__all__ = ["child_paths", "name_of", "names_in", "renamed_hypernodes", "with_name_of_parent"]


def with_name_of_parent(
    document: Document, notices: list[Notice], names: Mapping[str, str]
) -> tuple[Document, list[Notice]]:
    """A document, with the name that its parent gives a HyperNode, and its notices.

    `names`: new names by old ones.
    """
    name = name_of(document.data)
    if document.data.get("kind") != "HyperNode" or name not in names:
        return document, notices
    metadata = {**document.data["metadata"], "name": names[name]}
    renamed = replace(document, data={**document.data, "metadata": metadata})
    return renamed, [*notices, _name_notice(name, names[name])]


def _name_notice(name: str, taken: str) -> Notice:
    text = f"HyperNode {name} is called {taken} by its parent; taken as {taken}; write one name in both places"
    return Notice("name-spelt-differently", text, f"HyperNode {taken}")


def names_in(hypernodes: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Names of HyperNodes that differ from what their parents call them in ``-``, ``_``, ``.`` and capitals only.

    `hypernodes`: for each HyperNode, by its name, the names of its members that are HyperNodes. Returns: for the name
    of each such object the name that its parents use. An object is left out if a parent uses its own name, if several
    objects or several such names come into question, or if the name is not valid for an object.
    """
    called = {child for children in hypernodes.values() for child in children}
    missing = called - hypernodes.keys()
    if not missing:
        return {}
    unused = _by_letters(hypernodes.keys() - called)
    names = {}
    for letters, found in _by_letters(missing).items():
        objects = unused.get(letters, [])
        if len(found) == len(objects) == 1 and is_subdomain(found[0]):
            names[objects[0]] = found[0]
    return names


def renamed_hypernodes(hypernodes: dict[str, HyperNode]) -> list[Notice]:
    """Give typed HyperNodes the names that their parents use, in place; returns a notice about each that changed."""
    names = names_in(
        {
            name: [one.selector.exact for one in hypernode.members if one.type == "HyperNode" and one.selector.exact]
            for name, hypernode in hypernodes.items()
        }
    )
    if not names:
        return []
    kept = list(hypernodes.items())
    hypernodes.clear()
    for name, hypernode in kept:
        new = names.get(name, name)
        hypernodes[new] = replace(hypernode, metadata=replace(hypernode.metadata, name=new))
    return [_name_notice(name, names[name]) for name, _ in kept if name in names]


def _by_letters(names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(re.sub(r"[-_.]", "", name).lower(), []).append(name)
    return found


def name_of(data: Mapping[str, Any]) -> Any:
    """The name in the metadata of an object, of any type; None if it has no metadata."""
    metadata = data.get("metadata")
    return metadata.get("name") if type(metadata) is dict else None


def child_paths(data: Mapping[str, Any]) -> list[str]:
    """Names of the members that are HyperNodes, as far as the manifest is in order."""
    spec = data.get("spec")
    members = spec.get("members") if type(spec) is dict else None
    return list(_child_names(members if type(members) is list else []))


def _child_names(members: Iterable[Any]) -> Iterator[str]:
    for member in members:
        if type(member) is dict and member.get("type") == "HyperNode" and type(member.get("selector")) is dict:
            exact = member["selector"].get("exactMatch")
            if type(exact) is dict and type(exact.get("name")) is str:
                yield exact["name"]
