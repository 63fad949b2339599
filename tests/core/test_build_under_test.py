"""Which kernels these tests load: the checked builds must not be shadowed by the release build in the tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import workbench
from workbench._core import bottleneck, domains, subsets, tiers

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kernel", [bottleneck, domains, subsets, tiers], ids=lambda module: module.__name__)
def test_the_kernels_come_from_the_build_that_is_tested(kernel):
    """WORKBENCH_EXPECT_CORE names the folder that holds the package; the checkout without it."""
    expected = (ROOT / os.environ.get("WORKBENCH_EXPECT_CORE", ".")).resolve()
    assert Path(workbench.__file__).resolve().is_relative_to(expected)
    assert Path(kernel.__file__).resolve().is_relative_to(expected)
