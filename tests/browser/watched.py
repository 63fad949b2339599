"""A browser page without access to the network, with a record of its requests and console errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request, Route

__all__ = ["GIVEN_UP", "Watched"]

#: What anywidget throws, to nobody, where a widget's module takes above two seconds to load: the machine is busy then,
#: and the widget answers all the same (`test_slow_start`).
GIVEN_UP = "[anywidget] Failed to initialize model."


@dataclass
class Watched:
    """A page with the outside network cut.

    Attributes
    ----------
    page : Page
    outside : list of str
        Addresses beyond its own that the page asked for.
    complaints : list of str
        Console errors and exceptions, besides `GIVEN_UP`.
    """

    page: Page
    outside: list[str] = field(default_factory=list, kw_only=True)
    complaints: list[str] = field(default_factory=list, kw_only=True)

    def cut_off(self, *own: str) -> None:
        """Let through only what begins with one of these addresses; listen from now on."""

        def only_its_own(route: Route, request: Request) -> None:
            if request.url.startswith(own):
                route.continue_()
            else:
                self.outside.append(request.url)
                route.abort()

        def complain(text: str) -> None:
            if text != GIVEN_UP:
                self.complaints.append(text)

        self.page.route("**/*", only_its_own)
        self.page.on("console", lambda m: complain(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda error: complain(str(error)))
