"""The design document's examples, and what programs of the frameworks would read in them, by parsers of their own."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import Any

import pytest

import workbench
from tests.jobs.frameworks.jobs import env_of, job_of, named, pods_of, task_of

RAY = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "ray-cluster-job"},
    "spec": {
        "minAvailable": 3,
        "schedulerName": "volcano",
        "plugins": {"ray": [], "svc": []},
        "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
        "queue": "default",
        "tasks": [
            {
                "replicas": replicas,
                "name": name,
                "template": {
                    "spec": {
                        "containers": [{"name": name, "image": "rayproject/ray:latest-py311-cpu", "resources": {}}],
                        "restartPolicy": "OnFailure",
                    }
                },
            }
            for name, replicas in (("head", 1), ("worker", 2))
        ],
    },
}


def cluster_of(text: str) -> tuple[dict[str, dict[int, tuple[str, int]]], str, int]:
    """TF_CONFIG as TensorFlow's ClusterSpec takes it: (host, port) by job and task, and the pod's own place."""
    config = json.loads(text)
    assert config.keys() == {"cluster", "task"} and config["task"].keys() == {"type", "index"}
    cluster = {}
    for job, addresses in config["cluster"].items():
        assert isinstance(addresses, list) and addresses
        cluster[job] = {i: (host, int(port)) for i, (host, port) in enumerate(a.rsplit(":", 1) for a in addresses)}
    return cluster, config["task"]["type"], config["task"]["index"]


def slots_of(text: str) -> dict[str, int]:
    """A host file as Open MPI reads it: a host per line, then ``slots=N``; ``#`` begins a comment."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        host, *settings = line.partition("#")[0].split()
        assert host not in found
        ((key, number),) = (setting.split("=") for setting in settings)
        assert key == "slots"
        found[host] = int(number)
    return found


def ray_start(command: list[str]) -> argparse.Namespace:
    """What ``ray start`` would read, given the command of a container."""
    shell, flag, script = command
    assert (shell, flag) == ("sh", "-c")
    program, verb, *given = shlex.split(script)
    assert (program, verb) == ("ray", "start")
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    for name in ("--head", "--block"):
        parser.add_argument(name, action="store_true")
    for name in ("--port", "--dashboard-port", "--ray-client-server-port"):
        parser.add_argument(name, type=int)
    for name in ("--address", "--dashboard-host"):
        parser.add_argument(name)
    return parser.parse_args(given)


class TestTensorflow:
    JOB = job_of({"tensorflow": ["--port=5000", "--worker=worker", "--ps=ps"]}, task_of("ps", 2), task_of("worker", 3))

    def test_every_pod_knows_the_cluster_and_its_own_place(self) -> None:
        cluster = {
            "ps": {i: (f"jobname-ps-{i}.jobname", 5000) for i in range(2)},
            "worker": {i: (f"jobname-worker-{i}.jobname", 5000) for i in range(3)},
        }
        pods = pods_of(workbench.jobs.expand_job(self.JOB))
        found = [cluster_of(env_of(pod)["TF_CONFIG"]) for pod in pods]
        assert found == [(cluster, role, index) for role in cluster for index in cluster[role]]

    def test_hosts_are_names_that_pods_have(self) -> None:
        objects = workbench.jobs.expand_job(self.JOB)
        names = {f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}" for pod in pods_of(objects)}
        cluster, _, _ = cluster_of(env_of(pods_of(objects)[0])["TF_CONFIG"])
        assert {host for hosts in cluster.values() for host, _ in hosts.values()} == names
        assert named(objects, "Service", "jobname")["spec"]["clusterIP"] == "None"


