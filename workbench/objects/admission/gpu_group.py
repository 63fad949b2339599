"""Admission check of Koordinator GPU groups: labels and gang annotations of a pod that must agree.

Source: Koordinator proposal 20230314 "GPU topology-aware scheduling", "Works with the Gang plugin": upstream the user
must keep them consistent; here admission checks them (docs/reference/gpu-topology.md, section A6).
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.model.number_text import whole_number

__all__ = [
    "GANG_MINIMUM_ANNOTATION",
    "GANG_NAME_ANNOTATION",
    "GPU_GROUP_NAME_LABEL",
    "GPU_GROUP_REPLICA_LABEL",
    "refuse_gpu_group",
]

#: Labels of GPU topology groups (proposal 20230314, "How to identify pods are in the same group").
GPU_GROUP_NAME_LABEL = "gputopology.scheduling.koordinator.sh/name"
GPU_GROUP_REPLICA_LABEL = "gputopology.scheduling.koordinator.sh/replica"

GANG_NAME_ANNOTATION = "gang.scheduling.koordinator.sh/name"
GANG_MINIMUM_ANNOTATION = "gang.scheduling.koordinator.sh/min-available"


def refuse_gpu_group(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """Why the GPU group labels and the gang annotations of a pod contradict each other.

    Empty if they agree, or if the pod has no GPU group or no gang.

    Names must be equal; replica and min-available are compared as numbers. A minimum without a gang's name is compared
    too, because pods are scheduled by it.
    """
    if not labels.keys() & {GPU_GROUP_NAME_LABEL, GPU_GROUP_REPLICA_LABEL}:
        return ""
    if not annotations.keys() & {GANG_NAME_ANNOTATION, GANG_MINIMUM_ANNOTATION}:
        return ""
    found = []
    name, gang = labels.get(GPU_GROUP_NAME_LABEL, ""), annotations.get(GANG_NAME_ANNOTATION)
    if gang is not None and (name != gang or not name):
        found.append(f"label {GPU_GROUP_NAME_LABEL} is '{name}', annotation {GANG_NAME_ANNOTATION} is '{gang}'")
    replica, minimum = labels.get(GPU_GROUP_REPLICA_LABEL, ""), annotations.get(GANG_MINIMUM_ANNOTATION, "")
    number = whole_number(replica)
    if not number or number != whole_number(minimum):
        found.append(
            f"label {GPU_GROUP_REPLICA_LABEL} is '{replica}', annotation {GANG_MINIMUM_ANNOTATION} is '{minimum}'"
        )
    return f"GPU group and gang must agree: {'; '.join(found)}" if found else ""
