"""Environment variables that give a program some GPUs of a machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["chosen_environment", "shell_line"]

#: How `npu-smi` names the NPUs of a machine.
_NPU = re.compile(r"(?:NPU|Phy-ID)\d+")


def chosen_environment(gpus: Sequence[int], labels: Sequence[str] = ()) -> dict[str, str]:
    """Variables that give a program some GPUs of a machine.

    Parameters
    ----------
    gpus : sequence of int
        Positions in the machine's matrix, which are the numbers that `nvidia-smi` prints.
    labels : sequence of str
        Names of the machine's GPUs: Ascend NPUs have a variable of their own.

    Returns
    -------
    dict of str to str
        Empty without GPUs.

    Notes
    -----
    Sources: CUDA programming guide, "CUDA environment variables" (without ``CUDA_DEVICE_ORDER`` CUDA may number the
    fastest GPU first; ROCm reads ``CUDA_VISIBLE_DEVICES`` as well); CANN, environment variable
    ``ASCEND_RT_VISIBLE_DEVICES``.
    """
    if not gpus:
        return {}
    chosen = ",".join(map(str, gpus))
    if labels and all(map(_NPU.fullmatch, labels)):
        return {"ASCEND_RT_VISIBLE_DEVICES": chosen}
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": chosen}


def shell_line(environment: Mapping[str, str]) -> str:
    """Variables as they stand before a command in a shell."""
    return " ".join(f"{name}={value}" for name, value in environment.items())
