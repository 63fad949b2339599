"""Sphinx extension that writes a page for each public package of `workbench` to ``docs/api/rooms``.

sphinx.ext.apidoc takes no template, and documents what a package's ``__init__`` imports a second time.
"""

from __future__ import annotations

import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["FOLDER", "OBJECTS", "objects", "page", "pages", "setup"]

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "api" / "rooms"
OBJECTS = ROOT / "docs" / "api" / "objects"

#: Rooms without a page: the kernels are for other rooms, and ``--help`` describes the command line.
_LEFT_OUT = ("_core", "kernels", "cli")


def pages() -> dict[str, str]:
    """The text of each page by the name of its package; the package `workbench` itself has a page by hand."""
    top = ROOT / "workbench"
    rooms = sorted(path for path in top.iterdir() if (path / "__init__.py").is_file() and path.name not in _LEFT_OUT)
    packages = sorted(init.parent for room in rooms for init in room.rglob("__init__.py"))
    found = {".".join(package.relative_to(ROOT).parts): page(package) for package in packages}
    errors = "workbench.errors"
    return found | {errors: _section(errors, "=") + _module(errors)}


def objects() -> dict[str, str]:
    """The text of a page for each object that `workbench` exports, by its name there; other sites can link to it."""
    import workbench

    found = {}
    for name in sorted(workbench.__all__):
        value = getattr(workbench, name)
        if not isinstance(value, types.ModuleType):
            kind, members = ("class", "   :members:\n") if isinstance(value, type) else ("function", "")
            path = f"workbench.{name}"
            found[path] = f"{_section(path, '=')}.. auto{kind}:: {path}\n{members}"
    return found


def page(package: Path) -> str:
    """What the package says of itself, then everything that its modules name in ``__all__``."""
    name = ".".join(package.relative_to(ROOT).parts)
    below = sorted(path.name for path in package.iterdir() if (path / "__init__.py").is_file())
    modules = sorted(path.stem for path in package.glob("*.py") if not path.stem.startswith("_"))
    text = _section(name, "=") + f".. automodule:: {name}\n   :no-members:\n\n"
    if below:
        text += ".. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   {name}.{one}\n" for one in below) + "\n"
    return text + "".join(_section(f"{name}.{one}", "-") + _module(f"{name}.{one}") for one in modules)


def _section(title: str, line: str) -> str:
    escaped = title.replace("_", r"\_")
    return f"{escaped}\n{line * len(escaped)}\n\n"


def _module(name: str) -> str:
    return f".. automodule:: {name}\n   :members:\n\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension to Sphinx."""
    app.connect("builder-inited", _write)
    app.connect("autodoc-skip-member", _skip)
    app.connect("html-page-context", _without_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx) -> None:
    write_pages(FOLDER, pages())
    write_pages(OBJECTS, objects())


def _without_source(app: Sphinx, name: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Leave out the link to the source of a generated page, which is in no repository."""
    if name.startswith(("docs/api/rooms/", "docs/api/objects/", "docs/cli/pages/")):
        context["page_source_suffix"] = ""


def write_pages(folder: Path, wanted: dict[str, str]) -> None:
    """Write generated pages into a folder of their own; unchanged ones keep their time, and others are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / f"{name}.rst"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _skip(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out names for types such as ``dict[str, int]``: autodoc takes them for classes and finds no signature."""
    return True if isinstance(member, types.GenericAlias) else None
