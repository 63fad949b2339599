"""Lint rules on single HyperNode members: whether they exist, and whether they are listed only once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.errors import InputError
from workbench.model.counted import counted, some
from workbench.model.release import Release
from workbench.objects.admission import review
from workbench.objects.fields import path_steps
from workbench.objects.hypernode import HyperNode, Member, ignored_members, selector_text
from workbench.objects.names import name_error
from workbench.objects.selectors import Selector, pattern_error
from workbench.topology.lint.base import FieldEdit, Fix, Found, Path, Rule, Severity
from workbench.topology.lint.subject import Subject

__all__ = ["RULES"]

#: Characters of an admission text that are shown: the webhook repeats its message for every member.
_LONGEST_REFUSAL = 300


def member_path(i: int, *rest: str) -> Path:
    """Path of the member with index `i` in a HyperNode's manifest, or of the field `rest` in it."""
    return ("spec", "members", i, *rest)


_NO_SELECTOR = Selector()
_EXACT = ("selector", "exactMatch", "name")


def _dangling(subject: Subject) -> Iterator[Found]:
    yield from (Found(p.message, p.domain) for p in subject.given_problems if p.code == "dangling-member")
    nodes = {_folded(name): name for name in subject.names}
    hypernodes = {_folded(name): name for name in subject.hypernodes}
    for name, hypernode in subject.hypernodes.items():
        for i, member in enumerate(hypernode.members):
            known = subject.nodes if member.type == "Node" else subject.hypernodes
            wanted = member.selector.exact
            if not wanted or wanted in known:
                continue
            meant = (nodes if member.type == "Node" else hypernodes).get(_folded(wanted))
            path = member_path(i, *_EXACT)
            fix = Fix(f"write {meant}", (FieldEdit(path, meant),)) if meant else None
            hint = f", {meant} is" if meant else ""
            yield Found(f"{name} lists {member.type} {wanted!r}, which is not there{hint}", name, path=path, fix=fix)


def _folded(name: str) -> str:
    """A name in lower case without surrounding spaces, for finding misspelt names."""
    return name.strip().lower()


def _empty(subject: Subject) -> Iterator[Found]:
    yield from (Found(p.message, p.domain) for p in subject.given_problems if p.code == "empty-member")
    for name, hypernode in subject.hypernodes.items():
        if not hypernode.members:
            yield Found(f"{name} has no member", name, path=("spec", "members"))
        # HyperNodes above an empty one, or that lost their children to another parent, are reported by other rules.
        # Members with misspelt fields are reported by the rule unknown-field.
        elif (
            name not in subject.unknown
            and subject.nodes_known
            and not subject.children[name]
            and not len(subject.tree.nodes[name])
        ):
            yield Found(f"{name} has no node: none of its members leads to one", name, path=("spec", "members"))


def _matches_nothing(subject: Subject) -> Iterator[Found]:
    why = "" if subject.nodes else ": the input has no Node"
    for name, hypernode in subject.hypernodes.items():
        for i, member in enumerate(hypernode.members):
            selector = member.selector
            if member.type != "Node" or selector.exact is not None or subject.selected(member):
                continue
            if selector.pattern is not None and pattern_error(selector.pattern) is not None:
                continue
            if selector.pattern is not None:
                text = f"{name} has the pattern {selector.pattern!r}, in which no node is found{why}"
                yield Found(text, name, path=member_path(i, "selector", "regexMatch", "pattern"))
            elif selector.labels is not None:
                text = f"{name} has a label selector that no node satisfies{why}"
                yield Found(text, name, path=member_path(i, "selector", "labelMatch"))


def _duplicate(subject: Subject) -> Iterator[Found]:
    for name, hypernode in subject.hypernodes.items():
        seen: dict[Member, int] = {}
        for i, member in enumerate(hypernode.members):
            if member.selector == _NO_SELECTOR:
                continue  # the member selects nothing, and there may be several corrections
            first = seen.setdefault(member, i)
            if first != i:
                fix = Fix(f"remove member {i}", (FieldEdit(member_path(i), remove=True),))
                text = f"{name} lists {_member_text(member)} twice, as members {first} and {i}"
                yield Found(text, name, path=member_path(i), fix=fix)


def _member_text(member: Member) -> str:
    selector = member.selector
    if selector.exact is not None:
        return f"{member.type} {selector.exact}"
    return selector_text(selector)


def _covered(subject: Subject) -> Iterator[Found]:
    """Findings for nodes listed by exact name in a HyperNode that already contains them through a child."""
    for name, hypernode in subject.hypernodes.items():
        children = subject.children[name]
        if not children or not subject.own[name]:
            continue
        # In a cycle a child may contain its parent; it is then unknown which of the two is redundant.
        if name in {above for child in children for above in subject.children[child]}:
            continue
        holder = {int(i): child for child in reversed(children) for i in subject.below[child]}
        seen: set[str] = set()
        for i, member in enumerate(hypernode.members):
            exact = member.selector.exact
            at = subject.index.position.get(exact or "")
            if member.type != "Node" or exact is None or at not in holder or exact in seen:
                continue
            seen.add(exact)
            fix = Fix(f"remove member {i}", (FieldEdit(member_path(i), remove=True),))
            text = f"{name} lists node {exact}, which it has through {holder[at]} already"
            yield Found(text, name, exact, member_path(i), (holder[at],), fix)


