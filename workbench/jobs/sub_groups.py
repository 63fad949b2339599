"""Names and policies of a gang's sub-groups as in Volcano 1.15: a task's partitions, or a PodGroup's policies.

Source: docs/reference/volcano-topology.md, sections 3 and 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from workbench.jobs.membership import ROLE_LABEL
from workbench.model.labels import Requirement
from workbench.objects.job import Task
from workbench.objects.partition import SubGroupPolicy

__all__ = ["PARTITION_LABEL", "match_index", "match_values", "partition_id", "sub_group_policy", "sub_job_id"]

#: On a pod: its partition.
PARTITION_LABEL = "volcano.sh/partition-id"

_LONGEST_ID = 128
_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}", re.ASCII)
# Kubernetes' alphabet for codes that must spell no word.
_SAFE = "bcdfghjklmnpqrstvwxz2456789"


def partition_id(pod_index: int, partition_size: int) -> str:
    """The partition number, as a label value, of the pod with this index in its task.

    With a `partition_size` below 1 all pods are in partition 0. For a negative index, which no pod has, the quotient is
    rounded towards 0, as in Go.
    """
    if partition_size <= 0:
        return "0"
    partition = abs(pod_index) // partition_size
    return str(-partition if pod_index < 0 else partition)


def sub_group_policy(task: Task) -> SubGroupPolicy | None:
    """The subGroupPolicy entry that Volcano's controller writes into the PodGroup for a partitioned task.

    None for others.
    """
    if task.partition is None:
        return None
    return SubGroupPolicy(
        name=task.name,
        constraint=task.partition.constraint,
        size=task.partition.partition_size,
        min_sub_groups=task.partition.min_partitions,
        labels=(Requirement(ROLE_LABEL, "In", (task.name,)),),
        match_label_keys=(PARTITION_LABEL,),
    )


def match_values(policy: SubGroupPolicy, labels: Mapping[str, str]) -> tuple[str, ...] | None:
    """The label values that identify a pod's sub-group under a policy; None if the policy does not capture the pod.

    A policy captures a pod that its label selector matches and that has a value for every key of `match_label_keys`. If
    the policy has no keys, the result is an empty tuple, and the policy captures no pod.
    """
    if policy.labels is not None and not all(requirement.holds(labels) for requirement in policy.labels):
        return None
    values = tuple(labels.get(key, "") for key in policy.match_label_keys)
    return values if all(values) else None


def sub_job_id(job: str, policy: str, values: Sequence[str]) -> str:
    """The id that Volcano gives to a sub-group of a job: ``job/policy-v1-v2``.

    `job`: ``namespace/name`` of the job. `policy`: name of the SubGroupPolicy. `values`: values of the policy's labels
    that the pods of the sub-group share. Values longer than 128 characters together are replaced by a code of their
    32-bit FNV-1a hash.
    """
    joined = "-".join(values)
    if len(joined) > _LONGEST_ID:
        joined = "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(_fnv32a(joined.encode())))
    return f"{job}/{policy}-{joined}"


def match_index(values: Sequence[str]) -> int:
    """Sort key of a sub-group among those of its policy: the first label value as a 64-bit integer, 0 if it is none."""
    number = int(values[0]) if values and _INTEGER.fullmatch(values[0]) else 0
    return number if -(2**63) <= number < 2**63 else 0


def _fnv32a(data: bytes) -> int:
    code = 0x811C9DC5
    for byte in data:
        code = (code ^ byte) * 0x01000193 & 0xFFFFFFFF
    return code
