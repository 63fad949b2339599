"""The command `workbench topology lint`: find mistakes in a topology."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.arguments import given_paths, standard_input, tell_findings, tell_kinds, tell_notes
from workbench.cli.option_values import one_of
from workbench.cli.options import Files, From, Out, Paths, Strict
from workbench.cli.output import DATA, check_out, emit, emit_data, print_tables, tell_lines, to_json
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.formats.lint_files import LintedFiles

__all__ = ["LintOutput", "lint"]


class LintOutput(StrEnum):
    """Output formats of `workbench topology lint` (``-o``)."""

    table = "table"
    json = "json"
    yaml = "yaml"
    html = "html"
    sarif = "sarif"


def lint(
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    from_: From = None,
    output: Annotated[LintOutput, one_of(LintOutput, "-o", "--output", help="Form of the result.")] = LintOutput.table,
    out: Out = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend in the files what has only one remedy, and show the difference.")
    ] = False,
    rules: Annotated[str, typer.Option("--rules", metavar="ID,…", help="Only these rules, by id or code.")] = "",
    ignore: Annotated[str, typer.Option("--ignore", metavar="ID,…", help="Not these rules, by id or code.")] = "",
    strict: Strict = False,
    list_rules: Annotated[bool, typer.Option("--list-rules", help="List the rules instead.")] = False,
) -> None:
    """Report certain and likely mistakes in a topology.

    For each the report says where it is, why it matters and what to do. Exit status 1 when there is an error; warnings
    and notes alone give 0. With --fix the status is that of the remaining findings, and the difference goes to stdout
    (to stderr if stdout has the report as -o json, html or sarif).

    Examples:

    \b
      workbench topology lint datasets/one-fabric/hypernodes.yaml
      workbench topology lint datasets/three-level-tree --ignore unequal-leaves -o sarif --out lint.sarif
      workbench topology generate balanced --set sizes=4,4,2 --out cluster.yaml
      workbench topology lint cluster.yaml --fix
    """
    from workbench.topology.lint import choose_rules

    only, without = _ids(rules), _ids(ignore)
    chosen = choose_rules(only, without)
    check_out(out)
    if list_rules:
        if output is LintOutput.table:
            from workbench.report.lint_view import rule_tables

            print_tables(*rule_tables(chosen), out=out)
            return
        if output in DATA:
            emit_data([_rule(rule) for rule in chosen], output, out)
            return
        raise InputError("rules are a list", source="--list-rules", got=f"-o {output.value}", expected="-o table")
    from workbench.formats.lint_files import fix_files, lint_files

    inputs = given_paths(paths, file)
    if fix:
        fixed = fix_files(inputs, only, without, from_)
        show = emit if output is LintOutput.table else tell_lines
        for change in fixed.changes:
            show(change.diff)
        linted = fixed.left
    else:
        linted = lint_files(inputs, standard_input(inputs), only, without, from_)
    tell_kinds(linted.ignored)
    tell_notes(linted.notes)
    tell_findings(linted.findings, strict=strict)
    _show(linted, output, out)
    if linted.report.errors:
        raise typer.Exit(1)


def _show(linted: LintedFiles, output: LintOutput, out: Any) -> None:
    report = linted.report
    if output in DATA:
        # `problems`: what `topology show` says of the same input.
        problems = [{"code": p.code, "domain": p.domain, "message": p.message} for p in report.subject.problems]
        notes = [note.to_dict() for note in linted.notes]
        emit_data({**report.to_dict(), "problems": problems, "notes": notes}, output, out)
    elif output is LintOutput.sarif:
        from workbench.evaluate.provenance import version
        from workbench.formats.sarif import to_sarif

        emit(to_json(to_sarif(report, version())), out)
    elif output is LintOutput.html:
        from workbench.report.lint_view import lint_page

        emit(lint_page(report, report.subject.topology()), out)
    else:
        from workbench.report.lint_view import lint_tables

        print_tables(*lint_tables(report), out=out)


def _ids(text: str) -> tuple[str, ...]:
    return tuple(part for part in (p.strip() for p in text.split(",")) if part)


def _rule(rule: Any) -> dict[str, Any]:
    return {
        "rule": rule.id,
        "code": rule.code,
        "severity": rule.severity.value,
        "finds": rule.title,
        "why": rule.why,
        "what_to_do": rule.todo,
        "fixable": rule.fixable,
    }
