"""A score of a plugin that the table does not have yet, from the configuration to the explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pytest

from tests.notices import said
from tests.policies.volcano.cluster_objects import config, job, loaded, node, nodes_of
from workbench.errors import InputError
from workbench.model.labels import Requirement
from workbench.model.release import Release
from workbench.policies import get_policy
from workbench.policies.request import Request
from workbench.policies.volcano.parts import plugins
from workbench.policies.volcano.parts.node_scores import NodeScore

EIGHTH = {"cpu": "4", "memory": "16Gi"}


@dataclass(frozen=True)
class Preference(NodeScore):
    """Points for nodes with a label."""

    key: str
    points: int

    name = "preferred"
    plugin = "preference"
    weights = {"points": 10}
    texts = {"label": "disk"}

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self | None:
        if not settings["label"]:
            raise InputError("no label", where="argument label")
        return cls(settings["label"], settings["points"]) if settings["points"] else None

    def scores(self, request: Request, role: int) -> npt.NDArray[np.float64]:
        has = request.snapshot.labels.mask(Requirement(self.key, "Exists"))
        return np.where(has, float(self.points), 0.0)


@pytest.fixture(autouse=True)
def with_one_more_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "NODE_SCORES", (*plugins.NODE_SCORES, Preference))


def configured(**more: Any) -> Any:
    return config("priority", "gang", "predicates", "nodeorder", {"name": "preference", **more})


def scenario(*, hard: bool = False) -> Any:
    nodes = [node(name, cpu="16", memory="64Gi") for name in "ab"]
    nodes[1]["metadata"]["labels"] = {"disk": "ssd"}
    topology = {"mode": "hard", "highestTierAllowed": 1} if hard else None
    tree = {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": "s0"},
        "spec": {
            "tier": 1,
            "members": [{"type": "Node", "selector": {"exactMatch": {"name": name}}} for name in "ab"],
        },
    }
    return loaded(nodes, tree, job("j", 1, EIGHTH, topology=topology))


@pytest.mark.parametrize("policy", ["volcano-1.13", "volcano-1.15", "allocate"])
@pytest.mark.parametrize("hard", [False, True])
def test_a_plugin_that_the_table_names_scores_nodes(policy: str, hard: bool) -> None:
    found = scenario(hard=hard)
    assert nodes_of(found, policy, configured())["j"] == ["b"]
    for off in (configured(enableNodeOrder=False), configured(arguments={"points": 0}), config("predicates")):
        assert nodes_of(found, policy, off)["j"] == ["a"]


def test_a_stream_scores_by_it_too() -> None:
    found = scenario(hard=True)
    stream = get_policy("volcano-1.15", config=configured()).stream(found.snapshot)
    placed = stream.place(found.gangs[0])
    assert [pod.node for pod in placed.pods()] == ["b"]  # type: ignore[union-attr]


def test_its_score_is_a_part_of_the_explanation() -> None:
    found = scenario()
    told = get_policy("volcano-1.15", config=configured(arguments={"points": 7})).explain(
        found.gangs[0], found.snapshot
    )
    assert {each.name: each.parts["preferred"] for each in told.nodes} == {"a": 0.0, "b": 7.0}
    assert all(each.score == pytest.approx(sum(each.parts.values())) for each in told.nodes)


def test_its_arguments_are_known_and_wrong_values_named() -> None:
    def warned(**arguments: Any) -> tuple[str, ...]:
        return said(plugins.config_warnings(configured(arguments=arguments), Release.V1_15))

    assert warned(points=3, label="rack") == ()
    assert warned(points=-3) == ("argument points of plugin preference is negative: it counts as 0 here",)
    assert warned(points="3") == (
        "argument points of plugin preference is no number: its default applies, as in Volcano",
    )
    assert warned(label=3) == ("argument label of plugin preference is no text: its default applies",)
    assert warned(point=3) == ("argument point of plugin preference is not modelled",)


def test_a_value_that_it_cannot_mean_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"^config: plugin preference: argument label: no label"):
        get_policy("volcano-1.15", config=configured(arguments={"label": ""}))
    with pytest.raises(InputError, match="argument points: the weight is too large"):
        get_policy("volcano-1.15", config=configured(arguments={"points": 10**9}))


def test_the_scores_have_names_of_their_own() -> None:
    shown = [part.name for part in plugins.NODE_SCORES]
    assert len(set(shown)) == len(shown) and not {"binpack", "least", "most", "balanced"} & set(shown)
