"""`Panel`, the base class of the widgets: a page module each, and handler methods for the page's requests."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import anywidget

from workbench.errors import WorkbenchError
from workbench.widgets.messages import PageRequest, answer, check_texts, failure, news, read_request, together

__all__ = ["STATIC", "Handler", "Panel"]

STATIC = Path(__file__).with_name("static")

#: From the body of a request to the body of its answer.
Handler = Callable[[dict[str, Any]], dict[str, Any]]


class Panel(anywidget.AnyWidget):
    """Base class of a Jupyter widget whose page sends requests and draws the answers.

    A subclass names its page module (``_esm``) and fills `handlers`; a handler that raises a `WorkbenchError` answers
    with its one line, any other exception with its traceback too, and neither changes another panel.
    """

    _css = STATIC / "panel.css"
    #: PageRequest type -> name of the method that answers it.
    handlers: ClassVar[dict[str, str]] = {}

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        #: Messages to send with the current answer; None: no request is being answered.
        self._held: list[dict[str, Any]] = []
        self._answering: int | None = None
        self.on_msg(lambda _, content, buffers: self._hear(content))

    def open(self) -> None:
        """Open the widget's comm."""
        super().open()
        # ipykernel 7.4 hands requests to the subshell under which the comm last spoke. Once the page of that subshell
        # is closed, all others would wait for ever; so each goes to the subshell that it names, as in earlier releases.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = lambda data, named: named

    def receive(self, content: Any) -> dict[str, Any]:
        """Handle one message of the page and return the answer; never raises, so that every request is answered."""
        request = PageRequest(0, "")
        try:
            request = read_request(content)
            name = self.handlers.get(request.type)
            if name is None:
                known = ", ".join(sorted(self.handlers))
                return failure(request.id, f"unknown request '{request.type}'; known: {known}")
            check_texts(request.body)
            handle: Handler = getattr(self, name)
            return answer(request, handle(request.body))
        except WorkbenchError as error:
            return failure(request.id, str(error))
        except KeyboardInterrupt:
            return failure(request.id, "interrupted")
        except Exception as error:
            return failure(request.id, f"{type(error).__name__}: {error}", traceback.format_exc())

    def _hear(self, content: Any) -> None:
        self._answering = threading.get_ident()
        try:
            answered = self.receive(content)
        finally:
            self._answering = None
            held, self._held = self._held, []
        self.send(together([*held, answered]))

    def close(self) -> None:
        """Close the widget and its layout, which is a widget of its own."""
        self.layout.close()
        super().close()

    def tell(self, event: str, body: dict[str, Any]) -> None:
        """Send the page a message without a request, such as progress or a change made from Python."""
        if self._answering == threading.get_ident():
            self._held.append(news(event, body))
        else:
            self.send(news(event, body))
