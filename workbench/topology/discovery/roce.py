"""`discover_roce`: HyperNodes from the links of an Ethernet fabric.

Volcano names a source ``roce`` in its examples but has not implemented it. The file format and the rule here are this
project's own; docs/discovery.md explains both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import InputError
from workbench.model.notice import Notice
from workbench.objects.fields import child, get_maps, get_text, wrong
from workbench.objects.names import as_subdomain, is_subdomain
from workbench.topology.discovery.result import DiscoveryResult, discovered, linked_groups, short_code

__all__ = ["SOURCE", "VERSION", "RoceLink", "discover_roce", "read_roce_links"]

SOURCE = "roce"

#: The only version of the format.
VERSION = 1

_LONGEST_NODE = 253
#: Most characters of a HyperNode's name: Volcano's admission takes no longer one as a member of another HyperNode.
_LONGEST_NAME = 63


@dataclass(frozen=True)
class RoceLink:
    """One cable of an Ethernet fabric, from a leaf switch to either a node or a spine.

    Exactly one of these two is set.
    """

    leaf: str
    node: str = ""
    spine: str = ""


def read_roce_links(data: Any) -> list[RoceLink]:
    """Read the links in a parsed document ``{"version": 1, "links": [...]}``, in its order.

    Raises InputError: another version, a field of the wrong type, a link that is not node and leaf or leaf and spine, a
    node whose name no Kubernetes node can have, one name in two roles.
    """
    if type(data) is not dict:
        raise wrong("the document", data, "a mapping with version and links")
    if type(data.get("version")) is not int or data["version"] != VERSION:
        raise wrong("version", data.get("version"), str(VERSION))
    if data.get("links") is None:
        raise wrong("links", None, "a list of links")
    links = [_link(item, path) for path, item in get_maps(data, "links", "")]
    roles: dict[str, str] = {}
    for i, link in enumerate(links):
        for role, name in (("leaf", link.leaf), ("node", link.node), ("spine", link.spine)):
            if name and roles.setdefault(name, role) != role:
                raise InputError(
                    "one name in two roles",
                    where=f"links[{i}]",
                    got=f"{roles[name]} and {role} {name!r}"[:120],
                    expected="one",
                )
    return links


def _link(item: Mapping[str, Any], path: str) -> RoceLink:
    link = RoceLink(*(get_text(item, key, path) for key in ("leaf", "node", "spine")))
    if not link.leaf or bool(link.node) == bool(link.spine):
        given = ", ".join(key for key in ("node", "leaf", "spine") if getattr(link, key))
        raise InputError(
            "no link",
            where=path,
            got=given or "neither node, leaf nor spine",
            expected="node and leaf, or leaf and spine",
        )
    if link.node and (len(link.node) > _LONGEST_NODE or not is_subdomain(link.node)):
        raise wrong(child(path, "node"), link.node, "the name of a Kubernetes node")
    return link


def discover_roce(links: Iterable[RoceLink]) -> DiscoveryResult:
    """Make HyperNodes from the links of an Ethernet fabric.

    The rule of tier 1 is that of the UFM source (a node with one port per rail hangs on all leaves of its rails). The
    names do not shift when another group comes or goes. A switch name that no object can have is made into one and gets
    five characters of a digest. A leaf without nodes is left out and noted.

    Returns
    -------
    DiscoveryResult
        Tier 1 (`tier_name` ``leaf``): leaves that share a node, directly or through others, form one HyperNode over
        their nodes, named ``roce-leaf-`` and the smallest of the leaves. Tier 2 (``spine``): spines linked to a common
        tier-1 HyperNode, directly or through others, form one HyperNode over those tier-1 HyperNodes, named
        ``roce-spine-`` and the smallest of the spines. Each tier is sorted by the smallest switch.
    """
    nodes_of: dict[str, set[str]] = {}
    spines_of: dict[str, set[str]] = {}
    for link in links:
        (nodes_of if link.node else spines_of).setdefault(link.leaf, set()).add(link.node or link.spine)
    leaves = []
    below: dict[str, set[str]] = {}
    for group in linked_groups(nodes_of):
        nodes = (node for leaf in group for node in nodes_of[leaf])
        leaves.append(discovered(SOURCE, _name("leaf", group[0]), 1, nodes, "Node", "leaf"))
        for leaf in group:
            for spine in spines_of.get(leaf, ()):
                below.setdefault(spine, set()).add(leaves[-1].name)
    spines = [
        discovered(
            SOURCE,
            _name("spine", group[0]),
            2,
            (name for spine in group for name in below[spine]),
            "HyperNode",
            "spine",
        )
        for group in linked_groups(below)
    ]
    bare = spines_of.keys() - nodes_of.keys()
    notes = (
        (Notice("left-aside", f"leaves without nodes are left out: {len(bare)}", numbers={"count": len(bare)}),)
        if bare
        else ()
    )
    return DiscoveryResult(SOURCE, (*leaves, *spines), notes)


def _name(role: str, switch: str) -> str:
    """Name of the HyperNode for a switch; `role` is ``leaf`` or ``spine``.

    A name that no object can have is cleaned and gets a digest, so that two switches hardly ever get one name.
    """
    name, code = f"{SOURCE}-{role}-{switch}", short_code(switch)
    if len(name) <= _LONGEST_NAME and is_subdomain(switch):
        return name
    cleaned = as_subdomain(switch, _LONGEST_NAME - len(f"{SOURCE}-{role}--{code}"))
    return "-".join(part for part in (SOURCE, role, cleaned, code) if part)
