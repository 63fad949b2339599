"""Open patterns: those that would match a likely later node by mistake, and those that mean what they match."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.formats.lint_files import lint_files
from workbench.formats.write_manifests import to_yaml
from workbench.topology.lint.later_names import example_of, later_name


@pytest.mark.parametrize(
    ("pattern", "names", "want"),
    [
        ("^gpu-[1-4]", ["gpu-1", "gpu-2"], "gpu-10"),
        ("gpu-1", ["gpu-1"], "gpu-10"),
        ("^gpu-(?:1|10)", ["gpu-1", "gpu-10"], "gpu-11"),
        ("^gpu-(?:0[89]|1)", ["gpu-08", "gpu-10"], "gpu-080"),
        ("^rack1", ["rack1-n1"], "rack10-n1"),
        (r"^gpu-[1-4]\b", ["gpu-1"], "gpu-1-spare"),
        ("^gpu-[1-4](?:-|$)", ["gpu-1"], ""),
        ("1-gpu", ["1-gpu"], "01-gpu"),
        ("gpu-1$", ["gpu-1"], "old-gpu-1"),
        ("^login", ["login"], "login-spare"),
    ],
)
def test_a_likely_later_name_is_found(pattern: str, names: list[str], want: str) -> None:
    assert later_name(pattern, names, frozenset(names)) == want


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("^gpu-[1-4]$", "gpu-1"),
        ("^(gpu-1|gpu-2)$", "gpu-2"),
        ("^rack1-", "rack1-n1"),
        (r"\.rack1$", "n1.rack1"),
        ("^gpu-.*", "gpu-1"),
        ("^gpu-[0-9]+$", "gpu-1"),
        (r"^gpu-\d+", "gpu-1"),
        ("", "gpu-1"),
        ("^row-a-", "row-a-12"),
    ],
)
def test_a_pattern_that_is_closed_or_means_every_number_is_none(pattern: str, name: str) -> None:
    assert later_name(pattern, [name], frozenset([name])) == ""


@pytest.mark.parametrize(
    ("pattern", "want"),
    [
        ("^gpu-[1-4]", "gpu-1"),
        ("^gpu-(?:0[89]|1)", "gpu-08"),
        (r"n\d{2}\.rack1$", "n11.rack1"),
        ("(a|b)+c?", "a"),
        (r"[\d]x{3,5}", "1xxx"),
        ("[^a]", ""),
        ("(", ""),
        ("(?P<n>node)-.", "node-a"),
    ],
)
def test_an_example_of_a_pattern(pattern: str, want: str) -> None:
    assert example_of(pattern) == want


def hypernode(name: str, pattern: str) -> dict[str, object]:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}]},
    }


@pytest.mark.parametrize("nodes", [0, 9])
def test_open_patterns_are_a_warning_with_and_without_the_nodes(tmp_path: Path, nodes: int) -> None:
    objects = [hypernode("r1", "^gpu-[1-4]"), hypernode("r2", "^gpu-[5-8]$")]
    objects += [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"gpu-{i}"}} for i in range(1, nodes)]
    path = tmp_path / "hypernodes.yaml"
    path.write_text(to_yaml(objects), encoding="utf-8")
    (finding,) = lint_files([path]).report.of("open-pattern")
    assert finding.hypernode == "r1" and finding.field == "spec.members[0].selector.regexMatch.pattern"
    assert "would also match gpu-10" in finding.message
