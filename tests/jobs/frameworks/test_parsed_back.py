"""What plugins inject is read back by parsers of our own that know the frameworks' formats and none of our code."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from typing import Any

import pytest

from tests.control.manifests import job, small_cluster, task
from workbench.control.cluster import EmbeddedCluster
from workbench.control.kinds import Ref


def run(name: str, tasks: list[dict[str, Any]], plugins: dict[str, list[str]]) -> EmbeddedCluster:
    cluster = EmbeddedCluster("volcano-1.15")
    cluster.submit(*small_cluster(8), job(name, tasks, plugins=plugins))
    cluster.settle()
    assert {row.phase for row in cluster.jobs()} == {"Running"}
    return cluster


def addresses(cluster: EmbeddedCluster) -> dict[str, str]:
    """DNS name inside the namespace of each pod with a host name and a headless Service, by the pod's name."""
    services = {one["metadata"]["name"]: one["spec"] for one in cluster.store.list("Service")}
    found = {}
    for pod in cluster.store.list("Pod"):
        spec = pod["spec"]
        selector = services[spec["subdomain"]]["selector"]
        assert services[spec["subdomain"]]["clusterIP"] == "None"
        assert selector.items() <= pod["metadata"]["labels"].items()
        found[pod["metadata"]["name"]] = f"{spec['hostname']}.{spec['subdomain']}"
    return found


def named(tasks: dict[str, int], gpus: int = 1) -> list[dict[str, Any]]:
    """Tasks whose container has the task's name."""
    made = [task(name, replicas, gpus) for name, replicas in tasks.items()]
    for one in made:
        one["template"]["spec"]["containers"][0]["name"] = one["name"]
    return made


# ---------------------------------------------------------------------------------------------------------------------
# TF_CONFIG, by the rules of TensorFlow's TFConfigClusterResolver
# ---------------------------------------------------------------------------------------------------------------------


def parse_tf_config(text: str) -> tuple[dict[str, list[tuple[str, int]]], str, int]:
    """Addresses of each role, and role and index of the process itself."""
    config = json.loads(text)
    assert set(config) == {"cluster", "task"}
    cluster = {}
    for role, entries in config["cluster"].items():
        assert role in ("chief", "worker", "ps", "evaluator")
        hosts = [re.fullmatch(r"([a-z0-9.-]+):([0-9]{1,5})", entry) for entry in entries]
        assert hosts and all(hosts)
        cluster[role] = [(host[1], int(host[2])) for host in hosts if host is not None]
    role, index = config["task"]["type"], config["task"]["index"]
    assert isinstance(index, int) and 0 <= index < len(cluster[role])
    return cluster, role, index


@pytest.mark.parametrize("port", [None, 3333])
def test_tf_config_names_every_pod_once_and_the_pod_itself(port: int | None) -> None:
    flags = ["--ps=server", "--worker=worker", "--chief=boss", *([f"--port={port}"] if port else [])]
    cluster = run("tf", named({"boss": 1, "server": 2, "worker": 3}), {"tensorflow": flags, "svc": []})
    known = addresses(cluster)
    roles = {"chief": "boss", "ps": "server", "worker": "worker"}
    seen = []
    for pod in cluster.pods():
        (variables,) = pod.environment.values()
        hosts, role, index = parse_tf_config(variables["TF_CONFIG"])
        assert {role: len(entries) for role, entries in hosts.items()} == {"chief": 1, "ps": 2, "worker": 3}
        assert hosts[role][index] == (known[pod.name], port or 2222)
        assert pod.name == f"tf-{roles[role]}-{index}"
        assert sorted(host for entries in hosts.values() for host, _ in entries) == sorted(known.values())
        seen.append((role, index))
    assert len(set(seen)) == 6


# ---------------------------------------------------------------------------------------------------------------------
# The host file, by Open MPI's grammar
# ---------------------------------------------------------------------------------------------------------------------


