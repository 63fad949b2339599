from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import workbench as wb
from tests.cli.conftest import Run
from workbench import live


@pytest.fixture(autouse=True)
def no_kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the user's kubeconfig nor the environment's is read."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))


def test_without_a_kubeconfig_there_is_one_line(run: Run, tmp_path: Path) -> None:
    result = run("live", "snapshot")
    assert (result.status, result.out) == (3, "")
    assert result.err == (
        f"workbench: no kubeconfig: {tmp_path / 'none'} does not exist; name one with --kubeconfig or KUBECONFIG\n"
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the kubeconfig cannot be used"),
        ("[]", "the kubeconfig cannot be used"),
        ("a: [", "the kubeconfig cannot be used"),
        ("apiVersion: v1\n", "no current context; contexts: none"),
        ("contexts: [{name: a, context: {}}, {name: b}]\ncurrent-context: c\n", "no context 'c'; contexts: a, b"),
        ("contexts: [{name: c, context: {cluster: x, user: y}}]\ncurrent-context: c\n", "context c: "),
    ],
)
def test_a_kubeconfig_that_is_of_no_use_is_one_line(run: Run, tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "config"
    file.write_text(content)
    result = run("live", "snapshot", "--kubeconfig", str(file))
    assert (result.status, result.out) == (3, "")
    assert result.err.startswith(f"workbench: {file}: ") and said in result.err
    assert len(result.err.splitlines()) == 1


def test_an_unknown_context_is_told_with_those_that_exist(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("contexts: [{name: production, context: {cluster: x, user: y}}]\n")
    result = run("live", "snapshot", "--kubeconfig", str(file), "--context", "staging")
    assert result.status == 3
    assert result.err == f"workbench: {file}: no context 'staging'; contexts: production\n"


@pytest.mark.parametrize("subject", ["jane", "user:", "serviceaccount:name", "serviceaccount:/n", "robot:x"])
def test_a_subject_in_another_form_is_refused(run: Run, subject: str) -> None:
    result = run("live", "rbac", subject)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(f"workbench: SUBJECT: not a subject (found '{subject}', expected user:NAME, ")


def test_a_snapshot_as_yaml_is_the_same_cluster(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ["Node", "Pod"]
    objects = tuple(
        f'{{"apiVersion":"v1","kind":"{kind}","metadata":{{"name":"{kind.lower()}-1","namespace":""}}}}'.encode()
        for kind in made
    )
    taken = live.LiveSnapshot("c", "s", "u", {}, (), objects)
    monkeypatch.setattr(live, "take_snapshot", lambda *given, **options: taken)
    file = tmp_path / "cluster.yaml"
    assert run("live", "snapshot", "-o", "yaml", "--out", file).status == 0
    assert yaml.safe_load(file.read_text("utf-8")) == json.loads(run("live", "snapshot").out)
    assert wb.load(file).gangs == taken.scenario().gangs
    assert file.stat().st_mode & 0o077 == 0


def test_the_roles_of_a_service_account(run: Run) -> None:
    manifests = list(yaml.safe_load_all(run("live", "rbac", "serviceaccount:tools/workbench").out))
    assert [one["kind"] for one in manifests] == [
        "ClusterRole",
        "ClusterRoleBinding",
        *["Role", "RoleBinding"] * 3,
    ]
    subjects = {str(one["subjects"]) for one in manifests if "subjects" in one}
    assert subjects == {str([{"kind": "ServiceAccount", "namespace": "tools", "name": "workbench"}])}
