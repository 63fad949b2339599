"""The command `workbench version`: versions of the workbench, of Python and of the packages it uses."""

from __future__ import annotations

from typing import Annotated

from workbench.cli.option_values import one_of
from workbench.cli.options import Out, TableOutput
from workbench.cli.output import check_out, emit, emit_data

__all__ = ["version"]


def version(
    output: Annotated[
        TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")
    ] = TableOutput.table,
    out: Out = None,
) -> None:
    """Print the versions that a bug report needs.

    Example:

    \b
      workbench version -o json
    """
    from workbench.evaluate.provenance import show_versions

    check_out(out)
    found = show_versions()
    if output is TableOutput.table:
        emit(repr(found), out)
    else:
        emit_data(found, output, out)
