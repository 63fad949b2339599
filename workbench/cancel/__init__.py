"""Giving up long work: whoever waits cancels a token; the work looks at it between its steps and stops by itself."""

from __future__ import annotations

from workbench.cancel.foreign import call_foreign
from workbench.cancel.token import Cancelled, Token, check, current, finish

__all__ = ["Cancelled", "Token", "call_foreign", "check", "current", "finish"]
