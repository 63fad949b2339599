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
