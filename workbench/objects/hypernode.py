"""`HyperNode` (topology.volcano.sh/v1alpha1): a network domain and its members, which `resolve_members` finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from workbench.errors import InputError
from workbench.model.number_text import whole_number
from workbench.model.value import Value
from workbench.objects.fields import child, get_int, get_map, get_maps, get_text, wrong
from workbench.objects.metadata import Metadata, read_metadata
from workbench.objects.selectors import NameIndex, Selector, pattern_error, read_label_selector, resolve_selector

__all__ = [
    "HyperNode",
    "Member",
    "ignored_members",
    "make_hypernode",
    "node_count",
    "read_hypernode",
    "resolve_members",
    "selector_text",
    "unreadable",
]


@dataclass(frozen=True)
class Member:
    """One entry of a HyperNode's spec.members: its type (Node or HyperNode) and its selector."""

    type: Literal["Node", "HyperNode"]
    selector: Selector


@dataclass(frozen=True)
class HyperNode(Value):
    """A HyperNode as read from a manifest; a smaller tier means closer nodes.

    `tier_name`: tierName, which only 1.15 has; empty: none. `node_count`: status.nodeCount, as the controller last
    wrote it; None: absent. It counts the HyperNode's direct members (`node_count` of this module) and is not used for
    scheduling.
    """

    metadata: Metadata
    tier: int
    tier_name: str
    members: tuple[Member, ...]
    node_count: int | None = None

    @property
    def name(self) -> str:
        return self.metadata.name

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """Exact names of nodes among the members, each once."""
        names = (m.selector.exact for m in self.members if m.type == "Node")
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @cached_property
    def node_selectors(self) -> tuple[Selector, ...]:
        """Selectors of the members that select nodes by pattern or label."""
        return tuple(m.selector for m in self.members if m.type == "Node" and m.selector.exact is None)

    @cached_property
    def children(self) -> tuple[str, ...]:
        """Names of the child HyperNodes, each once; as in Volcano, only members by exact name count."""
        names = (m.selector.exact for m in self.members if m.type == "HyperNode")
        return tuple(dict.fromkeys(name for name in names if name))


def make_hypernode(
    name: str,
    tier: int,
    *,
    nodes: Iterable[str] = (),
    children: Iterable[str] = (),
    tier_name: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> HyperNode:
    """Make a HyperNode whose members are given by exact name.

    `nodes`, `children`: names of nodes and of HyperNodes; children become the first members, each in the order given.
    """
    members = [Member("HyperNode", Selector(child)) for child in children]
    members += [Member("Node", Selector(node)) for node in nodes]
    metadata = Metadata(name, labels=dict(labels or {}), annotations=dict(annotations or {}))
    return HyperNode(metadata, tier, tier_name, tuple(members))


def read_hypernode(data: Mapping[str, Any], *, keep_patterns: bool = False) -> HyperNode:
    """Read a HyperNode from a parsed manifest; the tier may be an integer or a numeric string, and is 0 if absent.

    Raises InputError: a field of the wrong type, an unknown member type, a pattern that RE2 refuses.

    `keep_patterns`: keep a pattern that RE2 refuses instead of raising; such a pattern selects nothing.
    """
    spec = get_map(data, "spec", "")
    return HyperNode(
        metadata=read_metadata(data, namespaced=False),
        tier=_tier(spec.get("tier")),
        tier_name=get_text(spec, "tierName", "spec"),
        members=tuple(_member(item, path, keep_patterns) for path, item in get_maps(spec, "members", "spec")),
        node_count=get_int(data["status"], "nodeCount", "status") if get_map(data, "status", "") else None,
    )


def unreadable(data: Mapping[str, Any], *, keep_patterns: bool = False) -> InputError | None:
    """Why a manifest with a name cannot be read as a HyperNode; None: it can, or it has no name.

    `keep_patterns` is as for `read_hypernode`.
    """
    metadata = data.get("metadata")
    if type(metadata) is not dict or type(metadata.get("name")) is not str:
        return None
    try:
        read_hypernode(data, keep_patterns=keep_patterns)
    except InputError as error:
        return error
    return None


def _tier(value: Any) -> int:
    if value is None:
        return 0
    tier = value
    if type(value) is str and (size := whole_number(value.removeprefix("-"))) is not None:
        tier = -size if value.startswith("-") else size
    if type(tier) is not int or not -(2**31) <= tier < 2**31:
        raise wrong("spec.tier", value, "a whole number of 32 bits, or the text of one")
    return tier


def _member(item: Mapping[str, Any], path: str, keep_patterns: bool) -> Member:
    kind = get_text(item, "type", path)
    if kind not in ("Node", "HyperNode"):
        raise wrong(child(path, "type"), item.get("type"), "Node or HyperNode")
    selector = get_map(item, "selector", path)
    where = child(path, "selector")
    return Member(kind, _selector(selector, where, keep_patterns))  # type: ignore[arg-type]


def _selector(selector: Mapping[str, Any], where: str, keep_patterns: bool) -> Selector:
    exact = pattern = labels = None
    if selector.get("exactMatch") is not None:
        exact = get_text(get_map(selector, "exactMatch", where), "name", child(where, "exactMatch"))
    if selector.get("regexMatch") is not None:
        where_pattern = child(where, "regexMatch")
        pattern = get_text(get_map(selector, "regexMatch", where), "pattern", where_pattern)
        if not keep_patterns and (error := pattern_error(pattern)) is not None:
            raise error.at(where=child(where_pattern, "pattern"))
    if selector.get("labelMatch") is not None:
        labels = read_label_selector(get_map(selector, "labelMatch", where), child(where, "labelMatch"))
    return Selector(exact, pattern, labels)


def resolve_members(hypernode: HyperNode, index: NameIndex) -> tuple[list[int], list[str], list[str]]:
    """Resolve the members of one HyperNode to nodes and child HyperNodes, each listed once.

    Returns
    -------
    nodes : list of int
        Positions in the index.
    unknown : list of str
        Exact names of nodes that the index lacks.
    children : list of str
        Names of the child HyperNodes (`HyperNode.children`).
    """
    names, position = hypernode.node_names, index.position
    nodes = dict.fromkeys(position[name] for name in names if name in position)
    unknown = [name for name in names if name and name not in position]
    for selector in hypernode.node_selectors:
        if selector.pattern is not None:
            nodes.update(dict.fromkeys(index.matching(selector.pattern)))
        elif selector.labels:
            nodes.update(dict.fromkeys(index.holding(selector.labels)))
    return list(nodes), unknown, list(hypernode.children)


def ignored_members(hypernode: HyperNode) -> list[int]:
    """Indices of the members that select HyperNodes by pattern or label, which Volcano accepts and ignores."""
    return [
        i
        for i, member in enumerate(hypernode.members)
        if member.type == "HyperNode" and not member.selector.exact and member.selector != Selector()
    ]


def selector_text(selector: Selector) -> str:
    """A selector that is no exact name in words: ``the pattern 's0.*'`` or ``a label selector``."""
    return f"the pattern {selector.pattern!r}" if selector.pattern is not None else "a label selector"


def node_count(hypernode: HyperNode, index: NameIndex) -> int:
    """The number that Volcano's hypernode controller writes into status.nodeCount.

    Source: docs/reference/volcano-topology.md, section 9. The members' own names, whatever their type and whether they
    exist: a HyperNode of HyperNodes counts its children, not the nodes under them.
    """
    names: set[str] = set()
    for member in hypernode.members:
        names.update(resolve_selector(member.selector, index))
    return len(names)
