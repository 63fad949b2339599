"""Display of values in a notebook, by drawing functions that are registered here.

Values carry `_repr_html_` and `view`; the drawing functions live in `workbench.report`, and the package `workbench`
registers them. This keeps the model free of HTML, and importing it free of the drawing code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Displayed", "set_installer", "set_renderer"]

_renderers: dict[type, tuple[Callable[[Any], str], Callable[..., Any] | None]] = {}
_installer: Callable[[], None] | None = None


def set_installer(install: Callable[[], None]) -> None:
    """Register the function that installs all renderers; it is called once, when the first value is to be shown."""
    global _installer
    _installer = install


def set_renderer(kind: type, html: Callable[[Any], str], view: Callable[..., Any] | None = None) -> None:
    """Register the functions that draw the values of a class.

    Parameters
    ----------
    kind : type
        A subclass of `Displayed`.
    html : callable
        Value -> HTML fragment, shown when the value is the last of a notebook cell.
    view : callable, optional
        ``(value, **options)`` -> an object that Jupyter shows; reached as ``value.view(**options)``.
    """
    _renderers[kind] = (html, view)


def _renderer(kind: type) -> tuple[Callable[[Any], str], Callable[..., Any] | None] | None:
    global _installer
    if kind not in _renderers and _installer is not None:
        install, _installer = _installer, None
        install()
    return _renderers.get(kind)


class Displayed:
    """Mixin of values that a notebook shows as a picture or a table."""

    def _repr_html_(self) -> str | None:
        renderer = _renderer(type(self))
        return None if renderer is None else renderer[0](self)

    def view(self, **options: Any) -> Any:
        """Draw the value; the options are those of its drawing function in `workbench.report`."""
        renderer = _renderer(type(self))
        if renderer is None or renderer[1] is None:
            raise TypeError(f"{type(self).__name__} has no view")
        return renderer[1](self, **options)
