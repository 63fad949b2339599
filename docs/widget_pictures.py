"""Sphinx extension: where a notebook shows a widget, its page shows a picture of the gallery.

The tests import this module for the names of pictures, so what takes seconds to import is imported where it is used.
A widget needs a kernel behind it; without one it is drawn by scripts from the network, and the site asks nothing of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["PICTURES", "setup"]

#: Names of pictures below ``docs/images/gallery``, without their theme, by the class of the widget.
PICTURES = {
    "TopologyEditor": ("editor-8",),
    "MatrixLoader": ("matrix-8",),
    "PlacementComparer": ("comparer-8",),
    "SimulationExplorer": ("explorer-24",),
    "Workbench": ("editor-8", "matrix-8", "comparer-8"),
}

#: ``Workbench(children=…)`` and ``<workbench.widgets.editor.TopologyEditor object at …>``.
_CLASS = re.compile(r"<?(?:\w+\.)*(\w+)[( ]")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension to Sphinx, before its own collector copies the images of a page."""
    app.connect("doctree-read", _show_pictures, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _show_pictures(app: Sphinx, doctree: nodes.document) -> None:
    from myst_nb.sphinx_ import NbMetadataCollector

    for bundle in list(doctree.findall(_is_widget)):
        shown = {child["mime_type"]: child for child in bundle.children}
        name = _CLASS.match(shown["text/plain"].astext())[1]
        bundle.replace_self([_caption(name), *_images(name)])
    state = NbMetadataCollector.get_doc_data(app.env).get(app.env.docname, {}).get("js_files", {})
    state.pop("ipywidgets_state", None)


def _is_widget(node: nodes.Node) -> bool:
    """Whether the node holds the output of a cell in several forms, one of them a widget."""
    from myst_nb.core.render import WIDGET_VIEW_MIMETYPE

    if not (isinstance(node, nodes.container) and node.get("nb_element") == "mime_bundle"):
        return False
    return any(child.get("mime_type") == WIDGET_VIEW_MIMETYPE for child in node.children)


def _caption(name: str) -> nodes.paragraph:
    text = nodes.emphasis(text=f"{name} in JupyterLab, where it can be edited; a picture of the gallery.")
    return nodes.paragraph("", "", text)


def _images(name: str) -> list[nodes.image]:
    return [
        nodes.image(
            uri=f"/docs/images/gallery/{picture}-{theme}.png",
            alt=f"{name}: {picture}, {theme}",
            classes=[f"only-{theme}"],
        )
        for picture in PICTURES[name]
        for theme in ("light", "dark")
    ]
