from typing import Self, final

import numpy as np
from numpy.typing import NDArray

def pods_per_node(
    idle: NDArray[np.int64],
    request: NDArray[np.int64],
    feasible: NDArray[np.uint8] | None,
    cap: int,
    out: NDArray[np.int64],
) -> None: ...
def domain_counts(
    per_node: NDArray[np.int64],
    start: NDArray[np.int64],
    members: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None: ...
def domain_counts_spans(
    per_node: NDArray[np.int64],
    spans: NDArray[np.int32],
    prefix: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None: ...
def lowest_tier_with_fit(
    counts: NDArray[np.int64],
    tier: NDArray[np.int32],
    need: int,
    limited: bool,
    highest: int,
) -> tuple[int, NDArray[np.int32]] | None: ...

@final
class Fill:
    def __new__(
        cls,
        nodes: NDArray[np.int32],
        idle: NDArray[np.int64],
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        name_rank: NDArray[np.int32],
        leaf: NDArray[np.int32] | None,
        binpack: float,
        binpack_by: NDArray[np.float64],
        least: float,
        most: float,
        request_by: NDArray[np.int64],
        balanced: float,
        balanced_by: NDArray[np.uint8],
    ) -> Self: ...
    @property
    def c(self) -> int: ...
    @property
    def r(self) -> int: ...
    @property
    def g(self) -> int: ...
    @property
    def groups(self) -> NDArray[np.int32]: ...
    @property
    def n_shapes(self) -> int: ...
    @property
    def placed(self) -> int: ...
    @property
    def floor(self) -> int: ...
    @property
    def record(self) -> int: ...
    def add_shape(
        self,
        request: NDArray[np.int64],
        feasible: NDArray[np.uint8] | None,
        extra: NDArray[np.float64] | None,
    ) -> int: ...
    def set_topology(
        self,
        parent: NDArray[np.int32],
        depth: NDArray[np.int32],
        value: NDArray[np.float64],
        top_value: float,
        own_value: float,
        weight: float,
        roots_meet: bool,
        update_record: bool,
        record: int,
        tasks: NDArray[np.int64],
        total_tasks: int,
    ) -> None: ...
    def set_leaves(self, start: NDArray[np.int64], leaves: NDArray[np.int32]) -> None: ...
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
    def place(
        self, shape_number: int, count: int, sole_unscored: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], float]: ...
    def place_each(
        self, shape_numbers: NDArray[np.int32], sole_unscored: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], float]: ...
    def rollback(self, mark: int) -> None: ...
    def n_fitting(self, shape_number: int) -> int: ...
    def node_scores(self, shape_number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def idle(self) -> NDArray[np.int64]: ...
    def tasks_in_group(self) -> NDArray[np.int64]: ...
