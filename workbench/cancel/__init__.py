"""Cancel long-running work from another thread, and report its progress.

The other thread cancels a token, and the work checks it between steps.
"""

from __future__ import annotations

from workbench.cancel.foreign import call_foreign
from workbench.cancel.progress import Progress, ProgressOption, reported
from workbench.cancel.token import Cancelled, Token, check, current, finish, reached

__all__ = [
    "Cancelled",
    "Progress",
    "ProgressOption",
    "Token",
    "call_foreign",
    "check",
    "current",
    "finish",
    "reached",
    "reported",
]
