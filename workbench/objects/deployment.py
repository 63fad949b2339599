"""Deployment (apps): pods without a Job, with Volcano's annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.objects.fields import get_count, get_map
from workbench.objects.metadata import Metadata, read_metadata
from workbench.objects.pod import PodTemplate, read_template

__all__ = ["MIN_MEMBER_ANNOTATION", "QUEUE_ANNOTATION", "Deployment", "read_deployment"]

#: On the Deployment itself: how many pods must be placed together.
MIN_MEMBER_ANNOTATION = "scheduling.volcano.sh/group-min-member"
#: On the pod (template).
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"

_INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class Deployment:
    """A Deployment; replicas default to 1."""

    metadata: Metadata
    replicas: int
    template: PodTemplate

    @property
    def min_member(self) -> int:
        """From the annotation; 1 where it is absent, negative or no 32-bit integer; 0 stays 0.

        Source: reference/volcano-jobs.md section 6 (the template's annotation is not looked at).
        """
        try:
            number = int(self.metadata.annotations.get(MIN_MEMBER_ANNOTATION, "1"))
        except ValueError:
            return 1
        return number if 0 <= number <= _INT32_MAX else 1


def read_deployment(data: Mapping[str, Any]) -> Deployment:
    """A Deployment from a parsed manifest; InputError for a field of the wrong type."""
    spec = get_map(data, "spec", "")
    replicas = get_count(spec, "replicas", "spec", default=1)
    return Deployment(read_metadata(data, namespaced=True), replicas, read_template(spec, "spec"))
