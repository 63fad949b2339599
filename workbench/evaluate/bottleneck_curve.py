"""`bottleneck_curve`: the best bottleneck bandwidth of a machine for every number of GPUs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.cancel import check
from workbench.errors import InputError, named_arguments
from workbench.model.bandwidth import BandwidthMatrix, Symmetric
from workbench.model.best_gpus import BestGpus, best_gpus
from workbench.model.display import Displayed
from workbench.model.value import Value

if TYPE_CHECKING:
    import pandas

__all__ = ["BottleneckCurve", "bottleneck_curve"]


@dataclass(frozen=True)
class BottleneckCurve(Value, Displayed):
    """For every number k of GPUs, the set of k GPUs with the best bottleneck bandwidth on one machine.

    `best`: for 1, 2, … GPUs, up to as many as are free.
    """

    best: tuple[BestGpus, ...]

    def to_dataframe(self) -> pandas.DataFrame:
        """A table with one row per number of GPUs.

        Columns: k, gpus, bottleneck_gb_s (infinity for one GPU), optimal_sets (number of best sets), upper_bound_gb_s.
        """
        import pandas

        rows = [(len(b.gpus), b.gpus, b.bottleneck_gb_s, b.optimal_sets, b.upper_bound_gb_s) for b in self.best]
        return pandas.DataFrame(rows, columns=["k", "gpus", "bottleneck_gb_s", "optimal_sets", "upper_bound_gb_s"])


@named_arguments
def bottleneck_curve(
    matrix: BandwidthMatrix, free: Iterable[int] | None = None, symmetric: Symmetric = "min"
) -> BottleneckCurve:
    """Choose the best set of k GPUs of a machine for every k, up to the number of free GPUs.

    `free`: GPUs that may be used; None: all. `symmetric` ({"min", "max", "mean"}): how the two directions of a pair
    become one weight. Raises InputError: a free GPU that the machine does not have, or no free GPU.

    Examples
    --------
    >>> import workbench as wb
    >>> pairs = [[0, 48, 12, 12], [48, 0, 12, 12], [12, 12, 0, 48], [12, 12, 48, 0]]
    >>> curve = wb.bottleneck_curve(wb.BandwidthMatrix(pairs))
    >>> [float(best.bottleneck_gb_s) for best in curve.best[1:]]
    [48.0, 12.0, 12.0]
    """
    chosen = None if free is None else sorted(set(free))
    most = len(matrix) if chosen is None else len(chosen)
    if not most:
        raise InputError("no free GPU", source="free", expected="at least one")
    found = []
    for k in range(1, most + 1):
        check()
        found.append(best_gpus(matrix, k, free=chosen, symmetric=symmetric))
    return BottleneckCurve(tuple(found))
