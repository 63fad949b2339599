from typing import Self, final

import numpy as np
from numpy.typing import NDArray

@final
class StateTable:
    def __new__(
        cls,
        idle: NDArray[np.int64],
        used: NDArray[np.int64],
        allocatable: NDArray[np.int64],
        binpack: float,
        binpack_by: NDArray[np.float64],
        least: float,
        most: float,
        request_by: NDArray[np.int64],
        balanced: float,
        balanced_by: NDArray[np.uint8],
    ) -> Self: ...
    @property
    def n(self) -> int: ...
    @property
    def r(self) -> int: ...
    @property
    def n_shapes(self) -> int: ...
    def add_shape(
        self,
        request: NDArray[np.int64],
        feasible: NDArray[np.uint8] | None,
        extra: NDArray[np.float64] | None,
    ) -> int: ...
    def know_states(self, state_of: NDArray[np.int32], first: NDArray[np.int32]) -> None: ...
