"""What a policy would have done where a cluster decided: the observed placement of a gang beside the policy's own."""

from __future__ import annotations

from workbench.evaluate.audit.loss import MeetingPlace
from workbench.evaluate.audit.observed import (
    NOT_TRIED,
    Audit,
    Observed,
    audit,
    audit_session,
    audit_waiting,
    by_loss,
    loss_sentence,
)

__all__ = [
    "NOT_TRIED",
    "Audit",
    "MeetingPlace",
    "Observed",
    "audit",
    "audit_session",
    "audit_waiting",
    "by_loss",
    "loss_sentence",
]
