"""The runners run code that is shipped: what a user reaches by name, a registered policy or a kernel's face.

A rule that only its runner and tests call would pass its cases and serve nobody. Such rules stand below, each with what
has to use them; whoever builds that takes them off the list.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.reach import Reach, modules_imported, names_imported, reach_of, user_roots

ROOT = Path(__file__).resolve().parents[2]

_EVENTS = "a cluster that is followed event by event"
_FRACTIONS = "placing parts of GPUs and their network cards"
_NODE_RULES = "the choice of devices on a node"
_PLUGIN = "reading the switch-affinity plugin's arguments"
_JOB_RECORD = "writing the record of a job's switches"
_EVICTION = "eviction"
_PAIR = "comparing two pods where only one has an index; sorting needs an order of all"
_READINESS = "reporting whether a sub-group is ready"

NOT_SHIPPED_YET = {
    "workbench.jobs.task_pods:pod_before": _PAIR,
    "workbench.policies.koordinator.device_share:choose_devices": _FRACTIONS,
    "workbench.policies.koordinator.devices:NodeDevice": _FRACTIONS,
    "workbench.policies.koordinator.devices:DeviceRefusal": _FRACTIONS,
    "workbench.policies.koordinator.devices:DeviceRequest": _FRACTIONS,
    "workbench.policies.koordinator.devices:DeviceScore": _FRACTIONS,
    "workbench.policies.koordinator.devices:DeviceUse": _FRACTIONS,
    "workbench.policies.koordinator.devices:GpuShare": _FRACTIONS,
    "workbench.policies.koordinator.devices:Nic": _FRACTIONS,
    "workbench.policies.koordinator.devices:VfGroup": _FRACTIONS,
    "workbench.policies.koordinator.gpu_partitions:HOPPER_MODELS": _FRACTIONS,
    "workbench.policies.koordinator.plan_cache:free_for_others": _NODE_RULES,
    "workbench.policies.switch_affinity.annotations:job_summary": _JOB_RECORD,
    "workbench.policies.switch_affinity.annotations:states_by_definition": _JOB_RECORD,
    "workbench.policies.switch_affinity.settings:handler_of": _PLUGIN,
    "workbench.policies.switch_affinity.settings:max_shared_of": _PLUGIN,
    "workbench.policies.switch_affinity.settings:version_of": _PLUGIN,
    "workbench.policies.volcano.gradients:reverse_and_cap": _EVICTION,
    "workbench.policies.volcano.newest.sub_jobs:is_pipelined": _READINESS,
    "workbench.policies.volcano.newest.sub_jobs:is_ready": _READINESS,
    "workbench.topology.events:HyperNodeTree": _EVENTS,
}


def package() -> Reach:
    return reach_of(ROOT)


@cache
def shipped() -> frozenset[str]:
    kernels = package().everything_in("workbench.kernels")
    return frozenset(package().reached([*user_roots(), *kernels]))


def called_by(file: Path) -> Iterator[tuple[str, str]]:
    """(place, definition) of what a file takes from the package."""
    for name, line in names_imported(file.read_text("utf-8")):
        defined = package().defined(name)
        if defined in package().definitions:
            yield f"{file.relative_to(ROOT)}:{line}", defined


def files_of_the_runners() -> list[Path]:
    """The runners, and the helpers of the tests that they import."""
    left, seen = sorted((ROOT / "tests" / "conformance").rglob("*.py")), set[Path]()
    while left:
        file = left.pop()
        if file not in seen:
            seen.add(file)
            left += modules_imported(file.read_text("utf-8"), "tests", ROOT)
    return sorted(seen)


FILES = files_of_the_runners()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_runner_takes_from_the_package_what_a_user_reaches(file):
    accused = [
        f"{place}: {name} is reached by no command, no policy and no name of `workbench`"
        for place, name in called_by(file)
        if name not in shipped() and name not in NOT_SHIPPED_YET
    ]
    assert accused == []


def test_what_is_shipped_by_now_or_not_called_is_off_the_list():
    called = {name for file in FILES for _, name in called_by(file)}
    assert sorted(NOT_SHIPPED_YET.keys() - (called - shipped())) == []


def test_the_walk_saw_runners_helpers_and_shipped_code():
    names = {file.relative_to(ROOT).as_posix() for file in FILES}
    assert names >= {"tests/conformance/runners/gpu.py", "tests/switch_fabric.py"}
    assert "workbench.policies.gpu.mapa:GpuMapa" in shipped()
    assert "workbench.policies.volcano.gradients:reverse_and_cap" not in shipped()


def test_a_runner_that_calls_a_rule_of_nobody_is_accused(monkeypatch):
    monkeypatch.delitem(NOT_SHIPPED_YET, "workbench.policies.volcano.gradients:reverse_and_cap")
    with pytest.raises(
        AssertionError, match=r"volcano_gradients\.py:\d+: workbench\..*reverse_and_cap is reached by no"
    ):
        test_a_runner_takes_from_the_package_what_a_user_reaches(
            ROOT / "tests" / "conformance" / "runners" / "volcano_gradients.py"
        )
