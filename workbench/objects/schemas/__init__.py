"""The fields of each kind, in a short notation, and the search for fields that a kind does not have."""

from __future__ import annotations

from workbench.objects.schemas.unknown import DESCRIBED_KINDS, Unknown, strict_text, types, unknown_in, unknown_notes

__all__ = ["DESCRIBED_KINDS", "Unknown", "strict_text", "types", "unknown_in", "unknown_notes"]
