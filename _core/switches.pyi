import numpy as np
from numpy.typing import NDArray

def free_under_switches(
    holders: NDArray[np.int32],
    idle: NDArray[np.int64],
    request: NDArray[np.int64],
    feasible: NDArray[np.uint8],
    gpu_free: NDArray[np.uint64],
    n_gpus: int,
    node_switch: NDArray[np.int32],
    free: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> int: ...
def join_votes(votes: NDArray[np.int64], state: NDArray[np.int8], unhealthy: NDArray[np.uint8]) -> None: ...
def first_free(
    chosen: NDArray[np.int64],
    wanted: NDArray[np.int64],
    says: NDArray[np.int8],
    free: NDArray[np.uint8],
    start: NDArray[np.int64],
    nodes: NDArray[np.int32],
    by_position: NDArray[np.int64],
) -> tuple[int, NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]: ...
def add_jobs(
    sign: int,
    start: NDArray[np.int64],
    counts: NDArray[np.uint8],
    node: NDArray[np.int32],
    says: NDArray[np.int8],
    node_switch: NDArray[np.int32],
    holders: NDArray[np.int32],
    sums: NDArray[np.int64],
) -> int: ...
