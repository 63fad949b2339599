"""Tests of the imports between rooms by import-linter, and that a planted import is found."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import api
from importlinter.contracts.protected import ProtectedContract

ROOT = Path(__file__).resolve().parents[1]


@cache
def graph() -> grimp.ImportGraph:
    """Every import of the package, those inside functions and under TYPE_CHECKING among them."""
    return grimp.build_graph("workbench", cache_dir=None)


@cache
def contracts() -> tuple[ProtectedContract, ...]:
    read = api.read_configuration(str(ROOT / "pyproject.toml"))
    assert {options["type"] for options in read["contracts_options"]} == {"protected"}
    return tuple(
        ProtectedContract(options["name"], read["session_options"], options) for options in read["contracts_options"]
    )


def forbidden(imports: grimp.ImportGraph) -> list[str]:
    """``importer -> imported (lines)`` of every import that breaks a contract."""
    found: list[str] = []
    for contract in contracts():
        metadata: dict[str, Any] = contract.check(copy.deepcopy(imports), verbose=False).metadata
        for broken in metadata["illegal_imports"]:
            found += [
                f"{link['importer']} -> {link['imported']} (line {', '.join(map(str, link['line_numbers']))})"
                for link in broken.illegal_links
            ]
    return found


def test_rooms_import_only_the_rooms_that_the_architecture_lets_them() -> None:
    assert forbidden(graph()) == []


def test_every_room_has_a_contract() -> None:
    protected = {str(module) for contract in contracts() for module in contract.protected_modules}  # type: ignore[attr-defined]
    rooms = graph().find_children("workbench") - {"workbench.errors", "workbench.cancel", "workbench.__main__"}
    schedulers = {f"workbench.policies.{name}" for name in ("volcano", "koordinator", "switch_affinity")}
    assert protected == rooms | schedulers | {"workbench"}


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("workbench.model.gang", "workbench.policies.contract"),
        ("workbench.model.gang", "workbench.objects.node"),
        ("workbench.model.gang", "workbench.topology"),
        ("workbench.model.gang", "workbench.cli"),
        ("workbench.model.gang", "workbench"),
        ("workbench.policies.volcano.session.session", "workbench.objects.node"),
        ("workbench.policies.registry", "workbench._core"),
        ("workbench.cli.app", "workbench._core"),
        ("workbench", "workbench._core"),
        ("workbench.report.html", "workbench.kernels.tiers"),
        ("workbench.kernels.tiers", "workbench.model.topology"),
        ("workbench.simulate.timeline", "workbench.formats.load"),
        ("workbench.errors", "workbench.model.gang"),
        ("workbench.policies.baselines", "workbench.policies.volcano.session.turns"),
        ("workbench.policies.volcano.session.turns", "workbench.policies.koordinator.turn"),
        ("workbench.evaluate.compare", "workbench.policies.volcano.session.session"),
    ],
)
def test_a_planted_import_is_named(importer: str, imported: str) -> None:
    planted = copy.deepcopy(graph())
    planted.add_import(importer=importer, imported=imported, line_number=7, line_contents="")
    assert forbidden(planted) == [f"{importer} -> {imported} (line 7)"]


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("workbench.model.gang", "workbench.errors"),
        ("workbench.kernels.tiers", "workbench._core"),
        ("workbench.policies.volcano.session.session", "workbench.policies.contract"),
        ("workbench.cli.app", "workbench"),
        ("workbench", "workbench.widgets.editor"),
    ],
)
def test_a_permitted_import_is_not_accused(importer: str, imported: str) -> None:
    planted = copy.deepcopy(graph())
    planted.add_import(importer=importer, imported=imported, line_number=7, line_contents="")
    assert forbidden(planted) == []


@pytest.mark.parametrize(
    "line",
    [
        "def f():\n    from workbench.policies import base\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from workbench.policies import base\n",
        "from ..policies import base\n",
        "from ..policies.base import Policy\n",
    ],
)
def test_every_kind_of_import_is_in_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    for file, text in {"model/x.py": line, "policies/base.py": "Policy = 1\n"}.items():
        for package in ("", file.partition("/")[0]):
            (tmp_path / "planted" / package).mkdir(parents=True, exist_ok=True)
            (tmp_path / "planted" / package / "__init__.py").touch()
        (tmp_path / "planted" / file).write_text(text.replace("workbench", "planted"))
    monkeypatch.syspath_prepend(str(tmp_path))
    found = grimp.build_graph("planted", cache_dir=None)
    assert found.find_modules_directly_imported_by("planted.model.x") == {"planted.policies.base"}
