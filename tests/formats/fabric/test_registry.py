from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import UnknownNameError
from workbench.formats.fabric.base import Sample
from workbench.formats.fabric.registry import FORMATS, detect_format, get_format


def test_names_are_distinct_and_every_format_can_do_something():
    names = [entry.name for entry in FORMATS]
    assert len(set(names)) == len(names)
    assert all(entry.read or entry.derive or entry.write for entry in FORMATS)
    assert all(entry.read for entry in FORMATS if entry.detect)


def test_a_format_is_found_by_its_name():
    assert all(get_format(entry.name) is entry for entry in FORMATS)
    with pytest.raises(UnknownNameError, match="did you mean slurm"):
        get_format("slrum")


def test_the_documentation_has_a_row_for_every_format():
    page = (Path(__file__).parents[3] / "docs" / "fabrics.md").read_text(encoding="utf-8")
    first_cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("|")]
    assert [entry.name for entry in FORMATS if not any(f"`{entry.name}`" in cell for cell in first_cells)] == []


@pytest.mark.parametrize("text", ["", "hello", "{}", "[1]", "a: 1\n", "kind: Node\napiVersion: v1\n# SwitchName=a\n"])
def test_what_is_no_fabric_is_none(text):
    assert detect_format(text, "x") is None


def test_manifests_are_left_to_the_kinds_whatever_they_hold():
    assert detect_format("apiVersion: v1\nkind: ConfigMap\ndata:\n  topology.conf: |\nSwitchName=a\n", "x") is None
    assert detect_format("SwitchName=a Nodes=b\n", "x") is get_format("slurm")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("apiVersion: v1\nkind: Node\n", True),
        ("# by hand\n---\nkind: Node\n", True),
        ('{"kind": "NodeList", "items": []}', True),
        ('---\n{"apiVersion": "v1"}\n', True),
        ("metadata: {}\nkind: Node\napiVersion: v1\n", True),
        ('{"metadata": {}, "kind": "Node", "apiVersion": "v1"}', True),
        ('---\n{"metadata": {"name": "a"}, "apiVersion": "v1", "kind": "Node"}\n', True),
        ("- topology: a\n  kind: b\n", False),
        ('{"server_list": [{"kind": 1, "apiVersion": 2}]}', False),
        ("SwitchName=a Nodes=b # kind: apiVersion:\n", False),
        ("", False),
    ],
)
def test_manifests_are_told_by_their_keys(text, want):
    assert Sample(text, "x").is_manifest is want
