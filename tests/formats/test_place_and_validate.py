"""Tests that `place` and `validate` agree on a file: refusals of one are told by the other, defaults are the same."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import max_examples
from workbench.errors import InputError
from workbench.formats.load import load
from workbench.formats.manifests import read_manifests
from workbench.formats.review import review_manifests
from workbench.model.notice import texts_of
from workbench.model.placement import Placement
from workbench.model.release import Release
from workbench.model.scenario import Scenario
from workbench.policies import get_policy

POLICIES = {"volcano-1.13": Release.V1_13, "volcano-1.15": Release.V1_15, "gang": Release.V1_15}
TYPOS = ("networkTopolgy", "mod", "minAvailble", "highestTierAlowed", "volcano.sh/network-topology-mod")


def hypernode(name: str, tier: int, kind: str, *members: str) -> dict[str, Any]:
    listed = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {"tier": tier, "members": listed},
    }


CLUSTER = [
    *(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{i}"},
            "status": {"allocatable": {"cpu": "4", "pods": "110"}},
        }
        for i in range(4)
    ),
    hypernode("s0", 1, "Node", "n0", "n1"),
    hypernode("s1", 1, "Node", "n2", "n3"),
    hypernode("top", 2, "HyperNode", "s0", "s1"),
]


@st.composite
def topologies(draw: st.DrawFn) -> Any:
    """A field networkTopology: right, wrong, or not there."""
    return draw(
        st.sampled_from([None, {"highestTierAllowed": 1}, {"highestTierAllowed": 1}])
        | st.fixed_dictionaries(
            {},
            optional={
                "mode": st.sampled_from(["hard", "soft", "hardd", "", None]),
                "highestTierAllowed": st.sampled_from([1, 2, 0, -1, None]),
                "highestTierName": st.sampled_from(["rack", "", None]),
                "mod": st.just("hard"),
            },
        )
    )


@st.composite
def objects(draw: st.DrawFn) -> list[dict[str, Any]]:
    """One Job, or a PodGroup with its pods."""
    pods, cpu = draw(st.sampled_from([3, 2, 4, 1])), draw(st.sampled_from(["3", "1"]))
    spec: dict[str, Any] = {}
    metadata: dict[str, Any] = {"name": "one", "namespace": "default"}
    if (topology := draw(topologies())) is not None or draw(st.booleans()):
        spec["networkTopology"] = topology
    typo = draw(st.sampled_from([None, None, None, None, None, *TYPOS]))
    if typo is not None and "/" in typo:
        metadata["annotations"] = {typo: "hard"}
    elif typo is not None:
        spec[typo] = draw(st.sampled_from([1, {"mode": "hard"}, None]))
    if draw(st.integers(0, 3)) == 3:
        metadata["uid"] = "1-2-3-4-5"
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    if draw(st.booleans()):
        task: dict[str, Any] = {"replicas": pods, "template": {"spec": {"containers": [container]}}}
        if draw(st.integers(0, 3)) == 3:
            size = draw(st.integers(1, 2))
            task["partitionPolicy"] = {"totalPartitions": draw(st.integers(0, 3)), "partitionSize": size}
            if (inner := draw(topologies())) is not None:
                task["partitionPolicy"]["networkTopology"] = inner
        spec |= {"tasks": [task]}
        if draw(st.booleans()):
            spec["minAvailable"] = draw(st.integers(-1, 5))
        return [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}]
    if draw(st.integers(0, 2)) == 2:
        spec["subGroupPolicy"] = [{"name": "a", "networkTopology": draw(topologies())}]
    if draw(st.booleans()):
        spec["minMember"] = draw(st.integers(0, pods))
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec}
    member = {"scheduling.k8s.io/group-name": "one"}
    waiting = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{i}", "annotations": member},
            "spec": {"schedulerName": "volcano", "containers": [container]},
        }
        for i in range(pods)
    ]
    return [group, *waiting]


def text_of(items: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def outcome(scenario: Scenario, policy: str) -> list[Any]:
    """Where every pod goes."""
    decisions = get_policy(policy).schedule(scenario.gangs, scenario.snapshot)
    return [d.result.node.tolist() if isinstance(d.result, Placement) else None for d in decisions]


def words(scenario: Scenario, policy: str) -> list[str]:
    """Everything that is told of a scenario and its jobs."""
    decisions = get_policy(policy).schedule(scenario.gangs, scenario.snapshot)
    return texts_of([*scenario.notes, *(each for decision in decisions for each in decision.result.warnings)])


def filled(items: list[dict[str, Any]], defaults: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects with what `validate` fills into the first one."""
    items = copy.deepcopy(items)
    for path, value in defaults.items():
        at: Any = items[0]
        *way, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", path)]
        for part in way:
            at = at[part]
        at[last] = value
    return items


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@max_examples(300)
@given(items=objects())
def test_place_and_validate_never_contradict_each_other(policy: str, items: list[dict[str, Any]]) -> None:
    text = text_of([*CLUSTER, *items])
    review = review_manifests(read_manifests(["-"], stdin=text), POLICIES[policy])
    verdict = next(one.verdict for one in review.objects if one.name == "one")
    try:
        scenario = load("-", stdin=text)
    except InputError:
        assert not verdict.allowed
        return
    refused = [refused.subject for refused in scenario.refused]
    if not verdict.allowed:
        assert refused or words(scenario, policy)
        return
    if POLICIES[policy] is Release.V1_15:
        assert refused == []
    stored = "uid" in items[0]["metadata"]
    topology = {path: value for path, value in verdict.defaults.items() if "networkTopology" in path}
    assert not (stored and topology)
    as_filled = load("-", stdin=text_of([*CLUSTER, *filled(items, dict(verdict.defaults))]))
    assert outcome(scenario, policy) == outcome(as_filled, policy)
    if refused:
        return
    told = words(scenario, policy)
    for path in topology:
        if path.endswith(".mode"):
            assert f"{path}: hard is filled in, as the API server does" in told
        elif filled_mode(items[0], topology) == "hard":
            assert "hard without highestTierAllowed: its default 1 applies" in told


def filled_mode(manifest: dict[str, Any], topology: dict[str, Any]) -> Any:
    return manifest["spec"]["networkTopology"].get("mode") or topology["spec.networkTopology.mode"]
