"""The recipe for conda says what pyproject.toml says: version, requirements, programs, licence."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "conda" / "meta.yaml"

pytestmark = pytest.mark.skipif(not RECIPE.is_file(), reason="an unpacked sdist has no files for hosts")

#: Names of conda-forge that differ from those of PyPI.
NAMES = {"prometheus_client": "prometheus-client", "python-kubernetes": "kubernetes", "matplotlib-base": "matplotlib"}


@cache
def recipe() -> dict[str, Any]:
    """The recipe with its variables in place and its functions by name, such as ``compiler(c)``."""
    text = RECIPE.read_text("utf-8")
    variables = dict(re.findall(r'\{% set (\w+) = "(.*?)" %\}', text))
    text = re.sub(r"\{%.*?%\}", "", text)
    made = re.sub(r"\{\{ (.*?) \}\}", lambda found: variables.get(found[1], found[1].replace('"', "")), text)
    whole: dict[str, Any] = yaml.safe_load(made)
    return whole


@cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def bounds(entries: list[str]) -> set[str]:
    """Requirements of the recipe as pyproject.toml writes them, but for Python itself."""
    found = (entry.partition(" ") for entry in entries if entry.partition(" ")[0] not in ("python", "pip"))
    return {f"{NAMES.get(name, name)}{bound}".lower() for name, _, bound in found}


def lower(requirements: list[str]) -> set[str]:
    return {one.lower() for one in requirements}


def test_name_and_version() -> None:
    project = pyproject()["project"]
    assert recipe()["package"] == {"name": project["name"], "version": project["version"]}


def test_what_a_user_gets_and_what_an_extra_would_add() -> None:
    project, requirements = pyproject()["project"], recipe()["requirements"]
    assert bounds(requirements["run"]) == lower(project["dependencies"])
    optional = project["optional-dependencies"]
    extras = {name: set(optional[name]) for name in optional if name not in ("all", "dev", "docs")}
    assert bounds(requirements["run_constrained"]) == lower(sorted(set().union(*extras.values())))


def test_what_the_build_needs() -> None:
    requirements = recipe()["requirements"]
    assert bounds(requirements["host"]) == lower(pyproject()["build-system"]["requires"])
    assert requirements["build"] == ["compiler(c)", "stdlib(c)"]
    # Without isolation and without pip's own resolution: all of it comes from the recipe.
    assert {"--no-deps", "--no-build-isolation"} <= set(recipe()["build"]["script"].split())


def test_python() -> None:
    least = pyproject()["project"]["requires-python"]
    assert f"python {least}" in recipe()["requirements"]["run"]
    assert f"py<{least.removeprefix('>=').replace('.', '')}]" in RECIPE.read_text("utf-8")


def test_every_program() -> None:
    made = dict(entry.split(" = ") for entry in recipe()["build"]["entry_points"])
    assert made == pyproject()["project"]["scripts"]
    assert {command.split()[0] for command in recipe()["test"]["commands"]} <= set(made)


def test_what_is_said_about_the_package() -> None:
    project, about = pyproject()["project"], recipe()["about"]
    assert about["summary"] == project["description"]
    assert about["home"] == project["urls"]["Homepage"]
    assert about["license"] == project["license"]
    assert about["license_file"] == project["license-files"]
    assert all((ROOT / name).is_file() for name in about["license_file"])
