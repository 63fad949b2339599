"""The linter and `validate` judge names by the same function; a refused name is found at its own object."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.formats.load import load_objects
from workbench.formats.write_manifests import to_yaml
from workbench.model.release import Release
from workbench.objects.admission import review
from workbench.topology.lint import Finding, Subject, lint


def hypernode(name: str, *members: tuple[str, str], tier: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {
            "tier": tier,
            "members": [{"type": kind, "selector": {"exactMatch": {"name": n}}} for kind, n in members],
        },
    }


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def refused(*objects: dict[str, Any]) -> tuple[Finding, ...]:
    cluster = load_objects("-", stdin=to_yaml(list(objects)))
    manifests = {one["metadata"]["name"]: one for one in objects if one["kind"] == "HyperNode"}
    return lint(Subject.of_objects(cluster, manifests=manifests)).of("refused-by-admission")


@pytest.mark.parametrize(
    "name",
    [
        "Core_1",
        "rack A!",
        "core_1",
        "-core",
        "core-",
        "core..1",
        "CORE",
        "a" * 254,
        "kern-ä",
        "core-1",
        "c.1",
    ],
)
def test_a_name_that_validate_refuses_is_found_at_its_object(name: str) -> None:
    objects = [hypernode(name, ("Node", "n1")), hypernode("top", ("HyperNode", name), tier=2), node("n1")]
    said = review(objects[0], Release.V1_15).refusal
    found = refused(*objects)
    assert [f.hypernode for f in found] == ([name] if said else [])
    for finding in found:
        assert finding.field == "metadata.name"
        assert finding.message.startswith(f"{name} would be refused: {said}"[:300])


@pytest.mark.parametrize("name", ["GPU_1", "gpu 1", "gpu-1-"])
def test_a_node_with_a_bad_name_is_found_itself_and_not_its_hypernode(name: str) -> None:
    (finding,) = refused(hypernode("r1", ("Node", name)), node(name))
    assert (finding.hypernode, finding.node) == ("", name)


def test_a_bad_name_of_a_member_that_is_not_there_is_found_at_the_member() -> None:
    (finding,) = refused(hypernode("r1", ("Node", "n1"), ("Node", "GPU_1")), node("n1"))
    assert finding.hypernode == "r1" and "GPU_1" in finding.message


def test_what_else_is_wrong_with_the_parent_is_still_told() -> None:
    top = hypernode("top", ("HyperNode", "Core_1"), tier=-1)
    found = refused(top, hypernode("Core_1", ("Node", "n1")), node("n1"))
    assert [f.hypernode for f in found] == ["Core_1", "top"]
    assert "spec.tier" in found[1].message and "exactMatch" not in found[1].message


def test_an_api_version_that_is_not_served_is_found() -> None:
    other = {**hypernode("r1", ("Node", "n1")), "apiVersion": "topology.volcano.sh/v1"}
    assert review(other, Release.V1_15).refusal
    assert [f.hypernode for f in refused(other, node("n1"))] == ["r1"]
