"""Lint rules on how HyperNodes contain each other, and on their tiers."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from workbench.model.counted import some
from workbench.topology.lint.base import FieldEdit, Fix, Found, Path, Rule, Severity
from workbench.topology.lint.subject import Subject

__all__ = ["RULES"]

_TIER: Path = ("spec", "tier")


def from_problems(subject: Subject, code: str) -> Iterator[Found]:
    """Findings for the problems with the given code that building the HyperNode tree found, in their order."""
    for problem in subject.problems:
        if problem.code == code:
            yield Found(problem.message, problem.domain)


def listing(subject: Subject, parent: str, child: str) -> Path:
    """Field path of the first member of HyperNode `parent` that lists HyperNode `child`.

    `parent`, `child`: names of HyperNodes.
    """
    members = subject.hypernodes[parent].members
    i = next(i for i, m in enumerate(members) if m.type == "HyperNode" and m.selector.exact == child)
    return ("spec", "members", i)


def _cycle(subject: Subject) -> Iterator[Found]:
    yield from from_problems(subject, "cycle")


def _two_parents(subject: Subject) -> Iterator[Found]:
    for problem in subject.given_problems:
        if problem.code == "two-parents":
            yield Found(problem.message, problem.domain)
    for child, parents in sorted(subject.listed_by.items(), key=lambda item: item[0].encode()):
        for parent in parents:
            kept = subject.tree.parent.get(child, parents[0])
            if len(parents) > 1 and parent != kept:
                yield Found(
                    f"{child} is a member of {kept} and of {parent}",
                    parent,
                    path=listing(subject, parent, child),
                    others=(child, kept),
                )


def _tier_order(subject: Subject) -> Iterator[Found]:
    for problem in subject.given_problems:
        if problem.code == "tier-order":
            yield Found(problem.message, problem.domain)
    for parent, children in subject.children.items():
        for child in children:
            if child != parent and subject.tier(child) >= subject.tier(parent):
                yield Found(
                    f"{child} of tier {subject.tier(child)} is inside {parent} of tier {subject.tier(parent)}",
                    child,
                    path=_TIER,
                    others=(parent,),
                    fix=_tier_of_siblings(subject, child, parent),
                )


def _tier_of_siblings(subject: Subject, child: str, parent: str) -> Fix | None:
    """The tier that all other members of the parent have, if it lies between the child's own members and the parent."""
    tiers = {subject.tier(other) for other in subject.children[parent] if other != child}
    highest = max((subject.tier(below) for below in subject.children[child]), default=0)
    if len(tiers) != 1 or not highest < (tier := tiers.pop()) < subject.tier(parent):
        return None
    # A member of two HyperNodes has other remedies.
    if len(subject.listed_by.get(child, ())) != 1:
        return None
    return Fix(f"give {child} tier {tier}, as the other members of {parent}", (FieldEdit(_TIER, tier),))


def _tier_skipped(subject: Subject) -> Iterator[Found]:
    used = sorted({h.tier for h in subject.hypernodes.values()})
    for low, high in pairwise(used):
        if high - low > 1:
            first = next(name for name, h in subject.hypernodes.items() if h.tier == high)
            missing = str(low + 1) if high - low == 2 else f"{low + 1} to {high - 1}"
            yield Found(f"no HyperNode has tier {missing}, between {low} and {high}", first, path=_TIER)
    for child, parent in sorted(subject.tree.parent.items(), key=lambda item: item[0].encode()):
        # The next tier in use above the child's tier, unless that is the parent's tier already.
        above = bisect_right(used, subject.tier(child))
        if above < len(used) and used[above] < subject.tier(parent):
            text = f"{child} of tier {subject.tier(child)} is directly inside {parent} of tier {subject.tier(parent)}"
            yield Found(
                f"{text}, other HyperNodes have tier {used[above]} in between",
                child,
                path=_TIER,
                others=(parent,),
            )


def _no_tier_one(subject: Subject) -> Iterator[Found]:
    if not subject.hypernodes:
        return
    lowest = min(subject.hypernodes.values(), key=lambda h: h.tier)
    if lowest.tier > 1:
        yield Found(f"the lowest tier is {lowest.tier}, no HyperNode has tier 1", lowest.name, path=_TIER)


def _tier_zero(subject: Subject) -> Iterator[Found]:
    for name, hypernode in subject.hypernodes.items():
        if hypernode.tier == 0:
            yield Found(f"{name} has tier 0, or none", name, path=_TIER)


def _mixed_depth(subject: Subject) -> Iterator[Found]:
    depths: dict[int, list[str]] = {}
    for leaf in subject.leaves:
        depths.setdefault(subject.tree.nesting.depth[leaf], []).append(leaf)
    if len(depths) < 2:
        return
    # The deeper of two depths that are equally frequent counts as the usual one.
    usual = max(depths, key=lambda d: (len(depths[d]), d))
    for depth, leaves in sorted(depths.items()):
        if depth != usual:
            text = f"{_levels(depth)} above {some('HyperNode', leaves)}, {usual} above {len(depths[usual])} others"
            yield Found(text, leaves[0], others=tuple(leaves))


