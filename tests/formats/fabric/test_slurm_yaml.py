from __future__ import annotations

import pytest

from tests.formats.fabric.forests import forest, read_back
from tests.notices import said
from workbench.errors import InputError

THREE = """---
- topology: switches
  tree:
    switches:
      - switch: top
        children: s[1-2]
      - {switch: s1, nodes: "n[1-2]"}
      - {switch: s2, nodes: "n[3-4]"}
- topology: blocks
  cluster_default: true
  block:
    block_sizes: [2, 4]
    blocks:
      - {block: b1, nodes: "n[1-2]"}
      - {block: b2, nodes: "n[3-4]"}
- topology: none
  flat: true
"""


def test_the_default_topology_is_read_and_the_others_are_named():
    snapshot = read_back(THREE)
    assert set(forest(snapshot.topology)) == {"b1", "b2", "blocks-4-1"}
    assert "stdin: of 3 topologies blocks was read; left aside: switches, none" in said(snapshot.gaps)


def test_without_a_default_the_first_is_read_and_blocks_by_their_own_name():
    text = THREE.replace("  cluster_default: true\n", "")
    assert set(forest(read_back(text).topology)) == {"s1", "s2", "top"}
    assert set(forest(read_back(text, format="slurm-yaml-block").topology)) == {"b1", "b2", "blocks-4-1"}


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ("switch: top", "switch: s1", r"stdin: .*\[1\]: the same switch twice"),
        ("s[1-2]", "s[1-", "not YAML|not a host list"),
        ("block_sizes: [2, 4]", "block_sizes: 2", r"block_sizes: wrong type or value .*expected a list"),
        ("- topology: none", "- topology: [none]", "topology: wrong type"),
        ("  flat: true", "  cluster_default: false", "a topology of no type or several"),
    ],
)
def test_a_bad_field_is_refused_with_its_place(old, new, want):
    text = THREE.replace(old, new)
    with pytest.raises(InputError, match=want):
        read_back(text if "block" in old else text.replace("  cluster_default: true\n", ""))
