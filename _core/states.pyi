import numpy as np
from numpy.typing import NDArray

def best_bottlenecks(pair_weight: NDArray[np.float64]) -> NDArray[np.float64]: ...
def bottlenecks(pair_weight: NDArray[np.float64], sets: NDArray[np.uint64]) -> NDArray[np.float64]: ...
def kinds_of_nodes(
    matrix: NDArray[np.int32],
    free: NDArray[np.uint64],
    wanted: NDArray[np.int64],
    first: NDArray[np.int64],
    count: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
def states_of_nodes(
    idle: NDArray[np.int64], used: NDArray[np.int64], allocatable: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...
