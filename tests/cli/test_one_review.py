"""All commands that read manifests say the same of an object that a cluster refuses, in the same words and places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run

CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}
---
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: s0}
spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: n0}}}]}
---
"""
JOB = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: ok}
spec:
  minAvailable: 2
  schedulerName: volcano
  tasks:
  - name: worker
    replicas: 2
    template:
      metadata: {labels: {app: a}}
      spec:
        restartPolicy: OnFailure
        containers:
        - {name: c, image: i, resources: {requests: {cpu: "1"}}}
"""
HYPERNODE = """\
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: s1}
spec: {tier: 2, members: [{type: HyperNode, selector: {exactMatch: {name: s0}}}]}
---
"""
POD_GROUP = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pg}
spec: {minMember: 1}
---
"""
QUEUE = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q}
spec: {weight: 1, capability: {cpu: "4"}}
---
"""
HYPER_JOB = """\
apiVersion: training.volcano.sh/v1alpha1
kind: HyperJob
metadata: {name: hj}
spec:
  minAvailable: 1
  replicatedJobs:
  - name: a
    replicas: 1
    templateSpec:
      minAvailable: 1
      schedulerName: volcano
      tasks:
      - name: worker
        replicas: 1
        template:
          spec: {restartPolicy: OnFailure, containers: [{name: c, image: i}]}
