"""The command `workbench demo`: a first comparison, of data that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.output import check_out, emit, print_tables, progress_bar, tell

__all__ = ["demo"]

#: Blind to the topology, aware of it, and aware of it with the first free GPUs.
_POLICIES = ("allocate", "gang", "binpack", "spread", "volcano-1.13", "volcano-1.13+gpu-lowest-index")


def demo(
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the comparison as a page, with pictures, too.")
    ] = None,
) -> None:
    """Compare six policies on the cluster of Volcano's design document, which comes with the package.

    Examples:

    \b
      workbench demo
      workbench demo --html report.html
    """
    from workbench.evaluate.compare import compare
    from workbench.formats.datasets import load
    from workbench.policies import get_policy
    from workbench.report.tables import comparison_tables

    check_out(html)
    scenario = load("demo")
    with progress_bar("comparing") as step:
        comparison = compare(
            scenario.gangs,
            scenario.snapshot,
            [get_policy(name) for name in _POLICIES],
            progress=step,
            inputs=scenario.inputs,
        )
    print_tables(*comparison_tables(comparison))
    if html is not None:
        from workbench.report.html import report_html

        emit(report_html(comparison), html)
        tell(f"the same with pictures: {html}")