class TestPytorch:
    JOB = job_of(
        {"pytorch": ["--master=master", "--worker=worker", "--port=23456"]},
        task_of("master", gpus=4),
        task_of("worker", 2, gpus=8),
    )

    def test_ranks_run_from_master_to_the_last_worker(self) -> None:
        found = [env_of(pod) for pod in pods_of(workbench.jobs.expand_job(self.JOB))]
        assert [each["RANK"] for each in found] == ["0", "1", "2"]
        assert {each["WORLD_SIZE"] for each in found} == {"3"}
        assert {each["MASTER_ADDR"] for each in found} == {"jobname-master-0.jobname"}
        assert {each["MASTER_PORT"] for each in found} == {"23456"}

    def test_the_launcher_finds_the_same_rendezvous_and_a_process_per_gpu(self) -> None:
        found = [env_of(pod) for pod in pods_of(workbench.jobs.expand_job(self.JOB))]
        for each, gpus in zip(found, ("4", "8", "8"), strict=True):
            assert each["PET_MASTER_ADDR"] == each["MASTER_ADDR"]
            assert each["PET_MASTER_PORT"] == each["MASTER_PORT"]
            assert each["PET_NNODES"] == each["WORLD_SIZE"]
            assert each["PET_NODE_RANK"] == each["RANK"]
            assert each["PET_NPROC_PER_NODE"] == gpus

    def test_without_gpus_there_is_one_process(self) -> None:
        job = job_of({"pytorch": []}, task_of("master"), task_of("worker"))
        assert {env_of(pod)["PET_NPROC_PER_NODE"] for pod in pods_of(workbench.jobs.expand_job(job))} == {"1"}

    def test_a_variable_that_the_user_set_is_not_replaced(self) -> None:
        job = job_of({"pytorch": []}, task_of("master", gpus=8), task_of("worker"))
        job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["env"] = [
            {"name": "PET_NPROC_PER_NODE", "value": "2"}
        ]
        master, worker = pods_of(workbench.jobs.expand_job(job))
        assert [each["name"] for each in master["spec"]["containers"][0]["env"]].count("PET_NPROC_PER_NODE") == 1
        assert (env_of(master)["PET_NPROC_PER_NODE"], env_of(worker)["PET_NPROC_PER_NODE"]) == ("2", "1")


