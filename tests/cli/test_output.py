from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.text import Text
from rich.tree import Tree

from tests.cli.conftest import Run
from workbench.cli import output
from workbench.errors import InputError
from workbench.report.layout import SOFT_BREAK
from workbench.report.tables import new_table, text_row


def test_a_result_goes_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    output.emit("new", target)
    assert target.read_text(encoding="utf-8") == "new\n"
    with pytest.raises(InputError, match="cannot be written"):
        output.emit("new", tmp_path)


def test_json_refuses_what_json_cannot_say() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        output.to_json({"x": float("nan")})


LONG = "a-name-that-is-longer-than-the-eighty-columns-that-a-pipe-had-" + "x" * 60


class TestAPipe:
    def test_gets_one_line_per_row_with_names_whole_and_no_blanks_behind(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        table = new_table("name", "place", "what", title=f"{LONG} title")
        text_row(table, LONG, "file.yaml:7\nspec.members", "words " * 40)
        text_row(table, "b", LONG, f"c{SOFT_BREAK}+d")
        tree = Tree(Text("root"))
        tree.add(Text(f"{LONG} {LONG}", no_wrap=True, overflow="ellipsis"))
        output.print_tables(table, tree, Text(f"{LONG} is pending: {LONG}"), "[bold]a file's name[/x]")
        lines = capsys.readouterr().out.splitlines()
        rows = [" ".join(line.split()) for line in lines if line and "─────" not in line]
        assert rows == [
            f"{LONG} title",
            "name place what",
            f"{LONG} file.yaml:7 spec.members {' '.join(['words'] * 40)}",
            f"b {LONG} c+d",
            "root",
            f"└── {LONG} {LONG}",
            f"{LONG} is pending: {LONG}",
            "[bold]a file's name[/x]",
        ]
        assert [line for line in lines if line != line.rstrip()] == []

    @pytest.mark.parametrize("columns", ["20", "80"])
    def test_has_no_width(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
    ) -> None:
        monkeypatch.setenv("COLUMNS", columns)
        monkeypatch.setenv("FORCE_COLOR", "1")
        output.print_tables(Text(f"{LONG} {LONG}"))
        assert capsys.readouterr().out == f"{LONG} {LONG}\n"


def test_there_is_no_progress_bar_off_a_terminal() -> None:
    with output.progress_bar("comparing") as step:
        assert step is None


def test_a_line_on_stderr_is_bounded_and_keeps_both_ends(capsys: pytest.CaptureFixture[str]) -> None:
    output.tell(f"begin {'x' * 100_000} end")
    line = capsys.readouterr().err
    assert line.startswith("begin xxx") and line.endswith("xxx end\n") and " … " in line
    assert len(line) < 1_010
    output.tell("\x1b" * 1_000)
    assert len(capsys.readouterr().err) < 1_010


@pytest.mark.parametrize("named", ["f", "policy"])
def test_a_long_argument_makes_no_long_error(run: Run, files: Path, named: str) -> None:
    long = "x" * 50_000
    given = ["--policy", long] if named == "policy" else []
    path = long if named == "f" else files / "cluster.yaml"
    result = run("place", "-f", path, "-f", files / "fits.yaml", *given)
    assert result.status == 2
    assert len(result.err.splitlines()) == 1 and len(result.err) < 1_010


def test_a_table_that_moves_has_no_control_characters_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    evil = "\x1b]0;x\x07\x1b[2J\x9b31m[bold]"
    table = new_table("job")
    table.add_row(Text(evil))
    with output.live_table() as show:
        assert show is not None
        show(f"summary {evil}", table)
    told = terminal.getvalue()
    assert "\x1b]0;" not in told and "\x1b[2J" not in told and "\x9b" not in told
    assert told.count("\\u001b]0;x") >= 2 and "[bold]" in told
