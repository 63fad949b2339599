"""What a policy would have done where a cluster decided: the observed placement of a gang beside the policy's own."""

from __future__ import annotations

from workbench.evaluate.audit.observed import Audit, Observed, audit

__all__ = ["Audit", "Observed", "audit"]
