"""The annotation that tells the node agent a pod's GPUs: how it is written and read, and what a container sees of it.

Koordinator's name and form, which every policy with GPUs writes (docs/adr/0020-vendor-words-in-the-model.md).
Environment variables give a program some GPUs of a machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from workbench.errors import InputError

__all__ = [
    "GPU_ANNOTATION",
    "DeviceIds",
    "chosen_environment",
    "container_environment",
    "gpu_annotation",
    "recorded_gpus",
    "shell_line",
]

#: Written on each pod by the Koordinator proposal's Reserve step.
GPU_ANNOTATION = "topology.scheduling.koordinator.sh/gpu"
DeviceIds = Literal["position", "host"]


def gpu_annotation(container_gpus: tuple[tuple[int, ...], ...], visible: tuple[int, ...]) -> str:
    """Value of the pod annotation that tells the node agent the pod's GPUs.

    Containers without a GPU are left out; GPU numbers are strings, ascending. Source: Koordinator proposal, "Record the
    allocation information to the pod annotation", which the scheduler does in its Reserve phase.
    """
    allocated = {str(i): [str(g) for g in gpus] for i, gpus in enumerate(container_gpus) if gpus}
    return json.dumps({"allocatedGPUs": allocated, "visibleGPUs": [str(g) for g in visible]}, separators=(",", ":"))


def recorded_gpus(annotation: str | None) -> int | None:
    """Mask of the GPUs that a pod's annotation lists; None if the annotation is missing or cannot be read."""
    if annotation is None:
        return None
    try:
        gpus = [int(gpu) for gpus in json.loads(annotation)["allocatedGPUs"].values() for gpu in gpus]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    mask = 0
    for gpu in gpus:
        if not 0 <= gpu < 1024:
            return None
        mask |= 1 << gpu
    return mask


def container_environment(annotation: str, container: int, device_ids: DeviceIds = "position") -> dict[str, str]:
    """Values of NVIDIA_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES for one container of a pod, by variable name.

    Raises InputError: the annotation cannot be read, or a container's GPU is not among the visible ones.

    Empty for a container without GPUs of its own.

    Source: Koordinator proposal 20230314, "Container environment variable assignment"; docs/decisions.md, decision 8.

    Parameters
    ----------
    annotation : str
        Value of the pod's annotation `GPU_ANNOTATION`.
    container : int
        Position of the container in the pod, from 0.
    device_ids : {"position", "host"}
        What CUDA_VISIBLE_DEVICES counts: positions among the GPUs that the container sees (a container that sees four
        GPUs numbers them 0 to 3), or the host's numbers as the document prints them.
    """
    try:
        value = json.loads(annotation)
        visible = [str(int(gpu)) for gpu in value["visibleGPUs"]]
        own = [str(int(gpu)) for gpu in value["allocatedGPUs"].get(str(container), ())]
        positions = [str(visible.index(gpu)) for gpu in own]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(
            "an annotation that gives no GPUs",
            source=GPU_ANNOTATION,
            got=f"{annotation[:80]} ({type(error).__name__})",
            expected='{"allocatedGPUs": {"0": ["4"]}, "visibleGPUs": ["4", "5"]}, the first within the second',
        ) from None
    if not own:
        return {}
    return {
        "NVIDIA_VISIBLE_DEVICES": ",".join(visible),
        "CUDA_VISIBLE_DEVICES": ",".join(own if device_ids == "host" else positions),
    }


#: How `npu-smi` names the NPUs of a machine.
_NPU = re.compile(r"(?:NPU|Phy-ID)\d+")


def chosen_environment(gpus: Sequence[int], labels: Sequence[str] = ()) -> dict[str, str]:
    """Variables that give a program some GPUs of a machine.

    `gpus`: positions in the machine's matrix, which are the numbers that `nvidia-smi` prints. `labels`: names of the
    machine's GPUs: Ascend NPUs have a variable of their own. Empty without GPUs.

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
