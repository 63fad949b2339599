"""Gestures of the browser tests on a drawing: find, click and drag items."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

__all__ = ["click", "drag", "drop_text", "show_part", "where"]


def where(panel: Locator, name: str) -> dict[str, float]:
    """Middle and size of a drawn item, in pixels of the window."""
    found: dict[str, float] | None = panel.evaluate("(root, name) => root.whereIs(name)", name)
    assert found is not None, f"{name} is not drawn"
    return found


def click(panel: Locator, name: str) -> None:
    """Click an item."""
    at = where(panel, name)
    panel.page.mouse.click(at["x"], at["y"])


def drag(panel: Locator, name: str, onto: str) -> None:
    """Drag an item onto another."""
    start, end = where(panel, name), where(panel, onto)
    mouse = panel.page.mouse
    mouse.move(start["x"], start["y"])
    mouse.down()
    mouse.move((start["x"] + end["x"]) / 2, (start["y"] + end["y"]) / 2, steps=4)
    mouse.move(end["x"], end["y"] + 4, steps=4)
    mouse.up()


def show_part(page: Page, title: str) -> None:
    """Choose a tab of a workbench."""
    page.locator(".wb-scenario[data-ready=true]").get_by_role("tab", name=title).click()


def drop_text(panel: Locator, selector: str, name: str, text: str) -> None:
    """Drop a file of this text onto a part of the widget."""
    panel.locator(selector).evaluate(
        """(target, [name, text]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([text], name));
            target.dispatchEvent(new DragEvent('drop', {dataTransfer, bubbles: true, cancelable: true}));
        }""",
        [name, text],
    )
