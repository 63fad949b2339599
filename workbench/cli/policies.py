"""The command `workbench policies`: list the policies that ``--policy`` accepts."""

from __future__ import annotations

from typing import Annotated

from workbench.cli.option_values import one_of
from workbench.cli.options import Out, TableOutput
from workbench.cli.output import DATA, check_out, emit_data, print_tables

__all__ = ["policies"]


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
