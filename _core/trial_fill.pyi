from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from workbench._core.hypernode_tree import HyperNodeTree
from workbench._core.state_table import StateTable

@final
class TrialFill:
    def __new__(cls, states: StateTable, hypernodes: HyperNodeTree, rank: NDArray[np.int32]) -> Self: ...
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
