"""Comparison of a discovery result with existing HyperNodes: create, update, delete, and names of other owners."""

from __future__ import annotations

from workbench.model.labels import SOURCE_LABEL
from workbench.objects.hypernode import HyperNode, read_hypernode
from workbench.objects.hypernode_manifest import hypernode_manifest
from workbench.objects.metadata import Metadata
from workbench.topology.discovery.reconcile import Conflict, reconcile
from workbench.topology.discovery.result import DiscoveryResult, discovered


def ufm(*hypernodes: HyperNode) -> DiscoveryResult:
    return DiscoveryResult("ufm", hypernodes)


def leaf(name: str, *nodes: str, source: str = "ufm") -> HyperNode:
    return discovered(source, name, 1, nodes, "Node")


BY_HAND = HyperNode(Metadata("mine"), 1, "", leaf("x", "n9").members)
EXISTING = (
    leaf("same", "n0", "n1"),
    leaf("old", "n2"),
    leaf("moved", "n3"),
    leaf("other", "n4", source="label"),
    BY_HAND,
)


def test_every_kind_of_outcome_at_once() -> None:
    plan = reconcile(
        ufm(leaf("new", "n5"), leaf("moved", "n4"), leaf("same", "n1", "n0"), leaf("other", "n1"), leaf("mine", "n2")),
        EXISTING,
    )
    assert [h.name for h in plan.create] == ["new"]
    assert [h.name for h in plan.update] == ["moved"]
    assert (plan.unchanged, plan.delete, plan.empties) == (("same",), ("old",), False)
    assert plan.conflicts == (Conflict("other", "label"), Conflict("mine", ""))
    assert plan.summary == "ufm: 1 to create, 1 to update, 1 to delete, 1 unchanged, 2 in conflict"


def test_what_is_applied_is_what_was_planned() -> None:
    manifests = {h.name: hypernode_manifest(h) for h in EXISTING}
    manifests["mine"]["metadata"]["finalizers"] = ["keep/me"]
    manifests["moved"]["metadata"] |= {"annotations": {"a": "b"}, "resourceVersion": "7"}
    manifests["moved"]["metadata"]["labels"]["team"] = "x"
    manifests["moved"]["status"] = {"nodeCount": 1}
    plan = reconcile(ufm(leaf("new", "n5"), leaf("moved", "n4")), EXISTING)
    after = {data["metadata"]["name"]: data for data in plan.apply(manifests)}
    assert list(after) == ["moved", "other", "mine", "new"]
    assert after["mine"] == manifests["mine"] and after["other"] == manifests["other"]
    assert after["moved"]["metadata"] == {
        "name": "moved",
        "labels": {SOURCE_LABEL: "ufm", "team": "x"},
        "annotations": {"a": "b"},
        "resourceVersion": "7",
    }
    assert "status" not in after["moved"]
    assert read_hypernode(after["moved"]).members == leaf("moved", "n4").members
    assert manifests["moved"]["status"] == {"nodeCount": 1}, "what was given is not changed"


def test_the_source_label_is_set_whatever_the_result_says() -> None:
    bare = HyperNode(Metadata("bare"), 1, "", ())
    assert reconcile(ufm(bare), ()).create[0].metadata.labels == {SOURCE_LABEL: "ufm"}


def test_null_changes_nothing_and_empty_deletes_everything_after_asking() -> None:
    null = reconcile(DiscoveryResult("ufm", None), EXISTING)
    assert (null.create, null.update, null.delete, null.empties) == ((), (), (), False)
    empty = reconcile(ufm(), EXISTING)
    assert (empty.delete, empty.empties) == (("moved", "old", "same"), True)
    manifests = {h.name: hypernode_manifest(h) for h in EXISTING}
    assert [data["metadata"]["name"] for data in empty.apply(manifests)] == ["other", "mine"]


def test_an_empty_result_with_nothing_to_lose_asks_nothing() -> None:
    plan = reconcile(ufm(), [BY_HAND])
    assert not plan.empties and plan.summary == "ufm: no HyperNodes"


def test_any_difference_of_tier_name_labels_or_annotations_is_an_update() -> None:
    old = leaf("a", "n0")
    for new in (
        discovered("ufm", "a", 2, ["n0"], "Node"),
        discovered("ufm", "a", 1, ["n0"], "Node", "leaf"),
        discovered("ufm", "a", 1, ["n0"], "HyperNode"),
        discovered("ufm", "a", 1, ["n0"], "Node", labels={"x": "y"}),
        HyperNode(Metadata("a", annotations={"x": "y"}), 1, "", old.members),
    ):
        assert [h.name for h in reconcile(ufm(new), [old]).update] == ["a"]
