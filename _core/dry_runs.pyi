from typing import final

import numpy as np
from numpy.typing import NDArray

from workbench._core.search_parts import SearchParts

@final
class DryRuns(SearchParts):
    def ask(
        self,
        shapes: NDArray[np.int32],
        names: NDArray[np.int32] | None,
        left: NDArray[np.int64],
        present: NDArray[np.int64] | None,
        minimums: NDArray[np.int64] | None,
        rule: int,
        min_available: int,
        counted: int,
        every: bool,
        scored: bool,
        record: int,
        update_record: bool,
        tasks_on_leaf: NDArray[np.int64] | None,
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
    ) -> tuple[
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        int,
        int,
    ]: ...
    def node_scores(self, domain: int, shape: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def set_fading(
        self,
        ring_of: NDArray[np.int32],
        around: NDArray[np.int32],
        column: NDArray[np.int32],
        by_tier: NDArray[np.float64],
        packing: NDArray[np.float64],
        scale: float,
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        node_start: NDArray[np.int64],
        node_domains: NDArray[np.int32],
    ) -> None: ...
