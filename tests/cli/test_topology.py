from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import HYPERNODES, MEMBER, Run, cluster_yaml


def test_a_table_goes_to_a_file(run: Run, files: Path, tmp_path: Path) -> None:
    for verb in ("show", "lint"):
        printed = run("topology", verb, "-f", files / "cluster.yaml")
        written = run("topology", verb, "-f", files / "cluster.yaml", "--out", tmp_path / "x")
        assert (written.status, written.out) == (printed.status, "")
        assert (tmp_path / "x").read_text("utf-8") == printed.out != ""


@pytest.fixture
def cycle(tmp_path: Path) -> Path:
    first = HYPERNODES.format(name="x", tier=1, members=MEMBER.format(type="HyperNode", name="y"))
    second = HYPERNODES.format(name="y", tier=2, members=MEMBER.format(type="HyperNode", name="x"))
    path = tmp_path / "cycle.yaml"
    path.write_text("---\n".join([cluster_yaml(), first, second]), encoding="utf-8")
    return path


def test_lint_reports_a_cycle_and_exits_1(run: Run, cycle: Path) -> None:
    result = run("topology", "lint", "-f", cycle)
    assert result.status == 1 and "cycle" in result.out
    problems = run("topology", "lint", "-f", cycle, "-o", "json").json["problems"]
    assert {problem["code"] for problem in problems} >= {"cycle"}
    page = run("topology", "lint", "-f", cycle, "-o", "html")
    assert page.status == 1 and page.out.startswith("<!DOCTYPE html>") and "cycle" in page.out


def test_lint_of_a_tree_finds_nothing(run: Run, files: Path) -> None:
    result = run("topology", "lint", "-f", files / "cluster.yaml")
    assert result.status == 0 and "no problem found" in result.out


def test_generate_writes_what_show_reads(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "made.yaml"
    arguments = ["topology", "generate", "balanced", "--set", "sizes=2,3", "--set", "gpus=4"]
    assert run(*arguments, "--out", out).status == 0
    shown = run("topology", "show", "-f", out, "-o", "json").json
    assert shown["nodes"] == 6 and len(shown["domains"]) == 4
    kinds = {document["kind"] for document in yaml.safe_load_all(run(*arguments).out)}
    assert kinds >= {"Node", "HyperNode"}


def test_generate_without_a_kind_lists_the_kinds(run: Run) -> None:
    result = run("topology", "generate")
    assert result.status == 0 and "three-level-tree" in result.out and "from tier 1 upwards" in result.out


def test_the_example_of_sizes_makes_the_nodes_that_it_says(run: Run, tmp_path: Path) -> None:
    said = "4,4,2 is 4 nodes in a HyperNode of tier 1, 4 of those in one of tier 2, and 2 of those in one of tier 3"
    assert f"{said}, 32 nodes in all" in run("topology", "generate").out
    out = tmp_path / "made.yaml"
    run("topology", "generate", "balanced", "--set", "sizes=4,4,2", "--out", out)
    shown = run("topology", "show", out, "-o", "json").json
    nodes = {domain["tier"]: domain["nodes"] for domain in shown["domains"]}
    assert (shown["nodes"], nodes) == (32, {1: 4, 2: 16, 3: 32})
    assert "closest first: sizes=8,4,2 is 8 nodes" in " ".join(run("topology", "generate", "--help").out.split())


def test_an_unknown_kind_or_parameter_offers_close_names(run: Run) -> None:
    result = run("topology", "generate", "balancd")
    assert result.status == 2 and "did you mean balanced" in result.err
    result = run("topology", "generate", "balanced", "--set", "size=3")
    assert result.status == 2 and "did you mean sizes" in result.err


def test_a_typed_form_is_judged_by_itself(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the variable holds; alone it is a wish for all commands, and this one takes its usual form."""
    want = "--output: objects are no table (found table, expected yaml or json)"
    typed = run("topology", "generate", "balanced", "-o", "table")
    assert (typed.status, typed.out) == (2, "") and want in typed.err
    monkeypatch.setenv("WORKBENCH_OUTPUT", "table")
    typed = run("topology", "generate", "balanced", "-o", "table")
    assert (typed.status, typed.out) == (2, "") and want in typed.err
    wished = run("topology", "generate", "balanced")
    assert wished.status == 0 and "note: WORKBENCH_OUTPUT" in wished.err


@pytest.mark.parametrize(
    ("arguments", "option", "kind"),
    [
        (("place", "datasets/demo", "--policy", "nope"), "--policy", "policy"),
        (("place", "datasets/demo", "--set", "nope=1"), "--set", "parameter of volcano-1.15"),
        (("place", "datasets/demo", "--job", "x/nope"), "--job", "job"),
        (("place", "datasets/demo", "--from", "nope"), "--from", "format"),
        (("fix", "datasets/demo", "--job", "x/nope"), "--job", "job"),
        (("fix", "datasets/demo", "--order", "job,nope"), "--order", "class of edits"),
        (("compare", "datasets/demo", "--policies", "binpack,nope"), "--policies", "policy"),
        (("compare", "datasets/demo", "--set", "nope=1"), "--set", "parameter of the policies compared"),
        (("live", "compare", "datasets/demo", "--policies", "nope"), "--policies", "policy"),
        (("topology", "diff", "datasets/demo", "datasets/demo", "--from", "nope"), "--from", "format"),
        (("topology", "generate", "nope"), "KIND", "preset"),
    ],
)
def test_an_unknown_name_tells_its_option(run: Run, arguments: tuple[str, ...], option: str, kind: str) -> None:
    result = run(*arguments)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"workbench: {option}: unknown {kind} '")
