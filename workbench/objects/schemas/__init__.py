"""Field names and types of each Kubernetes kind in a short notation, and the search for unknown fields in manifests."""

from __future__ import annotations

from workbench.objects.schemas.unknown import DESCRIBED_KINDS, Unknown, strict_text, types, unknown_in, unknown_notes

__all__ = ["DESCRIBED_KINDS", "Unknown", "strict_text", "types", "unknown_in", "unknown_notes"]
