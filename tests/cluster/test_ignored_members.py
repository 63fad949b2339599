"""Members that select HyperNodes otherwise than by exact name: Volcano ignores them, and whoever loads them is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.notices import said
from workbench.formats.load import load
from workbench.formats.write_manifests import to_yaml


def cluster(*selectors: dict[str, Any], kind: str = "HyperNode") -> str:
    """Nodes n0 and n1 in s0 and s1; members of top by the given selectors."""
    objects: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"}, "status": {"capacity": {"cpu": "1"}}}
        for i in range(2)
    ]
    for name, tier, members in (
        ("s0", 1, [("Node", {"exactMatch": {"name": "n0"}})]),
        ("s1", 1, [("Node", {"exactMatch": {"name": "n1"}})]),
        ("top", 2, [(kind, selector) for selector in selectors]),
    ):
        listed = [{"type": of, "selector": selector} for of, selector in members]
        spec = {"tier": tier, "members": listed}
        head = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode"}
        objects.append({**head, "metadata": {"name": name}, "spec": spec})
    return to_yaml(objects)


BY_NAME = {"exactMatch": {"name": "s0"}}
BY_PATTERN = {"regexMatch": {"pattern": "^s[01]$"}}
BY_LABEL = {"labelMatch": {"matchLabels": {"row": "a"}}}


@pytest.mark.parametrize(
    ("selectors", "want"),
    [
        ([BY_PATTERN], "spec.members[0] (HyperNodes by the pattern '^s[01]$')"),
        ([BY_LABEL], "spec.members[0] (HyperNodes by a label selector)"),
        ([BY_NAME, BY_PATTERN], "spec.members[1] (HyperNodes by the pattern '^s[01]$')"),
        (
            [BY_PATTERN, BY_LABEL],
            "spec.members[0] (HyperNodes by the pattern '^s[01]$'), spec.members[1] (HyperNodes by a label selector)",
        ),
    ],
)
def test_the_hypernode_and_the_member_are_named(selectors: list[dict[str, Any]], want: str) -> None:
    gaps = [gap for gap in load("-", stdin=cluster(*selectors)).snapshot.gaps if gap.code == "ignored-member"]
    assert said(gaps) == (f"HyperNode top: Volcano ignores {want}; list them by name, only such members count",)
    assert gaps[0].subject == "HyperNode top"


@pytest.mark.parametrize(
    ("selectors", "kind"), [([BY_NAME], "HyperNode"), ([{"regexMatch": {"pattern": "n"}}], "Node")]
)
def test_what_volcano_reads_is_not_told(selectors: list[dict[str, Any]], kind: str) -> None:
    gaps = load("-", stdin=cluster(*selectors, kind=kind)).snapshot.gaps
    assert "ignored-member" not in [gap.code for gap in gaps]


def test_many_members_are_counted() -> None:
    (gap,) = (g for g in load("-", stdin=cluster(*[BY_PATTERN] * 9)).snapshot.gaps if g.code == "ignored-member")
    assert "and 6 more" in gap.message and gap.numbers == {"count": 9}


def test_the_cluster_from_life_is_told(public_data: Path) -> None:
    path = public_data / "from-life-3" / "18-who-holds-the-reservation" / "hypernode-by-pattern.yaml"
    assert "HyperNode top" in [gap.subject for gap in load(path).snapshot.gaps if gap.code == "ignored-member"]
