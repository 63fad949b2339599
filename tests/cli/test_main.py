from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import workbench.cli.place
from tests.cli.conftest import Run, cluster_yaml, job_yaml
from workbench.cli.app import command
from workbench.errors import ClusterError, InternalError

COMMAND = [sys.executable, "-m", "workbench"]


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["place", "--help"], ["topology", "generate", "--help"]])
def test_help_has_examples_and_exits_0(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.status == 0 and re.search(r"Examples?:\n\n +workbench ", result.out)


@pytest.mark.parametrize("arguments", [[], ["topology"]])
def test_a_command_without_a_verb_shows_its_verbs_line_by_line_and_exits_2(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.status == 2 and result.out == ""
    assert result.err.startswith("Usage: workbench") and re.search(r"\nCommands:\n +\w+ ", result.err)


def test_the_version_is_printed(run: Run) -> None:
    result = run("--version")
    assert result.status == 0 and re.fullmatch(r"workbench \S+\n", result.out)


@pytest.mark.parametrize(
    "arguments", [["place"], ["place", "-f"], ["nonsense"], ["gpus", "m", "--nonsense"], ["place", "-o", "x"]]
)
def test_usage_errors_are_one_line_and_exit_2(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.status == 2 and result.out == "" and len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ClusterError("no answer from the cluster"), 3),
        (InternalError("an invariant broke"), 2),
        (PermissionError(13, "Permission denied", "x.yaml"), 2),
        (KeyboardInterrupt(), 130),
        (TypeError("our bug"), 2),
        (MemoryError(), 2),
    ],
)
def test_errors_become_statuses_and_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(workbench.cli.place, "load_scenario", fail)
    result = run("place", "-f", "x.yaml")
    assert result.status == status
    assert len(result.err.splitlines()) == 1 and result.err.startswith("workbench: ")
    ours = isinstance(error, (InternalError, TypeError))
    assert ("internal error" in result.err) is ours


@pytest.mark.parametrize(
    ("content", "want"),
    [
        ("", "bad.yaml"),
        ("kind: [\n", "line 2"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: 7}\n", "bad.yaml"),
        ("a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\n" * 3, "bad.yaml"),
    ],
)
def test_bad_files_are_one_line_that_names_them(run: Run, tmp_path: Path, content: str, want: str) -> None:
    (tmp_path / "bad.yaml").write_text(content, encoding="utf-8")
    result = run("place", "-f", tmp_path / "bad.yaml")
    assert result.status == 2 and want in result.err and len(result.err.splitlines()) == 1


def test_a_folder_without_a_manifest_is_said(run: Run, tmp_path: Path) -> None:
    result = run("compare", "-f", tmp_path, "--policies", "gang")
    assert result.status == 2 and "no manifest" in result.err


