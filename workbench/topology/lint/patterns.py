"""Lint rules on regular expressions of HyperNode members that match more nodes than intended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from workbench.model.counted import some
from workbench.objects.selectors import compile_pattern, pattern_error
from workbench.topology.lint.base import Found, Rule, Severity
from workbench.topology.lint.later_names import example_of, later_name
from workbench.topology.lint.members import member_path
from workbench.topology.lint.subject import Subject

__all__ = ["RULES"]

_PATTERN = ("selector", "regexMatch", "pattern")


def _patterns(subject: Subject) -> Iterator[tuple[str, int, str, list[int]]]:
    """Every regular expression: name of the HyperNode, index of the member, the expression, and the matching nodes."""
    for name, hypernode in subject.hypernodes.items():
        for i, member in enumerate(hypernode.members):
            selector = member.selector
            if member.type == "Node" and selector.exact is None and selector.pattern is not None:
                yield name, i, selector.pattern, subject.selected(member)


def _other_rack(subject: Subject) -> Iterator[Found]:
    """Findings for regular expressions that also match nodes of other lowest HyperNodes, which are listed."""
    leaves = set(subject.leaves)
    by_name = {leaf for leaf in leaves if all(m.selector.exact is not None for m in subject.hypernodes[leaf].members)}
    for name, i, pattern, nodes in _patterns(subject):
        others = subject.overlapping.get(name, set()) & leaves
        if not others:
            continue
        found = set(nodes)
        taken = {key: [n for n in subject.shared[key] if n in found] for key in subject.shared_by[name]}
        counts: Counter[str] = Counter()
        for key, hits in taken.items():
            counts.update(dict.fromkeys(key, len(hits)))
        reached = {o for o in others if counts[o] and (o in by_name or _reaches(subject, name, o, counts[o]))}
        if reached:
            names = [subject.names[n] for key, hits in taken.items() if reached.intersection(key) for n in hits]
            racks = sorted(reached, key=str.encode)
            text = f"the pattern {pattern!r} of {name} also finds {some('node', names)} of {some('HyperNode', racks)}"
            yield Found(text, name, names[0] if len(names) == 1 else "", member_path(i, *_PATTERN), tuple(racks))


def _reaches(subject: Subject, name: str, leaf: str, shared: int) -> bool:
    """Whether, of two lowest HyperNodes with `shared` nodes in common, the pattern of `name` matches too much.

    At fault is the HyperNode that also matches nodes that are not shared; if that does not decide, both are. A `leaf`
    that lists its nodes by name is never at fault.
    """
    return len(subject.own[name]) > shared or len(subject.own[leaf]) <= shared


def _partial(subject: Subject) -> Iterator[Found]:
    for name, i, pattern, nodes in _patterns(subject):
        inside = _in_part(subject, pattern, nodes)
        if inside:
            whole = compile_pattern(pattern).fullmatch
            first = next(subject.names[n] for n in nodes if whole(subject.names[n]) is not None)
            parts = some("node", inside)
            text = f"the pattern {pattern!r} of {name} is the whole name of {first}, but only a part of {parts}"
            yield Found(text, name, path=member_path(i, *_PATTERN), others=tuple(inside))


def _in_part(subject: Subject, pattern: str, nodes: Sequence[int]) -> list[str]:
    """Names of which a pattern is only a part, if it is the whole name of another of its nodes."""
    if len(nodes) < 2:
        return []
    whole = compile_pattern(pattern).fullmatch
    inside = [subject.names[n] for n in nodes if whole(subject.names[n]) is None]
    return inside if len(inside) < len(nodes) else []


def _open(subject: Subject) -> Iterator[Found]:
    for name, i, pattern, nodes in _patterns(subject):
        # The rules above name nodes that are there already, which is worse.
        if pattern_error(pattern) is not None or _in_part(subject, pattern, nodes):
            continue
        names = [subject.names[n] for n in nodes]
        if not subject.nodes_known:
            names.append(example_of(pattern))
        later = later_name(pattern, filter(None, names), subject.nodes)
        if later:
            text = f"the pattern {pattern!r} of {name} would also match {later}, a name that a later node may have"
            yield Found(text, name, path=member_path(i, *_PATTERN))


def _refused(subject: Subject) -> Iterator[Found]:
    for name, i, pattern, _ in _patterns(subject):
        error = pattern_error(pattern)
        if error is not None:
            yield Found(f"{name}: {error.message}: {pattern!r}", name, path=member_path(i, *_PATTERN))


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
    Rule(
        "open-pattern",
        "T216",
        Severity.warning,
        "a pattern that also matches a likely later name",
        "Patterns are searched anywhere in the name: when gpu-10 or gpu-1-spare joins the cluster, `^gpu-1` puts it "
        "into this HyperNode, wherever it stands.",
        "Anchor the pattern with ^ and $ (`^gpu-[1-4]$`), or end it behind the rack's number (`^rack1-`).",
        _open,
    ),
    Rule(
        "bad-pattern",
        "T214",
        Severity.error,
        "a pattern is no regular expression of Go",
        "The webhook refuses the HyperNode; in a cluster that has it already, the member selects no node.",
        "Correct the pattern; patterns are Go's (RE2), without look-around and back references.",
        _refused,
    ),
)
