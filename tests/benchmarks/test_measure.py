"""Tests of the number of times that a call is measured, with a fake clock."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "measure.py"


@pytest.fixture
def measured(monkeypatch):
    spec = importlib.util.spec_from_file_location("benchmarks_measure", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def measure(seconds, repeats):
        """Microseconds of calls that take so long each, and how often each was undone."""
        now, undone = [0.0], []
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: now[0]))

        def call():
            now[0] += seconds

        def undo():
            now[0] += 100.0
            undone.append(None)

        return module.microseconds(call, repeats, undo).tolist(), len(undone)

    return measure


@pytest.mark.parametrize(
    ("seconds", "repeats", "want"),
    [(0.25, 5, 5), (0.25, 100, 12), (1.5, 100, 3), (50.0, 100, 3), (50.0, 2, 2), (50.0, 1, 1)],
)
def test_long_calls_are_made_less_often_but_three_times(measured, seconds, repeats, want):
    times, undone = measured(seconds, repeats)
    assert times == [seconds * 1e6] * want and undone == want
