"""Rules on patterns that find more than was meant."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.objects.selectors import compile_pattern
from workbench.topology.lint.base import Found, Rule, Severity
from workbench.topology.lint.members import member_path
from workbench.topology.lint.subject import Subject, some

__all__ = ["RULES"]

_PATTERN = ("selector", "regexMatch", "pattern")


def _patterns(subject: Subject) -> Iterator[tuple[str, int, str, list[int]]]:
    """HyperNode, number of the member, pattern, nodes it is found in."""
    for name, hypernode in subject.hypernodes.items():
        for i, member in enumerate(hypernode.members):
            selector = member.selector
            if member.type == "Node" and selector.exact is None and selector.pattern is not None:
                yield name, i, selector.pattern, subject.selected(member)


def _other_rack(subject: Subject) -> Iterator[Found]:
    """Nodes that another leaf has by name, or by a pattern that finds nobody else's."""
    for name, i, pattern, nodes in _patterns(subject):
        foreign: dict[str, list[str]] = {}
        for node in nodes:
            for leaf in subject.leaf_of.get(node, ()):
                if leaf != name and leaf not in subject.above(name) and name not in subject.above(leaf):
                    foreign.setdefault(leaf, []).append(subject.names[node])
        for leaf, taken in sorted(foreign.items(), key=lambda item: item[0].encode()):
            if _reaches(subject, name, leaf, len(taken)):
                text = f"the pattern {pattern!r} of {name} also finds {some('node', taken)} of {leaf}"
                yield Found(text, name, taken[0] if len(taken) == 1 else "", member_path(i, *_PATTERN), (leaf, *taken))


def _reaches(subject: Subject, name: str, leaf: str, shared: int) -> bool:
    """Whether it is `name` that reaches into `leaf`, and not the other way round; both where that cannot be told.

    A leaf that lists its nodes by name cannot reach anywhere. Of two patterns the one reaches that finds nodes which
    are not shared.
    """
    if all(m.selector.exact is not None for m in subject.hypernodes[leaf].members):
        return True
    return len(subject.own[name]) > shared or len(subject.own[leaf]) <= shared


def _partial(subject: Subject) -> Iterator[Found]:
    for name, i, pattern, nodes in _patterns(subject):
        if len(nodes) < 2:
            continue
        whole = compile_pattern(pattern).fullmatch
        inside = [subject.names[n] for n in nodes if whole(subject.names[n]) is None]
        if inside and len(inside) < len(nodes):
            first = next(subject.names[n] for n in nodes if whole(subject.names[n]) is not None)
            parts = some("node", inside)
            text = f"the pattern {pattern!r} of {name} is the whole name of {first}, but only a part of {parts}"
            yield Found(text, name, path=member_path(i, *_PATTERN), others=tuple(inside))


RULES = (
    Rule(
        "pattern-reaches-other-rack",
        "T212",
        Severity.error,
        "a pattern finds nodes of another rack",
        "The nodes are then in two racks: capacity is counted twice, and a job that asks for one rack may get two.",
        "Anchor the pattern with ^ and $, and end its number (`^rack1-`, not `rack1`).",
        _other_rack,
        needs_nodes=True,
    ),
    Rule(
        "pattern-in-part",
        "T213",
        Severity.warning,
        "a pattern is some node's whole name and a part of others'",
        "Patterns are searched anywhere in the name: `node-1` finds node-10 to node-19 too.",
        "Anchor it with ^ and $, or list the node by exact name.",
        _partial,
        needs_nodes=True,
    ),
)
