import numpy as np
from numpy.typing import NDArray

def fair_rates(
    start: NDArray[np.int64],
    link: NDArray[np.int32],
    load: NDArray[np.float64],
    weight: NDArray[np.float64],
    demand: NDArray[np.float64],
    capacity: NDArray[np.float64],
) -> NDArray[np.float64]: ...
