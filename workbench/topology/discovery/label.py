"""`discover_label`: HyperNodes from node labels, as the label source of Volcano's controller makes them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.errors import InputError
from workbench.model.labels import SOURCE_LABEL
from workbench.model.notice import Notice
from workbench.objects.hypernode import HyperNode
from workbench.topology.discovery.result import DiscoveryResult, discovered, short_code

__all__ = ["SOURCE", "discover_label"]

SOURCE = "label"

_LONGEST_TYPE = 20
_TRIES = 20


@dataclass
class _Domain:
    """A node label (key and value) that becomes a HyperNode, with its tier and members."""

    tier: int
    key: str
    value: str
    members: set[str] = field(default_factory=set)


def discover_label(
    types: Mapping[str, Sequence[str]],
    nodes: Mapping[str, Mapping[str, str]],
    existing: Iterable[HyperNode] = (),
) -> DiscoveryResult:
    """Make HyperNodes from the labels of a cluster's nodes, as Volcano's label discovery source does.

    Raises InputError: no free name: all twenty names that a label pair may take are in use.

    Returns DiscoveryResult: by tier, label key and value. A type that Volcano drops (a name of more than 20 bytes, a
    label twice) is in the notes, and so is the first label of a type that no node has. `tier_name` is the label key;
    Volcano 1.13 does not know that field and drops it.

    Parameters
    ----------
    types : mapping of str to sequence of str
        ``networkTopologyTypes``: label keys of each type, widest first. The last key, normally
        ``kubernetes.io/hostname``, never becomes a HyperNode; the others reversed are tiers 1, 2, …
    nodes : mapping of str to mapping
        Labels of each node by its name.
    existing : iterable of HyperNode
        HyperNodes that exist, of any source. If one was made by this source with the same label pair, tier and type,
        its name is used again; a new name never equals an existing one.

    Notes
    -----
    Source: docs/reference/volcano-topology.md, section 9.1. A node's labels are used from tier 1 up to the first one
    that it lacks. Every pair (key, value) is one HyperNode, across types: types that share a key share its
    HyperNodes, whose names and tiers come from the first of these types. Upstream takes types and nodes in the order of
    a map and draws the last five characters of a name at random; here types and nodes come in byte order and the
    characters are a digest of type, tier and label pair. Hence the names do not depend on the order of the nodes; nor,
    where no two digests are equal, on which other nodes there are.
    """
    notes: list[Notice] = []
    by_pair: dict[tuple[str, str], _Domain] = {}
    names: dict[tuple[str, str], str] = {}
    domains: dict[str, _Domain] = {}
    known = _Existing(existing)
    order = sorted(nodes, key=str.encode)
    for type_name, keys in sorted(_usable(types, notes).items(), key=lambda item: item[0].encode()):
        cleaned = _cleaned(type_name)
        missing = next((key for key in keys if nodes and not any(key in labels for labels in nodes.values())), "")
        if missing:
            text = f"no node has the label {missing}: neither it nor a wider label makes HyperNodes"
            notes.append(Notice("left-aside", text, f"type {type_name}"))
        climbs = [(node, _climb(nodes[node], keys)) for node in order]
        # Names are given in order of tier and label pair, so that the result of a digest clash does not depend on the
        # input order.
        new = {(tier, keys[tier - 1], value) for _, values in climbs for tier, value in enumerate(values, start=1)}
        for tier, key, value in sorted(new, key=lambda pair: (pair[0], pair[1].encode(), pair[2].encode())):
            if (key, value) not in by_pair:
                name = known.name(cleaned, tier, key, value, domains)
                names[key, value] = name
                by_pair[key, value] = domains.setdefault(name, _Domain(tier, key, value))
        for node, values in climbs:
            member = node
            for key, value in zip(keys, values, strict=False):
                by_pair[key, value].members.add(member)
                member = names[key, value]
    found = sorted(domains.items(), key=lambda item: (item[1].tier, item[1].key.encode(), item[1].value.encode()))
    return DiscoveryResult(SOURCE, tuple(_hypernode(name, domain) for name, domain in found), tuple(notes))


def _usable(types: Mapping[str, Sequence[str]], notes: list[Notice]) -> dict[str, list[str]]:
    """Label keys of each network type that is used, tier 1 first; types that Volcano drops are reported in `notes`."""
    usable = {}
    for name, keys in types.items():
        if len(name.encode()) > _LONGEST_TYPE:
            notes.append(
                Notice(
                    "left-aside",
                    f"type {name} is dropped: its name has more than {_LONGEST_TYPE} bytes",
                    f"type {name}",
                )
            )
        elif len(set(keys)) < len(keys):
            notes.append(Notice("left-aside", f"type {name} is dropped: it lists a label twice", f"type {name}"))
        else:
            usable[name] = list(reversed(keys[:-1]))
    return usable


def _climb(labels: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    """Values of a node's labels for `keys` (tier 1 first), up to the first key that the node lacks."""
    values = []
    for key in keys:
        if key not in labels:
            break
        values.append(labels[key])
    return values


class _Existing:
    """Names of all existing HyperNodes, and the HyperNodes made by the label source, by label key and value."""

    def __init__(self, hypernodes: Iterable[HyperNode]) -> None:
        self.names: set[str] = set()
        self.by_pair: dict[tuple[str, str], list[str]] = {}
        for hypernode in hypernodes:
            self.names.add(hypernode.name)
            labels = hypernode.metadata.labels
            if labels.get(SOURCE_LABEL) == SOURCE:
                for pair in labels.items():
                    self.by_pair.setdefault(pair, []).append(hypernode.name)

    def name(self, type_name: str, tier: int, key: str, value: str, taken: Collection[str]) -> str:
        """Name of the HyperNode for a node label: the smallest existing one, else a new name that is not in `taken`."""
        # As upstream, names are matched by their beginning alone: the prefix of tier 1 also matches tier 10.
        stem = f"hypernode-{type_name}-tier{tier}"
        old = [name for name in self.by_pair.get((key, value), ()) if name.startswith(stem)]
        if old:
            return min(old, key=str.encode)
        for attempt in range(_TRIES):
            name = f"{stem}-{short_code(type_name, tier, key, value, attempt)}"
            if name not in self.names and name not in taken:
                return name
        raise InputError(
            "no free name for a HyperNode",
            source=f"{key}={value}",
            got=f"{_TRIES} names that exist",
            expected="one left",
        )


def _cleaned(name: str) -> str:
    """A network type as part of an object name: lower case, with dashes for other characters."""
    return "".join(c.lower() if c.isascii() and (c.isalnum() or c in ".-") else "-" for c in name)


def _hypernode(name: str, domain: _Domain) -> HyperNode:
    kind = "Node" if domain.tier == 1 else "HyperNode"
    labels = {domain.key: domain.value}
    return discovered(SOURCE, name, domain.tier, domain.members, kind, domain.key, labels)  # type: ignore[arg-type]
