"""The command `workbench version`: versions of the workbench, of Python and of the packages it uses."""

from __future__ import annotations

from typing import Annotated

from workbench.cli.option_values import one_of
from workbench.cli.options import ReviewOutput
from workbench.cli.output import emit, to_json, to_yaml

__all__ = ["version"]


def version(
    output: Annotated[
        ReviewOutput, one_of(ReviewOutput, "-o", "--output", help="Form of the result.")
    ] = ReviewOutput.table,
) -> None:
    """Print the versions that a bug report needs.

    Example:

    \b
      workbench version -o json
    """
    from workbench.evaluate.provenance import show_versions

    found = show_versions()
    if output is ReviewOutput.table:
        emit(repr(found))
    else:
        emit(to_json(found) if output is ReviewOutput.json else to_yaml(found))
