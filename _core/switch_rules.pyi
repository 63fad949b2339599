import numpy as np
from numpy.typing import NDArray

def place_new(
    sums: NDArray[np.int64],
    free: NDArray[np.int64],
    job: int,
    n_pods: int,
    per_switch: int,
    max_shared: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8], int]: ...
def place_closest(
    allowed: NDArray[np.int8],
    free: NDArray[np.int64],
    n_pods: int,
    max_shared: int,
    switch: NDArray[np.int64],
    taken: NDArray[np.int64],
) -> int: ...
