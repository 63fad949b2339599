"""Oracle of `workbench.topology.events`: the rules of the reference, by scans and copied sets.

Nothing is shared with the code under test: objects are plain tuples, exact members only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: kind ("Node" or "HyperNode") and exact name.
Members = tuple[tuple[str, str], ...]


class Failure(Exception):
    """An event that returns an error."""


@dataclass
class State:
    newest: bool
    ready: bool = False
    tier: dict[str, int] = field(default_factory=dict)
    parent: dict[str, str] = field(default_factory=dict)
    members: dict[str, Members | None] = field(default_factory=dict)
    deleting: set[str] = field(default_factory=set)
    real: dict[str, set[str]] = field(default_factory=dict)
    failed_parent: str = ""

    def __post_init__(self) -> None:
        self.ready = self.newest

    def upsert(self, name: str, tier: int, members: Members) -> str:
        known = self.members.get(name)
        freed = set(self.children(name)) - {member for kind, member in members if kind == "HyperNode"}
        self.tier[name] = tier
        self.members[name] = members
        self.parent.setdefault(name, "")
        if self.newest and known is not None and known == members:
            return ""
        for child in freed & self.parent.keys():
            self.parent[child] = ""
        return self.rebuild_all(name, sorted(freed))

    def delete(self, name: str) -> str:
        if name in self.members:
            self.deleting.add(name)
        error = self.rebuild_all(name, [])
        if error:
            return error
        for child in self.children(name):
            if child in self.parent:
                self.parent[child] = ""
        for table in (self.tier, self.parent, self.members):
            table.pop(name, None)
        self.deleting.discard(name)
        return ""

    def rebuild_all(self, name: str, freed: list[str]) -> str:
        try:
            self.rebuild(name)
            if self.newest:
                for child in freed:
                    for other in sorted(self.members):
                        if other != name and child in self.children(other):
                            self.rebuild(other)
            else:
                if self.failed_parent == name:
                    for leaf in sorted(self.leaves(name, ())):
                        self.rebuild(leaf)
                self.failed_parent = ""
        except Failure as failure:
            self.ready = False
            return str(failure)
        self.ready = True
        return ""

    def rebuild(self, name: str) -> None:
        ancestors = self.ancestors(name)
        for ancestor in ancestors:
            self.real.pop(ancestor, None)
            if ancestor in self.parent:
                self.parent[ancestor] = ""
        done: set[str] = set()
        for ancestor in ancestors:
            if ancestor in self.members:
                self.build(ancestor, ancestors, done, ())

    def build(self, name: str, ancestors: list[str], done: set[str], chain: tuple[str, ...]) -> None:
        if name in chain:
            listed = " ".join(sorted(chain))
            raise Failure(f"cyclic dependency detected: HyperNode {name} is already in the ancestor chain [{listed}]")
        if name in done or name not in ancestors or name in self.deleting:
            return
        for kind, member in self.members[name] or ():
            if kind == "HyperNode":
                self.link(name, member)
                self.build(member, ancestors, done, (*chain, name))
                found = self.real.get(member, set())
            else:
                found = {member}
            self.real[name] = self.real.get(name, set()) | found
        done.add(name)

    def link(self, parent: str, child: str) -> None:
        if child not in self.members:
            self.members[child], self.tier[child], self.parent[child] = None, 0, ""
        old = self.parent[child]
        if old not in ("", parent):
            self.failed_parent = parent
            raise Failure(f"HyperNode {child} already has a parent {old}, and cannot set another parent {parent}")
        self.parent[child] = parent

    def ancestors(self, name: str) -> list[str]:
        found = [name]
        while True:
            above = self.parent.get(found[-1], "")
            if not above:
                tier = self.tier.get(found[-1], -1)
                claimers = [n for n in sorted(self.members) if self.tier[n] > tier and found[-1] in self.children(n)]
                above = claimers[0] if claimers else ""
            if not above or above in found:
                return found
            found.append(above)

    def children(self, name: str) -> list[str]:
        return [member for kind, member in self.members.get(name) or () if kind == "HyperNode"]

    def leaves(self, name: str, chain: tuple[str, ...]) -> set[str]:
        if name in chain or name not in self.members:
            return set()
        children = self.children(name)
        below = [self.leaves(child, (*chain, name)) for child in children]
        return set().union(*below) if children else {name}
