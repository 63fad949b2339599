"""Tests of the imports between rooms by import-linter, and that a planted import is found."""

from __future__ import annotations

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import api
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

from tests.reach import sources_of

#: Module of an object that is imported when it is first wanted.
DEFERRED = re.compile(r'"(workbench(?:\.\w+)+):\w+"')

ROOT = Path(__file__).resolve().parents[1]


@cache
def graph() -> grimp.ImportGraph:
    """Every import of the package, those inside functions, under TYPE_CHECKING and in a `Deferred` among them."""
    found = grimp.build_graph("workbench", cache_dir=None)
    for name, source in sources_of(ROOT, "workbench").items():
        importer = name.removesuffix(".__init__")
        for number, line in enumerate(source.splitlines(), start=1):
            for imported in DEFERRED.findall(line):
                found.add_import(importer=importer, imported=imported, line_number=number, line_contents=line)
    return found


@cache
def contracts() -> tuple[ProtectedContract, ...]:
    session, found = configured("protected")
    return tuple(ProtectedContract(options["name"], session, options) for options in found)


@cache
def layerings() -> tuple[LayersContract, ...]:
    """The contracts about the inside of rooms."""
    session, found = configured("layers")
    return tuple(LayersContract(options["name"], session, options) for options in found)


def configured(kind: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    read = api.read_configuration(str(ROOT / "pyproject.toml"))
    assert {options["type"] for options in read["contracts_options"]} == {"protected", "layers"}
    return read["session_options"], [options for options in read["contracts_options"] if options["type"] == kind]


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


def broken_layers(imports: grimp.ImportGraph) -> list[str]:
    """Names of the contracts about the inside of rooms that an import breaks."""
    return [each.name for each in layerings() if not each.check(copy.deepcopy(imports), verbose=False).kept]


def test_no_folder_of_a_room_imports_one_above_it() -> None:
    assert broken_layers(graph()) == []


def test_every_room_with_folders_has_layers() -> None:
    containers = {str(container) for each in layerings() for container in each.containers}  # type: ignore[attr-defined]
    children = graph().find_children
    with_folders = {room for room in children("workbench") if any(children(module) for module in children(room))}
    assert with_folders <= containers


@pytest.mark.parametrize(
    ("importer", "imported", "want"),
    [
        ("volcano.parts.scores", "volcano.filling", "layers of policies/volcano: "),
        ("volcano.session.rounds", "volcano.explain.nodes", "layers of policies/volcano: "),
        ("volcano.v1_15.policy", "volcano.explain.search_explainer", "layers of policies/volcano: "),
        ("volcano.v1_13.policy", "volcano.v1_15.policy", "layers of policies/volcano: "),
        ("hyper_job.place", "gpu_sharing.policy", "layers of policies"),
    ],
)
def test_a_planted_import_that_climbs_is_found(importer: str, imported: str, want: str) -> None:
    planted = copy.deepcopy(graph())
    where = "workbench.policies."
    planted.add_import(importer=where + importer, imported=where + imported, line_number=7, line_contents="")
    assert any(name.startswith(want) for name in broken_layers(planted))


def test_a_deferred_import_is_an_import() -> None:
    (line,) = graph().get_import_details(
        importer="workbench.policies.built_in", imported="workbench.policies.kueue.queued.scheduler"
    )
    assert "KueueScheduler" in line["line_contents"]


def test_every_room_has_a_contract() -> None:
    protected = {str(module) for contract in contracts() for module in contract.protected_modules}  # type: ignore[attr-defined]
    rooms = graph().find_children("workbench") - {
        f"workbench.{name}" for name in ("errors", "cancel", "optional", "__main__")
    }
    schedulers = {
        f"workbench.policies.{name}" for name in ("volcano", "koordinator", "kueue", "kube", "switch_affinity")
    }
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
        ("workbench.policies.baselines", "workbench.policies.volcano.session.rounds"),
        ("workbench.policies.volcano.session.rounds", "workbench.policies.koordinator.turn"),
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
