"""Commands about what is installed: `workbench policies` and `workbench version`."""

from __future__ import annotations

from typing import Annotated

from workbench.cli.option_values import one_of
from workbench.cli.options import Out, TableOutput
from workbench.cli.output import DATA, check_out, emit, emit_data, print_tables

__all__ = ["policies", "version"]


def policies(
    output: Annotated[
        TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")
    ] = TableOutput.table,
    out: Out = None,
) -> None:
    """List the policies with their kinds, parameters and sources.

    Give --policy a node policy (NODE), a node and a GPU policy (NODE+GPU), or one policy that chooses both.

    Example:

    \b
      workbench policies
    """
    from workbench.policies import list_policies

    check_out(out)

    found = list_policies()
    if output in DATA:
        emit_data([info.to_dict() for info in found], output, out)
        return
    from workbench.report.command_tables import policy_tables

    print_tables(*policy_tables([info.to_dict() for info in found]), out=out)


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
