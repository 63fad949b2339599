from __future__ import annotations

from tests.cli.conftest import Run


def test_the_table_names_kinds_parameters_and_sources(run: Run) -> None:
    result = run("policies")
    assert result.status == 0
    for part in ("volcano-1.13", "gpu-bottleneck", "node", "gpu", "seed", "baseline"):
        assert part in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_json_has_the_parameters_with_defaults(run: Run) -> None:
    found = {info["name"]: info for info in run("policies", "-o", "json").json}
    assert found["random"]["parameters"][0]["name"] == "seed"
    assert found["random"]["parameters"][0]["default"] == 0
    assert found["gpu-bottleneck"]["kind"] == "gpu"
