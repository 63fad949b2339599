"""Sphinx extension that computes once what Sphinx and numpydoc compute anew for every page and docstring.

The site is the same without it, and takes several times as long to build.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from docutils import nodes
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx import addnodes

if TYPE_CHECKING:
    from jinja2 import BaseLoader
    from sphinx.application import Sphinx

__all__ = ["setup", "titles_of"]

_titles: dict[str, nodes.bullet_list] = {}
_environments: dict[type[BaseLoader], SandboxedEnvironment] = {}


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension to Sphinx, before the theme asks for the tree of pages."""
    app.connect("env-updated", _keep_titles)
    app.connect("html-page-context", _tree_of_titles, priority=100)
    docscrape_sphinx.SandboxedEnvironment = _environment
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def titles_of(contents: nodes.bullet_list) -> nodes.bullet_list:
    """The contents of a page without its headings below the first: its title and the pages that it lists."""
    titles = contents.deepcopy()
    for top in titles.children:
        if len(top) > 1:
            lists = list(top.findall(addnodes.toctree))
            if lists:
                top[1][:] = lists
            else:
                top.pop(1)
    return titles


def _keep_titles(app: Sphinx, env: Any) -> None:
    _titles.clear()
    _titles.update({name: titles_of(contents) for name, contents in env.tocs.items()})


def _tree_of_titles(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let the theme's tree of all pages be made of titles.

    Sphinx copies every heading and every documented name of every page, for each page anew, and then drops them.
    """
    whole: Callable[..., str] | None = context.get("toctree")
    if whole is None:
        return

    def tree(**options: Any) -> str:
        if not options.get("titles_only"):
            return whole(**options)
        everything, app.env.tocs = app.env.tocs, _titles
        try:
            return whole(**options)
        finally:
            app.env.tocs = everything

    context["toctree"] = tree


def _environment(loader: BaseLoader) -> SandboxedEnvironment:
    """The environment of a kind of loader, with the templates it has compiled; numpydoc makes one per docstring."""
    kind = type(loader)
    if kind not in _environments:
        _environments[kind] = SandboxedEnvironment(loader=loader)
    return _environments[kind]
