"""Kueue's objects without the names that somebody chose: the same decisions, and nothing of the names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson

import workbench
from tests.cli.test_live_compare_systems import ADMITTED, OWNER, WAITS, admission, job, of_job
from tests.controlplane.other_systems import RACK, kueue, kueue_cluster, workload
from workbench.live.kubernetes.anonymous import anonymized
from workbench.model.kueue_request import KueueObjects, KueueRequest

#: Names of a company, in every place where a name may stand.
SECRETS = {RACK: "corp.test/zone", "team": "manhattan", "lq": "secretqueue", "gpu": "nuclear", "all": "everybody"}


def secret(data: Any) -> Any:
    """An object with a company's names."""
    if isinstance(data, dict):
        return {SECRETS.get(key, key) if key == RACK else key: secret(each) for key, each in data.items()}
    if isinstance(data, list):
        return [secret(each) for each in data]
    return SECRETS.get(data, data) if isinstance(data, str) else data


def cluster() -> list[Any]:
    preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    objects = [*kueue_cluster(8), job(2)]
    queue = next(one for one in objects if one["kind"] == "ClusterQueue")
    queue["spec"] |= {"preemption": preemption, "queueingStrategy": "StrictFIFO", "stopPolicy": "None"}
    objects.append(kueue("AdmissionCheck", "machines", {"controllerName": "kueue.x-k8s.io/provisioning-request"}))
    objects.append(workload("job-train", 2, OWNER, admission=admission("n0", "n1"), conditions=ADMITTED))
    objects += [of_job(0, "n0"), of_job(1, "n1")]
    for name, pods in (("job-a", 2), ("job-b", 4)):
        objects.append(workload(name, pods, conditions=[WAITS]))
    return [secret(one) for one in objects]


def decided(objects: Iterable[bytes]) -> Any:
    text = b'{"apiVersion":"v1","kind":"List","items":[' + b",".join(objects) + b"]}"
    scenario = workbench.load("-", stdin=text, any_scheduler=True)
    found = scenario.snapshot.extra(KueueObjects)
    index = scenario.snapshot.topology.node
    rows = [
        [
            (one.placed, [index(pod.node) for pod in one.result.pods()] if one.placed else [])
            for one in workbench.schedule(scenario.gangs, scenario.snapshot, policy)
        ]
        for policy in ("kueue-0.19", "kube-default", "volcano-1.15")
    ]
    queues = [(len(one.groups), one.within_queue, one.strict) for one in found.cluster_queues]
    held = [len(one.admission.pod_sets[0].assignment.domains) for one in found.workloads]
    asked = [len(gang.extra(KueueRequest).roles) for gang in scenario.gangs]
    return rows, queues, held, len(found.provisioning), asked


def test_policies_decide_alike_and_no_name_is_left() -> None:
    objects = [orjson.dumps(one) for one in cluster()]
    hidden, _ = anonymized(objects)
    assert decided(hidden) == decided(objects)
    whole = b"".join(hidden).decode()
    for name in SECRETS.values():
        assert name in b"".join(objects).decode() and name not in whole, name
    for name in ("job-train", "job-a", "machines", '"n0"', '"roots"'):
        assert name not in whole, name


def test_an_assignment_that_cannot_be_read_is_left_out() -> None:
    one = workload("job-x", 2, admission=admission("n0", "n1"), conditions=ADMITTED)
    one["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]["slices"] = [{"domainCount": "corp"}]
    (hidden,), _ = anonymized([orjson.dumps(one)])
    found = json.loads(hidden)["status"]["admission"]["podSetAssignments"][0]
    assert "topologyAssignment" not in found
