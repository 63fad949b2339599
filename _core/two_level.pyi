from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from workbench._core.attempt_trace import AttemptTrace
from workbench._core.best_attempt import BestAttempt
from workbench._core.domain_counts import DomainCounts
from workbench._core.hypernode_tree import HyperNodeTree
from workbench._core.job_state import JobState
from workbench._core.search_parts import SearchParts
from workbench._core.sub_job_scores import SubJobScores
from workbench._core.sub_job_search import SubJobSearch

@final
class TwoLevel(SearchParts):
    def __new__(
        cls,
        idle: NDArray[np.int64],
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        rank: NDArray[np.int32],
        hypernodes: HyperNodeTree,
        binpack: float,
        binpack_by: NDArray[np.float64],
        least: float,
        most: float,
        request_by: NDArray[np.int64],
        balanced: float,
        balanced_by: NDArray[np.uint8],
    ) -> Self: ...
    def set_totals(
        self,
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        idle_at_open: NDArray[np.int64],
        packing: NDArray[np.float64],
        scale: float,
        caps: NDArray[np.int64],
    ) -> None: ...
    def set_fading(
        self,
        ring_of: NDArray[np.int32],
        around: NDArray[np.int32],
        column: NDArray[np.int32],
        by_tier: NDArray[np.float64],
        packing: NDArray[np.float64],
        scale: float,
    ) -> None: ...
    def bound(self, quantity: int, sum: int, pods: int) -> None: ...
    def set_job(
        self,
        grouped: bool,
        limited: bool,
        limit: int,
        minimum: NDArray[np.int64] | None,
        left: NDArray[np.int64],
        present: NDArray[np.int64] | None,
        minimums: NDArray[np.int64] | None,
        names: NDArray[np.int32] | None,
        rule: int,
        min_available: int,
        counted: int,
        record: int,
        wanted: NDArray[np.int64],
    ) -> bool: ...
    def set_subs(
        self,
        entry_start: NDArray[np.int64],
        shapes: NDArray[np.int32],
        left: NDArray[np.int64],
        min_available: NDArray[np.int64],
        counted: NDArray[np.int64],
        total: NDArray[np.int64],
        stop: NDArray[np.bool_],
        limit: NDArray[np.int64],
        limited: NDArray[np.bool_] | None,
        scored: NDArray[np.bool_],
        policy: NDArray[np.int32],
        rank: NDArray[np.int32] | None,
        grade: NDArray[np.int32] | None,
        record: NDArray[np.int32] | None,
        request: NDArray[np.int64],
        pending: NDArray[np.int64],
        running_start: NDArray[np.int64] | None,
        running: NDArray[np.int32] | None,
        run_start: NDArray[np.int64] | None,
        run_shape: NDArray[np.int32] | None,
        run_upto: NDArray[np.int64] | None,
    ) -> bool: ...
    @property
    def counts(self) -> DomainCounts: ...
    @property
    def job(self) -> JobState: ...
    @property
    def scores(self) -> SubJobScores: ...
    @property
    def search(self) -> SubJobSearch: ...
    @property
    def trace(self) -> AttemptTrace: ...
    @property
    def best(self) -> BestAttempt: ...
    @property
    def last_score(self) -> float: ...
    def update_nodes(self, idle: NDArray[np.int64], used: NDArray[np.int64]) -> None: ...
    def see_shape(self, s: int, feasible: NDArray[np.uint8] | None, extra: NDArray[np.float64] | None) -> None: ...
    def left(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]: ...
    def cap(self, left: NDArray[np.int64]) -> None: ...
    def scores_of(self, number: int, domains: NDArray[np.int32]) -> NDArray[np.float64]: ...
    @property
    def ready(self) -> bool: ...
    @property
    def pods_left(self) -> int: ...
    @property
    def record(self) -> int: ...
    @property
    def n_placed(self) -> int: ...
    def turn(self) -> bool: ...
    def look(self) -> bool: ...
    def take(self) -> bool: ...
    def explain_in(
        self, domain: int, inner: bool
    ) -> tuple[
        bool, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]
    ]: ...
    def fit_in(self, domain: int) -> tuple[int, NDArray[np.int32], NDArray[np.int32]]: ...
    def room(self, domains: NDArray[np.int32]) -> NDArray[np.int64]: ...
    def takes_one(self) -> NDArray[np.bool_]: ...
    def records(self) -> NDArray[np.int32]: ...
    def placed(self, first: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]: ...
    def enter_nodes(
        self,
        start: NDArray[np.int64],
        shapes: NDArray[np.int32],
        first: NDArray[np.int64],
        positions: NDArray[np.int64],
        node: NDArray[np.int32],
    ) -> None: ...
    def rows(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64], NDArray[np.int32]]: ...
