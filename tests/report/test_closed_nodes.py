"""Nodes that no job can use are hatched, said in tool tips and in the legend."""

from __future__ import annotations

import workbench
from workbench.report.colours import job_colours
from workbench.report.legend import STRIPES, legend_keys
from workbench.report.occupancy import Occupancy, closed_nodes, occupancy
from workbench.report.squares import looks_of, squares
from workbench.report.topology_svg import draw_topology

CLUSTER = """
apiVersion: v1
kind: NodeList
items:
- metadata: {name: a}
  status: {allocatable: {cpu: "8", memory: 8Gi, nvidia.com/gpu: "8"}}
- metadata: {name: b}
  spec: {unschedulable: true}
  status: {allocatable: {cpu: "8", memory: 8Gi, nvidia.com/gpu: "8"}}
- metadata: {name: c}
  spec: {taints: [{key: team, value: x, effect: NoSchedule}, {key: soft, effect: PreferNoSchedule}]}
  status: {allocatable: {cpu: "8", memory: 8Gi, nvidia.com/gpu: "8"}}
- metadata: {name: d}
  status:
    allocatable: {cpu: "8", memory: 8Gi, nvidia.com/gpu: "8"}
    conditions: [{type: Ready, status: Unknown}]
"""
JOB = """
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train}
spec:
  schedulerName: volcano
  minAvailable: 1
  tasks:
  - name: worker
    replicas: 1
    template:
      spec:
        tolerations: TOLERATIONS
        containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def scenario(tolerations="[]"):
    return workbench.load("-", stdin=CLUSTER + JOB.replace("TOLERATIONS", tolerations))


def names(found, snapshot):
    return {snapshot.topology.node_names[i]: word for i, word in found.items()}


def test_a_taint_closes_a_node_only_if_no_job_tolerates_it():
    strict, tolerant = scenario(), scenario("[{key: team, operator: Exists}]")
    of = names(closed_nodes(strict.snapshot, strict.gangs), strict.snapshot)
    assert of == {"b": "cordoned", "c": "tainted", "d": "not ready"}
    of = names(closed_nodes(tolerant.snapshot, [*strict.gangs, *tolerant.gangs]), tolerant.snapshot)
    assert of == {"b": "cordoned", "d": "not ready"}
    assert names(closed_nodes(strict.snapshot, ()), strict.snapshot) == {"b": "cordoned", "d": "not ready"}


def test_closed_nodes_are_hatched_with_the_reason_and_a_legend():
    cluster = scenario()
    who = occupancy([], cluster.snapshot, ["default/train"], cluster.gangs)
    svg = draw_topology(cluster.snapshot.topology, who)
    # Three nodes, and the sample of the legend.
    assert svg.count("class='tw-closed'") == 4 * STRIPES
    assert "b: 8 of 8 GPUs free; cordoned" in svg and "c: 8 of 8 GPUs free; tainted" in svg
    texts = [key.text for key in legend_keys(who, job_colours(1), (), "k")]
    assert "no job can use it: cordoned, tainted, not ready" in texts


def test_names_that_are_cut_lose_what_all_begin_with():
    look = looks_of(Occupancy(), 2, 40.0, (), "k")
    nodes = [squares(("gpu-node-016", "gpu-node-017"), 40.0, (look((0,)), look((1,))))[i][1] for i in (0, 1)]
    assert ">016</text>" in nodes[0] and ">017</text>" in nodes[1]
    (single,) = squares(("gpu-node-016",), 40.0, (look((0,)),))
    assert ">016</text>" in single[1]
    short = squares(("n16", "n17"), 40.0, (look((0,)), look((1,))))
    assert ">n16</text>" in short[0][1]