"""
SECOND = "  - {name: worker, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}\n"

#: What is wrong: (the manifest, what stands there, what is written instead).
WRONG = {
    "a name": (JOB, "name: ok", "name: My_Job"),
    "an argument of a plugin": (JOB, "  schedulerName", "  plugins: {svc: [--nope=1]}\n  schedulerName"),
    "a plugin": (JOB, "  schedulerName", "  plugins: {nope: []}\n  schedulerName"),
    "a GPU request without a limit": (JOB, 'cpu: "1"', "nvidia.com/gpu: 1"),
    "minAvailable": (JOB, "minAvailable: 2", "minAvailable: 3"),
    "a negative count": (JOB, "minAvailable: 2", "minAvailable: -1"),
    "an unknown field": (JOB, "  schedulerName", "  minAvalable: 2\n  schedulerName"),
    "an unknown field of a pod": (JOB, "restartPolicy", "restartPolcy"),
    "a wrong type": (JOB, "minAvailable: 2", "minAvailable: two"),
    "a wrong type that nobody reads": (JOB, "  schedulerName", "  ttlSecondsAfterFinished: soon\n  schedulerName"),
    "a label of a pod": (JOB, "{app: a}", "{app: a b!}"),
    "a label": (JOB, "metadata: {name: ok}", "metadata: {name: ok, labels: {a b: c}}"),
    "a quantity": (JOB, 'cpu: "1"', "cpu: 1x"),
    "two tasks of one name": (JOB, "  tasks:\n", f"  tasks:\n{SECOND}"),
    "no image": (JOB, ", image: i", ""),
    "an event": (JOB, "  schedulerName", "  policies: [{event: Nope, action: AbortJob}]\n  schedulerName"),
    "a tab": (JOB, "  schedulerName", "\tschedulerName"),
    "a key twice": (JOB, "  schedulerName", "  minAvailable: 3\n  schedulerName"),
    "a misplaced field": (JOB, "        restartPolicy", "        networkTopology: {mode: hard}\n        restartPolicy"),
    "a field of metadata": (JOB, "metadata: {name: ok}", "metadata: {name: ok, queue: q}"),
    "a mode": (JOB, "  schedulerName", "  networkTopology: {mode: firm}\n  schedulerName"),
    "both tiers": (
        JOB,
        "  schedulerName",
        "  networkTopology: {mode: hard, highestTierAllowed: 1, highestTierName: a}\n  schedulerName",
    ),
    "an API group": (JOB, "batch.volcano.sh", "topology.volcano.sh"),
    "an API version": (JOB, "v1alpha1", "v1beta1"),
    "version": (JOB, "apiVersion", "version"),
    "a name beside kind": (JOB, "metadata: {name: ok}", "name: ok"),
    "no name": (JOB, "{name: ok}", "{labels: {a: b}}"),
    "a PodGroup's name": (POD_GROUP + JOB, "name: pg", "name: My_PG"),
    "a PodGroup's field": (POD_GROUP + JOB, "minMember: 1", "minMember: 1, minMembr: 1"),
    "a PodGroup's type": (POD_GROUP + JOB, "minMember: 1", "minMember: one"),
    "a PodGroup's quantity": (POD_GROUP + JOB, "minMember: 1", "minMember: 1, minResources: {cpu: 1x}"),
    "a HyperNode's name": (HYPERNODE + JOB, "name: s1", "name: S_1"),
    "a HyperNode's tier": (HYPERNODE + JOB, "tier: 2", "tier: two"),
    "a tier that is text": (HYPERNODE + JOB, "tier: 2", "tier: '2'"),
    "a negative tier": (HYPERNODE + JOB, "tier: 2", "tier: -2"),
    "a HyperNode's field": (HYPERNODE + JOB, "tier: 2", "teir: 2, tier: 2"),
    "no selector": (HYPERNODE + JOB, "{exactMatch: {name: s0}}", "{}"),
    "a pattern": (HYPERNODE + JOB, "exactMatch: {name: s0}", "regexMatch: {pattern: '('}"),
    "a member's type": (HYPERNODE + JOB, "type: HyperNode", "type: Switch"),
    "a member's name": (HYPERNODE + JOB, "selector: {exactMatch: {name: s0}}", "name: s0"),
    "a Queue's name": (QUEUE + JOB, "name: q", "name: My_Q"),
    "a Queue's weight": (QUEUE + JOB, "weight: 1", "weight: -1"),
    "a Queue's type": (QUEUE + JOB, "weight: 1", "weight: one"),
    "a Queue's field": (QUEUE + JOB, "weight: 1", "wieght: 1"),
    "a Queue's quantity": (QUEUE + JOB, '"4"', "4x"),
    "a HyperJob's name": (HYPER_JOB, "name: hj", "name: My_HJ"),
    "a HyperJob's plugin": (HYPER_JOB, "      schedulerName", "      plugins: {svc: [--nope]}\n      schedulerName"),
    "a HyperJob's minimum": (HYPER_JOB, "minAvailable: 1\n  repl", "minAvailable: 4\n  repl"),
    "a HyperJob's type": (HYPER_JOB, "replicas: 1\n    templ", "replicas: one\n    templ"),
    "a HyperJob's field": (HYPER_JOB, "replicas: 1\n    templ", "replicsa: 1\n    templ"),
    "a minimum inside a HyperJob": (HYPER_JOB, "      minAvailable: 1", "      minAvailable: 4"),
}
#: The quick set has each third one: they differ mostly in what admission says, which has tests of its own.
SOME = [pytest.param(case, marks=pytest.mark.slow if at % 3 else ()) for at, case in enumerate(WRONG)]
OTHERS = {
    "place": ("place",),
    "compare": ("compare", "--policies", "binpack"),
    "run": ("run", "--run-seconds", "1"),
    "expand": ("expand",),
    "lint": ("topology", "lint"),
}


def written(tmp_path: Path, case: str) -> Path:
    text, old, new = WRONG[case]
    assert old in text
    path = tmp_path / "m.yaml"
    path.write_text(CLUSTER + text.replace(old, new, 1), encoding="utf-8")
    return path


def said_by_validate(run: Run, path: Path) -> list[tuple[str, str]]:
    """Each violation and its place ``file:line``; of input that is no object the error, and no place."""
    result = run("validate", path, "-o", "json")
    if result.status == 2:
        # The file, the document or the line is in the words.
        return [(re.sub(r"^workbench: ", "", result.err.splitlines()[-1]), "")]
    assert result.status == 1
    found = [finding for one in result.json["objects"] for finding in one["findings"]]
    assert {finding["code"] for finding in found} == {"refused-by-admission"}
    return [(finding["message"].rstrip(";,"), f"({finding['place']}") for finding in found]


@pytest.mark.parametrize("case", SOME)
def test_what_validate_refuses_is_told_by_every_command_in_its_words(run: Run, tmp_path: Path, case: str) -> None:
    path = written(tmp_path, case)
    violations = said_by_validate(run, path)
    assert violations
    for command in OTHERS.values():
        # An error is one line, in which spaces do not repeat.
        told = " ".join(run(*command, path).err.split())
        for text, place in violations:
            text = " ".join(text.split())
            if place or command[0] != "expand":
                assert text in told and place in told, command
            else:
                # What expand does not read is no error for it, and told with its line.
                assert text.partition("), ")[2] in told or text in told


@pytest.mark.parametrize("case", SOME)
def test_strict_refuses_it_everywhere(run: Run, tmp_path: Path, case: str) -> None:
    path = written(tmp_path, case)
    for command in (("validate",), *OTHERS.values()):
        result = run(*command, "--strict", path)
        assert result.status in (1, 2), command
        if result.status == 1 and command[0] != "validate":
            assert result.out == "" and "refused: " in result.err


def test_what_a_cluster_accepts_is_told_by_nobody(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(CLUSTER + HYPERNODE + QUEUE + POD_GROUP + JOB + "---\n" + HYPER_JOB, encoding="utf-8")
    assert run("validate", path).status == 0
    for command in OTHERS.values():
        assert "refuse" not in run(*command, "--strict", path).err, command


def test_the_line_is_that_of_the_field(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, "an unknown field of a pod")
    assert f"({path}:{11 + JOB[: JOB.index('restartPolicy')].count(chr(10))})" in run("place", path).err


@pytest.mark.slow
def test_many_findings_are_counted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    jobs = "---\n".join(JOB.replace("name: ok", f"name: My_{i}") for i in range(25))
    path.write_text(CLUSTER + jobs, encoding="utf-8")
    told = run("place", path).err
    assert told.count("a cluster refuses Job") == 20 and "and 5 more; 'workbench validate' lists" in told
