"""A fake page for widget tests: sends requests and records the answers."""

from __future__ import annotations

import json
from typing import Any

from workbench.widgets.panel import Panel

__all__ = ["ask", "refused"]


def _answer(panel: Panel, kind: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = panel.receive({"id": 1, "type": kind, "body": body})
    json.dumps(answer, allow_nan=False)  # what the page gets is JSON
    return answer


def ask(panel: Panel, kind: str, /, **body: Any) -> Any:
    """The body of the answer to a request that must succeed."""
    answer = _answer(panel, kind, body)
    assert answer["type"] == "answer", answer
    return answer["body"]


def refused(panel: Panel, kind: str, /, **body: Any) -> str:
    """The one line that a request is refused with."""
    answer = _answer(panel, kind, body)
    assert (answer["type"], answer["traceback"]) == ("failure", "")
    return answer["message"]
