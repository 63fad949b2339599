from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from workbench._core.search_parts import SearchParts

@final
class DryRuns(SearchParts):
    def __new__(
        cls,
        idle: NDArray[np.int64],
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        rank: NDArray[np.int32],
        leaf: NDArray[np.int32],
        start: NDArray[np.int64],
        members: NDArray[np.int32],
        binpack: float,
        binpack_by: NDArray[np.float64],
        least: float,
        most: float,
        request_by: NDArray[np.int64],
        balanced: float,
        balanced_by: NDArray[np.uint8],
    ) -> Self: ...
    def set_leaves(self, start: NDArray[np.int64], leaves: NDArray[np.int32]) -> None: ...
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
