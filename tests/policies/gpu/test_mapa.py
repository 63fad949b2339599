from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from tests.mapa_machines import MAPA_MACHINES, summit
from workbench.kernels.gpu_sets import indices_of
from workbench.policies import get_gpu_policy
from workbench.policies.gpu.base import NodeGpus
from workbench.policies.gpu.mapa import predicted_bandwidth_gb_s
from workbench.topology.machines import cube_mesh_16, dgx1_v100


def rings(gpus):
    """Edges of each order of a ring: every permutation, as upstream tries them."""
    for order in itertools.permutations(gpus):
        yield list(zip(order, (*order[1:], order[0]), strict=True))


def predicted(matrix, edges):
    types = [matrix.link_types[a][b] for a, b in edges]
    return of_counts(*(types.count(t) for t in ("NV2", "NV1", "SYS")))


@cache
def of_counts(double, single, pcie):
    """Thousands of rings have few different counts."""
    return float(predicted_bandwidth_gb_s(double, single, pcie))


def by_hand(matrix, free, count):
    """Every set in order, every permutation: the first with the highest prediction."""
    sets = list(itertools.combinations(free, count))
    return max(sets, key=lambda gpus: max(predicted(matrix, edges) for edges in rings(gpus)))


def test_the_model_on_counts_worked_out_by_hand():
    # Every term by hand for an empty set, the value that upstream starts from:
    # -20.69484581 - 9.467461958 + 7.615106783 - 8.413419363 + 62.85125807 + 27.41832588 - 46.97390071
    assert predicted_bandwidth_gb_s(0, 0, 0) == pytest.approx(12.335062892)
    assert predicted_bandwidth_gb_s(2, 0, 0) > predicted_bandwidth_gb_s(0, 2, 0) > predicted_bandwidth_gb_s(0, 0, 2)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("name", ["dgx-v", "dgx-p", "summit"])
@pytest.mark.parametrize("taken", [(), (0, 3)])
def test_a_job_that_needs_bandwidth_gets_the_ring_with_the_best_prediction(name, count, taken):
    matrix = MAPA_MACHINES[name]()
    free = [i for i in range(len(matrix)) if i not in taken]
    if count > len(free):
        return
    (mask,) = get_gpu_policy("gpu-mapa").choose(NodeGpus(sum(1 << i for i in free), matrix), (count,))
    assert indices_of(mask) == by_hand(matrix, free, count)


def test_another_job_leaves_the_nvlinks():
    # Summit: taking one from each socket breaks four double links, two of one socket break three pairs of it.
    policy = get_gpu_policy("gpu-mapa", bandwidth_sensitive=False)
    assert policy.choose(NodeGpus(0b111111, summit()), (2,)) == (0b11,)
    # One GPU of a broken socket before one of a whole one.
    assert policy.choose(NodeGpus(0b111110, summit()), (1,)) == (0b10,)


def test_a_single_gpu_leaves_the_nvlinks_too():
    matrix = dgx1_v100()
    (mask,) = get_gpu_policy("gpu-mapa").choose(NodeGpus(0b111111, matrix), (1,))
    free = range(6)

    def left(gpu):
        pairs = itertools.combinations([i for i in free if i != gpu], 2)
        return sum(matrix.gb_s[a, b] for a, b in pairs if matrix.link_types[a][b] != "SYS")

    assert indices_of(mask) == (max(free, key=left),)


def test_too_many_rings_are_not_looked_at():
    policy = get_gpu_policy("gpu-mapa")
    gpus = NodeGpus(0xFFFF, cube_mesh_16())
    assert policy.choose(gpus, (12,)) == (0xFFF,)
    assert [str(w) for w in policy.warnings([(gpus, (12,), 2), (gpus, (2,), 1)])] == [
        "gpu-mapa: 2 nodes have too many rings to look at, lowest indices taken"
    ]


@pytest.mark.parametrize("name", MAPA_MACHINES)
def test_published_machines_are_symmetric_and_typed(name):
    matrix = MAPA_MACHINES[name]()
    assert np.array_equal(matrix.gb_s, matrix.gb_s.T)
    off_diagonal = ~np.eye(len(matrix), dtype=bool)
    types, gb_s = np.array(matrix.link_types)[off_diagonal], matrix.gb_s[off_diagonal]
    speeds = set(zip(types.tolist(), gb_s.tolist(), strict=True))
    assert speeds <= {("NV2", 50.0), ("NV2", 25.0), ("NV1", 25.0), ("NV1", 20.0), ("SYS", 10.0)}


def test_links_of_the_imagined_machines_are_counted():
    # src/GpuTopology.hh lists 31 NVLinks for the torus; each GPU of the cube mesh has three to six neighbours.
    torus = MAPA_MACHINES["torus-2d"]()
    assert (torus.gb_s > 10).sum() // 2 == 31
    assert (cube_mesh_16().gb_s > 10).sum() // 2 == 32