def parse_hostfile(text: str) -> dict[str, int]:
    """Slots of each host; a host that is named again adds its slots, and one without slots has one."""
    slots: dict[str, int] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].replace("=", " = ").split()
        if not words:
            continue
        host, rest = words[0], words[1:]
        assert len(rest) % 3 == 0 and all(word == "=" for word in rest[1::3]), line
        options = dict(zip(rest[::3], rest[2::3], strict=True))
        assert options.keys() <= {"slots", "max_slots", "max-slots"}
        slots[host] = slots.get(host, 0) + int(options.get("slots", 1))
    return slots


@pytest.mark.parametrize(("gpus", "flag", "slots"), [(4, [], 4), (0, [], 1), (4, ["--slots=2"], 2)])
def test_the_mpi_host_file_has_the_workers_with_their_slots(gpus: int, flag: list[str], slots: int) -> None:
    tasks = [*named({"launcher": 1}, 0), *named({"node": 3}, gpus)]
    flags = ["--master=launcher", "--worker=node", *flag]
    cluster = run("mpi", tasks, {"mpi": flags, "svc": [], "ssh": []})
    known = addresses(cluster)
    workers = [known[f"mpi-node-{i}"] for i in range(3)]
    pod = cluster.store.get(Ref("Pod", "default", "mpi-launcher-0"))
    assert pod is not None
    (container,) = pod["spec"]["containers"]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    folder, _, file = variables["OMPI_MCA_orte_default_hostfile"].rpartition("/")
    (mount,) = [one for one in container["volumeMounts"] if one["mountPath"] == folder]
    (volume,) = [one for one in pod["spec"]["volumes"] if one["name"] == mount["name"]]
    stored = cluster.store.get(Ref("ConfigMap", "default", volume["configMap"]["name"]))
    assert stored is not None
    assert parse_hostfile(stored["data"][file]) == dict.fromkeys(workers, slots)
    assert list(parse_hostfile(stored["data"][file])) == workers == variables["MPI_HOST"].split(",")


# ---------------------------------------------------------------------------------------------------------------------
# Ray's commands, by the options of `ray start`
# ---------------------------------------------------------------------------------------------------------------------


def parse_ray_start(container: dict[str, Any]) -> argparse.Namespace:
    """The options of the ``ray start`` that a container runs."""
    words = [*container.get("command", ()), *container.get("args", ())]
    if words[:2] in (["sh", "-c"], ["bash", "-c"], ["/bin/sh", "-c"]):
        assert len(words) == 3
        words = shlex.split(words[2])
    assert words[:2] == ["ray", "start"]
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--head", action="store_true")
    parser.add_argument("--block", action="store_true")
    parser.add_argument("--address")
    for option in ("--port", "--dashboard-port", "--ray-client-server-port"):
        parser.add_argument(option, type=int)
    parser.add_argument("--dashboard-host")
    return parser.parse_args(words[2:])


@pytest.mark.parametrize("ports", [(), (7000, 8000, 9000)])
def test_rays_workers_join_the_head_at_its_address_and_port(ports: tuple[int, ...]) -> None:
    names = ("--port", "--dashboardPort", "--clientPort")
    flags = ["--head=head", "--worker=worker", *(f"{name}={port}" for name, port in zip(names, ports, strict=False))]
    gcs, dashboard, client = ports or (6379, 8265, 10001)
    cluster = run("ray", named({"head": 1, "worker": 2}), {"ray": flags, "svc": []})
    known = addresses(cluster)
    for pod in cluster.store.list("Pod"):
        (container,) = pod["spec"]["containers"]
        options = parse_ray_start(container)
        assert options.block, "the container runs as long as Ray does"
        if pod["metadata"]["name"] == "ray-head-0":
            assert options.head and options.port == gcs and options.address is None
            opened = {one["containerPort"] for one in container["ports"]}
            assert opened == {gcs, dashboard, client}
        else:
            assert not options.head and options.address == f"{known['ray-head-0']}:{gcs}"
    (service,) = [one for one in cluster.store.list("Service") if one["metadata"]["name"] == "ray-head-svc"]
    assert {one["port"] for one in service["spec"]["ports"]} == {gcs, dashboard, client}
    cluster.delete("Job", "ray")
    cluster.settle()
    assert cluster.store.list("Service") == []
