"""The leading task that the arguments of a framework plugin name, read by admission as by the plugin."""

from __future__ import annotations

import pytest

from workbench.jobs.frameworks.registry import arguments_of
from workbench.objects.admission.plugins import master_warnings
from workbench.objects.job import read_job


@pytest.mark.parametrize(
    ("plugin", "flag", "arguments", "leader"),
    [
        ("mpi", "master", [], "master"),
        ("mpi", "master", ["--port", "23", "-master=first"], "first"),
        ("mpi", "master", ["--unknown=1", "--master=first"], "master"),
        ("mpi", "master", ["--port=x", "--master=first"], "master"),
        ("mpi", "master", ["first", "--master=first"], "master"),
        # A truth value takes no argument: the next one is a flag of its own.
        ("pytorch", "master", ["--wait-master-enabled", "--master=first"], "first"),
        ("tensorflow", "chief", ["--chief=first"], "first"),
        ("ray", "head", ["--head=first"], "first"),
        ("mxnet", "scheduler", ["--scheduler=first"], "first"),
    ],
)
def test_the_leading_task_is_the_one_that_the_plugin_reads(
    plugin: str, flag: str, arguments: list[str], leader: str
) -> None:
    tasks = [{"name": name, "replicas": 1, "template": {"spec": {}}} for name in ("first", flag, "worker")]
    spec = {"plugins": {plugin: arguments}, "tasks": tasks}
    job = read_job({"metadata": {"name": "j"}, "spec": spec})
    told = {notice.message.partition("task ")[2].split()[0] for notice in master_warnings(spec, job)}
    assert told == {leader} == {arguments_of(plugin, arguments).values[flag]}
