"""Environment variables that tell a container its GPUs, derived from the pod's annotation as the node agent does."""

from __future__ import annotations

import json
from typing import Literal

from workbench.errors import InputError

__all__ = ["DeviceIds", "container_environment"]

DeviceIds = Literal["position", "host"]


def container_environment(annotation: str, container: int, device_ids: DeviceIds = "position") -> dict[str, str]:
    """NVIDIA_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES of one container.

    Parameters
    ----------
    annotation : str
        Value of ``topology.scheduling.koordinator.sh/gpu``.
    container : int
        Position of the container in the pod, from 0.
    device_ids : {"position", "host"}
        What CUDA_VISIBLE_DEVICES counts: positions among the GPUs that the container sees (a container that sees four
        GPUs numbers them 0 to 3), or the host's numbers as the document prints them.

    Returns
    -------
    dict of str to str
        Empty for a container without GPUs of its own.

    Raises
    ------
    InputError
        The annotation cannot be read, or a container's GPU is not among the visible ones.

    Notes
    -----
    Source: Koordinator proposal 20230314, "Container environment variable assignment"; docs/decisions.md, decision 8.
    """
    try:
        value = json.loads(annotation)
        visible = [str(int(gpu)) for gpu in value["visibleGPUs"]]
        own = [str(int(gpu)) for gpu in value["allocatedGPUs"].get(str(container), ())]
        positions = [str(visible.index(gpu)) for gpu in own]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(
            "an annotation that gives no GPUs",
            source="topology.scheduling.koordinator.sh/gpu",
            got=f"{annotation[:80]} ({type(error).__name__})",
            expected='{"allocatedGPUs": {"0": ["4"]}, "visibleGPUs": ["4", "5"]}, the first within the second',
        ) from None
    if not own:
        return {}
    return {
        "NVIDIA_VISIBLE_DEVICES": ",".join(visible),
        "CUDA_VISIBLE_DEVICES": ",".join(own if device_ids == "host" else positions),
    }
