from __future__ import annotations

from tests.cli.conftest import Run


def test_the_table_names_kinds_parameters_and_sources(on_terminal: Run) -> None:
    result = on_terminal("policies")
    assert result.status == 0
    for part in ("volcano-1.13", "max_shared_switches", "gpu-bottleneck", "node", "gpu", "seed", "baseline"):
        assert part in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_the_table_says_what_each_parameter_takes(run: Run) -> None:
    rows = [line.split("  ") for line in run("policies").out.splitlines()]
    takes = {tuple(cells[:2]): cells[2] for row in rows if len(cells := [cell.strip() for cell in row if cell]) > 3}
    assert takes["switch-affinity", "max_shared_switches"] == "integer from 1 to 2, by default 2"
    assert takes["switch-affinity", "default_label"] == "large-model-schema or normal-schema or null, by default null"


def test_json_has_the_parameters_with_defaults(run: Run) -> None:
    found = {info["name"]: info for info in run("policies", "-o", "json").json}
    assert found["random"]["parameters"][0]["name"] == "seed"
    assert found["random"]["parameters"][0]["default"] == 0
    assert found["switch-affinity"]["parameters"][2]["range"] == "integer from 1 to 2"
    assert found["gpu-bottleneck"]["kind"] == "gpu"
