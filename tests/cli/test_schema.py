from __future__ import annotations

import yaml

from tests.cli.conftest import Run
from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of, json_schema_of


def test_without_a_kind_the_kinds_are_listed(run: Run) -> None:
    assert run("schema").out.split() == list(SCHEMA_KINDS)


def test_a_schema_is_json_or_yaml(run: Run) -> None:
    assert run("schema", "Job").json == json_schema_of("Job")
    assert yaml.safe_load(run("schema", "Job", "-o", "yaml").out) == json_schema_of("Job")


def test_all_crds_are_one_yaml_stream(run: Run) -> None:
    out = run("schema", "--all", "--crd").out
    assert list(yaml.safe_load_all(out)) == [crd_of(kind) for kind in SCHEMA_KINDS]
    assert run("schema", "Queue", "--crd", "-o", "json").json == crd_of("Queue")


def test_an_unknown_kind_is_one_line(run: Run) -> None:
    result = run("schema", "Jbo")
    assert (result.status, result.out) == (2, "")
    assert result.err == "workbench: unknown kind 'Jbo'; did you mean Job?\n"


def test_all_is_for_crds_only(run: Run) -> None:
    assert run("schema", "--all").status == 2
    assert run("schema", "--crd").status == 2
