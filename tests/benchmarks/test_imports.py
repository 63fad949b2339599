"""Every benchmark can be loaded: nothing else in the tests notices that a name it measures has moved."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.run import module_of, name_of

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("bench_*.py")), ids=name_of)
def test_each_benchmark_loads(path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    assert callable(module_of(path).rows)
