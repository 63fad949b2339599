"""Random nodes and pods: plain mappings for `tests.reference.kube_one_pod`, and values of the policies of `kube`."""

from __future__ import annotations

from tests.choice import tell
from tests.conformance.runners.kube_objects import nodes_of, shape_of
from workbench.policies.kube.cluster import KubeCluster

KEYS = ("zone", "rack", "kubernetes.io/hostname")
APPS = ("a", "b")


def random_nodes(rng):
    nodes = []
    for i in range(rng.randint(1, 9)):
        name = f"n{i}"
        labels = {"kubernetes.io/hostname": name} if rng.random() < 0.9 else {}
        for key in ("zone", "rack"):
            if rng.random() < 0.8:
                labels[key] = rng.choice("xyz")
        taints = [
            {
                "key": rng.choice("pq"),
                "value": rng.choice("12"),
                "effect": rng.choice(["NoSchedule", "PreferNoSchedule"]),
            }
            for _ in range(rng.choice([0, 0, 0, 1, 2]))
        ]
        amounts = {"cpu": rng.choice([0, 3000, 4000, 7777]), "memory": rng.choice([1 << 30, 5 << 30]), "pods": 4}
        if rng.random() < 0.5:
            amounts["nvidia.com/gpu"] = rng.randint(0, 4)
        nodes.append({"name": name, "labels": labels, "taints": taints, "allocatable": amounts})
    return nodes


def random_pod(rng, name, node=""):
    requests = {"cpu": rng.choice([0, 500, 1300])} if rng.random() < 0.7 else {}
    if rng.random() < 0.5:
        requests["memory"] = rng.choice([1 << 20, 700 << 20])
    if rng.random() < 0.2:
        requests["nvidia.com/gpu"] = rng.randint(1, 2)
    pod = {"name": name, "namespace": rng.choice(["d", "d", "e"]), "labels": {"app": rng.choice(APPS)}, "node": node}
    pod["requests"] = requests
    if rng.random() < 0.3:
        pod["tolerations"] = [_toleration(rng)]
    if rng.random() < 0.15:
        pod["nodeSelector"] = {"zone": rng.choice("xy")}
    if rng.random() < 0.4:
        pod["affinity"] = _affinity(rng)
    if rng.random() < 0.4:
        pod["topologySpreadConstraints"] = [_constraint(rng) for _ in range(rng.randint(1, 2))]
    return pod


def _toleration(rng):
    found = {"key": rng.choice("pq")}
    found |= {"operator": "Exists"} if rng.random() < 0.5 else {"value": rng.choice("12")}
    return found | ({"effect": "NoSchedule"} if rng.random() < 0.3 else {})


def _selector(rng):
    return rng.choice(
        [
            {"matchLabels": {"app": rng.choice(APPS)}},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]},
            {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        ]
    )


def _term(rng):
    term = {"topologyKey": rng.choice(KEYS), "labelSelector": _selector(rng)}
    return term | ({"namespaces": ["d", "e"]} if rng.random() < 0.3 else {})


def _affinity(rng):
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    found = {}
    expressions = [{"key": "rack", "operator": "In", "values": [rng.choice("xyz")]}]
    if rng.random() < 0.3:
        found["nodeAffinity"] = {preferred: [{"weight": 7, "preference": {"matchExpressions": expressions}}]}
        if rng.random() < 0.3:
            found["nodeAffinity"][required] = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    for kind in ("podAffinity", "podAntiAffinity"):
        part = {}
        if rng.random() < 0.3:
            part[required] = [_term(rng) for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.4:
            part[preferred] = [{"weight": rng.randint(1, 100), "podAffinityTerm": _term(rng)}]
        if part:
            found[kind] = part
    return found


def _constraint(rng):
    hard = rng.random() < 0.5
    found = {
        "topologyKey": rng.choice(KEYS),
        "maxSkew": rng.randint(1, 3),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": _selector(rng),
    }
    if rng.random() < 0.3:
        found["nodeTaintsPolicy"] = "Honor"
    if rng.random() < 0.3:
        found["nodeAffinityPolicy"] = "Ignore"
    return found | ({"minDomains": rng.randint(1, 4)} if hard and rng.random() < 0.3 else {})


def random_pods(rng, nodes):
    """Pods on nodes, over their capacity here and there, and further pods without a node."""
    pods = [random_pod(rng, f"r{i}", rng.choice(nodes)["name"]) for i in range(rng.randint(0, 6))]
    waiting = [random_pod(rng, f"p{i}") for i in range(rng.randint(1, 4))]
    tell(nodes=nodes, running=pods, waiting=waiting)
    return pods, waiting


def shape(pod):
    """The shape of a plain pod: one container with its requests."""
    amounts = {name: f"{n}m" if name == "cpu" else str(n) for name, n in pod["requests"].items()}
    return shape_of({**{key: value for key, value in pod.items() if key != "requests"}, "containers": [amounts]})


def cluster_of(nodes, pods):
    written = [
        node | {"allocatable": {k: f"{n}m" if k == "cpu" else str(n) for k, n in node["allocatable"].items()}}
        for node in nodes
    ]
    read = nodes_of(written)
    index = {name: i for i, name in enumerate(read.names)}
    return KubeCluster(read, [(shape(pod), index[pod["node"]]) for pod in pods])
