"""Runner of the cases of other GPU allocators: NVIDIA's policies, the two rings of Ascend 910."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.conformance.registry import Runners
from workbench.kernels.gpu_sets import indices_of, mask_of
from workbench.kernels.subsets import enumerate_masks, masks_of_words
from workbench.policies import get_gpu_policy
from workbench.policies.gpu.ascend910 import RING_ORDER, node_priority
from workbench.policies.gpu.base import NodeGpus
from workbench.policies.gpu.best_effort import best_effort_sets, first_sets
from workbench.policies.gpu.link_scores import link_score
from workbench.policies.gpu.lowest_index import simple_set
from workbench.policies.gpu.static_dgx import static_set

TABLE = Path(__file__).parents[1] / "cases" / "gpu" / "gpuallocator_topologies.json"

_NUMBERS = ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve")
_NUMBERS += ("Thirteen", "Fourteen", "Fifteen", "Sixteen", "Seventeen", "Eighteen")

#: Names of links in the cases -> what `nvidia-smi topo -m` calls them.
LINKS = {
    "P2PLinkCrossCPU": "SYS",
    "P2PLinkSameCPU": "NODE",
    "P2PLinkHostBridge": "PHB",
    "P2PLinkMultiSwitch": "PXB",
    "P2PLinkSingleSwitch": "PIX",
    "P2PLinkSameBoard": "PSB",
    "SingleNVLINKLink": "NV1",
    **{f"{word}NVLINKLinks": f"NV{n}" for n, word in enumerate(_NUMBERS, 1)},
}


@lru_cache
def scores(topology: str) -> Any:
    """Points of each pair: all links between the two add up."""
    table = json.loads(TABLE.read_text("utf-8"))["topologies"][topology]
    found = np.zeros((table["gpus"], table["gpus"]), dtype=np.int64)
    for a, b, link in table["links"]:
        found[a, b] += link_score(LINKS[link])
    assert (found == found.T).all()
    return found


def answer(policy: str, topology: str, available: int, required: int, size: int) -> int:
    if policy == "best-effort":
        return int(best_effort_sets(scores(topology), np.array([available]), required, size)[0])
    if policy == "simple":
        return simple_set(available, required, size)
    return static_set(policy.removeprefix("static-"), available, required, size)


def allocate(given: dict[str, Any], want: list[int]) -> None:
    available, required = mask_of(given["available"]), mask_of(given["required"])
    assert len(scores(given["topology"])) == given["gpus"]
    got = answer(given["policy"], given["topology"], available, required, given["size"])
    assert indices_of(got) == tuple(sorted(want))


def sequence(given: dict[str, Any], want: list[list[int]]) -> None:
    free = (1 << given["gpus"]) - 1
    got = []
    for size in given["sizes"]:
        mask = answer(given["policy"], given["topology"], free, 0, size)
        got.append(list(indices_of(mask)))
        free &= ~mask
    assert got == [sorted(gpus) for gpus in want]


def enumerate_sets(given: dict[str, Any], want: list[list[int]]) -> None:
    size, devices = given["size"], given["devices"]
    got = masks_of_words(enumerate_masks(mask_of(devices), size)) if 1 <= size <= len(devices) else []
    assert sorted(indices_of(mask) for mask in got) == sorted(tuple(sorted(gpus)) for gpus in want)


def enumerate_partitions(given: dict[str, Any], want: list[list[list[Any]]]) -> None:
    """A size of one has no splits upstream, each device is its own candidate."""
    devices, size, pad = mask_of(given["devices"]), given["size"], given["pad"]
    if not 1 <= size <= len(given["devices"]):
        got: list[list[int]] = []
    elif size == 1:
        got = [[1 << device] for device in given["devices"]]
    else:
        got = splits(devices, size)
    assert sorted(_padded(split, size, pad) for split in got) == sorted(
        sorted(_as_texts(chosen) for chosen in split) for split in want
    )


def splits(devices: int, size: int) -> list[list[int]]:
    if not devices:
        return [[]]
    (firsts,) = first_sets(np.array([devices]), size).tolist()
    return [[first, *rest] for first in firsts for rest in splits(devices & ~first, size)]


def _padded(split: Sequence[int], size: int, pad: str) -> list[list[str]]:
    sets = [list(indices_of(chosen)) for chosen in split]
    return sorted(_as_texts([*chosen, *[pad] * (size - len(chosen))]) for chosen in sets)


def _as_texts(chosen: Sequence[Any]) -> list[str]:
    """A word for an empty place stands beside numbers."""
    return sorted(str(device) for device in chosen)


def priority(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert node_priority(given["request"], given["left"], given["right"]) == want["priority"]


def ring_order(given: dict[str, Any], want: dict[str, Any]) -> None:
    assert list(RING_ORDER[given["request"]]) == want["ring_free_order"]


def size_valid(given: dict[str, Any], want: dict[str, Any]) -> None:
    empty = NodeGpus(0xFF, None)
    assert get_gpu_policy("gpu-ascend910").fits(empty, (given["request"],)) is want["valid"]


def register(runners: Runners) -> None:
    allocation = ("policy", "topology", "gpus", "available", "required", "size")
    runners.op("gpuallocator", "allocate", given=allocation, want=None)(allocate)
    runners.op("gpuallocator", "sequence", given=("policy", "topology", "gpus", "sizes"), want=None)(sequence)
    runners.op("gpuallocator", "enumerate-sets", given=("devices", "size", "pad"), want=None)(enumerate_sets)
    runners.op("gpuallocator", "enumerate-partitions", given=("devices", "size", "pad"), want=None)(
        enumerate_partitions
    )
    rings = ("request", "left", "right")
    runners.op("ascend910_affinity", "node-priority", given=rings, want=("priority",))(priority)
    runners.op("ascend910_affinity", "ring-order", given=("request",), want=("ring_free_order",))(ring_order)
    runners.op("ascend910_affinity", "size-valid", given=("request",), want=("valid",))(size_valid)
