"""Whether the derived amounts of a ledger follow from its snapshot and what was taken."""

from __future__ import annotations

import numpy as np

from workbench.model.gpu_shares import check_shares
from workbench.model.ledger import Ledger

__all__ = ["check_ledger"]


def check_ledger(ledger: Ledger) -> None:
    """Recompute all derived amounts and compare them: idle and used, totals of HyperNodes, free GPUs, parts of GPUs."""
    assert np.array_equal(ledger.idle, ledger.snapshot.allocatable - ledger.used)
    totals = ledger._domain_idle
    assert totals is None or np.array_equal(totals, ledger._sum_domains())
    assert not (ledger.gpu_free & ~ledger.snapshot.gpu_total).any()
    if ledger.gpu_shares is not None:
        check_shares(ledger.gpu_shares, ledger.gpu_free, ledger.snapshot.gpu_total)