def commands_below(one: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its path, this one first."""
    yield path, one
    for name, below in getattr(one, "commands", {}).items():
        yield from commands_below(below, (*path, name))


def test_no_summary_in_a_list_of_commands_is_cut(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    groups = [path for path, one in commands_below(command(), ()) if getattr(one, "commands", None)]
    assert len(groups) > 5
    for path in groups:
        told = run(*path, "--help").out.partition("Commands:")[2]
        assert told and "..." not in told, path


def test_help_loads_nothing_heavy() -> None:
    heavy = ["numpy", "pandas", "pydantic", "yaml", "jinja2", "networkx", "pyvis", "IPython", "ipywidgets", "re2"]
    code = (
        "import sys\nfrom workbench.cli import main\nstatus = main(['--help'])\n"
        f"sys.stderr.write(' '.join(m for m in {heavy} if m in sys.modules))\nsys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "" and "compare" in done.stdout


@pytest.mark.slow
def test_statuses_reach_the_shell(files: Path) -> None:
    def status(*arguments: object) -> int:
        return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True).returncode

    assert status("place", "-f", files / "cluster.yaml", "-f", files / "fits.yaml") == 0
    assert status("place", "-f", files) == 1
    assert status("place", "-f", files / "none.yaml") == 2


#: Runs commands as `COMMAND` would, each in a child of its own to the end of the interpreter, and reports the statuses.
#: The children inherit what is imported here.
_EACH_COMMAND = """
import json, os, runpy, sys
import workbench.cli.app, workbench.evaluate.records, workbench.formats.load, workbench.report.tables
commands, report = json.loads(sys.argv[1]), int(sys.argv[2])
statuses = []
for arguments in commands:
    child = os.fork()
    if not child:
        sys.argv[1:] = arguments
        runpy.run_module("workbench", run_name="__main__", alter_sys=True)
        sys.exit("the command came back")
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os.write(report, json.dumps(statuses).encode())
"""


def _without_reader(
    commands: Sequence[Sequence[object]], both: bool = False, unbuffered: str = ""
) -> tuple[list[int], str]:
    """Statuses and messages of commands whose output (with `both`: and messages) nobody reads any more."""
    read, write = os.pipe()
    os.close(read)
    told, report = os.pipe()
    texts = [[str(argument) for argument in arguments] for arguments in commands]
    done = subprocess.run(
        [sys.executable, "-c", _EACH_COMMAND, json.dumps(texts), str(report)],
        stdout=write,
        stderr=write if both else subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        pass_fds=[report],
    )
    os.close(write)
    os.close(report)
    with os.fdopen(told) as statuses:
        return json.loads(statuses.read() or "[]"), done.stderr or ""


@pytest.mark.slow
def test_a_reader_that_leaves_early_changes_no_status_and_causes_no_message(files: Path) -> None:
    # More than a buffer holds, so that the closed end is met in the middle, and less, so that it is met at the end.
    (files / "large.yaml").write_text(job_yaml("large", 2000, gpus=0), encoding="utf-8")
    cluster = files / "cluster.yaml"
    wanted: list[tuple[list[object], int]] = [
        (["place", "-f", cluster, "-f", files / "large.yaml", "-o", "json"], 1),
        (["place", "-f", cluster, "-f", files / "large.yaml"], 1),
        (["place", "-f", cluster, "-f", files / "fits.yaml", "-o", "json"], 0),
        (["topology", "show", "-f", cluster], 0),
        (["--help"], 0),
        (["--version"], 0),
    ]
    statuses, messages = _without_reader([arguments for arguments, _ in wanted])
    assert statuses == [status for _, status in wanted]
    assert "Broken" not in messages and "Traceback" not in messages


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_messages_that_nobody_reads_change_no_status(files: Path, unbuffered: str) -> None:
    commands: list[list[object]] = [["place", "-f", files / "missing.yaml"], ["place", "--nonsense"], []]
    assert _without_reader(commands, both=True, unbuffered=unbuffered)[0] == [2, 2, 2]


@pytest.mark.slow
def test_an_interrupt_ends_cleanly_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(cluster_yaml() + "---\n" + job_yaml("a", 1), encoding="utf-8")
    # A policy that says that it runs, then runs for ever. Python listens for Ctrl-C unless its parent ignored it, as a
    # shell does for what it starts in the background; the tests may run there.
    code = (
        "import signal, sys, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from workbench.cli import main\nfrom workbench.policies import policy\n"
        "@policy('endless')\ndef endless(gang, ledger):\n    print('running', flush=True)\n    time.sleep(600)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["compare", "-f", tmp_path, "--policies", "endless", "-o", "html", "--out", tmp_path / "r.html"]
    command = [sys.executable, "-c", code, *map(str, arguments)]
    # A job in a script's background ignores the signal and so would its children: the command gets it back.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None and process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err == "workbench: interrupted\n"
    assert [p.name for p in tmp_path.iterdir()] == ["cluster.yaml"]


@pytest.mark.parametrize(
    ("arguments", "closed", "want"),
    [
        (["policies"], "stdout", "workbench: standard output is closed\n"),
        (
            ["topology", "show", "-f", "-"],
            "stdin",
            "workbench: -: standard input is closed (expected a pipe or a file)\n",
        ),
        (["validate", "-f", "-"], "stdin", "workbench: -: standard input is closed (expected a pipe or a file)\n"),
        (["gpus", "-", "-k", "2"], "stdin", "workbench: -: standard input is closed (expected a pipe or a file)\n"),
        (["policies", "--nonsense"], "stderr", ""),
    ],
)
def test_a_stream_that_is_closed_is_bad_input(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], closed: str, want: str
) -> None:
    monkeypatch.setattr(sys, closed, None)
    result = run(*arguments)
    assert (result.status, result.err) == (2, want)


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_standard_output_is_said(unbuffered: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*COMMAND, "policies"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert (process.returncode, process.stderr) == (2, "workbench: standard output: No space left on device\n")


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_messages_that_find_no_room_cost_neither_result_nor_status(files: Path, unbuffered: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    (files / "two.yaml").write_text(cluster_yaml() + "---\n" + job_yaml("a", 1), encoding="utf-8")
    answers = []
    for messages in ("/dev/null", "/dev/full"):
        with Path(messages).open("w") as stream:
            command = [*COMMAND, "place", "-f", str(files / "two.yaml")]
            environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=stream, text=True, env=environment)
        answers.append((done.returncode, done.stdout))
    assert answers[0] == answers[1] and answers[0][1]
    with Path("/dev/full").open("w") as stream:
        assert subprocess.run([*COMMAND, "place", "--nonsense"], stderr=stream).returncode == 2
