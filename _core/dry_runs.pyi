from typing import final

import numpy as np
from numpy.typing import NDArray

from workbench._core.search_parts import SearchParts

@final
class DryRuns(SearchParts):
    def ask(
        self,
        shapes: NDArray[np.int32],
        names: NDArray[np.int32],
        counts: NDArray[np.int64],
        rule: int,
        min_available: int,
        counted: int,
        minimums_count: bool,
        scored: bool,
        record: int,
        tasks_on_leaf: NDArray[np.int64],
        total_tasks: int,
        run_entry: NDArray[np.int32] | None,
        run_upto: NDArray[np.int64] | None,
    ) -> None: ...
    def try_each(
        self,
        domains: NDArray[np.int32],
        sums: NDArray[np.float64],
        first: NDArray[np.float64],
        placed: NDArray[np.int64],
        missing: NDArray[np.int64],
        ready: NDArray[np.uint8],
    ) -> None: ...
    def settle(
        self, domain: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]: ...
