"""`DiscoveryResult`: the HyperNodes that one round of a topology discovery source has found.

`linked_groups` groups switches that have attached nodes or switches in common.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from workbench.model.labels import SOURCE_LABEL
from workbench.model.notice import Notice
from workbench.model.release import Release
from workbench.objects.hypernode import HyperNode, make_hypernode

__all__ = ["DiscoveryResult", "discovered", "linked_groups", "short_code"]

#: The letters of Kubernetes' random names: no vowels, so that no word arises.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True)
class DiscoveryResult:
    """What one round of a topology discovery source has found.

    `source`: ``label``, ``ufm`` or ``roce``. `hypernodes`: by tier, then in the order that the source documents. Empty:
    the fabric has none, and the HyperNodes that the source owns are deleted. None: the round failed to find out, and
    nothing changes. `notes`: notices about input that was left out or is doubtful.
    """

    source: str
    hypernodes: tuple[HyperNode, ...] | None
    notes: tuple[Notice, ...] = ()

    def for_release(self, release: Release) -> DiscoveryResult:
        """The result as a release of Volcano can store it: HyperNodes of 1.13 have no tierName."""
        if release is not Release.V1_13 or self.hypernodes is None:
            return self
        return replace(self, hypernodes=tuple(replace(one, tier_name="") for one in self.hypernodes))


def discovered(
    source: str,
    name: str,
    tier: int,
    members: Iterable[str],
    kind: Literal["Node", "HyperNode"],
    tier_name: str = "",
    labels: Mapping[str, str] | None = None,
) -> HyperNode:
    """Make a HyperNode with exact members, each once and in byte order, and a label with its discovery source.

    `source`: ``label``, ``ufm`` or ``roce``. `members`: names of nodes or HyperNodes. `kind`: {"Node", "HyperNode"};
    type of every member. `labels`: further labels.
    """
    names = sorted(set(members), key=str.encode)
    nodes, children = (names, ()) if kind == "Node" else ((), names)
    own = {SOURCE_LABEL: source, **(labels or {})}
    return make_hypernode(name, tier, nodes=nodes, children=children, tier_name=tier_name, labels=own)


def short_code(*parts: object) -> str:
    """Five letters and digits that are a digest of `parts`, equal on every machine and in every run.

    Volcano draws such codes at random; with a digest, equal input gives equal names.
    """
    text = "\0".join(str(part) for part in parts)
    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    letters = []
    for _ in range(5):
        number, letter = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[letter])
    return "".join(letters)


def linked_groups(members: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Group switches that share an attached node or switch, directly or through other switches.

    `members`: names of the nodes or switches attached to each switch.

    Each switch is in one group; groups are ordered by their smallest switch, switches in byte order.
    """
    switches_of: dict[str, list[str]] = {}
    for switch, below in members.items():
        for member in below:
            switches_of.setdefault(member, []).append(switch)
    groups = []
    seen: set[str] = set()
    asked: set[str] = set()
    for first in sorted(members, key=str.encode):
        if first in seen:
            continue
        seen.add(first)
        group = [first]
        for switch in group:  # grows while it is walked
            for member in members[switch]:
                if member in asked:
                    continue
                asked.add(member)
                new = [other for other in switches_of[member] if other not in seen]
                seen.update(new)
                group += new
        groups.append(sorted(group, key=str.encode))
    return groups
