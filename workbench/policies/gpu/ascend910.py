"""`gpu-ascend910`: NPUs of an Ascend 910 module, whose eight NPUs form two HCCS rings of four."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.policies.gpu.base import NodeGpus, PerPodGpuPolicy, lowest_indices

__all__ = ["RINGS", "RING_ORDER", "WHOLE_NODE", "GpuAscend910", "node_priority"]

#: NPUs of the two rings.
RINGS = (0b0000_1111, 0b1111_0000)

WHOLE_NODE = 8

#: How many free NPUs a ring should have for a request, most preferred first: an exact fit, then what breaks up least.
RING_ORDER: Mapping[int, tuple[int, ...]] = {1: (1, 3, 2, 4), 2: (2, 4, 3), 4: (4,)}


class GpuAscend910(PerPodGpuPolicy):
    """GPU policy that gives a pod 1, 2 or 4 NPUs inside one ring, or all 8, and refuses any other number.

    The lowest numbers inside a ring are taken; of two rings with equally many free NPUs, the left one.

    Source: Ascend mind-cluster, ascend-for-volcano, internal/npu/ascend910/ascend910old/module910x8.
    """

    name = "gpu-ascend910"
    counts_only = False

    def choose_one(self, gpus: NodeGpus, count: int) -> int | None:
        if count == WHOLE_NODE:
            whole = RINGS[0] | RINGS[1]
            return None if whole & ~gpus.free else whole
        for wanted in RING_ORDER.get(count, ()):
            for ring in RINGS:
                if (gpus.free & ring).bit_count() == wanted:
                    return lowest_indices(gpus.free & ring, count)
        return None

    def score(self, gpus: NodeGpus, requests: Sequence[int]) -> float:
        """Score of a node for a pod that asks for ``requests[0]`` NPUs; 0 if the pod does not fit.

        100 if a ring has the number of free NPUs that such a pod prefers most, 25 less for each place further down in
        the order of preference (`node_priority`). Upstream's formula, ``weight * (4 - place)``, with weight 25.
        """
        left, right = ((gpus.free & ring).bit_count() for ring in RINGS)
        priority = node_priority(requests[0], left, right)
        return 0.0 if priority is None else 100.0 - 25.0 * priority


def node_priority(request: int, left: int, right: int) -> int | None:
    """Priority of a node for a pod, given the free NPUs of its two rings.

    `request`: NPUs asked for. `left`, `right`: free NPUs of the rings 0-3 and 4-7. Returns int or None: 0 is best;
    None: the pod does not fit.
    """
    if request == WHOLE_NODE:
        return 0 if left + right == WHOLE_NODE else None
    order = RING_ORDER.get(request, ())
    places = [order.index(free) for free in (left, right) if free in order]
    return min(places, default=None)