def _overlap(subject: Subject) -> Iterator[Found]:
    """Findings for HyperNodes that share nodes although neither contains the other; one finding per HyperNode."""
    yield from (Found(p.message, p.domain) for p in subject.given_problems if p.code == "overlap")
    overlapping = subject.overlapping
    for name, partners in overlapping.items():
        # Reported at the HyperNode with more partners; ties: at the larger name.
        weight = (len(partners), name.encode())
        others = {o for o in partners if weight > (len(overlapping[o]), o.encode())}
        if others:
            nodes = sorted(
                i for key in subject.shared_by[name] if others.intersection(key) for i in subject.shared[key]
            )
            names = [subject.names[i] for i in nodes]
            listed = sorted(others, key=str.encode)
            text = f"{name} shares {some('node', names)} with {some('HyperNode', listed)}, neither is inside the other"
            yield Found(text, name, names[0] if len(names) == 1 else "", others=tuple(listed))


def _ignored(subject: Subject) -> Iterator[Found]:
    for name, hypernode in subject.hypernodes.items():
        for i in ignored_members(hypernode):
            how = selector_text(hypernode.members[i].selector)
            text = f"{name} selects HyperNodes by {how}, and not by their exact names"
            yield Found(text, name, path=member_path(i, "selector"))


def _mixed(subject: Subject) -> Iterator[Found]:
    for name, hypernode in subject.hypernodes.items():
        first = next((i for i, m in enumerate(hypernode.members) if m.type == "Node"), None)
        if first is None or not _has_child(hypernode):
            continue
        number = sum(m.type == "Node" for m in hypernode.members)
        text = f"{name} of tier {hypernode.tier} lists {number} of its members as nodes, beside HyperNodes"
        yield Found(text, name, path=member_path(first))


def _selector_above(subject: Subject) -> Iterator[Found]:
    for name, hypernode in subject.hypernodes.items():
        if _has_child(hypernode):
            for i, member in enumerate(hypernode.members):
                if member.type == "Node" and member.selector.exact is None:
                    text = f"{name} has HyperNodes below and selects nodes by {_member_text(member)}"
                    yield Found(text, name, path=member_path(i, "selector"))


def _has_child(hypernode: HyperNode) -> bool:
    return any(m.type == "HyperNode" for m in hypernode.members)


def _refused(subject: Subject) -> Iterator[Found]:
    for name, texts in subject.refusals.items():
        yield from (Found(f"{name} would be refused: {text}", name) for text in texts)
    for name in subject.hypernodes:
        if name in subject.manifests:
            text, path = _refusal(subject, name)
            if len(text) > _LONGEST_REFUSAL:
                text = f"{text[:_LONGEST_REFUSAL].rstrip()}… (workbench validate says all of it)"
            if text:
                yield Found(f"{name} would be refused: {text}", name, path=path)
    for node in subject.names if subject.nodes_known else ():
        if error := name_error(node):
            yield Found(f"node {node} would be refused: metadata.name: {error}", node=node)


def _refusal(subject: Subject, name: str) -> tuple[str, Path]:
    """Why a cluster would refuse a HyperNode, and the field; empty if accepted or if a member's finding says it."""
    try:
        # Unknown fields are findings of another rule.
        verdict = review(subject.manifests[name], Release.V1_15, strict=name not in subject.unknown)
    except InputError as error:
        return str(error), ()
    own = [fault for fault in verdict.findings if not _is_judged_itself(subject, name, fault.path)]
    return "; ".join(fault.sentence for fault in own), path_steps(own[0].path) if own else ()


def _is_judged_itself(subject: Subject, name: str, path: str) -> bool:
    """Whether a refused field names a HyperNode or node of the input, which has a finding of its own for its name."""
    found = _MEMBER_NAME.match(path)
    if found is None or int(found[1]) >= len(subject.hypernodes[name].members):
        return False
    member = subject.hypernodes[name].members[int(found[1])]
    if member.type == "HyperNode":
        return member.selector.exact in subject.manifests
    return subject.nodes_known and member.selector.exact in subject.nodes


_MEMBER_NAME = re.compile(r"spec\.members\[(\d{1,9})\]\.selector\.exactMatch\.name")


def _unknown_fields(subject: Subject) -> Iterator[Found]:
    for name, found in subject.unknown.items():
        for unknown in found:
            path = (*map(_part, _PARTS.findall(unknown.where)), unknown.name)
            yield Found(f"{name}: {unknown.path} is no field of a HyperNode{unknown.hint}", name, path=path)


_PARTS = re.compile(r"[^.\[\]]+")


