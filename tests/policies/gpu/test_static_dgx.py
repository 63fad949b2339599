from __future__ import annotations

import pytest

from tests.fabrics import snapshot
from tests.ledger_check import check_ledger
from tests.policies.gpu.test_bottleneck import gang
from workbench.model.placement import Refusal
from workbench.policies import get_gpu_policy, get_policy
from workbench.policies.gpu.base import NodeGpus
from workbench.policies.gpu.static_dgx import TABLES, static_set


@pytest.mark.parametrize("machine", TABLES)
def test_rows_of_one_size_do_not_overlap_and_cover_the_machine(machine):
    for size, rows in TABLES[machine].items():
        assert all(row.bit_count() == size for row in rows)
        assert sum(rows) == (1 << (16 if machine == "dgx2" else 8)) - 1


def test_the_first_free_row_with_what_is_required():
    assert static_set("dgx1-volta", 0b11111110, 0, 2) == 0b110
    assert static_set("dgx1-pascal", 0xFF, 0b10000000, 2) == 0b10100000
    assert static_set("dgx2", 0xFFF0, 0, 8) == 0xFF00


def test_sizes_without_a_row_and_broken_rows_are_refused():
    policy = get_gpu_policy("gpu-static-dgx", machine="dgx1-volta")
    assert policy.choose(NodeGpus(0xFF, None), (3,)) is None
    assert not policy.fits(NodeGpus(0b01110111, None), (4,))
    assert policy.fits(NodeGpus(0b01100110, None), (2, 2))
    assert not policy.fits(NodeGpus(0b01100110, None), (2, 2, 1))


def test_a_gang_that_no_row_serves_is_refused_and_leaves_the_ledger():
    ledger = snapshot(["a"]).ledger()
    assert isinstance(get_policy("gang+gpu-static-dgx").place(gang((1, 3)), ledger), Refusal)
    check_ledger(ledger)
    placed = get_policy("gang+gpu-static-dgx", gpu={"machine": "dgx1-pascal"}).place(gang((1, 2)), ledger)
    assert placed.gpu_mask(0) == 0b101
