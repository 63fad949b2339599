"""Which forms of a result every command has: JSON and YAML everywhere, wide tables and files where rows are many."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run
from tests.cli.test_option_values import commands
from workbench.cli import option_values, output
from workbench.cli.app import command

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "datasets" / "demo"

#: Commands that hand back no result of their own, and what they do.
NO_RESULT = {
    ("operator", "run"): "runs until it is stopped",
    ("operator", "admission"): "runs until it is stopped",
    ("kind", "up"): "makes a cluster",
    ("kind", "down"): "removes one",
    ("kind", "nodes"): "runs until it is stopped",
}
#: The one command whose result is a stream.
NO_FILE = {("live", "watch")}
WIDE = {("place",), ("compare",), ("live", "compare")}

ALL = dict(commands(command()))


def options(path: tuple[str, ...]) -> dict[str, Any]:
    return {name: option for option in ALL[path].params for name in option.opts}


@pytest.mark.parametrize("path", sorted(ALL), ids=" ".join)
def test_every_command_says_its_result_as_json_and_yaml(path: tuple[str, ...]) -> None:
    if path in NO_RESULT:
        assert "--output" not in options(path)
        return
    form = options(path)["--output"]
    assert "-o" in form.opts and form.envvar == "WORKBENCH_OUTPUT"
    forms = set(form.metavar.strip("[]").split("|"))
    assert {"json", "yaml"} <= forms
    assert ("wide" in forms) == (path in WIDE)
    assert ("--out" in options(path)) == (path not in NO_FILE)


#: Commands without a cluster, with arguments that make a short result.
RUNS = {
    "demo": (),
    "place": (DEMO,),
    "compare": (DEMO, "--policies", "gang,binpack"),
    "fix": (ROOT / "datasets" / "three-level-tree",),
    "gpus": (ROOT / "datasets" / "koordinator-matrices" / "matrix-a.txt", "-k", "2"),
    "policies": (),
    "version": (),
    "validate": (DEMO,),
    "topology show": (DEMO,),
    "topology path": ("node0", "node2", DEMO),
    "topology lint": (DEMO,),
    "topology diff": (DEMO, DEMO),
    "topology convert": (),
    "topology generate": (),
    "live rbac": ("user:jane",),
    "schema": ("Job",),
}


# What `fix` says takes its time; `test_fix` compares both forms of a small one.
@pytest.mark.parametrize(
    "words", [pytest.param(words, marks=pytest.mark.slow if words == "fix" else ()) for words in RUNS]
)
def test_json_and_yaml_say_the_same(run: Run, words: str) -> None:
    arguments = (*words.split(), *RUNS[words])
    said = {form: run(*arguments, "-o", form) for form in ("json", "yaml")}
    assert said["json"].status == said["yaml"].status < 2, said["yaml"].err
    documents = list(yaml.safe_load_all(said["yaml"].out))
    found = json.loads(said["json"].out)
    if words in ("live rbac", "validate"):  # YAML is what kubectl takes: a document for each object
        assert len(documents) == len(found.get("items") or found["objects"])
    elif words not in ("place", "compare", "demo"):  # these have times
        assert documents == [found]
    else:
        assert [set(one) for one in documents] == [set(found)]


def test_the_environment_gives_the_defaults(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_POLICY", "binpack")
    monkeypatch.setenv("WORKBENCH_OUTPUT", "json")
    assert run("place", DEMO).json["policy"] == "binpack"
    assert run("place", DEMO, "--policy", "gang", "-o", "yaml").out.startswith("policy: gang\n")
    monkeypatch.setenv("WORKBENCH_OUTPUT", "tabel")
    result = run("policies")
    assert result.status == 2
    assert result.err == (
        "workbench: WORKBENCH_OUTPUT: not a value of this option (found 'tabel', expected table or json or yaml)\n"
    )


def test_a_command_without_the_form_of_the_environment_takes_its_default(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = run("policies").out
    monkeypatch.setenv("WORKBENCH_OUTPUT", "wide")
    result = run("policies")
    assert (result.status, result.out) == (0, usual)
    assert result.err == "note: WORKBENCH_OUTPUT: workbench policies has no wide; table is used\n"
    assert run("policies", "-o", "json").err == ""
    assert run("schema", "Job").err == "note: WORKBENCH_OUTPUT: workbench schema has no wide; its usual form is used\n"
    typed = run("policies", "-o", "wide")
    assert (typed.status, typed.err) == (
        2,
        "workbench: -o: not a value of this option (found 'wide', expected table or json or yaml)\n",
    )


def test_the_environment_may_name_every_form_that_a_command_has() -> None:
    forms = {
        form
        for one in ALL.values()
        for option in one.params
        if "--output" in option.opts
        for form in option.metavar.strip("[]").split("|")
    }
    assert forms == option_values._FORMS


def test_a_table_of_pods_is_cut_unless_it_is_wide(run: Run, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    run("topology", "generate", "balanced", "--set", "sizes=8,8", "--out", cluster)
    job = tmp_path / "job.yaml"
    job.write_text(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: many}\n"
        "spec: {schedulerName: volcano, minAvailable: 50, tasks: [{name: w, replicas: 50, template: {spec: "
        "{restartPolicy: OnFailure, containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}}}]}\n"
    )
    assert run("place", cluster, job).out.count("many-w-") == 40
    assert run("place", cluster, job, "-o", "wide").out.count("many-w-") == 50


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("place --policy bin", ["binpack"]),
        ("place --policy volcano+gpu-b", ["volcano+gpu-best-effort", "volcano+gpu-bottleneck"]),
        ("compare --policies gang,spr", ["gang,spread"]),
        ("topology generate two", ["two-roce-networks"]),
        ("topology convert --to kai", ["kai"]),
        ("topo", ["topology"]),
    ],
)
def test_a_shell_completes_names(words: str, want: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from workbench.cli import main

    typed = f"workbench {words}"
    for name, value in {"_WORKBENCH_COMPLETE": "complete_bash", "COMP_WORDS": typed}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit):
        main([])
    assert [line for line in capsys.readouterr().out.splitlines() if line in want] == want


@pytest.mark.parametrize(
    ("words", "forms"),
    [
        (f"gpus {ROOT}/datasets/koordinator-matrices/matrix-a.txt -k 2", ("table", "json")),
        (f"gpus {ROOT}/datasets/koordinator-matrices/matrix-a.txt --regret -k 2", ("table", "yaml", "html")),
        (f"validate {ROOT}/datasets/three-level-tree", ("table", "json", "yaml")),
        (f"expand {ROOT}/datasets/samples/pytorch-job.yaml", ("yaml", "json")),
        ("schema Job", ("json", "yaml")),
        ("schema --all --crd", ("yaml", "json")),
    ],
)
def test_a_short_result_can_be_a_file_too(run: Run, tmp_path: Path, words: str, forms: tuple[str, ...]) -> None:
    for form in forms:
        file = tmp_path / f"result.{form}"
        printed = run(*words.split(), "-o", form)
        written = run(*words.split(), "-o", form, "--out", file)
        assert (written.out, file.read_text("utf-8")) == ("", printed.out)


def test_secrets_of_a_file_are_for_its_owner(run: Run, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: many}\n"
        "spec: {schedulerName: volcano, minAvailable: 1, plugins: {ssh: []}, tasks: [{name: w, replicas: 1, template: "
        "{spec: {restartPolicy: OnFailure, containers: [{name: c, image: i}]}}}]}\n"
    )
    written = tmp_path / "objects.yaml"
    run("expand", job, "--out", written)
    assert "kind: Secret" in written.read_text("utf-8")
    assert written.stat().st_mode & 0o077 == 0


def test_a_table_in_a_file_leaves_the_output_of_the_process_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(output, "emit", lambda text, out: seen.append((text, sys.stdout)))
    before = sys.stdout

    class Part:
        def __rich__(self) -> str:
            seen.append(("", sys.stdout))
            return "text"

    output.print_tables(Part(), out=tmp_path / "table.txt")
    assert [text for text, _ in seen if text] == ["text\n"]
    assert {stdout for _, stdout in seen} == {before}


@pytest.mark.parametrize("spec", ["field@x.conf", "field+gpu-lowest-index"])
def test_the_field_takes_no_file_and_no_gpu_policy(run: Run, spec: str) -> None:
    result = run("compare", DEMO, "--policies", spec)
    assert result.status == 2 and "it stands for several policies" in result.err and repr(spec) in result.err
    assert "compare --policies field" in run("place", DEMO, "--policy", "field").err
