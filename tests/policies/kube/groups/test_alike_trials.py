"""All placements of a group of equal pods at once answer as pods placed one by one do."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from tests.choice import choices
from tests.profiles import max_examples
from workbench.model.labels import NodeLabels, NodeTaints
from workbench.policies.kube.choose import walk
from workbench.policies.kube.cluster import KubeCluster, KubeNodes
from workbench.policies.kube.groups.alike_trials import unplaced
from workbench.policies.kube.groups.cycle import GroupCycle, PodOutcome
from workbench.policies.kube.groups.group_pods import GroupPod
from workbench.policies.kube.groups.hierarchy import Hierarchy, KubePodGroup
from workbench.policies.kube.groups.scene import KubeScene
from workbench.policies.kube.one_pod import schedule_pod
from workbench.policies.kube.settings import KubeSettings
from workbench.policies.kube.shape import PodShape
from workbench.policies.kube.status import SUCCESS

DEFAULTS = KubeSettings()


class Slow(KubeScene):
    """A scene without shortcuts."""

    def alike(self, group, placements):
        return None

    def place(self, run, nodes):
        found = []
        for pod in run:
            choice = schedule_pod(self.cluster, pod.shape, nodes, self.settings)
            if choice.node < 0:
                return [*found, unplaced(choice)]
            self.cluster.assume(pod.shape, choice.node)
            found.append(PodOutcome(SUCCESS, choice.node))
        return found


def cluster(rng):
    """Up to twelve nodes in three racks, some without a rack, with odd amounts and pods on them."""
    count = rng.randint(1, 12)
    racks = [rng.choice([{}, {"rack": "a"}, {"rack": "b"}, {"rack": "c"}]) for _ in range(count)]
    amounts = [[rng.randint(1, 9) * 500, rng.randint(1, 16) << 30, rng.choice([2, 110]), 8] for _ in range(count)]
    nodes = nodes_in(racks, amounts)
    running = PodShape("d", {}, {"cpu": 300, "memory": 1 << 29})
    return KubeCluster(nodes, [(running, i) for i in range(count) for _ in range(rng.randint(0, 3))])


def nodes_in(racks, amounts):
    """Nodes n00, n01, … with labels and amounts of cpu, memory, pods and GPUs."""
    names = tuple(f"n{i:02d}" for i in range(len(racks)))
    none = np.zeros(len(names), dtype=np.bool_)
    return KubeNodes(
        names,
        NodeLabels.from_rows(names, racks),
        NodeTaints.from_rows([()] * len(names)),
        none,
        ("cpu", "memory", "pods", "nvidia.com/gpu"),
        np.array(amounts, dtype=np.int64),
        none,
    )


@max_examples(200)
@given(rng=choices())
def test_at_once_and_one_by_one_agree(rng):
    held = cluster(rng)
    shape = PodShape("d", {}, {"cpu": rng.choice([0, 200, 700]), "memory": rng.choice([0, 1, 3]) << 29})
    count = rng.randint(1, 14)
    group = KubePodGroup("g", "d", min_count=rng.choice([None, 1, count]), topology_key=rng.choice(["", "rack"]))
    pods = [GroupPod(f"p{i:02d}", shape, group.key, arrival=i) for i in range(count)]
    held.start = rng.randint(0, 20)
    assert_agreement(held, group, pods, KubeSettings(percentage=rng.choice([None, 0, 30])))


def test_nodes_whose_scores_are_zero_stay_in_their_racks():
    held = KubeCluster(nodes_in([{"rack": rack} for rack in "abbc"], [[0, 0, 110, 2]] * 4))
    group = KubePodGroup("g", "d", min_count=3, topology_key="rack")
    shape = PodShape("d", {}, {"nvidia.com/gpu": 1})
    outcome = assert_agreement(held, group, [GroupPod(f"p{i}", shape, group.key, arrival=i) for i in range(4)])
    assert [node for _, node in outcome.placed()] == [1, 1, 2, 2]


def assert_agreement(held, group, pods, settings=DEFAULTS):
    """Try a group with and without shortcuts, compare everything, and return the outcome."""
    order = walk(held.nodes, np.argsort(held.nodes.rank).astype(np.int32))
    found, start = [], held.start
    for scene in (KubeScene, Slow):
        before = held.requested.copy()
        held.start = start
        outcome = GroupCycle(scene(held, Hierarchy([group]), pods, settings)).run(group, order)
        assert (held.requested == before).all()
        told = {pod.name: (each.node, each.status) for pod, each in outcome.pods.items()}
        trials = [(t.placement.name, t.outcome.status, t.total, dict(t.parts)) for t in outcome.trials]
        found.append((outcome.status, told, trials, outcome.tied, held.start))
    assert found[0] == found[1]
    return outcome
