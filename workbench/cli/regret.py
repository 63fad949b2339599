"""The option ``workbench gpus --regret``: how much bandwidth GPU policies lose against the best choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.cli.arguments import required_policy_names
from workbench.cli.options import ShowOutput
from workbench.cli.output import emit, print_tables, progress_bar, to_json
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.model.bandwidth import BandwidthMatrix, Symmetric

__all__ = ["refuse_options", "show_regret"]


def refuse_options(options: Mapping[str, object]) -> None:
    """Raise InputError if an option that applies only to choosing one set of GPUs was given beside ``--regret``."""
    for name, value in options.items():
        if value:
            raise InputError("not with --regret, which is about every state", source=name)


def show_regret(
    matrix: BandwidthMatrix, k: int | None, symmetric: Symmetric, policies: str | None, output: ShowOutput
) -> None:
    """Compute the regret of GPU policies (bandwidth lost against the best choice) on one machine and print it.

    Parameters
    ----------
    k : int or None
        Number of GPUs to choose; None: all numbers.
    symmetric : {"min", "max", "mean"}
        How the two directions of a pair become one weight.
    policies : str or None
        Names separated by commas; None: the usual policies.
    output : ShowOutput
        Form of the result.
    """
    from workbench.evaluate.regret import DEFAULT_POLICIES, regret

    names = DEFAULT_POLICIES if policies is None else required_policy_names([policies])
    if k is not None and not 1 <= k <= len(matrix):
        raise InputError(
            "k does not fit the machine", source=matrix.source, got=f"k={k}", expected=f"1 to {len(matrix)} GPUs"
        )
    with progress_bar("asking") as step:
        found = regret(matrix, names, sizes=None if k is None else [k], symmetric=symmetric, progress=step)
    if output is ShowOutput.json:
        emit(to_json(found.to_dict()))
    elif output is ShowOutput.html:
        from workbench.report.regret_view import regret_page

        emit(regret_page(found))
    else:
        from workbench.report.regret_view import regret_tables

        print_tables(*regret_tables(found))
