"""Bytes of a step: no negative number is taken. The conformance cases have the answers."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import InputError
from workbench.evaluate import cost

#: Function -> arguments that it takes.
FUNCTIONS: list[tuple[Any, dict[str, float]]] = [
    (cost.data_parallel_bytes, {"parameters_per_rank": 1e9, "degree": 4}),
    (
        cost.tensor_parallel_bytes,
        {"degree": 4, "layers": 2, "microbatches": 3, "micro_batch": 1, "sequence": 8, "hidden": 16},
    ),
    (cost.pipeline_bytes, {"microbatches": 3, "micro_batch": 1, "sequence": 8, "hidden": 16, "split": 2}),
    (
        cost.expert_parallel_bytes,
        {
            **{"degree": 4, "moe_layers": 2, "top_k": 2},
            **{"microbatches": 3, "micro_batch": 1, "sequence": 8, "hidden": 16},
        },
    ),
    (
        cost.context_parallel_bytes,
        {"degree": 4, "layers": 2, "microbatches": 3, "micro_batch": 1, "sequence": 8, "kv_hidden": 16},
    ),
]


@pytest.mark.parametrize(("function", "given"), FUNCTIONS, ids=[one.__name__ for one, _ in FUNCTIONS])
def test_negative_numbers_are_refused_by_their_names(function: Any, given: dict[str, float]) -> None:
    right = function(**given, bytes_per_element=2)
    assert right > 0
    assert function(**{name: float(value) for name, value in given.items()}, bytes_per_element=2) == right
    for name in (*given, "bytes_per_element"):
        with pytest.raises(InputError, match=name):
            function(**{"bytes_per_element": 2, **given, name: -1})
