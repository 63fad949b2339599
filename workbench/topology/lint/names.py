"""Lint rules on names of HyperNodes and tiers, and on names that topology discovery generates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workbench.model.counted import some
from workbench.topology.lint.base import Found, Path, Rule, Severity
from workbench.topology.lint.subject import Subject

__all__ = ["RULES", "SOURCE_LABEL"]

#: Label of HyperNodes that Volcano's discovery owns (docs/reference/volcano-topology.md, section 9).
SOURCE_LABEL = "volcano.sh/network-topology-source"

_TIER_NAME: Path = ("spec", "tierName")
_NAME: Path = ("metadata", "name")
_LABELS: Path = ("metadata", "labels")

#: hypernode-<type>-tier<k>-<5 random>, as the source `label` names them; the API server's alphabet for random names.
_RANDOM = re.compile(r"hypernode-(?P<type>.+)-tier(?P<tier>\d{1,9})-[a-z0-9]{5}\Z")
#: leaf-hn-<k> and spine-hn, as the source `ufm` names them.
_ORDINAL = re.compile(r"leaf-hn-(?P<number>\d{1,9})\Z")


def _tier_name_reused(subject: Subject) -> Iterator[Found]:
    by_name: dict[str, dict[int, str]] = {}
    for name, hypernode in subject.hypernodes.items():
        if hypernode.tier_name:
            by_name.setdefault(hypernode.tier_name, {}).setdefault(hypernode.tier, name)
    for tier_name, tiers in sorted(by_name.items()):
        if len(tiers) > 1:
            numbers = ", ".join(str(tier) for tier in sorted(tiers))
            for _, name in sorted(tiers.items())[1:]:
                yield Found(f"the tier name {tier_name!r} stands for the tiers {numbers}", name, path=_TIER_NAME)


def _tier_named_twice(subject: Subject) -> Iterator[Found]:
    for tier, names in _tier_names(subject):
        found = sorted(set(names.values()) - {""})
        if len(found) > 1:
            first = next(name for name, tier_name in names.items() if tier_name == found[1])
            text = f"tier {tier} has the names {', '.join(map(repr, found))}"
            yield Found(text, first, path=_TIER_NAME)


def _tier_name_missing(subject: Subject) -> Iterator[Found]:
    for tier, names in _tier_names(subject):
        without = [name for name, tier_name in names.items() if not tier_name]
        if without and len(without) < len(names):
            text = f"{some('HyperNode', without)} of tier {tier} without the tierName that others of the tier have"
            yield Found(text, without[0], path=_TIER_NAME, others=tuple(without))


def _tier_names(subject: Subject) -> Iterable[tuple[int, dict[str, str]]]:
    tiers: dict[int, dict[str, str]] = {}
    for name, hypernode in subject.hypernodes.items():
        tiers.setdefault(hypernode.tier, {})[name] = hypernode.tier_name
    return sorted(tiers.items())


def _differ_by_case(subject: Subject) -> Iterator[Found]:
    for kind, names in (("HyperNode", list(subject.hypernodes)), ("node", subject.names)):
        folded: dict[str, list[str]] = {}
        for name in names:
            folded.setdefault(name.lower(), []).append(name)
        for same in folded.values():
            for name in same[1:]:
                text = f"the {kind}s {same[0]} and {name} differ only in case"
                yield Found(text, name if kind == "HyperNode" else "", "" if kind == "HyperNode" else name, _NAME)


def _node_named_like_domain(subject: Subject) -> Iterator[Found]:
    top = {name for name in subject.hypernodes if name not in subject.tree.parent and subject.children[name]}
    for name in subject.hypernodes:
        if name in subject.nodes:
            what = "top-level HyperNode" if name in top else "HyperNode"
            yield Found(f"{name} is the name of a node and of a {what}", name, name, _NAME)
    # Discovery by labels: the value that made the HyperNode stands among its labels.
    for name in sorted(top, key=str.encode):
        for key, value in _identity(subject, name):
            if value in subject.nodes and value != name:
                text = f"{name} stands for {key}={value}, which is the name of a node"
                yield Found(text, name, value, (*_LABELS, key))


def _identity(subject: Subject, name: str) -> list[tuple[str, str]]:
    """Labels that, with the source, identify a discovered HyperNode: label key and value for the label source."""
    labels = subject.hypernodes[name].metadata.labels
    return sorted((key, value) for key, value in labels.items() if key != SOURCE_LABEL)


def _shifting(subject: Subject) -> Iterator[Found]:
    ordinals: dict[int, str] = {}
    standing_for: dict[tuple[str, str, str], str] = {}
    for name, hypernode in subject.hypernodes.items():
        source = hypernode.metadata.labels.get(SOURCE_LABEL, "")
        random, ordinal = _RANDOM.match(name), _ORDINAL.match(name)
        if ordinal and source in ("", "ufm"):
            ordinals[int(ordinal["number"])] = name
        if random and source in ("", "label"):
            yield from _unrecognised(subject, name, int(random["tier"]), source)
            for key, value in _identity(subject, name):
                first = standing_for.setdefault((key, value, random["type"]), name)
                if first != name:
                    text = f"{first} and {name} both stand for {key}={value}: the next discovery keeps only one"
                    yield Found(text, name, path=(*_LABELS, key), others=(first,))
    if ordinals and sorted(ordinals) != list(range(len(ordinals))):
        expected = next(k for k in range(len(ordinals) + 1) if k not in ordinals)
        later = [ordinals[k] for k in sorted(ordinals) if k > expected]
        text = f"leaf-hn-{expected} is missing: the next discovery gives {some('HyperNode', later)} other nodes"
        yield Found(text, later[0], path=_NAME, others=tuple(later))


def _unrecognised(subject: Subject, name: str, tier: int, source: str) -> Iterator[Found]:
    hypernode = subject.hypernodes[name]
    # A topology that was made from a snapshot has no labels to judge.
    if name in subject.manifests and (not source or not _identity(subject, name)):
        text = f"{name} lacks the labels by which discovery would know it again: the next run makes another one"
        yield Found(text, name, path=_LABELS)
    if tier != hypernode.tier:
        text = f"{name} is named for tier {tier} and has tier {hypernode.tier}: discovery does not use the name again"
        yield Found(text, name, path=_NAME)


RULES = (
    Rule(
        "tier-name-reused",
        "T401",
        Severity.error,
        "one tier name for two tiers",
        "A job that names the tier gets one of the two, by the order of a map; it may change from one scheduler "
        "restart to the next.",
        "Give each tier a name of its own.",
        _tier_name_reused,
    ),
    Rule(
        "tier-named-twice",
        "T402",
        Severity.note,
        "one tier has two names",
        "Both names mean the same number. That is right for two kinds of networks side by side, and a typing error "
        "elsewhere.",
        "Use one name per tier, unless the networks differ.",
        _tier_named_twice,
    ),
    Rule(
        "tier-name-missing",
        "T403",
        Severity.note,
        "a HyperNode without the tier name of its tier",
        "Nothing breaks while another HyperNode carries the name; when that one goes, jobs that name the tier lose "
        "their limit.",
        "Write the tierName on every HyperNode of the tier.",
        _tier_name_missing,
    ),
    Rule(
        "names-differ-by-case",
        "T404",
        Severity.warning,
        "two names differ only in case",
        "Kubernetes names are lower case: one of the two is a slip, and its members are split over both.",
        "Join the two under the lower-case name.",
        _differ_by_case,
    ),
    Rule(
        "node-named-like-domain",
        "T405",
        Severity.warning,
        "a node has the name of a HyperNode or of a top-level value",
        "Formats with one name space (Slurm, label values) take the two for one, and members by that name become "
        "ambiguous to people. A host name as the value of a top-level label is the usual sign of shifted columns.",
        "Rename the HyperNode, or correct the label.",
        _node_named_like_domain,
    ),
    Rule(
        "shifting-name",
        "T406",
        Severity.warning,
        "a generated name is about to shift",
        "The next discovery gives the HyperNode another name, or the name other nodes: jobs and records that hold the "
        "old name point elsewhere.",
        "Refer to tiers instead of names, restore the labels, or let discovery run before jobs rely on the names.",
        _shifting,
    ),
)
