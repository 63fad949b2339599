"""Timelines on two switches of four nodes each.

::

    S0: n0 n1 n2 n3     S1: n0 n1 n2 n3
"""

from __future__ import annotations

import dataclasses

import pytest

import workbench  # noqa: F401 - hands in the drawing code
from tests.switch_fabric import Switch, fabric, job
from workbench.errors import InputError, UnknownNameError
from workbench.formats.load import load
from workbench.model.extras import AscendWish, extras_of
from workbench.model.gang import Gang, Role
from workbench.model.placement import Placement
from workbench.policies.registry import get_policy
from workbench.simulate import Timeline


def two_switches() -> Timeline:
    return Timeline(fabric([Switch("S0", 4, 4), Switch("S1", 4, 4)], 4), get_policy("switch-affinity"))


def where(timeline: Timeline, name: str) -> dict[str, str]:
    names = timeline.snapshot.topology.node_names
    pods = [pod for pod in timeline.snapshot.running if pod.gang == f"default/{name}"]
    return {pod.annotations["hccl/rankIndex"]: names[pod.node] for pod in pods}


def state_names(timeline: Timeline) -> tuple[str, ...]:
    found = timeline.moments[-1].states
    assert found is not None
    return found.names()


def test_states_follow_jobs_that_come_and_go() -> None:
    timeline = two_switches()
    timeline.play([("submit", job("A", "foundation", 6)), ("submit", job("P", "padding", 2)), ("end", "A")])

    assert [moment.step for moment in timeline.moments] == ["start", "submit A", "submit P", "end A"]
    names = [moment.states.names() for moment in timeline.moments if moment.states is not None]
    assert names == [
        ("idle", "idle"),
        ("exclusive", "shared/healthy"),
        ("exclusive", "shared/healthy"),
        ("idle", "idle"),
    ]
    assert timeline.moments[2].jobs == {"default/A": {0: 4, 1: 2}, "default/P": {1: 2}}
    assert timeline.moments[3].jobs == {"default/P": {1: 2}}


def test_a_broken_node_moves_its_pod_only() -> None:
    timeline = two_switches()
    timeline.submit(job("A", "foundation", 6))
    before = where(timeline, "A")
    broken = before["5"]
    moment = timeline.fault(broken)

    after = where(timeline, "A")
    assert {rank: node for rank, node in after.items() if rank != "5"} == {
        rank: node for rank, node in before.items() if rank != "5"
    }
    assert after["5"] != broken
    assert after["5"].startswith("S1")
    (decision,) = moment.decisions
    assert isinstance(decision.result, Placement)
    assert decision.gang.n_pods == 1


def test_a_broken_npu_takes_its_node_from_whole_node_pods() -> None:
    timeline = two_switches()
    timeline.submit(job("A", "foundation", 6))
    broken = where(timeline, "A")["4"]
    timeline.fault(broken, [3])
    assert where(timeline, "A")["4"] != broken
    index = timeline.snapshot.topology.node(broken)
    assert timeline.snapshot.allocatable[index, 3] == 7
    assert int(timeline.snapshot.gpu_free[index, 0]) == 255 ^ 8

    timeline.recover(broken)
    assert timeline.snapshot.allocatable[index, 3] == 8
    assert int(timeline.snapshot.gpu_free[index, 0]) == 255
    assert int(timeline.snapshot.gpu_total[index, 0]) == 255


def test_a_broken_npu_of_nobody_moves_nobody() -> None:
    timeline = two_switches()
    small = Role("worker", 1, {"huawei.com/Ascend910": 2}, container_gpus=(2,))
    timeline.submit(Gang("default", "small", (small,), 1, extras=extras_of(AscendWish("normal-schema"))))
    node = where(timeline, "small")["0"]
    assert timeline.fault(node, [7]).decisions == ()
    assert where(timeline, "small")["0"] == node


def test_what_cannot_move_waits_and_starts_again_after_recovery() -> None:
    timeline = two_switches()
    timeline.submit(job("A", "foundation", 8))
    broken = where(timeline, "A")["2"]
    timeline.fault(broken)
    assert timeline.moments[-1].pending == ("default/A",)
    assert len(where(timeline, "A")) == 7
    assert timeline.pending["default/A"].ready == 7

    timeline.recover(broken)
    moment = timeline.retry("A")
    assert moment.pending == ()
    assert where(timeline, "A")["2"] == broken
    assert state_names(timeline) == ("exclusive", "exclusive")


def test_two_faults_of_a_waiting_job_are_mended_together() -> None:
    timeline = two_switches()
    timeline.submit(job("A", "foundation", 8))
    before = where(timeline, "A")
    timeline.fault(before["2"])
    timeline.fault(before["5"])
    assert timeline.pending["default/A"].n_pods == 2
    timeline.recover(before["2"])
    timeline.recover(before["5"])
    timeline.retry("A")
    assert where(timeline, "A") == before


