"""No character that a terminal obeys reaches it, by whatever way a name comes in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run, cluster_yaml, job_yaml
from workbench.cli import output
from workbench.cli.output import without_controls

#: Written out once more: everything but tab, line feed and what people write with.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

#: A colour, a window title, backspaces, a C1 sequence, a reversed line, half a character, a NUL.
EVIL = "e\x1b[31m\x1b]0;t\x07\x08\x9b2J\u202egpj\u2066\udc80\x00\x7f\r!"


@pytest.mark.parametrize("code", [*range(9), *range(11, 32), *range(127, 160), 0x2028, 0x202E, 0x2066, 0x2069, 0xDC80])
def test_a_character_that_a_terminal_obeys_is_written_as_json_writes_it(code: int) -> None:
    text = without_controls(f"a{chr(code)}b")
    assert text == f"a\\u{code:04x}b"
    assert json.loads(f'"{text}"') == f"a{chr(code)}b"


@pytest.mark.parametrize("text", ["", "a\tb\nc\r\nd", "é ü 中 🙂 \u00a0 \u200b", '\\u001b "x"'])
def test_other_text_stays(text: str) -> None:
    assert without_controls(text) == text


def yaml_text(value: object) -> str:
    """YAML that holds the value, whatever is in it; surrogates cannot be written in YAML."""
    return json.dumps(value).replace("\\udc80", "")


def matrix_with(name: str) -> str:
    return json.dumps({"labels": [name, "b"], "gb_s": [[0, 5], [5, 0]]})


class TestNothingReachesTheTerminal:
    @pytest.fixture
    def check(self, run: Run, on_terminal: Run):
        """Run a command with its output in a pipe and on a terminal; both show the escape, neither the character."""

        def call(*arguments: object, status: int | None = None, shown: str = "\\u001b[31m") -> None:
            for way in (run, on_terminal):
                result = way(*arguments)
                for text in (result.out, result.err):
                    assert OBEYED.search(text) is None, text
                assert shown in result.out + result.err or repr(EVIL)[2:10] in result.out + result.err
                assert "internal error" not in result.err
                assert status is None or result.status == status

        return call

    def test_a_kind(self, check, files: Path) -> None:
        (files / "odd.yaml").write_text(yaml_text({"apiVersion": "v1", "kind": EVIL, "metadata": {"name": "x"}}))
        check("place", "-f", files, status=1)
        check("validate", "-f", files)
        check("topology", "lint", "-f", files)

    def test_names_of_a_lingjun_table(self, check, tmp_path: Path) -> None:
        path = tmp_path / "hosts.csv"
        path.write_text("ip,DSW,PSW,ASW\nh\x1b[31m1,D1,P1,A\x9b1\nh2,D1,P1\u202e,A2\n", encoding="utf-8")
        check("topology", "show", "-f", path, status=0)
        check("topology", "show", "-f", path, "-o", "json", status=0, shown="\\u202e")
        check("topology", "convert", "-f", path, "--from", "lingjun", "--to", "snapshot", status=0)
        check("topology", "diff", path, path, "-o", "html", shown="")

    def test_names_of_a_matrix(self, check, tmp_path: Path) -> None:
        path = tmp_path / "m.csv"
        path.write_text("gpu,a\x1b[31m,b\na\x1b[31m,0,x\nb,5,0\n", encoding="utf-8")
        # Colour codes of a terminal are taken out before the table is read.
        check("gpus", path, "-k", "2", status=2, shown="")
        path.write_text("gpu,a,b\nodd\x9bline\na,0,5\nb,5,0\n", encoding="utf-8")
        check("gpus", path, "-k", "2", shown="")

    @pytest.mark.parametrize("command", [["place", "-f"], ["gpus"], ["validate", "-f"], ["topology", "diff"]])
    def test_a_file_argument(self, check, command: list[str]) -> None:
        more = {"gpus": ["-k", "2"], "topology": ["x"]}.get(command[0], [])
        check(*command, EVIL, *more, status=2)

    @pytest.mark.parametrize("place", ["https://h\x1b[31m/", "ftp://\x1b[31m", EVIL])
    @pytest.mark.parametrize("source", ["roce", "ufm"])
    def test_a_url(self, check, monkeypatch: pytest.MonkeyPatch, source: str, place: str) -> None:
        monkeypatch.setenv("WORKBENCH_UFM_USERNAME", "u")
        monkeypatch.setenv("WORKBENCH_UFM_PASSWORD", "p")
        check("topology", "discover", source, place, status=2)

    @pytest.mark.parametrize(
        "arguments",
        [
            ["place", "-f", "x", "--policy", EVIL],
            ["place", "-f", "x", "--set", EVIL],
            ["topology", "convert", "-f", "x", "--to", EVIL],
            ["topology", "generate", EVIL],
            [EVIL],
            ["place", f"--{EVIL}"],
            ["place", "-o", EVIL],
            ["topology", "lint", "--rules", EVIL],
        ],
    )
    def test_other_arguments(self, check, arguments: list[str]) -> None:
        check(*arguments, status=2)

    def test_an_out_file(self, check, files: Path) -> None:
        arguments = ["topology", "generate", "balanced", "--set", "sizes=2,2"]
        check(*arguments, "--out", files / f"{EVIL}/x", status=2, shown="null byte")
        check(*arguments, "--out", files / EVIL.replace("\x00", "") / "x", status=2)

    def test_a_difference_of_lint(self, check, files: Path) -> None:
        text = cluster_yaml().replace("tier: 1", 'tier: 1 # \x85 " and "', 1) + job_yaml("a", 1)
        (files / "cluster.yaml").write_text(text, encoding="utf-8")
        check("topology", "lint", "-f", files / "cluster.yaml", "--fix", shown="")


def test_yaml_is_read_back_as_it_was() -> None:
    value = {"plain": "a", EVIL: [EVIL, "x\x85y", "\u202e", "\u2066 # no comment", "two\nlines"], "n": 1}
    text = output.to_yaml(value)
    assert OBEYED.search(text) is None
    assert yaml.safe_load(text) == value


def test_json_is_read_back_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit(output.to_json({"x": EVIL}))
    out = capsys.readouterr().out
    assert OBEYED.search(out) is None and json.loads(out) == {"x": EVIL}


def test_a_message_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.tell("note: a\nworkbench: b\r\n  c\x0bd\u2028e\n")
    assert capsys.readouterr().err == "note: a workbench: b c\\u000bd\\u2028e\n"
