"""Tests that the checked builds of the kernels are loaded, and not the release build in the source tree.

The expected folder is compared exactly: the checked builds lie below the checkout, so that "somewhere in the checkout"
would hold for every build.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

import workbench
from workbench import _core

ROOT = Path(__file__).resolve().parents[2]


def expected() -> Path:
    """WORKBENCH_EXPECT_CORE names the folder that holds the package; the checkout without it."""
    return (ROOT / os.environ.get("WORKBENCH_EXPECT_CORE", ".") / "workbench").resolve()


def test_the_package_comes_from_the_build_that_is_tested():
    assert Path(workbench.__file__).resolve() == expected() / "__init__.py"


@pytest.mark.parametrize("name", _core.__all__)
def test_a_kernel_comes_from_the_build_that_is_tested(name):
    kernel = importlib.import_module(f"workbench._core.{name}")
    assert Path(kernel.__file__).resolve().parent == (expected() / "_core").resolve()


def test_another_build_than_the_expected_one_fails(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_EXPECT_CORE", str(tmp_path))
    with pytest.raises(AssertionError):
        test_the_package_comes_from_the_build_that_is_tested()
    with pytest.raises(AssertionError):
        test_a_kernel_comes_from_the_build_that_is_tested("subsets")
