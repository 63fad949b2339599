"""Known machines, typed in from their sources."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def koordinator_matrix_a() -> NDArray[np.float64]:
    """First matrix of the Koordinator document: GB/s, row = sender, diagonal = local memory.

    Source: Koordinator proposal 20230314 "GPU topology-aware scheduling". GPUs 0-4 and 1-4 are slow in one direction.
    """
    return np.array(
        [
            [750.48, 48.39, 48.33, 96.41, 15.77, 15.52, 96.40, 15.74],
            [48.39, 753.38, 96.46, 48.38, 4.64, 16.93, 16.98, 96.39],
            [48.38, 96.25, 751.92, 96.48, 48.39, 17.57, 17.59, 16.72],
            [96.25, 48.39, 96.43, 750.48, 15.45, 48.39, 15.88, 14.62],
            [5.00, 16.81, 48.38, 15.98, 755.56, 96.39, 48.38, 96.44],
            [15.80, 16.93, 17.50, 48.39, 96.25, 751.92, 96.23, 48.38],
            [96.42, 16.75, 17.47, 15.89, 48.35, 96.28, 754.10, 48.33],
            [15.65, 96.20, 16.77, 15.71, 96.25, 48.38, 48.33, 754.83],
        ]
    )


def koordinator_matrix_b() -> NDArray[np.float64]:
    """Second matrix of the same document; GPU 2 to GPU 3 is slow."""
    return np.array(
        [
            [750.48, 48.39, 48.39, 96.46, 15.97, 16.15, 96.41, 16.18],
            [48.39, 752.65, 96.46, 48.38, 16.96, 16.84, 16.67, 96.23],
            [48.38, 96.25, 749.04, 6.02, 48.38, 17.57, 17.54, 16.95],
            [96.44, 48.39, 96.48, 752.65, 17.27, 48.38, 17.33, 16.80],
            [15.99, 16.80, 48.38, 17.27, 755.56, 96.44, 48.38, 96.44],
            [16.14, 16.74, 17.73, 48.38, 96.23, 755.56, 96.25, 48.38],
            [96.43, 16.81, 17.60, 17.35, 48.33, 96.23, 754.83, 48.39],
            [16.28, 96.22, 17.18, 16.88, 96.23, 48.33, 48.33, 755.56],
        ]
    )
