"""Topograph's models: switches, blocks and NVLink domains."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricRecords
from workbench.formats.fabric.registry import detect_format
from workbench.formats.fabric.topograph import DOMAIN_LABEL, read_topograph

MODEL = """\
switches:
  core:
    labels: {region: west}
    switches: [spine]
  spine:
    labels: {zone: z1, region: inner}
    switches: [leaf-1, leaf-2]
blocks:
- switch: leaf-1
  nodes: ["n[01-02]", n05]
  annotations: {accelerator.topology.test/domain: nvl1}
- switch: leaf-2
  nodes: ["n[03-04]"]
  annotations: {accelerator.topology.test/domain: nvl2}
"""

OLDER = """\
switches:
- name: spine
  metadata: {region: west}
  switches: [leaf-1, leaf-2]
- name: leaf-1
  capacity_blocks: [cb1, cb2]
- name: leaf-2
  capacity_blocks: [cb3]
capacity_blocks:
- {name: cb1, type: GB200, nvlink: nvl1, nodes: [a, b]}
- {name: cb2, type: GB200, nvlink: nvl2, nodes: [c, d]}
- {name: cb3, type: H100, nodes: [e]}
"""


def tree(records: FabricRecords) -> dict[str, tuple[int, list[str | None]]]:
    return {h.name: (h.tier, [m.selector.exact for m in h.members]) for h in records.hypernodes}


def test_a_model_with_domains_equal_to_leaves_keeps_them_as_labels() -> None:
    records = read_topograph(MODEL, "m.yaml")
    assert tree(records) == {
        "leaf-1": (1, ["n01", "n02", "n05"]),
        "leaf-2": (1, ["n03", "n04"]),
        "spine": (2, ["leaf-1", "leaf-2"]),
        "core": (3, ["spine"]),
    }
    assert records.nodes[0].metadata.labels == {"region": "inner", "zone": "z1", DOMAIN_LABEL: "nvl1"}
    assert records.notes[0].message.startswith("the NVLink domains draw the lines of another tier")


def test_an_older_model_with_domains_inside_leaves_has_a_tier_more() -> None:
    records = read_topograph(OLDER, "m.yaml")
    assert tree(records) == {
        "nvl1": (1, ["a", "b"]),
        "nvl2": (1, ["c", "d"]),
        "leaf-1": (2, ["nvl1", "nvl2"]),
        "leaf-2": (1, ["e"]),
        "spine": (3, ["leaf-1", "leaf-2"]),
    }


@pytest.mark.parametrize("text", [MODEL, OLDER])
def test_both_kinds_are_found_by_content(text: str) -> None:
    found = detect_format(text, "x")
    assert found is not None and found.name == "topograph"


def test_blocks_without_switches_are_nvlink_domains() -> None:
    text = "switches: {}\nblocks:\n- {nodes: [a, b], nvlink: x}\n- {nodes: [c], nvlink: y}\n"
    assert tree(read_topograph(text, "m.yaml")) == {"x": (1, ["a", "b"]), "y": (1, ["c"])}


def test_domains_wider_than_a_leaf_stay_labels() -> None:
    records = read_topograph(MODEL.replace("nvl2", "nvl1"), "m.yaml")
    assert "nvl1" not in tree(records)
    assert records.notes[0].message.startswith("the NVLink domains are wider than a leaf")


def test_a_domain_called_like_a_switch_gets_another_name() -> None:
    assert "nvlink-spine" in tree(read_topograph(OLDER.replace("nvl1", "spine"), "m.yaml"))


def test_redundant_spines_are_one_hypernode() -> None:
    text = MODEL.replace("switches: [spine]", "switches: [spine, spine-2]").replace(
        "blocks:", "  spine-2:\n    switches: [leaf-1, leaf-2]\nblocks:"
    )
    got = tree(read_topograph(text, "m.yaml"))
    assert got["spine-group"][0] == got["leaf-1"][0] + 1 and got["spine-group"][1] == ["leaf-1", "leaf-2"]
    assert got["core"][1] == ["spine-group"]


BROKEN = {
    "two parents": (MODEL.replace("switches: [spine]", "switches: [spine, leaf-1]"), "a switch in two places"),
    "an unknown switch": (MODEL.replace("- switch: leaf-2", "- switch: leaf-9"), r"blocks\[1\]\.switch: wrong"),
    "a node twice": (MODEL.replace("n[03-04]", "n[02-04]"), r"blocks\[1\]\.nodes\[0\]: the same node twice"),
    "a bad list": (MODEL.replace("n[03-04]", "n[03-"), r"blocks\[1\]\.nodes\[0\]: not a host list"),
    "no nodes": ("switches: {}\nblocks: []\n", "blocks: the field is missing"),
    "no YAML": ("switches: [\nblocks:\n", r"m\.yaml: line \d+, column \d+: not YAML"),
}


@pytest.mark.parametrize(("text", "want"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_model_is_refused(text: str, want: str) -> None:
    with pytest.raises(InputError, match=want):
        read_topograph(text, "m.yaml")


@pytest.mark.parametrize("value", ["{a: 1}", "[nvl1]", "[]", "true", "1.5"])
def test_a_domain_that_is_no_name_is_refused_with_its_place(value: str) -> None:
    text = MODEL.replace("nvl2", value)
    with pytest.raises(InputError, match=r"blocks\[1\]\.annotations\['accelerator\.topology\.test/domain'\].*a name"):
        read_topograph(text, "m.yaml")


def test_a_domain_may_be_a_number_or_nothing() -> None:
    labels = [n.metadata.labels for n in read_topograph(MODEL.replace("nvl2", "7"), "m.yaml").nodes]
    assert [one.get(DOMAIN_LABEL) for one in labels] == ["nvl1", "nvl1", "7", "7", "nvl1"]
    for nothing in ("null", "''"):
        labels = [n.metadata.labels for n in read_topograph(MODEL.replace("nvl2", nothing), "m.yaml").nodes]
        assert [one.get(DOMAIN_LABEL) for one in labels] == ["nvl1", "nvl1", None, None, "nvl1"]
