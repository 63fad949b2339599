"""What policies would have done with the running gangs of a cluster, against the slow way: all from the beginning."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.profiles import max_examples
from tests.survival import differences
from workbench.cluster.assemble import assemble
from workbench.cluster.changes import added
from workbench.cluster.observed import observed_gangs
from workbench.cluster.state import ClusterState
from workbench.evaluate.audit import audit, audit_session, by_loss, loss_sentence
from workbench.evaluate.audit.loss import meeting_place
from workbench.model.explanation import Recorder
from workbench.model.gang import TopologyConstraint
from workbench.model.placement import Placement
from workbench.objects.hypernode import make_hypernode
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import Metadata
from workbench.objects.node import Node
from workbench.objects.pod import Pod, PodSpec
from workbench.objects.pod_group import ALLOCATED_HYPERNODE_ANNOTATION, GROUP_NAME_ANNOTATION, PodGroup
from workbench.policies import get_policy

NODES = [f"n{i}" for i in range(8)]
CONSTRAINTS = [None, TopologyConstraint("soft"), *(TopologyConstraint("hard", tier) for tier in (1, 2, 3))]
#: All that record something of their own.
POLICIES = ["volcano-1.13", "volcano-1.15", "binpack", "spread", "koordinator-network", "switch-affinity"]


@st.composite
def clusters(draw: st.DrawFn) -> ClusterObjects:
    """Eight nodes under four leaves, two spines and a top; gangs of one to four pods that run somewhere."""
    objects = ClusterObjects()
    for name in NODES:
        added(Node(Metadata(name), {"cpu": 32_000, "pods": 110, "nvidia.com/gpu": 4})).apply_to(objects)
    for i in range(4):
        added(make_hypernode(f"leaf{i}", 1, nodes=NODES[2 * i : 2 * i + 2])).apply_to(objects)
    for i in range(2):
        added(make_hypernode(f"spine{i}", 2, children=[f"leaf{2 * i}", f"leaf{2 * i + 1}"])).apply_to(objects)
    added(make_hypernode("top", 3, children=["spine0", "spine1"])).apply_to(objects)
    free = dict.fromkeys(NODES, 4)
    for number in range(draw(st.integers(1, 5))):
        name, gpus, size = f"g{number}", draw(st.integers(1, 4)), draw(st.integers(1, 4))
        record = draw(st.sampled_from([{}, {ALLOCATED_HYPERNODE_ANNOTATION: "leaf1"}]))
        group = PodGroup(Metadata(name, "a", annotations=record), size, {}, "q", "", draw(st.sampled_from(CONSTRAINTS)))
        added(group).apply_to(objects)
        for pod in range(size):
            room = [node for node in NODES if free[node] >= gpus]
            node = draw(st.sampled_from([*room, *room, ""]))
            if node:
                free[node] -= gpus
            metadata = Metadata(f"{name}-{pod}", "a", uid=f"{name}-{pod}", annotations={GROUP_NAME_ANNOTATION: name})
            assumed = draw(st.sampled_from([{}, {"cpu": 100, "memory": 200 << 20}]))
            spec = PodSpec({"nvidia.com/gpu": gpus}, (gpus,), node_name=node, assumed=assumed)
            deleted = bool(node) and draw(st.integers(0, 5)) == 0
            added(Pod(metadata, spec, "Running" if node else "Pending", deleted)).apply_to(objects)
    return objects


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@max_examples(60)
@given(clusters())
def test_it_says_what_the_whole_session_on_a_cluster_read_anew_says(policy: str, objects: ClusterObjects) -> None:
    asked = get_policy(policy)
    for one in observed_gangs(ClusterState(objects, any_scheduler=True)):
        told = audit([one.gang], one.snapshot, 0, one.nodes, asked)
        snapshot, gangs = _read_anew(objects, one.gang.name)
        gang = next(each for each in gangs if each.key == one.gang.key)
        recorder = Recorder()
        (decision,) = asked.schedule([gang], snapshot, {0: recorder})
        placed = decision.result if isinstance(decision.result, Placement) else None
        pods = 0 if placed is None else int((placed.node >= 0).sum())
        equals = recorder.explanation(decision).tied_hypernodes if gang.constraint is not None else ()
        domain = None if placed is None else placed.hypernode or None
        assert (told.pods, told.domain, told.tied_hypernodes) == (pods, domain, equals)


@pytest.mark.parametrize("policy", POLICIES)
@max_examples(60)
@given(clusters())
def test_where_a_gang_could_be_is_where_the_policy_places_it_with_its_own_pods_freed(
    policy: str, objects: ClusterObjects
) -> None:
    asked = get_policy(policy)
    found = []
    for one in observed_gangs(ClusterState(objects, any_scheduler=True)):
        told = audit([one.gang], one.snapshot, 0, one.nodes, asked, equal_places=True)
        found.append(told)
        snapshot, gangs = _read_anew(objects, one.gang.name)
        (decision,) = asked.schedule([next(each for each in gangs if each.key == one.gang.key)], snapshot)
        here = [node for node in one.nodes.values() if node]
        # Pods of the gang that still wait do not count: elsewhere they would hide that those that run could be closer.
        placed = decision.result.pods() if isinstance(decision.result, Placement) else []
        there = [pod.node for pod in placed if one.nodes.get(pod.name)]
        assert told.is_in is not None and told.is_in.tier == _tier(here)
        if len(there) < len(here):
            assert told.could_be_in is None and not told.pairs_beyond and not told.could_be_closer
            continue
        assert told.could_be_in is not None and told.could_be_in.tier == _tier(there)
        assert set(there) <= set(NODES) and told.could_be_closer == (_tier(there) < _tier(here))
        pairs = [(a, b) for i, a in enumerate(here) for b in here[:i]]
        assert told.pairs == len(pairs)
        assert told.pairs_beyond == sum(_tier([a, b]) > _tier(there) for a, b in pairs)
        if told.agrees and told.gang.constraint is not None:
            assert not told.could_be_closer or told.observed_domain in told.tied_hypernodes
    losses = [told.pairs_beyond if told.could_be_closer else -1 for told in by_loss(found)]
    assert losses == sorted(losses, reverse=True)
    closer = sum(told.could_be_closer for told in found)
    assert loss_sentence(found).startswith(f"{closer or 'none'} of {len(found)} running gang")


def _tier(nodes: list[str]) -> int:
    """Tier of the closest HyperNode of `clusters` that holds all the nodes."""
    numbers = [NODES.index(node) for node in nodes]
    return next(tier for tier in (1, 2, 3) if len({number >> tier for number in numbers}) == 1)


def _read_anew(objects: ClusterObjects, name: str):  # type: ignore[no-untyped-def]
    """The cluster with the running pods of a gang off their nodes, and without what the scheduler wrote of it."""
    without = replace(objects, pods=dict(objects.pods), pod_groups=dict(objects.pod_groups))
    for key, pod in objects.pods.items():
        if pod.metadata.annotations.get(GROUP_NAME_ANNOTATION) == name and pod.runs:
            without.pods[key] = replace(pod, spec=replace(pod.spec, node_name=""), phase="Pending")
    group = objects.pod_groups[f"a/{name}"]
    without.pod_groups[f"a/{name}"] = replace(group, metadata=replace(group.metadata, annotations={}))
    snapshot, workload = assemble(without, any_scheduler=True)
    return snapshot, workload.gangs


@pytest.mark.parametrize("policy", POLICIES)
@max_examples(60)
@given(clusters())
def test_a_recorder_of_equals_collects_them_and_nothing_else(policy: str, objects: ClusterObjects) -> None:
    asked = get_policy(policy)
    snapshot, workload = assemble(objects, any_scheduler=True)
    for gang in workload.gangs:
        told, brief = Recorder(), Recorder(ties_only=True)
        (full,) = asked.schedule([gang], snapshot, {0: told})
        (short,) = asked.schedule([gang], snapshot, {0: brief})
        assert list(differences(full.result, short.result)) == []
        assert brief.explanation(short).tied_hypernodes == told.explanation(full).tied_hypernodes
        assert all(one.kind == "domain" and one.kept for one in brief.candidates) and not brief.notes


@pytest.mark.parametrize("policy", ["volcano-1.15", "binpack", "gang", "kueue-0.19"])
def test_a_gang_could_be_closer_only_where_the_others_are_placed_as_well(policy: str) -> None:
    """Random sessions that a cluster placed at random; the policy is run once more and its placements are counted."""
    chosen, told_with_loss = get_policy(policy), 0
    snapshot = workbench.generate_scenario("three-level-tree").snapshot
    names, topology = snapshot.topology.node_names, snapshot.topology
    for seed in range(40):
        choice = random.Random(seed)
        shapes = [(choice.randint(1, 4), choice.choice((4, 8))) for _ in range(choice.randint(2, 5))]
        gangs = [workbench.gang(f"g{i}", pods=pods, gpus=gpus) for i, (pods, gpus) in enumerate(shapes)]
        free, observed = dict.fromkeys(names, 8), {}
        for at in choice.sample(range(len(gangs)), len(gangs)):
            pods, gpus = shapes[at]
            nodes = [name for name in names for _ in range(free[name] // gpus)]
            taken = choice.sample(nodes, pods) if len(nodes) >= pods else [None] * pods
            for node in taken:
                if node is not None:
                    free[node] -= gpus
            observed[at] = dict(zip(gangs[at].pod_names(np.arange(pods)), taken, strict=True))
        audits = audit_session(gangs, snapshot, observed, chosen)
        decisions = chosen.schedule(gangs, snapshot)
        got = [one.result.n_placed if isinstance(one.result, Placement) else 0 for one in decisions]
        had = [sum(node is not None for node in observed[at].values()) for at in range(len(gangs))]
        free_of_loss = 0
        for at, told in zip(observed, audits, strict=True):
            lost = [gangs[i].key for i in range(len(gangs)) if i != at and got[i] < had[i]]
            assert list(told.loses) == (lost if told.could_be_closer else [])
            nodes = [topology.node(node) for node in observed[at].values() if node is not None]
            if told.could_be_closer:
                assert meeting_place(topology, np.array(nodes, np.int32)) == told.is_in
                free_of_loss += not lost
                told_with_loss += bool(lost)
                assert not lost or not told.difference.startswith("farther apart than necessary")
        ran = [told for told in audits if told.is_in is not None]
        count = f"{free_of_loss} of {len(ran)}" if free_of_loss else f"none of {len(ran)}"
        said = loss_sentence(ran, recorded=True)
        assert said.startswith(f"{count} recorded placement"), said
        dear = [told for told in ran if told.could_be_closer and told.loses]
        assert (f"the policy places {len(dear)} closer, but fewer pods of" in said) == bool(dear), said
    assert told_with_loss or policy == "kueue-0.19"
