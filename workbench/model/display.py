"""How a notebook shows the package's values: a registry of drawing functions by class.

Value classes get `_repr_html_` and `view` from the mixin `Displayed`; the drawing functions themselves are in
`workbench.report`. The classes of `workbench.model` therefore contain no HTML and do not import the drawing code. Other
functions of outer rooms that values offer as methods are `handed_in`, too: they are imported when they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.errors import UnknownNameError

__all__ = ["Displayed", "Plotted", "Tabular", "hand_in", "handed_in", "set_installer", "set_renderer"]

_renderers: dict[type, tuple[Callable[[Any], str], Callable[..., Any] | None]] = {}
_installer: Callable[[], None] | None = None


def set_installer(install: Callable[[], None]) -> None:
    """Register a function that registers all drawing functions; it is called once, when the first value is shown."""
    global _installer
    _installer = install


def set_renderer(kind: type, html: Callable[[Any], str], view: Callable[..., Any] | None = None) -> None:
    """Register the functions that draw the values of a class.

    `kind`: a subclass of `Displayed`. `html`: value -> HTML fragment, shown when the value is the last of a notebook
    cell. `view`: ``(value, **options)`` -> an object that Jupyter shows; reached as ``value.view(**options)``.
    """
    _renderers[kind] = (html, view)


def _renderer(kind: type) -> tuple[Callable[[Any], str], Callable[..., Any] | None] | None:
    global _installer
    if kind not in _renderers and _installer is not None:
        install, _installer = _installer, None
        install()
    return _renderers.get(kind)


class _View:
    """The method `view` of a value: the drawing function of its class, with the names of its options."""

    def __get__(self, value: Any, owner: type) -> Any:
        if value is None:
            return self
        renderer = _renderer(owner)
        if renderer is None or renderer[1] is None:
            raise TypeError(f"{owner.__name__} has no view")
        # Only now: it takes half of the time of `import workbench`.
        from inspect import Parameter, signature

        draw = renderer[1]
        named = signature(draw)
        options = list(named.parameters.values())[1:]

        def view(**given: Any) -> Any:
            names = [option.name for option in options]
            for name in given:
                if name not in names:
                    raise UnknownNameError(f"option of {owner.__name__}.view", name, names)
            return draw(value, **given)

        view.__doc__ = draw.__doc__
        view.__dict__["__signature__"] = named.replace(
            parameters=[option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]
        )
        return view


class Displayed:
    """Mixin of values that a notebook shows as a picture or a table (`_repr_html_` and `view`).

    The drawing function is the one registered for the value's class with `set_renderer`.
    """

    def _repr_html_(self) -> str | None:
        renderer = _renderer(type(self))
        return None if renderer is None else renderer[0](self)

    #: ``value.view(…)`` draws the value for a notebook, with the options that ``help(value.view)`` names.
    view = _View()


class Plotted:
    """Mixin of values that matplotlib can draw (`plot`); the plots are made in `workbench.report.plots`."""

    def plot(self, ax: Any = None, kind: str | None = None, **options: Any) -> Any:
        """Draw the value on axes of matplotlib: `workbench.report.plots.plot_value` lists kinds and options.

        Raises MissingExtraError: matplotlib is not installed: ``pip install "topology-workbench[plot]"``;
        UnknownNameError: no such kind or option.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            None: new axes.
        kind : str, optional
            None: the usual one of the value's class.
        **options
            As the kind has them, such as ``metric`` of a comparison.
        """
        return handed_in("plot")(self, ax, kind, **options)


class Tabular:
    """Mixin of values that are a table (`to_dataframe`); the tables are made in `workbench.evaluate.frames`."""

    def to_dataframe(self) -> Any:
        """The value as a tidy table.

        Returns pandas.DataFrame: its columns are those that `workbench.evaluate.frames.frame_of` names for the value's
        class.
        """
        return handed_in("frame")(self)


_functions: dict[str, Callable[..., Any]] = {}


def hand_in(name: str, function: Callable[..., Any]) -> None:
    """Register the function behind a method of a value, such as ``fix`` of a Scenario."""
    _functions[name] = function


def handed_in(name: str) -> Callable[..., Any]:
    """The function that was registered under a name.

    Raises TypeError: the package `workbench`, which registers all of them, was not imported.
    """
    if name not in _functions:
        raise TypeError(f"nothing is registered for {name}; import workbench first")
    return _functions[name]