def _levels(depth: int) -> str:
    return f"{depth or 'no'} level{'s' if depth != 1 else ''}"


def _stray_root(subject: Subject) -> Iterator[Found]:
    parent = subject.tree.parent
    with_parent = Counter(subject.tier(name) for name in parent)
    highest = max((h.tier for h in subject.hypernodes.values()), default=0)
    for name, hypernode in subject.hypernodes.items():
        if name not in parent and hypernode.tier < highest and with_parent[hypernode.tier]:
            others = with_parent[hypernode.tier]
            yield Found(f"{name} of tier {hypernode.tier} is in no HyperNode, {others} of its tier are", name)


def _redundant_level(subject: Subject) -> Iterator[Found]:
    """Findings for tiers all of whose HyperNodes have exactly one child, with the same nodes."""
    by_tier: dict[int, list[str]] = {}
    for name, hypernode in subject.hypernodes.items():
        by_tier.setdefault(hypernode.tier, []).append(name)
    for tier, names in sorted(by_tier.items()):
        if all(len(subject.children[n]) == 1 and not subject.own[n] for n in names):
            what = (
                f"{names[0]} holds" if len(names) == 1 else f"each of the {len(names)} HyperNodes of tier {tier} holds"
            )
            yield Found(f"{what} one HyperNode and nothing else", names[0], others=tuple(names))


RULES = (
    Rule(
        "cycle",
        "T101",
        Severity.error,
        "HyperNodes contain one another in a circle",
        "Volcano takes no tree with a cycle for ready: jobs with a topology stay pending until it is gone.",
        "Take out the member that points back up; a HyperNode lists what is below it only.",
        _cycle,
    ),
    Rule(
        "two-parents",
        "T102",
        Severity.error,
        "a HyperNode is a member of two HyperNodes",
        "Volcano links the first and fails on the second; the tree is not ready, and which of the two is first "
        "depends on the order in which they arrive.",
        "Keep the member in one of them. If both switches are real, put one HyperNode above both and list the child "
        "there.",
        _two_parents,
    ),
    Rule(
        "tier-order",
        "T103",
        Severity.error,
        "the tier does not rise towards the root",
        "Closeness is measured by tiers: with a child that is no lower than its parent, a limit on the tier lets in "
        "or shuts out the wrong HyperNodes, and Volcano does not find the parent of a child that arrives late.",
        "Give each HyperNode a greater tier than all of its members.",
        _tier_order,
        fixable=True,
    ),
    Rule(
        "tier-skipped",
        "T104",
        Severity.warning,
        "a tier is skipped",
        "A job limits its tier by number. Nodes that meet where a tier is missing look further apart than others that "
        "are wired alike, and a job allowed up to the missing tier gets no more than the one below.",
        "Number tiers without gaps, or add the HyperNode of the missing tier.",
        _tier_skipped,
    ),
    Rule(
        "no-tier-one",
        "T105",
        Severity.warning,
        "no HyperNode has tier 1",
        "In Volcano 1.13 a hard job that names no tier means tier 1: here it stays pending for ever.",
        "Let the HyperNodes right above the nodes have tier 1.",
        _no_tier_one,
    ),
    Rule(
        "tier-zero",
        "T106",
        Severity.warning,
        "a HyperNode has tier 0",
        "The API leaves a zero out, so tier 0 and a forgotten tier look the same; members that do not exist yet have "
        "it too.",
        "Write the tier, from 1 upwards.",
        _tier_zero,
    ),
    Rule(
        "mixed-depth",
        "T107",
        Severity.warning,
        "leaves lie at different depths",
        "Scores compare tiers: a leaf with fewer levels above meets its neighbours at another tier than the rest, so "
        "equally close nodes get unequal scores.",
        "Bring all leaves to the same depth, if need be by HyperNodes with one member.",
        _mixed_depth,
    ),
    Rule(
        "stray-root",
        "T108",
        Severity.warning,
        "a HyperNode below the top is in no other",
        "Others of its tier hang in the tree. Volcano 1.13 never joins it with them, newer releases only at the "
        "virtual top: a job that spans them needs the whole cluster allowed.",
        "List it as a member of the HyperNode above it.",
        _stray_root,
    ),
    Rule(
        "redundant-level",
        "T109",
        Severity.note,
        "a whole tier says nothing new",
        "Each of its HyperNodes holds one other and nothing else: the tier costs search time and shifts the numbers "
        "that jobs name, without telling any two nodes apart.",
        "Leave the tier out, or find out why the switches above are missing.",
        _redundant_level,
    ),
)
