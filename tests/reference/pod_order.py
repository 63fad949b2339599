"""Which of two pods Volcano takes first. The product orders all pods of a gang, for which this is no order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.jobs.task_pods import index_in_name

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def pod_before(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Whether a pod sorts before another one: by index in the name if both have one and they differ, then age, then
    uid.

    The relation is Volcano's; it is not transitive if one of three pods has no index.
    """
    indices = [index_in_name(pod) for pod in (left, right)]
    if all(map(_NUMBER.fullmatch, indices)) and int(indices[0]) != int(indices[1]):
        return int(indices[0]) < int(indices[1])
    return _age_and_uid(left) < _age_and_uid(right)


def _age_and_uid(pod: Mapping[str, Any]) -> tuple[str, str]:
    metadata = pod.get("metadata") or {}
    return metadata.get("creationTimestamp") or "", metadata.get("uid") or ""