def test_jobs_of_the_snapshot_move_too() -> None:
    start = two_switches()
    start.submit(job("A", "foundation", 6))
    timeline = Timeline(start.snapshot, start.policy)
    broken = where(timeline, "A")["5"]
    timeline.fault(broken)
    assert where(timeline, "A")["5"] not in ("", broken)
    assert len(where(timeline, "A")) == 6


def test_steps_that_make_no_sense_are_refused() -> None:
    timeline = two_switches()
    timeline.submit(job("A", "foundation", 6))
    with pytest.raises(InputError, match="there already"):
        timeline.submit(job("A", "common", 2))
    with pytest.raises(UnknownNameError, match="job"):
        timeline.end("B")
    with pytest.raises(UnknownNameError, match="job"):
        timeline.retry("A")
    with pytest.raises(InputError, match="not broken"):
        timeline.recover("S0-n0")
    with pytest.raises(UnknownNameError, match="step"):
        timeline.play([("explode", "A")])
    with pytest.raises(InputError, match="no such healthy GPU"):
        timeline.fault("S0-n0", [8])
    with pytest.raises(UnknownNameError):
        timeline.fault("nowhere")


def test_a_pending_job_can_end() -> None:
    timeline = two_switches()
    timeline.submit(job("big", "foundation", 9))
    assert timeline.moments[-1].pending == ("default/big",)
    assert timeline.end("big").pending == ()


def test_the_snapshot_that_was_given_stays() -> None:
    snapshot = fabric([Switch("S0", 4, 4)], 4)
    kept = dataclasses.replace(snapshot, used=snapshot.used.copy())
    timeline = Timeline(snapshot, get_policy("switch-affinity"))
    timeline.submit(job("A", "common", 2))
    timeline.fault("S0-n0")
    assert snapshot.running == ()
    assert (snapshot.used == kept.used).all()
    assert not snapshot.closed.any()


def test_the_picture_shows_states_and_jobs() -> None:
    timeline = two_switches()
    timeline.submit(job("A", "foundation", 6))
    timeline.submit(job("<big>", "foundation", 9))
    drawing = timeline.history.view(title="Two switches").html
    assert drawing == timeline.history.view(title="Two switches").html
    assert "S0 after submit A: exclusive; default/A: 4 pods" in drawing
    assert "S1 after submit A: shared/healthy; default/A: 2 pods" in drawing
    assert "pending: default/&lt;big&gt;" in drawing
    assert "<big>" not in drawing
    assert "tw-switch-history" in (timeline._repr_html_() or "")
    assert repr(timeline.history) == "SwitchHistory(2 switches, 2 steps by switch-affinity)"


SUB_GROUPED = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pg}
spec:
  minMember: 4
  subGroupPolicy:
  - {name: s, subGroupSize: 2, labelSelector: {matchExpressions: [{key: grp, operator: Exists}]}, matchLabelKeys: [grp]}
"""
NODE = """---
apiVersion: v1
kind: Node
metadata: {{name: n{i}}}
status: {{allocatable: {{cpu: 8, memory: 8Gi, pods: 10}}}}
"""
POD = """---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, annotations: {{scheduling.k8s.io/group-name: pg}}, labels: {{grp: "{group}"}}}}
spec: {{schedulerName: volcano, containers: [{{name: c, resources: {{requests: {{cpu: 8}}}}}}]}}
status: {{phase: {phase}}}
"""


@pytest.mark.parametrize("policy", ["volcano-1.13", "volcano-1.15"])
def test_a_pod_that_a_fault_took_returns_to_its_sub_group_and_pods_that_succeeded_still_count(policy: str) -> None:
    pods = [("a0", "0", "Pending"), ("a1", "0", "Succeeded"), ("b0", "1", "Pending"), ("b1", "1", "Pending")]
    text = SUB_GROUPED + "".join(NODE.format(i=i) for i in range(4))
    text += "".join(POD.format(name=name, group=group, phase=phase) for name, group, phase in pods)
    scenario = load("-", stdin=text)
    timeline = Timeline(scenario.snapshot, get_policy(policy))
    timeline.submit(scenario.gangs[0])
    assert timeline.moments[-1].decisions[0].placed
    names = timeline.snapshot.topology.node_names
    (broken,) = (names[pod.node] for pod in timeline.snapshot.running if pod.name == "b1")
    (again,) = timeline.fault(broken).decisions
    assert again.placed
    assert [(g.name, g.pods, g.running) for g in again.gang.sub_groups] == [
        ("s-0", (), ("a0",)),
        ("s-1", (0,), ("b0",)),
    ]
    assert sorted(pod.name for pod in timeline.snapshot.running) == ["a0", "b0", "b1"]
    assert broken not in {names[pod.node] for pod in timeline.snapshot.running}
