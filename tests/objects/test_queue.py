"""Queue and PriorityClass from manifests."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.model.snapshot import Queue
from workbench.objects.queue import read_queue


def test_a_bare_queue_has_weight_1_and_no_limits() -> None:
    assert read_queue({"metadata": {"name": "q"}}) == Queue("q", 1, None, None, None, 0)


def test_every_field_is_read_in_base_units() -> None:
    spec = {
        "weight": 4,
        "priority": 7,
        "capability": {"cpu": "2", "memory": "1Gi"},
        "deserved": {"cpu": "500m"},
        "guarantee": {"resource": {"nvidia.com/gpu": 8}},
    }
    metadata = {"name": "q", "creationTimestamp": "2026-01-01T00:00:00Z"}
    assert read_queue({"metadata": metadata, "spec": spec}) == Queue(
        "q", 4, {"cpu": 2000, "memory": 1 << 30}, {"cpu": 500}, {"nvidia.com/gpu": 8}, 7, "2026-01-01T00:00:00Z"
    )


def test_a_wrong_type_names_the_field() -> None:
    with pytest.raises(InputError, match=r"spec\.guarantee\.resource"):
        read_queue({"metadata": {"name": "q"}, "spec": {"guarantee": {"resource": 3}}})
