"""`workbench.gang`: the limits of its numbers."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gpus": 10**30}, "gpus: out of range (found 10{27}, expected a whole number from 0 to 1,024)"),
        ({"gpus": 1025}, "gpus: out of range (found 1025, expected a whole number from 0 to 1,024)"),
        ({"pods": 1_000_001}, "pods: out of range (found 1000001, expected a whole number from 1 to 1,000,000)"),
        ({"tier": 10**7}, "tier: out of range (found 10000000, expected a whole number from 0 to 1,000,000)"),
        ({"priority": 2**31}, "priority: out of range (found 2147483648, expected a whole number from -2,147,483,647"),
        ({"priority": "high"}, "priority: out of range (found 'high', expected a whole number"),
        ({"cpus": 1e12}, "cpus: out of range (found 1000000000000.0, expected a number from 0 to 1,000,000,000)"),
        ({"memory_gb": float("nan")}, "memory_gb: out of range (found nan, expected a number from 0"),
        ({"cpus": "4"}, "cpus: out of range (found '4', expected a number from 0"),
        ({"min_available": 2}, "min_available: more than the pods (found 2, expected at most 1)"),
    ],
)
def test_a_number_out_of_range_is_refused_with_the_limit(given: dict[str, Any], said: str) -> None:
    with pytest.raises(wb.InputError) as caught:
        wb.gang("x", **{"gpus": 1, **given})
    assert said.replace("10{27}", "1" + "0" * 30) in str(caught.value)


def test_the_limits_themselves_are_allowed() -> None:
    found = wb.gang("x", pods=1_000_000, gpus=1024, tier=1_000_000, cpus=1e9, memory_gb=1e9, priority=2**31 - 1)
    assert (found.n_pods, found.roles[0].requests["nvidia.com/gpu"]) == (1_000_000, 1024)
