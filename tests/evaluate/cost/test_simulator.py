"""Simulated collectives: what is refused. The conformance cases have the answers."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.evaluate.cost import Dimension, SimulatorSettings, simulated_time_ns


def test_a_network_without_dimensions_is_refused() -> None:
    for congestion in (False, True):
        with pytest.raises(InputError, match="dimensions"):
            simulated_time_ns([], "all-reduce", 1024, SimulatorSettings(), congestion)


def test_whole_numbers_may_be_written_as_floats() -> None:
    rings = [Dimension("ring", npus, 50, 500, "ring") for npus in (8, 8.0)]  # type: ignore[arg-type]
    assert rings[0] == rings[1]
    times = {simulated_time_ns([ring], "all-reduce", 1024.0, SimulatorSettings(2.0), False) for ring in rings}  # type: ignore[arg-type]
    assert times == {simulated_time_ns(rings[:1], "all-reduce", 1024, SimulatorSettings(2), False)}
    with pytest.raises(InputError, match="npus"):
        Dimension("ring", 8.5, 50, 500, "ring")  # type: ignore[arg-type]
