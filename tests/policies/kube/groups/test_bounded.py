"""Trials in the order of upper bounds keep what trying all placements keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from tests.choice import choices
from tests.policies.kube.random_pods import cluster_of, random_nodes, random_pod, random_pods, shape
from tests.profiles import max_examples
from workbench.policies.kube.groups.cycle import GroupCycle, PlacementBound, bounded_trials
from workbench.policies.kube.groups.group_pods import GroupPod
from workbench.policies.kube.groups.hierarchy import Hierarchy, KubePodGroup
from workbench.policies.kube.groups.scene import KubeScene
from workbench.policies.kube.settings import KubeSettings

SCORED = ((("cpu", 1), ("memory", 1)), (("cpu", 1), ("nvidia.com/gpu", 3)), (("nvidia.com/gpu", 1),))


@max_examples(300)
@given(rng=choices())
def test_the_same_placement_is_kept_with_the_same_pods(rng):
    nodes = random_nodes(rng)
    running, _ = random_pods(rng, nodes)
    held = cluster_of(nodes, running)
    count = rng.randint(1, 6)
    group = KubePodGroup("g", "d", min_count=rng.choice([None, 1, count]), topology_key=rng.choice(["rack", "zone"]))
    shapes = [shape(random_pod(rng, f"s{i}") | {"namespace": "d"}) for i in range(rng.randint(1, 2))]
    pods = [GroupPod(f"p{i}", rng.choice(shapes), group.key, arrival=i) for i in range(count)]
    settings = KubeSettings(resources=rng.choice(SCORED))
    found = {}
    for order in ("name", "bound"):
        scene = KubeScene(held, Hierarchy([group]), pods, settings, order=order)
        outcome = GroupCycle(scene).run(group, np.arange(len(nodes), dtype=np.int32))
        told = {pod.name: (each.node, each.status) for pod, each in outcome.pods.items()}
        chosen = None if outcome.placement is None else outcome.placement.name
        found[order] = (outcome.status, chosen, told)
        totals = {trial.placement.name: trial.total for trial in outcome.trials if trial.total is not None}
        found[order, "total"] = totals.get(chosen)
    assert found["bound"] == found["name"]
    if found["name", "total"] is not None:
        assert found["bound", "total"] == found["name", "total"]


def trials_of(reached, bounds, minimum=1):
    return bounded_trials(bounds, minimum, lambda i: (i, reached[i]))


def test_exact_bounds_take_one_trial():
    reached = [PlacementBound(4, fit) for fit in (50, 60, 60, 40)]
    assert trials_of(reached, reached) == [1]


def test_a_loose_bound_takes_as_many_trials_as_could_win():
    reached = [PlacementBound(2, 50), PlacementBound(4, 10), None, PlacementBound(3, 0)]
    bounds = [PlacementBound(4, 60), PlacementBound(4, 50), PlacementBound(4, 60), PlacementBound(4, 5)]
    assert trials_of(reached, bounds) == [0, 1, 2]


def test_where_nothing_holds_the_minimum_the_first_placement_is_tried_for_its_reason():
    bounds = [PlacementBound(2, 50), PlacementBound(1, 60)]
    assert trials_of([None, None], bounds, minimum=3) == [0]
    assert trials_of([None, None], bounds, minimum=2) == [0]
