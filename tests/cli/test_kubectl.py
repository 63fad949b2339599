from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from workbench.cli import kubectl

ROOT = Path(__file__).resolve().parents[2]


def test_kubectl_finds_the_plugin_and_its_completion_by_name() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert {"workbench", "kubectl-topology", "kubectl_complete-topology"} == set(scripts)
    for target in scripts.values():
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name))


def test_the_plugin_is_workbench_live(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl-topology", "rbac", "user:jane", "-o", "json"])
    assert kubectl.main() == 0
    assert '"user:jane"' not in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["kubectl-topology", "no-such"])
    assert kubectl.main() == 2
    assert "No such command 'no-such'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["compare", "--help"], ["compare", "--nope"]])
def test_the_plugin_is_called_by_its_own_name(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl-topology", *words])
    kubectl.main()
    told = "".join(capsys.readouterr())
    assert f"kubectl topology{' compare' * (len(words) > 1)} " in told and "workbench live" not in told.splitlines()[0]


@pytest.mark.parametrize(("typed", "want"), [(["do"], ["doctor"]), (["rbac", "--o"], ["--output", "--out"])])
def test_completion(typed: list[str], want: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    for name in ("_WORKBENCH_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr("sys.argv", ["kubectl_complete-topology", *typed])
    assert kubectl.complete() == 0
    assert sorted(capsys.readouterr().out.split()) == sorted([*want, ":4"])


def test_words_with_blanks_and_quotes_are_completed_as_one(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    for name in ("_WORKBENCH_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr("sys.argv", ["kubectl_complete-topology", "snapshot", "--out", "it's a file.json", "--anon"])
    assert kubectl.complete() == 0
    assert capsys.readouterr().out.split() == ["--anonymize", ":4"]
