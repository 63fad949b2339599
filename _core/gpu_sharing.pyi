import numpy as np
from numpy.typing import NDArray

class GpuSharing:
    n: int
    width: int
    fragmented: float
    allocated: int
    def __init__(
        self,
        cpu: NDArray[np.int64],
        others: NDArray[np.int64],
        free: NDArray[np.int32],
        gpus: NDArray[np.int32],
        model: NDArray[np.int32],
        kinds: NDArray[np.int32],
        order: NDArray[np.int32],
        typical_cpu: NDArray[np.int64],
        typical_milli: NDArray[np.int32],
        typical_count: NDArray[np.int32],
        typical_models: NDArray[np.uint64],
        frequency: NDArray[np.float64],
        scored: int,
        rule: int,
        weights: NDArray[np.float64],
        fresh: bool,
    ) -> None: ...
    def add_shape(self, cpu: int, milli: int, count: int, accepts: NDArray[np.uint8] | None) -> int: ...
    def fill(
        self,
        numbers: NDArray[np.int32],
        others: NDArray[np.int64],
        uniform: NDArray[np.float64],
        nodes: NDArray[np.int32],
        masks: NDArray[np.uint64],
        allocated: NDArray[np.int64],
        fragmented: NDArray[np.float64],
    ) -> None: ...
    def give_back(self, number: int, node: int, mask: int, others: NDArray[np.int64]) -> None: ...
    def scores(self, number: int, found: NDArray[np.float64]) -> None: ...
