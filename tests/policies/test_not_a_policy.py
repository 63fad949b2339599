"""What is no policy, and what is no answer of one, is one clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.formats.load import load
from workbench.policies import as_policy, get_gpu_policy, get_policy
from workbench.policies.composed import Composed
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.lowest_index import GpuLowestIndex
from workbench.policies.parameters import NoParameters

DEMO = Path(__file__).resolve().parents[2] / "datasets" / "demo"


@pytest.mark.parametrize("given", [3, None, b"gang", ["gang"]])
def test_a_name_is_text(given: Any) -> None:
    for get in (get_policy, get_gpu_policy):
        with pytest.raises(InputError, match="not the name of a policy"):
            get(given)
    with pytest.raises(InputError, match="not a policy"):
        as_policy(given)


def test_a_bare_function_is_no_policy() -> None:
    scenario = load(DEMO)

    def place(gang: Any, ledger: Any) -> Any:
        return None

    with pytest.raises(InputError, match=r"policy: not a policy \(found <function .*decorator @workbench.policy"):
        wb.compare(scenario.gangs, scenario.snapshot, policies=["gang", place])  # type: ignore[list-item]
    with pytest.raises(InputError, match="not a policy"):
        wb.place(scenario.gangs[0], scenario.snapshot, place)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [5, True, 2.5, object])
def test_an_answer_is_a_placement_or_a_refusal(answer: Any) -> None:
    scenario = load(DEMO)
    asked = FunctionPolicy("answers", lambda gang, ledger: answer)
    policy = Composed("answers", asked, GpuLowestIndex(NoParameters()))
    with pytest.raises(InputError, match=r"answers: .*: no placement"):
        wb.place(scenario.gangs[0], scenario.snapshot, policy)
