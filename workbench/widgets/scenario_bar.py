"""`ScenarioBar`: the bar at the top of the `Workbench` widget, with tabs, the result, and saving and opening."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.widgets.messages import text_in
from workbench.widgets.panel import STATIC, Panel

__all__ = ["ScenarioBar"]


class ScenarioBar(Panel):
    """Jupyter widget with tabs for the other widgets, the result in one line, and buttons to save and open a scenario
    file.

    Parameters
    ----------
    save : callable
        Gives the text of the file.
    open_text : callable
        Called with the text of a file and its name; if it raises, the error is shown and nothing has changed.
    """

    _esm = STATIC / "scenario.js"
    handlers = {"save": "_save", "open": "_open", "state": "_state"}

    def __init__(self, save: Callable[[], str], open_text: Callable[[str, str], None]) -> None:
        super().__init__()
        self._text, self._open_text = save, open_text
        self._result = ""

    def show_result(self, line: str) -> None:
        """Show the outcome of a comparison in the bar.

        Parameters
        ----------
        line : str
            Empty: nothing is known yet.
        """
        self._result = line
        self.tell("result", {"line": line})

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"line": self._result}

    def _save(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"name": "scenario.json", "text": self._text()}

    def _open(self, body: dict[str, Any]) -> dict[str, Any]:
        self._open_text(text_in(body, "text"), text_in(body, "name") or "text")
        return {}
