"""Cancellation of long work: one thread cancels a token, and the work checks the token between its steps."""

from __future__ import annotations

from workbench.cancel.foreign import call_foreign
from workbench.cancel.token import Cancelled, Token, check, current, finish

__all__ = ["Cancelled", "Token", "call_foreign", "check", "current", "finish"]
