"""Volcano's HyperNode tree as it results from a sequence of events, for each modelled release.

A scheduler does not see all HyperNodes at once: parents come before children, updates fail, nodes come and go. The
oracle models Volcano's cache after each event, including the partial changes of a failed event. The product has
`workbench.topology.build` instead: the tree that a set of HyperNodes *should* give, whatever the order of events; for
well-formed forests both agree.

Source: docs/reference/volcano-topology.md, section 2. Where Volcano follows the order of a Go map, the smallest name
(byte order) goes first here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from workbench.model.release import Release
from workbench.objects.hypernode import HyperNode, Member
from workbench.objects.selectors import NameIndex, Selector, resolve_selector

K = TypeVar("K")

_NO_TIER = -1


@dataclass
class _Entry:
    """What Volcano's cache holds for one HyperNode name.

    Without an object it is a placeholder for a parent's member.
    """

    tier: int = 0
    hypernode: HyperNode | None = None
    parent: str = ""
    deleting: bool = False
    children: list[str] = field(default_factory=list)


class _Broken(Exception):
    """Raised when the HyperNode tree cannot be built; the message is Volcano's."""


class HyperNodeTree:
    """Volcano's cached tree of HyperNodes, updated event by event.

    Parameters
    ----------
    release : Release
        Volcano 1.13 starts not ready, remembers only the last HyperNode that failed because a child has another parent,
        and rebuilds the tree on every update. Volcano 1.15 starts ready, and does not rebuild if a HyperNode with
        only exact members keeps its members; if a HyperNode gives up a child, it rebuilds the other HyperNodes that
        list the child.
    nodes : mapping of str to mapping
        Labels of the initial nodes, by name.

    Attributes
    ----------
    ready : bool
        Upstream's ready flag: whether the last rebuild, of any HyperNode, succeeded.
    """

    def __init__(self, release: Release, nodes: Mapping[str, Mapping[str, str]] | None = None) -> None:
        nodes = nodes or {}
        self.release = release
        self.ready = release is Release.V1_15
        self._index = NameIndex(list(nodes), list(nodes.values()))
        self._entries: dict[str, _Entry] = {}
        self._tiers: dict[int, set[str]] = {}
        self._real: dict[str, set[str]] = {}
        self._claimers: dict[str, set[str]] = {}
        self._by_selector: dict[Selector, set[str]] = {}
        self._failed_parent = ""

    def upsert(self, hypernode: HyperNode) -> str:
        """Handle the creation or update of a HyperNode.

        Returns
        -------
        str
            The error that the event ends with; empty: none.

        Notes
        -----
        A HyperNode that is created again while its deletion still fails stays marked as deleted, as in upstream, and is
        skipped until the deletion succeeds.
        """
        return self._upsert(hypernode)

    def delete(self, name: str) -> str:
        """Handle the deletion of a HyperNode, whose children stay without a parent; returns the error as `upsert` does.

        While an ancestor cannot be built the HyperNode stays, marked as deleted.
        """
        entry = self._entries.get(name)
        if entry is not None:
            entry.deleting = True
        error = self._rebuilt(name)
        if not error:
            entry = self._entries.pop(name, None)
            if entry is not None:
                for child in entry.children:
                    self._free(child)
                known, entry.hypernode = entry.hypernode, None
                self._register(name, entry, known)
                _leave(self._tiers, entry.tier, name)
        return error

    def add_node(self, name: str, labels: Mapping[str, str] | None = None) -> str:
        """Handle the creation of a node or a change of its labels; returns the first error, empty if there is none.

        HyperNodes whose label selector no longer matches the node are not updated: upstream only looks for HyperNodes
        that match the node now, so a stale member stays until the next event of its HyperNode.
        """
        self._index.add(name, labels or {})
        return self._node_event(name)

    def delete_node(self, name: str) -> str:
        """Handle the deletion of a node; returns the first error, empty if there is none.

        Patterns still match its name; labels cannot match any more, so that HyperNodes that selected it by label keep
        it until their next event. Exact members keep it in any case.
        """
        self._index.remove(name)
        return self._node_event(name)

    @property
    def tiers(self) -> dict[int, frozenset[str]]:
        """Names of the HyperNodes of each tier, lowest tier first."""
        return {tier: frozenset(self._tiers[tier]) for tier in sorted(self._tiers)}

    @property
    def parents(self) -> dict[str, tuple[int, str]]:
        """Tier and parent's name of each HyperNode, by name; the parent is empty if there is none.

        A HyperNode that is only known as a member of another one has tier 0.
        """
        return {name: (entry.tier, entry.parent) for name, entry in self._entries.items()}

    @property
    def real_nodes(self) -> dict[str, frozenset[str]]:
        """Names of the nodes under each HyperNode, also names that no node has.

        HyperNodes without a member that could add a node are left out.
        """
        return {name: frozenset(nodes) for name, nodes in self._real.items()}

    def ancestors(self, name: str) -> list[str]:
        """The given HyperNode's name, its parent's name, and so on upwards; an unknown name is the only element.

        After a HyperNode without a parent the list continues with the HyperNode of a greater tier that lists it as an
        exact member; if there are several, with the smallest name.
        """
        found = {name: None}
        while (name := self._parent_or_claimer(name)) and name not in found:
            found[name] = None
        return list(found)

    def leaves_under(self, name: str) -> set[str]:
        """Names of the HyperNodes without HyperNode members at or below the given one."""
        leaves = set()
        seen = {name}
        waiting = [name]
        while waiting:
            entry = self._entries.get(name := waiting.pop())
            if entry is None:
                continue
            if _is_leaf(entry):
                leaves.add(name)
            for child in entry.children:
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
        return leaves

    def leaves_with_pattern(self) -> set[str]:
        """Names of the lowest HyperNodes with a regex or label member; events of nodes may change their nodes."""
        return {name for names in self._by_selector.values() for name in names}

    def _upsert(self, hypernode: HyperNode) -> str:
        name = hypernode.name
        entry = self._entries.get(name)
        known = entry.hypernode if entry is not None else None
        entry = self._entries.setdefault(name, entry or _Entry())
        before = entry.children
        if not known or entry.tier != hypernode.tier:
            _leave(self._tiers, entry.tier, name)
            self._tiers.setdefault(hypernode.tier, set()).add(name)
            entry.tier = hypernode.tier
        entry.hypernode = hypernode
        if known and known.members == hypernode.members:
            if self.release is Release.V1_15 and _exact_only(hypernode):
                return ""
        else:
            self._register(name, entry, known)
        freed = sorted(set(before) - set(entry.children), key=str.encode)
        for child in freed:
            self._free(child)
        return self._rebuilt(name, freed)

    def _register(self, name: str, entry: _Entry, known: HyperNode | None) -> None:
        """Update the indexes by child and by node selector after a HyperNode's members changed from `known` to
        `entry`'s.
        """
        for child in entry.children:
            _leave(self._claimers, child, name)
        for selector in _searching(known):
            _leave(self._by_selector, selector, name)
        entry.children = list(entry.hypernode.children) if entry.hypernode else []
        for child in entry.children:
            self._claimers.setdefault(child, set()).add(name)
        for selector in _searching(entry.hypernode):
            self._by_selector.setdefault(selector, set()).add(name)

    def _free(self, name: str) -> None:
        entry = self._entries.get(name)
        if entry is not None:
            entry.parent = ""

    def _node_event(self, name: str) -> str:
        """Update every lowest HyperNode whose pattern or label selector matches the node; returns the first error."""
        position = self._index.position.get(name)
        alone = NameIndex([name], [{} if position is None else self._index.labels[position]])
        matched: set[str] = set()
        for selector, names in self._by_selector.items():
            by_name = selector.pattern is not None
            if (by_name or position is not None) and resolve_selector(selector, alone):
                matched |= names
        for leaf in sorted(matched, key=str.encode):
            hypernode = self._entries[leaf].hypernode
            error = self._upsert(hypernode) if hypernode else ""
            if error:
                return error
        return ""

    def _parent_or_claimer(self, name: str) -> str:
        entry = self._entries.get(name)
        if entry is not None and entry.parent:
            return entry.parent
        tier = entry.tier if entry is not None else _NO_TIER
        claimers = [c for c in self._claimers.get(name, ()) if self._entries[c].tier > tier]
        return min(claimers, key=str.encode, default="")

    def _rebuilt(self, name: str, freed: Iterable[str] = ()) -> str:
        """Rebuild a HyperNode, its ancestors and others that the release rebuilds; sets `ready` and returns the error.

        `freed` are the names of members that the HyperNode gave up.
        """
        try:
            self._rebuild(name)
            if self.release is Release.V1_13:
                if self._failed_parent == name:
                    for leaf in sorted(self.leaves_under(name), key=str.encode):
                        self._rebuild(leaf)
                self._failed_parent = ""
            else:
                for child in freed:
                    for claimer in sorted(self._claimers.get(child, set()) - {name}, key=str.encode):
                        self._rebuild(claimer)
        except _Broken as broken:
            self.ready = False
            return str(broken)
        self.ready = True
        return ""

    def _rebuild(self, name: str) -> None:
        ancestors = self.ancestors(name)
        for ancestor in ancestors:
            self._real.pop(ancestor, None)
            self._free(ancestor)
        processed: set[str] = set()
        within = set(ancestors)
        for ancestor in ancestors:
            self._build(ancestor, within, processed)

    def _build(self, start: str, within: set[str], processed: set[str]) -> None:
        """Rebuild the node sets of the HyperNodes in `within`, depth first from `start`; others keep theirs.

        HyperNodes that have been rebuilt are added to `processed`. An explicit stack replaces recursion, because a
        cycle may contain all HyperNodes.
        """
        path: dict[str, Iterator[Member]] = {}

        def enter(name: str) -> bool:
            if name in path:
                chain = " ".join(sorted(path, key=str.encode))
                raise _Broken(
                    f"cyclic dependency detected: HyperNode {name} is already in the ancestor chain [{chain}]"
                )
            entry = self._entries.get(name)
            if name in processed or name not in within or entry is None or entry.deleting:
                return False
            path[name] = iter(entry.hypernode.members if entry.hypernode else ())
            return True

        enter(start)
        while path:
            name = next(reversed(path))
            member = next(path[name], None)
            if member is None:
                processed.add(name)
                del path[name]
                if path:
                    self._join(next(reversed(path)), name)
            elif member.type == "Node":
                self._real.setdefault(name, set()).update(resolve_selector(member.selector, self._index))
            elif child := member.selector.exact:
                self._link(name, child)
                if not enter(child):
                    self._join(name, child)

    def _join(self, name: str, child: str) -> None:
        self._real.setdefault(name, set()).update(self._real.get(child, ()))

    def _link(self, parent: str, child: str) -> None:
        entry = self._entries.setdefault(child, _Entry())
        if entry.parent and entry.parent != parent:
            self._failed_parent = parent
            raise _Broken(
                f"HyperNode {child} already has a parent {entry.parent}, and cannot set another parent {parent}"
            )
        entry.parent = parent


def _leave(groups: dict[K, set[str]], key: K, name: str) -> None:
    """Remove `name` from the group of `key`, and the group itself if it becomes empty."""
    group = groups.get(key, set())
    group.discard(name)
    if not group:
        groups.pop(key, None)


def _is_leaf(entry: _Entry) -> bool:
    return entry.hypernode is None or all(member.type == "Node" for member in entry.hypernode.members)


def _exact_only(hypernode: HyperNode) -> bool:
    return all(m.selector.pattern is None and m.selector.labels is None for m in hypernode.members)


def _searching(hypernode: HyperNode | None) -> list[Selector]:
    """The selectors by which node events find a HyperNode: the regex and label members of a lowest HyperNode."""
    if hypernode is None or any(member.type == "HyperNode" for member in hypernode.members):
        return []
    return [m.selector for m in hypernode.members if m.selector.pattern is not None or m.selector.labels is not None]
