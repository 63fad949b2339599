"""The families of labels that topograph has written over its releases."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.notices import said
from workbench.formats.fabric.base import make_node
from workbench.formats.fabric.topograph_labels import derive_topograph_labels
from workbench.objects.kinds import ClusterObjects

NVIDIA = "network.topology.nvidia.com/"
NEWEST, NUMBERED = "fabric.topograph.run/tier-", f"{NVIDIA}tier-"

#: The keys of leaf, spine, top and NVLink domain in each family.
FAMILIES = {
    "release 1.0": (*(f"{NEWEST}{i}" for i in range(3)), "accelerator.topograph.run/domain"),
    "numbered": (*(f"{NUMBERED}{i}" for i in range(3)), f"{NVIDIA}accelerator"),
    "named": (f"{NVIDIA}leaf", f"{NVIDIA}spine", f"{NVIDIA}core", f"{NVIDIA}accelerator"),
    "release 0.1": (f"{NVIDIA}block", f"{NVIDIA}spine", f"{NVIDIA}datacenter", f"{NVIDIA}accelerator"),
}


def cluster(rows: Mapping[str, Mapping[str, str]]) -> ClusterObjects:
    objects = ClusterObjects()
    objects.nodes.update({name: make_node(name, labels) for name, labels in rows.items()})
    return objects


def derived(rows: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[int, list[str | None]]]:
    records = derive_topograph_labels(cluster(rows))
    assert records is not None
    return {h.name: (h.tier, [m.selector.exact for m in h.members]) for h in records.hypernodes}


@pytest.mark.parametrize("keys", FAMILIES.values(), ids=FAMILIES.keys())
def test_each_family_gives_the_same_tree(keys: tuple[str, str, str, str]) -> None:
    values = {"a": "l1 s1 c nv1", "b": "l1 s1 c nv1", "c": "l1 s1 c nv2", "d": "l2 s1 c nv3", "e": "l3 s2 c nv4"}
    rows = {name: dict(zip(keys, text.split(), strict=True)) for name, text in values.items()}
    assert derived(rows) == {
        "nv1": (1, ["a", "b"]),
        "nv2": (1, ["c"]),
        "nv3": (1, ["d"]),
        "nv4": (1, ["e"]),
        "l1": (2, ["nv1", "nv2"]),
        "l2": (2, ["nv3"]),
        "l3": (2, ["nv4"]),
        "s1": (3, ["l1", "l2"]),
        "s2": (3, ["l3"]),
        "c": (4, ["s1", "s2"]),
    }


def test_tiers_are_numbered_not_spelled() -> None:
    rows = {"a": {f"{NEWEST}{i}": f"v{i}" for i in range(11)}}
    assert {name: tier for name, (tier, _) in derived(rows).items()} == {f"v{i}": i + 1 for i in range(11)}


def test_a_node_counts_up_to_the_first_label_it_lacks() -> None:
    rows = {
        "a": {f"{NEWEST}0": "l", f"{NEWEST}1": "s"},
        "b": {f"{NEWEST}0": "l2"},
        "c": {f"{NEWEST}1": "s"},
    }
    assert derived(rows) == {"l": (1, ["a"]), "l2": (1, ["b"]), "s": (2, ["l"])}
    records = derive_topograph_labels(cluster(rows))
    assert records is not None and "1 node has none of these labels" in said(records.notes)


def test_one_value_under_two_keys_is_two_hypernodes() -> None:
    rows = {"a": {f"{NVIDIA}leaf": "x", f"{NVIDIA}spine": "x"}}
    assert derived(rows) == {"leaf-x": (1, ["a"]), "spine-x": (2, ["leaf-x"])}


def test_domains_wider_than_leaves_come_between_the_tiers() -> None:
    rows = {
        n: {f"{NEWEST}0": leaf, f"{NEWEST}1": "s", FAMILIES["release 1.0"][3]: d}
        for n, leaf, d in (("a", "l1", "nv1"), ("b", "l2", "nv1"), ("c", "l3", "nv2"))
    }
    assert derived(rows) == {
        "l1": (1, ["a"]),
        "l2": (1, ["b"]),
        "l3": (1, ["c"]),
        "nv1": (2, ["l1", "l2"]),
        "nv2": (2, ["l3"]),
        "s": (3, ["nv1", "nv2"]),
    }


def test_domains_across_leaves_make_no_hypernodes() -> None:
    key = FAMILIES["release 1.0"][3]
    rows = {n: {f"{NEWEST}0": leaf, key: d} for n, leaf, d in (("a", "l1", "x"), ("b", "l2", "x"), ("c", "l1", "y"))}
    assert derived(rows) == {"l1": (1, ["a", "c"]), "l2": (1, ["b"])}
    records = derive_topograph_labels(cluster(rows))
    assert (
        records is not None
        and records.notes[0].message == f"the NVLink domains of {key} cross the tiers: no HyperNodes"
    )


def test_the_gpu_operators_cliques_fill_in_but_say_nothing_alone() -> None:
    clique = "nvidia.com/gpu.clique"
    assert derive_topograph_labels(cluster({"a": {clique: "u.1"}})) is None
    rows = {"a": {f"{NEWEST}0": "l", clique: "u.1"}, "b": {f"{NEWEST}0": "l", clique: "u.2"}}
    assert derived(rows) == {"u.1": (1, ["a"]), "u.2": (1, ["b"]), "l": (2, ["u.1", "u.2"])}


def test_other_labels_are_none_of_topographs() -> None:
    assert derive_topograph_labels(cluster({"a": {"kubernetes.io/hostname": "a"}})) is None
