from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def pods_of_sub_jobs(
    groups: Sequence[Sequence[int]],
    role_of_pod: NDArray[np.int32],
    place: NDArray[np.int32],
    n_tried: int,
    rows: NDArray[np.int64],
    priority_of_role: NDArray[np.int64],
    largest: int,
    most: int,
    default: bool,
) -> (
    tuple[
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int32],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
    ]
    | None
): ...
def runs_of_queues(
    start: NDArray[np.int64],
    positions: NDArray[np.int64],
    rank: NDArray[np.int64],
    role_of_pod: NDArray[np.int32],
    n_roles: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]] | None: ...
