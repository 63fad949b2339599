"""What job plugins do to pods that their author may not expect, told before the Job is submitted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.frameworks.jobs import env_of, job_of, named, pods_of, task_of
from workbench.jobs.create_pod import create_pod
from workbench.jobs.expand import expand_job
from workbench.jobs.frameworks.effects import LARGEST_STRING, may_have_notices, plugin_notices
from workbench.jobs.frameworks.registry import PLUGINS, on_pod_create
from workbench.jobs.stored_job import as_stored
from workbench.jobs.task_pods import tasks_of


def with_command(task: dict[str, Any], **fields: list[str]) -> dict[str, Any]:
    task["template"]["spec"]["containers"][0].update(fields)
    return task


class TestCommands:
    def test_a_command_that_ray_replaces_is_told_with_the_way_out(self) -> None:
        head = with_command(task_of("head", container="head"), command=["sh", "-c", "ray start --head; serve run"])
        worker = with_command(task_of("worker", container="worker"), args=["x"])
        first, second = plugin_notices(job_of({"ray": []}, head, worker))
        assert (first.code, first.subject) == (
            "command-replaced",
            "spec.tasks[0].template.spec.containers[0].command",
        )
        assert "the plugin ray replaces the command of container head by “sh -c ray start --head" in first.message
        assert first.message.endswith("leave the plugin out, or name another container by --headContainer")
        assert second.message.endswith("--workerContainer")
        assert "the args written there never run" in second.message

    def test_tasks_and_containers_of_other_names_are_followed(self) -> None:
        head = with_command(task_of("lead", container="main"), command=["serve"])
        arguments = ["--head=lead", "--headContainer=main"]
        (found,) = plugin_notices(job_of({"ray": arguments}, head))
        assert found.message.endswith("--headContainer")
        (lost,) = plugin_notices(job_of({"ray": ["--head=lead"]}, head))
        assert lost.code == "plugin-without-effect"

    def test_a_container_without_a_command_loses_nothing(self) -> None:
        assert plugin_notices(job_of({"ray": []}, task_of("head", container="head"))) == []

    def test_only_plugins_that_say_so_set_commands(self) -> None:
        for plugin in PLUGINS:
            tasks = [
                with_command(task_of(name, container=name), command=["x"])
                for name in ("head", "master", "worker", "chief", "scheduler", "server", "ps")
            ]
            pods = pods_of(expand_job(job_of({plugin.name: []}, *tasks)))
            changed = any(pod["spec"]["containers"][0]["command"] != ["x"] for pod in pods)
            assert changed == plugin.sets_commands, plugin.name


class TestNames:
    """Tasks and containers that a plugin does not find."""

    def test_a_container_that_ray_does_not_find_is_told_with_its_argument(self) -> None:
        job = job_of({"ray": []}, task_of("head", container="head"), task_of("worker", 2, container="node"))
        (found,) = plugin_notices(job)
        assert (found.code, found.subject) == ("plugin-without-effect", "spec.plugins.ray")
        assert "task worker: the plugin ray finds no container worker among node" in found.message
        assert "--workerContainer=node" in found.message

    @pytest.mark.parametrize(
        ("plugins", "tasks", "words"),
        [
            (
                {"pytorch": []},
                ("main", "worker"),
                "no task is called master (--master); the Job has 2 tasks (main, worker)",
            ),
            ({"tensorflow": []}, ("trainer", "server"), "no task is called ps (--ps) or worker (--worker)"),
            (
                {"pytorch": ["--master=m", "--worker=w"]},
                ("master", "worker"),
                "no task is called m (--master) or w (--worker)",
            ),
        ],
    )
    def test_a_plugin_that_finds_no_task_is_told(
        self, plugins: dict[str, list[str]], tasks: tuple[str, ...], words: str
    ) -> None:
        (found,) = plugin_notices(job_of(plugins, *(task_of(name, 2) for name in tasks)))
        assert (found.code, found.subject) == ("plugin-without-effect", f"spec.plugins.{next(iter(plugins))}")
        assert words in found.message

    def test_a_head_that_is_not_there_keeps_all_pods_from_being_created(self) -> None:
        (found,) = plugin_notices(job_of({"ray": ["--head=boss"]}, task_of("head"), task_of("worker", 2)))
        assert (found.code, found.subject) == ("plugin-refuses", "spec.plugins")
        assert "doesn't have head task boss" in found.message

    @pytest.mark.parametrize(
        ("plugins", "tasks"),
        [
            ({"tensorflow": []}, [("worker", 1)]),
            ({"tensorflow": []}, [("worker", 2), ("logger", 1)]),
            ({"pytorch": []}, [("master", 1), ("monitor", 1)]),
            ({"ray": []}, [("head", 1)]),
        ],
    )
    def test_roles_that_a_job_need_not_have_are_no_fault(
        self, plugins: dict[str, list[str]], tasks: list[tuple[str, int]]
    ) -> None:
        assert plugin_notices(job_of(plugins, *(task_of(name, n, container=name) for name, n in tasks))) == []


def most_pods(job: dict[str, Any]) -> int:
    """The number of pods at which the only notice of a job says the limit is."""
    (found,) = plugin_notices(job)
    return int(found.numbers["pods"])


class TestStrings:
    def test_the_hosts_of_svc_have_a_limit(self) -> None:
        job = job_of({"svc": []}, task_of("worker", 3000), name="trainer-with-a-long-name")
        (found,) = plugin_notices(job)
        assert (found.code, found.subject) == ("environment-too-long", "spec.plugins.svc")
        assert "VC_WORKER_HOSTS of 184,889 bytes" in found.message
        assert "131,072" in found.message
        assert 'svc: ["--inject-hosts-env=false"]' in found.message

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["train", "a-longer-name"])
    def test_the_number_of_pods_is_exact(self, name: str) -> None:
        job = job_of({"svc": []}, task_of("w", 9000), name=name)
        pods = most_pods(job)
        sizes = []
        for count in (pods, pods + 1):
            objects = expand_job(job_of({"svc": []}, task_of("w", count), name=name))
            value = named(objects, "ConfigMap", f"{name}-svc")["data"]["VC_W_HOSTS"]
            sizes.append(len(f"VC_W_HOSTS={value}") + 1)
        assert sizes[0] <= LARGEST_STRING < sizes[1]
        assert plugin_notices(job_of({"svc": []}, task_of("w", pods), name=name)) == []

    def test_the_argument_of_svc_helps(self) -> None:
        job = job_of({"svc": ["--inject-hosts-env=false"]}, task_of("worker", 3000), name="trainer-with-a-long-name")
        assert plugin_notices(job) == []

    def test_svc_counts_where_admission_adds_it(self) -> None:
        job = job_of({"pytorch": []}, task_of("master"), task_of("worker", 5000), name="trainer")
        (found,) = plugin_notices(job)
        assert found.subject == "spec.plugins.svc"

    def test_other_plugins_have_the_same_limit(self) -> None:
        svc = ["--inject-hosts-env=false"]
        job = job_of({"tensorflow": [], "svc": svc}, task_of("worker", 5000), name="trainer")
        (found,) = plugin_notices(job)
        assert found.subject == "spec.plugins.tensorflow"
        pods = int(found.numbers["pods"])

        def size(count: int) -> int:
            stored = as_stored(job_of({"tensorflow": [], "svc": svc}, task_of("worker", count), name="trainer"))
            (task,) = tasks_of(stored)
            # One pod of thousands, each with a list of all: `expand_job` makes every pod in the same way.
            pod = on_pod_create(create_pod(stored, task["template"], task, 0), stored, stored["spec"]["plugins"])
            return len("TF_CONFIG=" + env_of(pod)["TF_CONFIG"]) + 1

        assert size(pods) <= LARGEST_STRING < size(pods + 1)

    def test_the_config_map_has_a_limit_too(self) -> None:
        job = job_of({"svc": ["--inject-hosts-env=false"]}, task_of("worker", 10_000), name="trainer-with-a-long-name")
        (found,) = plugin_notices(job)
        assert (found.code, found.subject) == ("config-map-too-large", "spec.plugins")

    def test_a_million_replicas_are_told_too(self) -> None:
        job = job_of({"svc": []}, task_of("worker", 1_000_000))
        assert [one.code for one in plugin_notices(job)] == ["environment-too-long", "config-map-too-large"]


def test_small_jobs_are_not_looked_at() -> None:
    assert not may_have_notices(job_of({"svc": [], "ssh": []}, task_of("worker", 100)))
    assert not may_have_notices(job_of({}, task_of("worker", 10_000)))
    assert may_have_notices(job_of({"ray": []}, task_of("head")))
