"""Random clusters of the field as Kubernetes objects, with jobs of which some wait: one function for each kind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import workbench
from workbench.model.scenario import Scenario

Json = dict[str, Any]

GPU, HOST = "nvidia.com/gpu", "kubernetes.io/hostname"
KUEUE = "kueue.x-k8s.io"


def scenario_of(objects: list[Json], any_scheduler: bool = True) -> Scenario:
    """The objects, read as a file of a user is."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    return workbench.load("-", stdin=text, any_scheduler=any_scheduler)


def thing(version: str, kind: str, name: str, spec: Json, **metadata: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def nodes(choice: random.Random, equal: bool = False, hypernodes: bool = True) -> list[Json]:
    """Racks in blocks, with the labels of Kueue and the HyperNodes of Volcano; some are cordoned or tainted."""
    racks, size = choice.randint(1, 4), choice.randint(1, 4)
    found: list[Json] = []
    for i in range(racks * size):
        labels = {HOST: f"n{i}", "rack": f"r{i // size}", "block": f"b{i // size // 2}", "zone": f"z{i % 2}"}
        gpus = 8 if equal else choice.choice((8, 8, 8, 4))
        node = thing("v1", "Node", f"n{i}", {}, labels=labels)
        node["status"] = {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "20", GPU: str(gpus)}}
        if not equal and choice.random() < 0.1:
            node["spec"]["unschedulable"] = True
        if not equal and choice.random() < 0.15:
            node["spec"]["taints"] = [{"key": "team", "value": "a", "effect": "NoSchedule"}]
        found.append(node)
    if hypernodes:
        for tier, label, count in ((1, "rack", racks), (2, "block", (racks + 1) // 2)):
            for i in range(count):
                selector = {"labelMatch": {"matchLabels": {label: f"{label[0]}{i}"}}}
                if tier == 1:
                    members = [{"type": "Node", "selector": selector}]
                else:
                    below = [f"r{j}" for j in range(racks) if j // 2 == i]
                    members = [{"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in below]
                spec = {"tier": tier, "members": members}
                found.append(thing("topology.volcano.sh/v1alpha1", "HyperNode", f"{label[0]}{i}", spec))
    return found


def template(gpus: int, **more: Any) -> Json:
    amounts = {"cpu": "1", **({GPU: str(gpus)} if gpus else {})}
    container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
    metadata = {key: more.pop(key) for key in ("labels", "annotations") if key in more}
    return {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": [container], **more}}


def running(choice: random.Random, objects: list[Json], terminating: float = 0.0) -> list[Json]:
    """Pods of a few PodGroups on nodes that have room; some terminate."""
    free = {one["metadata"]["name"]: int(one["status"]["allocatable"][GPU]) for one in objects if one["kind"] == "Node"}
    found: list[Json] = []
    for number in range(choice.randint(0, 5)):
        group, gpus = f"old{number}", choice.choice((1, 2, 4, 8))
        places = [name for name in free if free[name] >= gpus]
        taken = choice.sample(places, min(len(places), choice.randint(1, 3)))
        if not taken:
            continue
        spec = {"minMember": 1, "queue": choice.choice(("default", "q0"))}
        found.append(thing("scheduling.volcano.sh/v1beta1", "PodGroup", group, spec, namespace="default"))
        found[-1]["status"] = {"phase": "Running"}
        for name in taken:
            free[name] -= gpus
            annotations = {"scheduling.k8s.io/group-name": group}
            pod = {"apiVersion": "v1", "kind": "Pod", **template(gpus, annotations=annotations, nodeName=name)}
            pod["metadata"] |= {"name": f"{group}-{name}", "namespace": "default", "labels": {"app": f"a{number % 2}"}}
            pod["status"] = {"phase": "Running"}
            if choice.random() < terminating:
                pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            found.append(pod)
    return found


def volcano_job(choice: random.Random, name: str, **spec: Any) -> Json:
    pods = choice.choice((1, 2, 3, 4, 6, 9))
    made: Json = {"schedulerName": "volcano", "minAvailable": choice.choice((pods, pods, max(1, pods - 1)))}
    if choice.random() < 0.7:
        made["networkTopology"] = {"mode": "hard", "highestTierAllowed": choice.choice((1, 1, 2))}
    made["tasks"] = [{"name": "w", "replicas": pods, "template": template(choice.choice((1, 2, 4, 8, 8)))}]
    return thing("batch.volcano.sh/v1alpha1", "Job", name, {**made, **spec}, namespace="default")


def volcano_queues(choice: random.Random) -> list[Json]:
    """Equal and unequal nodes, queues with a capability or a weight, and jobs of two queues."""
    found = nodes(choice, equal=choice.random() < 0.5)
    found += running(choice, found)
    for i in range(2):
        spec: Json = {"weight": choice.randint(1, 3)}
        if choice.random() < 0.6:
            spec["capability"] = {GPU: choice.randint(4, 24)}
        found.append(thing("scheduling.volcano.sh/v1beta1", "Queue", f"q{i}", spec))
    return [*found, *(volcano_job(choice, f"j{i}", queue=f"q{i % 2}") for i in range(choice.randint(1, 4)))]


def fleet(choice: random.Random) -> list[Json]:
    """Equal nodes alone, and several jobs that cannot all start."""
    found = nodes(choice, equal=True)
    return [*found, *running(choice, found), *(volcano_job(choice, f"j{i}") for i in range(choice.randint(1, 4)))]


def terminating(choice: random.Random) -> list[Json]:
    """Many running pods that are about to go."""
    found = nodes(choice, equal=True)
    return [*found, *running(choice, found, 0.6), *(volcano_job(choice, f"j{i}") for i in range(choice.randint(1, 3)))]


def hyper_jobs(choice: random.Random) -> list[Json]:
    """A HyperJob whose Jobs want a HyperNode each, beside a plain Job."""
    found = nodes(choice)
    job = volcano_job(choice, "x")["spec"]
    count = choice.randint(1, 3)
    spec = {"minAvailable": count, "replicatedJobs": [{"name": "part", "replicas": count, "templateSpec": job}]}
    hyper = thing("training.volcano.sh/v1alpha1", "HyperJob", "h", spec, namespace="default")
    return [*found, *running(choice, found), hyper, volcano_job(choice, "j")]


def kueue(choice: random.Random, cohort: bool = True) -> list[Json]:
    """ClusterQueues with quota, two of a cohort with limits of borrowing, and Jobs that ask for levels and slices."""
    found = nodes(choice, equal=choice.random() < 0.5, hypernodes=False)
    levels = [{"nodeLabel": "block"}, {"nodeLabel": "rack"}, {"nodeLabel": HOST}]
    found.append(thing(f"{KUEUE}/v1beta2", "Topology", "t", {"levels": levels}))
    for node in found[:-1]:
        node["metadata"]["labels"]["pool"] = "gpu"
    flavor = {"nodeLabels": {"pool": "gpu"}, "topologyName": "t"}
    found.append(thing(f"{KUEUE}/v1beta2", "ResourceFlavor", "f", flavor))
    for i in range(2):
        quota: Json = {"name": GPU, "nominalQuota": choice.choice((4, 8, 16, 64))}
        if cohort and choice.random() < 0.5:
            quota["borrowingLimit"] = choice.choice((0, 4, 8))
        resources = [{"name": "cpu", "nominalQuota": choice.choice((4, 100))}, quota]
        groups = [{"coveredResources": ["cpu", GPU], "flavors": [{"name": "f", "resources": resources}]}]
        spec = {"namespaceSelector": {}, "resourceGroups": groups, **({"cohortName": "c"} if cohort else {})}
        found.append(thing(f"{KUEUE}/v1beta2", "ClusterQueue", f"cq{i}", spec))
        found.append(thing(f"{KUEUE}/v1beta2", "LocalQueue", f"q{i}", {"clusterQueue": f"cq{i}"}, namespace="default"))
    for i in range(choice.randint(1, 4)):
        pods = choice.choice((1, 2, 3, 4, 6, 8))
        level = choice.choice(("block", "rack", "rack", HOST))
        annotations = {f"{KUEUE}/podset-{choice.choice(('required', 'required', 'preferred'))}-topology": level}
        if level != HOST and choice.random() < 0.4:
            annotations[f"{KUEUE}/podset-slice-required-topology"] = HOST
            annotations[f"{KUEUE}/podset-slice-size"] = str(choice.choice([size for size in (1, 2, 3) if size <= pods]))
        one = template(choice.choice((1, 2, 4, 8)), annotations=annotations)
        if choice.random() < 0.2:
            one["spec"]["nodeSelector"] = {"zone": choice.choice(("z0", "z1"))}
        job = {"parallelism": pods, "completions": pods, "suspend": True, "template": one}
        labels = {f"{KUEUE}/queue-name": f"q{i % 2}"}
        found.append(thing("batch/v1", "Job", f"j{i}", job, namespace="default", labels=labels))
    return found


def kueue_alone(choice: random.Random) -> list[Json]:
    """As `kueue`, without a cohort."""
    return kueue(choice, cohort=False)


def kube_pods(choice: random.Random) -> list[Json]:
    """Deployments whose pods spread, keep apart or come together, beside running pods with the same labels."""
    found = nodes(choice, hypernodes=False)
    found += running(choice, found)
    for i in range(choice.randint(1, 3)):
        labels = {"app": f"a{i % 2}"}
        term = {"labelSelector": {"matchLabels": labels}, "topologyKey": choice.choice((HOST, "rack", "zone"))}
        more: Json = choice.choice(
            (
                {"topologySpreadConstraints": [{**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]},
                {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}},
                {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}},
                {"nodeSelector": {"zone": "z1"}},
                {},
            )
        )
        one = template(choice.choice((1, 4, 8)), labels=labels, **more)
        one["spec"].pop("restartPolicy")
        spec = {"replicas": choice.choice((1, 2, 3, 5, 9)), "selector": {"matchLabels": labels}, "template": one}
        found.append(thing("apps/v1", "Deployment", f"j{i}", spec, namespace="default"))
    return found


def koordinator(choice: random.Random) -> list[Json]:
    """Gangs of Koordinator: pods with annotations."""
    found = nodes(choice, equal=choice.random() < 0.5)
    found += running(choice, found)
    for i in range(choice.randint(1, 3)):
        pods, gpus = choice.choice((1, 2, 4, 7)), choice.choice((1, 4, 8))
        annotations = {
            "gang.scheduling.koordinator.sh/name": f"j{i}",
            "gang.scheduling.koordinator.sh/min-available": str(choice.choice((pods, max(1, pods - 1)))),
        }
        for k in range(pods):
            pod = {"apiVersion": "v1", "kind": "Pod", **template(gpus, annotations=annotations)}
            pod["metadata"] |= {"name": f"j{i}-{k}", "namespace": "default"}
            pod["spec"]["schedulerName"] = "koord-scheduler"
            found.append(pod)
    return found


#: A kind of cluster and the policies that are asked about it.
KINDS: Mapping[str, tuple[Callable[[random.Random], list[Json]], tuple[str, ...]]] = {
    "queues": (volcano_queues, ("volcano-1.15", "volcano-1.13")),
    "fleet": (fleet, ("volcano-1.15", "gang", "kube-default")),
    "terminating": (terminating, ("volcano-1.15", "kueue-0.19")),
    "hyper-jobs": (hyper_jobs, ("volcano-1.15", "gang")),
    "kueue": (kueue, ("kueue-0.19",)),
    "kueue-alone": (kueue_alone, ("kueue-0.19",)),
    "kube": (kube_pods, ("kube-default", "volcano-1.15")),
    "kube-topology": (fleet, ("kube-1.37-topology",)),
    "koordinator": (koordinator, ("koordinator-network", "koordinator-gpu")),
}
