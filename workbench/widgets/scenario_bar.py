"""`ScenarioBar`: buttons that save and open the scenario of a `Workbench` from the page itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.widgets.messages import text_in
from workbench.widgets.panel import STATIC, Panel

__all__ = ["ScenarioBar"]


class ScenarioBar(Panel):
    """Two buttons in the page: one saves a scenario file, the other opens one.

    Parameters
    ----------
    save : callable
        Gives the text of the file.
    open_text : callable
        Called with the text of a file and its name; if it raises, the error is shown and nothing has changed.
    """

    _esm = STATIC / "scenario.js"
    handlers = {"save": "_save", "open": "_open"}

    def __init__(self, save: Callable[[], str], open_text: Callable[[str, str], None]) -> None:
        super().__init__()
        self._text, self._open_text = save, open_text

    def _save(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"name": "scenario.json", "text": self._text()}

    def _open(self, body: dict[str, Any]) -> dict[str, Any]:
        self._open_text(text_in(body, "text"), text_in(body, "name") or "text")
        return {}
