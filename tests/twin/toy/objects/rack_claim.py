"""`RackClaim` (toy.example/v1), read from a manifest: the rack that a job claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.model.rack_wish import RackWish
from workbench.objects.fields import get_map, get_text, wrong
from workbench.objects.gang_request import GangRequest
from workbench.objects.metadata import read_metadata

__all__ = ["RackClaim", "read_rack_claim"]


@dataclass(frozen=True)
class RackClaim(GangRequest):
    """A RackClaim: the job of its namespace, and the rack that the job claims."""

    job: str
    rack: str

    @property
    def gang(self) -> str:
        return f"{self.metadata.namespace}/{self.job}"

    @property
    def extra(self) -> RackWish:
        return RackWish(self.rack)


def read_rack_claim(data: Mapping[str, Any]) -> RackClaim:
    """Read a RackClaim from a parsed manifest; raises InputError without spec.job."""
    spec = get_map(data, "spec", "")
    job = get_text(spec, "job", "spec")
    if not job:
        raise wrong("spec.job", None, "the name of a job")
    return RackClaim(read_metadata(data, namespaced=True), job, get_text(spec, "rack", "spec"))
