"""Running pods on nodes of other indices, and their copies."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import pytest

from workbench.model.running_pod import RunningPod

POD = RunningPod("ns", "worker-0", 3, {"cpu": 1000}, gang="ns/job", labels={"a": "b"}, gpu_mask=6, uid="u1")


def test_a_pod_on_another_node_differs_in_the_node_alone() -> None:
    moved = POD.on(7)
    assert moved == replace(POD, node=7)
    assert [f.name for f in fields(POD) if getattr(moved, f.name) != getattr(POD, f.name)] == ["node"]
    assert (POD.node, moved.node, moved.on(3)) == (3, 7, POD)


@pytest.mark.parametrize("kept", [lambda p: pickle.loads(pickle.dumps(p)), copy.copy, copy.deepcopy, replace])
def test_a_copy_is_equal_and_frozen(kept) -> None:
    for pod in (POD, POD.on(5)):
        made = kept(pod)
        assert made == pod
        assert repr(made) == repr(pod)
        with pytest.raises(FrozenInstanceError):
            made.node = 1
        with pytest.raises(FrozenInstanceError):
            made.name = "other"
