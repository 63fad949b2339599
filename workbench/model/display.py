"""How values get their pictures without knowing who draws them.

Values carry `_repr_html_` and `view`; the drawing functions live in `workbench.report` and are handed
in once, when `workbench` is imported. This keeps the model free of HTML.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Displayed", "set_renderer"]

_renderers: dict[type, tuple[Callable[[Any], str], Callable[..., Any] | None]] = {}


def set_renderer(kind: type, html: Callable[[Any], str], view: Callable[..., Any] | None = None) -> None:
    """Say how values of a class are drawn.

    Parameters
    ----------
    kind : type
        A subclass of `Displayed`.
    html : callable
        Value -> HTML fragment, shown when the value is the last of a notebook cell.
    view : callable, optional
        (value, **options) -> an object that Jupyter shows; reached as ``value.view(**options)``.
    """
    _renderers[kind] = (html, view)


class Displayed:
    """Mixin: a value worth looking at."""

    def _repr_html_(self) -> str | None:
        renderer = _renderers.get(type(self))
        return None if renderer is None else renderer[0](self)

    def view(self, **options: Any) -> Any:
        """Draw the value; the options are those of its drawing function in `workbench.report`."""
        renderer = _renderers.get(type(self))
        if renderer is None or renderer[1] is None:
            raise TypeError(f"{type(self).__name__} has no view")
        return renderer[1](self, **options)
