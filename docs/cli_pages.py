"""Sphinx extension that writes the reference of the command line to ``docs/cli/pages``: a page for each command.

Each page holds what ``--help`` prints, so that it cannot say anything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["FOLDER", "pages", "setup"]

FOLDER = Path(__file__).parent / "cli" / "pages"

#: Characters of a line of help.
_WIDTH = "80"


def pages() -> dict[str, str]:
    """The text of each page by the name of the command below ``workbench``."""
    os.environ["COLUMNS"] = _WIDTH
    from workbench.cli.app import command

    root = command()
    return {name: "".join(_sections(one, ("workbench", name))) for name, one in root.commands.items()}


def _sections(one: Any, path: tuple[str, ...], line: str = "=") -> Iterator[str]:
    if one.hidden:
        return
    title = " ".join(path)
    with one.make_context(title, [], resilient_parsing=True) as context:
        text = one.get_help(context)
    indented = "\n".join(f"   {each}".rstrip() for each in text.splitlines())
    yield f"{title}\n{line * len(title)}\n\n.. code-block:: text\n\n{indented}\n\n"
    for name, below in getattr(one, "commands", {}).items():
        yield from _sections(below, (*path, name), "-" if line == "=" else "~")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension to Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx) -> None:
    from api_pages import write_pages

    write_pages(FOLDER, pages())
