"""Times as the API of Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["seconds_of"]


def seconds_of(text: str) -> float | None:
    """Seconds since 1970 of a time such as ``2026-01-01T00:00:00Z``; None: there is none, or it is no time."""
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return None if time is None else (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
