"""Several edits at once on random clusters: the file that is read again has the values that the edits give."""

import random
from dataclasses import replace
from typing import Any

import orjson
from hypothesis import given

from tests.choice import choices
from tests.formats.edit_manifests.forms import FORMS, Manifest, nodes
from tests.formats.edit_manifests.test_cluster_edits import finished, of_nodes, of_queue, queue
from tests.formats.edit_manifests.test_job_edits import TIER, TOLERATION, edit, read, whole
from tests.formats.same_scenario import assert_same
from workbench.formats.edit_manifests.apply import apply_edits
from workbench.formats.edit_manifests.commands import kubectl_commands
from workbench.model.gang import Gang
from workbench.model.gpu_annotation import GPU_ANNOTATION, gpu_annotation
from workbench.model.labels import NodeTaints, Toleration
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot

#: Forms whose pods exist, each of 4 pods at most.
STORED = ("Job with PodGroup and pods", "PodGroup", "Gang", "PodGroup of Koordinator", "Deployment with pods", "Pod")
TAINTS = [{"key": "team", "value": "x", "effect": "NoSchedule"}, {"key": "old", "effect": "NoExecute"}]


def _named(form: str, number: int) -> list[Manifest]:
    text = orjson.dumps(FORMS[form]()).replace(b"train", b"job%d" % number).replace(b'"rs"', b'"rs%d"' % number)
    made: list[Manifest] = orjson.loads(text.replace(b"11111111-", b"1111111%d-" % number))
    return made


def _started(rng: random.Random, made: list[Manifest], free: dict[str, int]) -> None:
    """Put the pods of a job on nodes, each on two GPUs that it records."""
    for one in made:
        if one["kind"] == "Pod":
            node = rng.choice([name for name, count in free.items() if count >= 2])
            free[node] -= 2
            gpus = (free[node], free[node] + 1)
            one["metadata"].setdefault("annotations", {})[GPU_ANNOTATION] = gpu_annotation((gpus,), gpus)
            one["spec"]["nodeName"] = node
            one["status"]["phase"] = "Running"


def _cluster(rng: random.Random) -> tuple[list[Manifest], list[dict[str, Any]]]:
    """Manifests of a cluster, and edits that are possible in it, each of another subject."""
    made = nodes(6)
    edits: list[dict[str, Any]] = []
    cordoned = [one for one in made[:6] if rng.random() < 0.4]
    for one in cordoned:
        one["spec"] = {"unschedulable": True}
    if cordoned:
        edits.append(of_nodes("uncordon", "cordoned", "schedulable", *(one["metadata"]["name"] for one in cordoned)))
    tainted = [one for one in made[:6] if rng.random() < 0.4]
    for one in tainted:
        one["spec"] = {**one.get("spec", {}), "taints": [dict(taint) for taint in TAINTS]}
    if tainted:
        edits.append(of_nodes("untaint", "team=x:NoSchedule", None, *(one["metadata"]["name"] for one in tainted)))
    made.append(queue("default", weight=1, capability={"nvidia.com/gpu": "8", "cpu": "6"}))
    edits.append(of_queue("queue-capability", {"nvidia.com/gpu": "8"}, {"nvidia.com/gpu": "16"}, "default"))
    free = {f"n{i}": 8 for i in range(6)}
    for number in range(rng.randint(1, 5)):
        form = rng.choice(STORED)
        job = _named(form, number)
        subject = f"job default/job{number}"
        if rng.random() < 0.5:
            _started(rng, job, free)
            edits.append(finished(subject.replace("job ", "pod ") if form == "Pod" else subject))
        else:
            kinds = [
                edit("tier", **{"from": 1, "to": 2}),
                edit("toleration", to=[TOLERATION]),
                edit("affinity"),
                edit("withdraw"),
            ]
            edits.append({**rng.choice(kinds), "subject": subject})
        made += job
    rng.shuffle(made)
    return made, rng.sample(edits, rng.randint(1, min(4, len(edits))))


def _on_cluster(snapshot: ClusterSnapshot, change: dict[str, Any]) -> ClusterSnapshot:
    key = change["subject"].partition(" ")[2]
    if change["kind"] == "finish":
        return snapshot.without_pods(lambda pod: key in (pod.gang, f"{pod.namespace}/{pod.name}"))
    if change["kind"] == "queue-capability":
        old = snapshot.queues[key]
        amounts = {**(old.capability or {}), "nvidia.com/gpu": int(change["to"]["nvidia.com/gpu"])}
        return replace(snapshot, queues={**snapshot.queues, key: replace(old, capability=amounts)})
    chosen = [snapshot.topology.node(name) for name in change.get("nodes", ())]
    if change["kind"] == "uncordon":
        flags = snapshot.unschedulable.copy()
        flags[chosen] = False
        return replace(snapshot, unschedulable=flags)
    if change["kind"] == "untaint":
        rows = [snapshot.taints.sets[code] for code in snapshot.taints.codes]
        for i in chosen:
            rows[i] = tuple(taint for taint in rows[i] if taint.key != "team")
        return replace(snapshot, taints=NodeTaints.from_rows(rows))
    return snapshot


def _on_gang(gang: Gang, change: dict[str, Any]) -> Gang | None:
    if change["subject"] != f"job {gang.key}":
        return gang
    if change["kind"] == "tier":
        assert gang.constraint is not None
        raised = replace(gang, constraint=replace(gang.constraint, highest_tier=2))
        return whole(
            raised,
            lambda role: replace(
                role, annotations={**role.annotations, **({TIER: "2"} if TIER in role.annotations else {})}
            ),
        )
    if change["kind"] == "toleration":
        added = Toleration("team", "Equal", "x", "NoSchedule")
        return whole(
            gang,
            lambda role: replace(role, filter=replace(role.filter, tolerations=(*role.filter.tolerations, added))),
        )
    if change["kind"] == "affinity":
        return whole(gang, lambda role: replace(role, filter=replace(role.filter, any_of=())))
    return None if change["kind"] == "withdraw" else gang


def _on_values(scenario: Scenario, change: dict[str, Any]) -> Scenario:
    gangs = tuple(found for gang in scenario.gangs if (found := _on_gang(gang, change)) is not None)
    return replace(scenario, snapshot=_on_cluster(scenario.snapshot, change), gangs=gangs)


@given(rng=choices())
def test_edits_of_random_clusters(rng: random.Random) -> None:
    made, edits = _cluster(rng)
    wanted = read(made)
    for change in edits:
        wanted = _on_values(wanted, change)
    assert_same(read(apply_edits(made, edits)), wanted)
    assert kubectl_commands(made, edits)
