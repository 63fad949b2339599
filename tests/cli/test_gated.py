"""Pods behind a scheduling gate, at the command line."""

from __future__ import annotations

from workbench.cli import main

POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {scheduling.k8s.io/group-name: g}}
spec: {schedulingGates: [{name: wait}], containers: [{name: c, resources: {requests: {cpu: 1}}}]}
status: {phase: Pending}
"""
NODE = """---
apiVersion: v1
kind: Node
metadata: {name: n}
status: {allocatable: {cpu: 4, pods: 10}}
"""


def test_where_all_pods_are_held_back_the_error_says_so(tmp_path, capsys):
    (tmp_path / "in.yaml").write_text(POD + NODE, "utf-8")
    assert main(["place", "-f", str(tmp_path / "in.yaml")]) == 2
    error = capsys.readouterr().err
    assert "no pod that waits for a node; scheduling gates hold back 1 pod:" in " ".join(error.split())


def test_a_gate_that_is_no_mapping_is_refused(tmp_path, capsys):
    (tmp_path / "in.yaml").write_text(POD.replace("{name: wait}", "1") + NODE, "utf-8")
    assert main(["place", "-f", str(tmp_path / "in.yaml")]) == 2
    assert "schedulingGates[0]" in "".join(capsys.readouterr().err.split())
