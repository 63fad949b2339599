"""Random lives of a cluster: whatever happens, in whatever order controllers work, what must hold holds."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.control.manifests import command, job, node, phase_of, pod_template, pods_of, small_cluster
from tests.profiles import max_examples
from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import Ref

NAMES = ("a", "a-b", "c", "h-w-0")
POLICIES = ("volcano-1.13", "volcano-1.15", "allocate")

_names = st.sampled_from(NAMES)


@st.composite
def job_manifests(draw: st.DrawFn) -> dict[str, Any]:
    tasks = []
    for name in draw(st.sampled_from([("w",), ("w", "m")])):
        replicas = draw(st.integers(1, 4))
        one: dict[str, Any] = {"name": name, "replicas": replicas, "template": pod_template(draw(st.integers(1, 8)))}
        one["minAvailable"] = draw(st.integers(1, replicas))
        tasks.append(one)
    if len(tasks) == 2 and draw(st.booleans()):
        tasks[1]["dependsOn"] = {"name": ["w"]}
    spec: dict[str, Any] = {"maxRetry": draw(st.integers(1, 3))}
    if draw(st.booleans()):
        spec["networkTopology"] = {"mode": draw(st.sampled_from(["hard", "soft"])), "highestTierAllowed": 1}
    event = draw(st.sampled_from(["", "PodFailed", "PodEvicted", "TaskCompleted", "*"]))
    if event:
        action = draw(st.sampled_from(["RestartJob", "RestartTask", "RestartPod", "AbortJob", "CompleteJob"]))
        policy = {"event": event, "action": action}
        spec["policies"] = [policy | ({"timeout": "7s"} if draw(st.booleans()) else {})]
    spec["plugins"] = draw(st.sampled_from([{}, {"svc": [], "env": []}, {"ssh": [], "svc": []}]))
    return job(draw(_names), tasks, **spec)


@st.composite
def hyper_job_manifests(draw: st.DrawFn) -> dict[str, Any]:
    """A HyperJob of two or three Jobs, of which some may be enough."""
    replicas = draw(st.integers(2, 3))
    spec: dict[str, Any] = {
        "replicatedJobs": [{"name": "w", "replicas": replicas, "templateSpec": draw(job_manifests())["spec"]}],
        "minAvailable": draw(st.integers(1, replicas)),
    }
    if draw(st.booleans()):
        spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": draw(st.integers(1, 2))}
    return {
        "apiVersion": "training.volcano.sh/v1alpha1",
        "kind": "HyperJob",
        "metadata": {"name": "h"},
        "spec": spec,
    }


_steps = st.one_of(
    st.tuples(st.just("submit"), st.one_of(job_manifests(), hyper_job_manifests())),
    st.tuples(st.just("delete"), _names),
    st.tuples(st.just("delete hyper job")),
    st.tuples(st.just("scale"), _names, st.integers(0, 3)),
    st.tuples(st.just("fail"), st.integers(0, 9)),
    st.tuples(st.just("command"), _names, st.sampled_from(["AbortJob", "ResumeJob", "RestartJob", "TerminateJob"])),
    st.tuples(st.just("lose"), st.integers(0, 3)),
    st.tuples(st.just("return"), st.integers(0, 3)),
    st.tuples(st.just("pass"), st.sampled_from([1, 5, 10])),
    st.tuples(st.just("restart")),
)


def live(
    steps: list[tuple[Any, ...]], policy: str, order: np.random.Generator | None, checked: bool
) -> EmbeddedCluster:
    """Play the steps; a restart is a copy, which rebuilds all controllers from what is saved."""
    cluster = EmbeddedCluster(policy, run_seconds=10, order=order)
    cluster.submit(*small_cluster())
    for number, step in enumerate(steps):
        match step:
            case ("submit", manifest):
                if cluster.store.get(Ref(manifest["kind"], "default", manifest["metadata"]["name"])) is None:
                    cluster.submit(manifest)
            case ("delete", name):
                if cluster.store.get(Ref("Job", "default", name)) is not None:
                    cluster.delete("Job", name)
            case ("delete hyper job",):
                if cluster.store.get(Ref("HyperJob", "default", "h")) is not None:
                    cluster.delete("HyperJob", "h")
            case ("scale", name, replicas):
                _scale(cluster, name, replicas)
            case ("fail", index):
                _fail(cluster, index)
            case ("command", name, action):
                cluster.submit(command(f"c{number}", name, action))
            case ("lose", index):
                if cluster.store.get(Ref("Node", "", f"n{index}")) is not None:
                    cluster.delete("Node", f"n{index}")
            case ("return", index):
                cluster.submit(node(f"n{index}"))
            case ("pass", seconds):
                cluster.run(cluster.now + seconds)
            case ("restart",):
                cluster = copy.deepcopy(cluster)
        cluster.settle()
        if checked:
            check(cluster)
    cluster.run(cluster.now + 200)
    cluster.settle()
    return cluster


def _scale(cluster: EmbeddedCluster, name: str, replicas: int) -> None:
    stored = cluster.store.get(Ref("Job", "default", name))
    if stored is None:
        return
    spec = copy.deepcopy(dict(stored["spec"]))
    first = spec["tasks"][0]
    others = sum(one["minAvailable"] for one in spec["tasks"][1:])
    first["replicas"], first["minAvailable"] = replicas, min(replicas, 1)
    spec["minAvailable"] = min(replicas, 1) + others
    metadata = {
        key: stored["metadata"][key] for key in ("name", "labels", "ownerReferences") if key in stored["metadata"]
    }
    cluster.submit({**stored, "metadata": metadata, "spec": spec})


def _fail(cluster: EmbeddedCluster, index: int) -> None:
    running = [pod for pod in cluster.store.list("Pod") if (pod.get("status") or {}).get("phase") == "Running"]
    if running:
        cluster.fail(running[index % len(running)]["metadata"]["name"])


def check(cluster: EmbeddedCluster) -> None:
    """What holds whenever nothing is left to do."""
    store = cluster.store
    alive = {one["metadata"]["uid"] for one in store.contents()}
    for one in store.contents():
        for owner in one["metadata"].get("ownerReferences") or ():
            assert owner["uid"] in alive, f"{one['kind']} {one['metadata']['name']} is an orphan"
    used: Counter[str] = Counter()
    for pod in store.list("Pod"):
        at = pod["spec"].get("nodeName")
        if at:
            assert store.get(Ref("Node", "", at)) is not None
            if pod["status"]["phase"] == "Running":
                used[at] += pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"]
        assert not pod["metadata"].get("deletionTimestamp")
    assert all(count <= 8 for count in used.values())
    for one in store.list("Job"):
        _check_job(cluster, one)
    for hyper_job in store.list("HyperJob"):
        if not (hyper_job["status"].get("conditions") or ()):
            _check_hyper_job(cluster, hyper_job)


def _check_hyper_job(cluster: EmbeddedCluster, hyper_job: Any) -> None:
    """While a HyperJob runs, no other pod that has GPUs is inside the HyperNode around one of its Jobs."""
    at_leaf: dict[int, set[str]] = {}
    for pod in cluster.store.list("Pod"):
        node_name = pod["spec"].get("nodeName")
        if node_name and pod["status"]["phase"] in ("Pending", "Running"):
            at_leaf.setdefault(int(node_name[1:]) // 2, set()).add(pod["metadata"]["labels"]["volcano.sh/job-name"])
    label, owner = "volcano.sh/hyperjob-name", hyper_job["metadata"]["name"]
    jobs_with_labels = [one["metadata"] for one in cluster.store.list("Job") if one["metadata"].get("labels")]
    # A Job that somebody submitted under a child's name is none of the HyperJob's.
    children = {one["name"] for one in jobs_with_labels if one["labels"].get(label) == owner}
    for name in children:
        mine = [jobs for jobs in at_leaf.values() if name in jobs]
        around = mine if len(mine) == 1 else list(at_leaf.values())
        assert all(jobs == {name} for jobs in around if mine), f"{name} is not alone: {at_leaf}"


def _check_job(cluster: EmbeddedCluster, one: Any) -> None:
    name, spec, status = one["metadata"]["name"], one["spec"], one["status"]
    allowed = {f"{name}-{task['name']}-{i}" for task in spec["tasks"] for i in range(task["replicas"])}
    pods = pods_of(cluster, name)
    ended = status["state"]["phase"] in ("Completed", "Failed", "Aborted", "Terminated")
    # An ended Job is not scaled: what it had stays.
    assert ended or set(pods) <= allowed
    for plugin in spec.get("plugins") or {}:
        marked = (status.get("controlledResources") or {}).get(f"plugin-{plugin}")
        assert ended or marked in (plugin, None)
    group = cluster.store.get(Ref("PodGroup", "default", f"{name}-{one['metadata']['uid']}"))
    if group is not None and not ended:
        mine = [pod for pod in cluster.store.list("Pod") if pod["metadata"]["name"] in pods]
        started = sum(bool(pod["spec"].get("nodeName")) for pod in mine)
        failed = sum((pod.get("status") or {}).get("phase") == "Failed" for pod in mine)
        whole = started + failed >= group["spec"]["minMember"]
        assert started == 0 or whole or group["status"]["phase"] in ("Unknown", "Pending", "Inqueue")


def outcome(cluster: EmbeddedCluster) -> dict[str, Any]:
    """What the end of a life is compared by: uids and versions depend on the order of the writes."""
    jobs = {name: (phase_of(cluster, name), pods_of(cluster, name)) for name in NAMES}
    places = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in cluster.store.list("Pod")}
    return {"jobs": jobs, "places": places, "kinds": Counter(one["kind"] for one in cluster.store.contents())}


@max_examples(60)
@given(st.lists(_steps, max_size=14), st.sampled_from(POLICIES))
def test_what_must_hold_holds_after_every_step(steps: list[tuple[Any, ...]], policy: str) -> None:
    cluster = live(steps, policy, None, checked=True)
    check(cluster)
    again = live(steps, policy, None, checked=False)
    assert outcome(again) == outcome(cluster)


@max_examples(40)
@given(st.lists(_steps, max_size=14), st.sampled_from(POLICIES), st.integers(0, 2**32 - 1))
def test_any_order_of_the_controllers_ends_alike(steps: list[tuple[Any, ...]], policy: str, seed: int) -> None:
    drawn = live(steps, policy, np.random.default_rng(seed), checked=True)
    assert outcome(drawn) == outcome(live(steps, policy, None, checked=False))
