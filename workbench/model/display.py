"""How a notebook shows the package's values: a registry of drawing functions by class.

Value classes get `_repr_html_` and `view` from the mixin `Displayed`; the drawing functions themselves are in
`workbench.report`. The classes of `workbench.model` therefore contain no HTML and do not import the drawing code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Displayed", "set_installer", "set_renderer"]

_renderers: dict[type, tuple[Callable[[Any], str], Callable[..., Any] | None]] = {}
_installer: Callable[[], None] | None = None


def set_installer(install: Callable[[], None]) -> None:
    """Register a function that registers all drawing functions; it is called once, when the first value is shown."""
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
    """Mixin of values that a notebook shows as a picture or a table (`_repr_html_` and `view`).

    The drawing function is the one registered for the value's class with `set_renderer`.
    """

    def _repr_html_(self) -> str | None:
        renderer = _renderer(type(self))
        return None if renderer is None else renderer[0](self)

    def view(self, **options: Any) -> Any:
        """Draw the value for a notebook.

        `options` are passed to the drawing function of the value's class in `workbench.report`.
        """
        renderer = _renderer(type(self))
        if renderer is None or renderer[1] is None:
            raise TypeError(f"{type(self).__name__} has no view")
        return renderer[1](self, **options)