def _part(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


def _stale_count(subject: Subject) -> Iterator[Found]:
    for name, hypernode in subject.hypernodes.items():
        told = hypernode.node_count
        if told is None:
            continue
        # The controller counts the members' own names, whatever their type and whether they exist.
        names = {m.selector.exact for m in hypernode.members if m.selector.exact}
        by_name = any(m.selector.exact is None for m in hypernode.members)
        if by_name and not subject.nodes_known:
            continue
        for member in hypernode.members:
            if member.selector.exact is None:
                names.update(subject.names[i] for i in subject.selected(member))
        if told != len(names):
            path: Path = ("status", "nodeCount")
            fix = Fix(f"write {len(names)}", (FieldEdit(path, len(names)),))
            yield Found(
                f"{name} says {counted(told, 'member')} in its status, it has {len(names)}", name, path=path, fix=fix
            )


RULES = (
    Rule(
        "dangling-member",
        "T201",
        Severity.error,
        "a member by exact name is not there",
        "Volcano keeps a placeholder for it: the HyperNode is smaller than it looks, and jobs wait for nodes that do "
        "not exist.",
        "Correct the name, add what is missing, or take the member out. Names that differ only in case or by blanks "
        "are corrected by --fix.",
        _dangling,
        fixable=True,
    ),
    Rule(
        "empty-member",
        "T202",
        Severity.error,
        "a HyperNode has no member, or none that leads to a node",
        "Nothing can be placed in it, and a score over an empty set of nodes misleads.",
        "Give it members or delete it.",
        _empty,
    ),
    Rule(
        "member-matches-nothing",
        "T203",
        Severity.warning,
        "a pattern or label selector matches no node",
        "A typing error looks just like this, and no component reports it. Nodes that come later may match, which is "
        "legitimate.",
        "Compare it with the nodes' names and labels; patterns are Go's (RE2), unanchored.",
        _matches_nothing,
        needs_nodes=True,
        judges_none=True,
    ),
    Rule(
        "duplicate-member",
        "T204",
        Severity.warning,
        "the same member twice",
        "It changes nothing for scheduling, but usually another name was meant.",
        "Take the second out (--fix), and look for the name that is missing.",
        _duplicate,
        fixable=True,
    ),
    Rule(
        "covered-member",
        "T205",
        Severity.warning,
        "a node is listed above the HyperNode that has it already",
        "It adds nothing now; when the node moves to another rack, the forgotten line keeps it here as well.",
        "Take the node out of the upper HyperNode (--fix).",
        _covered,
        fixable=True,
    ),
    Rule(
        "overlap",
        "T206",
        Severity.error,
        "two HyperNodes share nodes, and neither is inside the other",
        "A node has one place in a tree. Capacity is counted twice, and the lowest HyperNode of a pair of nodes "
        "depends on the order of a map.",
        "Give each node to one HyperNode; a second network (storage, management) belongs into no HyperNode.",
        _overlap,
    ),
    Rule(
        "ignored-member",
        "T207",
        Severity.error,
        "HyperNodes are selected by pattern or label",
        "Volcano accepts such a member and ignores it: the subtree is not linked.",
        "List the HyperNodes by exact name.",
        _ignored,
    ),
    Rule(
        "mixed-members",
        "T208",
        Severity.warning,
        "nodes and HyperNodes side by side in one HyperNode",
        "The nodes listed directly lie at another depth than the rest: they are in no HyperNode of the lowest tier, "
        "where Volcano looks first.",
        "Put them into a HyperNode of the lowest tier.",
        _mixed,
    ),
    Rule(
        "selector-above-leaf",
        "T209",
        Severity.warning,
        "a pattern or label selector above the lowest level",
        "Node events re-read selectors of leaves only: nodes that come or go are not noticed here.",
        "Move the selector into a leaf, or list the nodes by exact name.",
        _selector_above,
    ),
    Rule(
        "refused-by-admission",
        "T210",
        Severity.error,
        "the cluster would refuse the HyperNode, or a node's name",
        "The rules for names, schema, admission policy or webhook of the newest Volcano say no: after an upgrade or a "
        "restore it cannot be created.",
        "Do what the text says; `workbench validate` shows the answers of other releases.",
        _refused,
        needs_manifests=True,
    ),
    Rule(
        "stale-node-count",
        "T211",
        Severity.note,
        "status.nodeCount disagrees with the members",
        "The controller refreshes it on changes of the HyperNode only, not of nodes: dashboards that show it are "
        "wrong.",
        "Let the controller write it anew, or write the number (--fix).",
        _stale_count,
        fixable=True,
    ),
    Rule(
        "unknown-field",
        "T215",
        Severity.error,
        "a field that a HyperNode does not have",
        "The API server refuses it, or drops it where a program submits it: a member without its selector has no node.",
        "Write the field that is meant; a member is `{type: Node, selector: {exactMatch: {name: node0}}}`.",
        _unknown_fields,
        needs_manifests=True,
    ),
)
