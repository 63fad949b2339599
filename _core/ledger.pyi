import numpy as np
from numpy.typing import NDArray

def add_pods(
    sign: int,
    nodes: NDArray[np.int32],
    rows: NDArray[np.int64],
    words: NDArray[np.uint64] | None,
    used: NDArray[np.int64],
    idle: NDArray[np.int64],
    gpu_free: NDArray[np.uint64],
) -> int: ...
def whole_nodes(
    nodes: NDArray[np.int32], n_gpus: int, gpu_free: NDArray[np.uint64], words: NDArray[np.uint64]
) -> int: ...
def lowest_gpus(
    node: NDArray[np.int32], role: NDArray[np.int32], n_gpus: NDArray[np.int64], gpu_free: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], int]: ...
