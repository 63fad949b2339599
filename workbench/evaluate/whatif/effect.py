"""`Effect`: the effect of a fix on another job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Effect"]


@dataclass(frozen=True)
class Effect:
    """The effect of a fix on another job.

    Attributes
    ----------
    job : str
        ``namespace/name``.
    effect : {"ends", "waits", "starts", "withdrawn"}
        The running gang ends; the job would have been placed and now waits; it would have waited and is now placed; it
        was pending and leaves the session.
    pods, gpus : int
        Pods and GPUs that end; 0 for the other effects.
    """

    job: str
    effect: str
    pods: int = 0
    gpus: int = 0

    @property
    def harms(self) -> bool:
        """Whether the other job is worse off."""
        return self.effect != "starts"

    def to_dict(self) -> dict[str, Any]:
        """The effect as a JSON-ready dict; ``pods`` and ``gpus`` only for a gang that ends."""
        loss = {"pods": self.pods, "gpus": self.gpus} if self.effect == "ends" else {}
        return {"job": self.job, "effect": self.effect, **loss}
