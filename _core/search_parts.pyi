import numpy as np
from numpy.typing import NDArray

from workbench._core.hypernode_tree import HyperNodeTree
from workbench._core.state_table import StateTable
from workbench._core.trial_fill import TrialFill

class SearchParts:
    @property
    def states(self) -> StateTable: ...
    @property
    def hypernodes(self) -> HyperNodeTree: ...
    @property
    def fill(self) -> TrialFill: ...
    @property
    def n(self) -> int: ...
    @property
    def r(self) -> int: ...
    @property
    def d(self) -> int: ...
    @property
    def n_shapes(self) -> int: ...
    def add_shape(
        self,
        request: NDArray[np.int64],
        feasible: NDArray[np.uint8] | None,
        extra: NDArray[np.float64] | None,
    ) -> int: ...
    def know_states(self, state_of: NDArray[np.int32], first: NDArray[np.int32]) -> None: ...
    def set_topology(
        self,
        parent: NDArray[np.int32],
        depth: NDArray[np.int32],
        value: NDArray[np.float64],
        top_value: float,
        own_value: float,
        weight: float,
        roots_meet: bool,
    ) -> None: ...
