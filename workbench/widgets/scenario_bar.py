"""`ScenarioBar`: the bar at the top of the `Workbench` widget, with tabs, the result, and saving and opening."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from workbench.widgets.loading import Loading
from workbench.widgets.messages import text_in
from workbench.widgets.panel import STATIC, Panel

__all__ = ["ScenarioBar"]

T = TypeVar("T")


class ScenarioBar(Panel, Generic[T]):
    """Jupyter widget with tabs for the other widgets, the result in one line, and buttons to save and open a scenario
    file.

    Parameters
    ----------
    save : callable
        Function that returns the text of the file to save.
    read : callable
        Function from the text and the name of an opened file to its content; called in the background.
    show : callable
        Function that shows the content; if `show` or `read` raises an error, the bar shows the error and nothing
        changes.
    read_cluster : callable
        Function from the name of a context of the user's kubeconfig, and whether the cluster will be followed, to the
        content; called in the background.
    """

    # Methods with an underscore answer messages of the page (`handlers`). `load` reads in the background; the page then
    # asks by the message ``arrived``, and `show_loaded` shows what was read.

    _esm = STATIC / "scenario.js"
    handlers = {
        "save": "_save",
        "open": "_open",
        "contexts": "_contexts",
        "cluster": "_cluster",
        "state": "_state",
        "arrived": "_arrived",
        "give_up": "_give_up",
    }

    def __init__(
        self,
        save: Callable[[], str],
        read: Callable[[str, str], T],
        show: Callable[[T], None],
        read_cluster: Callable[[str, bool], T],
    ) -> None:
        super().__init__()
        self._text, self._read, self._show, self._read_cluster = save, read, show, read_cluster
        self._result = ""
        self._loading: Loading[T] = Loading(self.tell)

    @property
    def name(self) -> str:
        """Name of the file or cluster that was read last."""
        return self._loading.name

    def show_result(self, line: str) -> None:
        """Show the outcome of a comparison in the bar. `line`: the outcome; empty: there is none yet."""
        self._result = line
        self.tell("result", {"line": line})

    def load(self, name: str, read: Callable[[], T]) -> bool:
        """Read a file in the background and show it.

        Returns whether the file is shown already; otherwise the page shows the progress, and asks for the result later.
        """
        if not self._loading.begin(name, read):
            return False
        self.show_loaded()
        return True

    def show_loaded(self, *, wait: bool = False) -> bool:
        """Show what was read; returns False if there is nothing new. With `wait`, wait for the end of the reading."""
        if wait:
            self._loading.wait()
        found = self._loading.take()
        if found is not None:
            self._show(found)
        return found is not None

    def give_up(self) -> None:
        """Cancel the reading of a file; what is shown stays."""
        self._loading.cancel()

    def close(self) -> None:
        """Cancel the reading of a file, and remove the widget from the page."""
        self.give_up()
        super().close()

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"line": self._result, **self._loading.state}

    def _save(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"name": "scenario.json", "text": self._text()}

    def _open(self, body: dict[str, Any]) -> dict[str, Any]:
        text, name = text_in(body, "text"), text_in(body, "name") or "text"
        return {"name": name} if self.load(name, lambda: self._read(text, name)) else {"waiting": True}

    def _contexts(self, body: dict[str, Any]) -> dict[str, Any]:
        from workbench.live import contexts

        names, current = contexts()
        return {"contexts": names, "current": current}

    def _cluster(self, body: dict[str, Any]) -> dict[str, Any]:
        name, follow = text_in(body, "name"), body.get("follow") is True
        return {"name": name} if self.load(name, lambda: self._read_cluster(name, follow)) else {"waiting": True}

    def _arrived(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"name": self._loading.name} if self.show_loaded() else {}

    def _give_up(self, body: dict[str, Any]) -> dict[str, Any]:
        self.give_up()
        return {}