class TestMpi:
    JOB = job_of({"mpi": []}, task_of("master"), task_of("worker", 3, gpus=4))

    def test_the_host_file_is_the_document_s(self) -> None:
        host_file = named(workbench.jobs.expand_job(self.JOB), "ConfigMap", "jobname-mpi")["data"]["hostfile"]
        assert slots_of(host_file) == {f"jobname-worker-{i}.jobname": 4 for i in range(3)}
        assert host_file == "\n".join(f"jobname-worker-{i}.jobname slots=4" for i in range(3))

    @pytest.mark.parametrize(
        ("arguments", "gpus", "slots"), [([], 0, 1), ([], 8, 8), (["--slots=2"], 8, 2), (["--slots=2"], 0, 2)]
    )
    def test_slots(self, arguments: list[str], gpus: int, slots: int) -> None:
        job = job_of({"mpi": arguments}, task_of("master"), task_of("worker", 2, gpus=gpus))
        host_file = named(workbench.jobs.expand_job(job), "ConfigMap", "jobname-mpi")["data"]["hostfile"]
        assert set(slots_of(host_file).values()) == {slots}

    def test_every_container_finds_the_file_by_the_variable(self) -> None:
        for pod in pods_of(workbench.jobs.expand_job(self.JOB)):
            folder, _, file = env_of(pod)["OMPI_MCA_orte_default_hostfile"].rpartition("/")
            mounts = {mount["mountPath"]: mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
            volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
            assert (folder, file) == ("/etc/mpi", "hostfile")
            assert volumes[mounts[folder]]["configMap"] == {"name": "jobname-mpi"}

    def test_the_hosts_are_those_of_mpi_host_and_ssh_knows_them(self) -> None:
        objects = workbench.jobs.expand_job(self.JOB)
        host_file = named(objects, "ConfigMap", "jobname-mpi")["data"]["hostfile"]
        assert env_of(pods_of(objects)[0])["MPI_HOST"].split(",") == list(slots_of(host_file))
        assert named(objects, "Secret", "jobname-ssh")["data"].keys() == {
            "id_rsa",
            "id_rsa.pub",
            "authorized_keys",
            "config",
        }

    def test_only_the_master_waits_for_workers(self) -> None:
        master, *workers = pods_of(workbench.jobs.expand_job(self.JOB))
        assert [each["name"] for each in master["spec"]["initContainers"]] == ["wait-for-workers"]
        assert [pod["spec"].get("initContainers") for pod in workers] == [None] * 3
        waiting = env_of(master, field="initContainers")
        assert waiting == {
            "IP_LIST": " ".join(f"jobname-worker-{i}.jobname" for i in range(3)),
            "WAIT_TIMEOUT": "300",
        }

    @pytest.mark.parametrize("tasks", [[task_of("master")], [task_of("master"), task_of("worker", 0)]])
    def test_without_workers_nothing_is_added(self, tasks: list[Any]) -> None:
        objects = workbench.jobs.expand_job(job_of({"mpi": []}, *tasks))
        assert [each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"] == ["jobname-svc"]
        assert "OMPI_MCA_orte_default_hostfile" not in env_of(pods_of(objects)[0])


class TestRay:
    def test_the_commands_make_a_cluster(self) -> None:
        head, *workers = [
            ray_start(pod["spec"]["containers"][0]["command"]) for pod in pods_of(workbench.jobs.expand_job(RAY))
        ]
        assert (head.head, head.block, head.address, head.dashboard_host) == (True, True, None, "0.0.0.0")
        assert (head.port, head.dashboard_port, head.ray_client_server_port) == (6379, 8265, 10001)
        assert len(workers) == 2
        for worker in workers:
            assert (worker.head, worker.block) == (False, True)
            assert worker.address == f"ray-cluster-job-head-0.ray-cluster-job:{head.port}"

    def test_the_service_of_the_head_reaches_the_ports_of_its_container(self) -> None:
        objects = workbench.jobs.expand_job(RAY)
        head, *workers = pods_of(objects)
        service = named(objects, "Service", "ray-cluster-job-head-svc")["spec"]
        ports = {port["name"]: port["containerPort"] for port in head["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"]: port["port"] for port in service["ports"]} == ports
        assert ports == {"gcs": 6379, "dashboard": 8265, "client-server": 10001}
        labels = [pod["metadata"]["labels"] for pod in (head, *workers)]
        assert [service["selector"].items() <= each.items() for each in labels] == [True, False, False]


class TestMxnet:
    JOB = job_of({"mxnet": []}, task_of("scheduler"), task_of("server", 2), task_of("worker", 3))

    def test_the_variables_of_the_example(self) -> None:
        found = [env_of(pod) for pod in pods_of(workbench.jobs.expand_job(self.JOB))]
        roles = [each.pop("DMLC_ROLE") for each in found]
        assert roles == ["scheduler", "server", "server", "worker", "worker", "worker"]
        common = {
            "DMLC_PS_ROOT_URI": "jobname-scheduler-0.jobname",
            "DMLC_PS_ROOT_PORT": "9000",
            "DMLC_NUM_SERVER": "2",
            "DMLC_NUM_WORKER": "3",
            "DMLC_USE_KUBERNETES": "1",
        }
        assert all(common.items() <= each.items() for each in found)

    def test_other_names_and_another_port(self) -> None:
        arguments = ["--scheduler=s", "--server=ps", "--worker=w", "--port=9001"]
        job = job_of({"mxnet": arguments}, task_of("s"), task_of("ps"), task_of("w"), task_of("extra"))
        found = [env_of(pod) for pod in pods_of(workbench.jobs.expand_job(job))]
        assert [each.get("DMLC_ROLE") for each in found] == ["scheduler", "server", "worker", None]
        assert [each.get("DMLC_PS_ROOT_PORT") for each in found] == ["9001", "9001", "9001", None]

    def test_without_a_scheduler_there_is_nothing_to_say(self) -> None:
        job = job_of({"mxnet": []}, task_of("server"), task_of("worker"))
        assert [name for pod in pods_of(workbench.jobs.expand_job(job)) for name in env_of(pod) if "DMLC" in name] == []
