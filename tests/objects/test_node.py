from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import InputError
from workbench.model.labels import Taint
from workbench.objects.node import node_manifest, read_node


def manifest(**more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "n0", "labels": {"a": "b"}}, **more}


@pytest.mark.parametrize(
    ("conditions", "not_ready"),
    [
        ([], False),
        ([{"type": "MemoryPressure", "status": "False"}], False),
        ([{"type": "Ready", "status": "True"}], False),
        ([{"type": "Ready", "status": "False"}], True),
        ([{"type": "Ready", "status": "Unknown"}], True),
        ([{"type": "Ready"}], True),
    ],
)
def test_a_node_is_not_ready_if_its_condition_ready_is_anything_but_true(conditions, not_ready):
    node = read_node(manifest(status={"conditions": conditions}))
    assert node.not_ready is not_ready
    assert read_node(node_manifest(node)) == node


def test_allocatable_wins_over_capacity() -> None:
    status = {"allocatable": {"cpu": "7500m"}, "capacity": {"cpu": "8", "memory": "1Gi"}}
    assert read_node(manifest(status=status)).allocatable == {"cpu": 7500}
    assert read_node(manifest(status={"capacity": {"cpu": 8}})).allocatable == {"cpu": 8000}
    assert read_node(manifest()).allocatable == {}


def test_gpus_that_the_capacity_alone_counts_are_built_in() -> None:
    def built_in(allocatable: int, capacity: int) -> int:
        status = {"allocatable": {"cpu": "1", "huawei.com/npu": allocatable}, "capacity": {"huawei.com/npu": capacity}}
        return read_node(manifest(status=status)).n_gpus_built_in

    assert (built_in(7, 8), built_in(8, 8)) == (8, 0)
    with pytest.raises(InputError, match="at most 1024"):
        built_in(8, 1025)


def test_taints_and_cordon() -> None:
    node = read_node(manifest(spec={"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]}))
    assert node.unschedulable
    assert node.taints == (Taint("k", "", "NoSchedule"),)


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        ({"metadata": {}}, "metadata.name"),
        ({"metadata": {"name": 7}}, "metadata.name"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"name": "a/b"}}, "metadata.name"),
        ({"metadata": {"name": "a\nb"}}, "metadata.name"),
        ({"metadata": {"name": "n", "labels": {"rack": 3}}}, "metadata.labels['rack']"),
        ({"status": {"allocatable": {"cpu": "a lot"}}}, "status.allocatable['cpu']"),
        ({"status": {"allocatable": ["cpu"]}}, "status.allocatable"),
        ({"status": {"capacity": {"cpu": None}}}, "status.capacity['cpu']"),
        ({"status": {"allocatable": {"nvidia.com/gpu": "1025"}}}, "status.allocatable['nvidia.com/gpu']"),
        ({"spec": {"taints": {"key": "k"}}}, "spec.taints"),
        ({"spec": {"unschedulable": "yes"}}, "spec.unschedulable"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(broken: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as caught:
        read_node({**manifest(), **broken})
    assert caught.value.where == where
