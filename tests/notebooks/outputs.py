"""Small outputs of the notebooks: ``PYTHONPATH=. python -m tests.notebooks.outputs [NAME …]`` keeps them.

With them a browsed repository shows pictures. A notebook is run, and of each cell are kept: its text, cut after
`MOST_LINES` lines, and its first drawings as PNG, as long as they are small. Widgets and pages are left out. Beside the
outputs stands a digest of the cells: a test fails where the outputs are those of other cells.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.report.png import to_png

__all__ = ["FOLDER", "MOST_BYTES", "MOST_LINES", "digest", "keep", "kept_size"]

FOLDER = Path(__file__).parents[2] / "notebooks"

MOST_LINES = 25
MOST_PICTURES = 2
#: Bytes of one picture (smaller ones are marks of a legend), and of all outputs of a notebook.
LEAST_OF_ONE, MOST_OF_ONE = 1_500, 60_000
MOST_BYTES = 200_000

_TAG = re.compile(r"<svg\b|</svg>")
#: What only tells where an object lies in memory, or how long something took.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def digest(notebook: dict[str, Any]) -> str:
    """A digest of the code of a notebook."""
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()[:16]


def kept_size(notebook: dict[str, Any]) -> int:
    """Bytes of all outputs that a notebook keeps."""
    return sum(len(json.dumps(cell["outputs"])) for cell in notebook["cells"] if cell["cell_type"] == "code")


def _cut(text: str) -> str:
    # Where this machine keeps its files is nobody's business.
    for folder in (FOLDER.parent, sys.prefix, sys.base_prefix):
        text = text.replace(f"{folder}/", "")
    text = re.sub(rf"{tempfile.gettempdir()}/ipykernel_\d+/", "", text)
    lines = _ADDRESS.sub("", text).splitlines(keepends=True)
    return "".join(lines[:MOST_LINES]) + ("…\n" if len(lines) > MOST_LINES else "")


def _drawings(html: str) -> Iterator[str]:
    """The drawings of an HTML text; what is drawn inside one belongs to it."""
    depth, begin = 0, 0
    for tag in _TAG.finditer(html):
        if tag[0] == "</svg>":
            depth -= 1
            if depth == 0:
                yield html[begin : tag.end()]
        else:
            begin, depth = (tag.start() if depth == 0 else begin), depth + 1


def _pictures(html: str) -> list[str]:
    """The drawings of an HTML output as PNG in base64, without those that are large."""
    found = []
    for svg in _drawings(html):
        # What a page says around a drawing.
        for name, value in (("xmlns", "http://www.w3.org/2000/svg"), ("font-family", "sans-serif")):
            svg = svg if f"{name}=" in svg.partition(">")[0] else svg.replace("<svg", f'<svg {name}="{value}"', 1)
        png = to_png(svg)
        if LEAST_OF_ONE <= len(png) <= MOST_OF_ONE:
            found.append(base64.b64encode(png).decode())
    return found[:MOST_PICTURES]


def _small(output: Any) -> list[dict[str, Any]]:
    """The small outputs that stand for one."""
    if output["output_type"] == "stream":
        return [{"output_type": "stream", "name": output["name"], "text": _cut(output["text"])}]
    data = output.get("data", {})
    if not data or any("widget" in kind for kind in data):
        return []
    html = data.get("text/html", "")
    pictures = [data["image/png"].strip()] if "image/png" in data else _pictures(html)
    if pictures:
        return [
            {"output_type": "display_data", "metadata": {}, "data": {"image/png": one, "text/plain": "a picture"}}
            for one in pictures
            if len(one) <= MOST_OF_ONE * 4 / 3
        ]
    text = {"text/plain": _cut(data.get("text/plain", ""))}
    return [{"output_type": "display_data", "metadata": {}, "data": text}] if text["text/plain"] else []


def keep(path: Path) -> None:
    """Run a notebook and write its small outputs into it."""
    import nbformat
    from nbclient import NotebookClient

    made = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(made, timeout=600, store_widget_state=False, resources=resources).execute()
    notebook = json.loads(path.read_text("utf-8"))
    room = MOST_BYTES
    for cell, run in zip(notebook["cells"], made.cells, strict=True):
        if cell["cell_type"] != "code":
            continue
        cell["outputs"] = []
        for small in (one for output in run.outputs for one in _small(output)):
            size = len(json.dumps(small))
            if size <= room:
                room -= size
                cell["outputs"].append(small)
    notebook["metadata"]["kept_outputs"] = digest(notebook)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(names: list[str]) -> int:
    """Keep the outputs of all notebooks, or of those named."""
    os.environ["PYTHONPATH"] = str(FOLDER.parent)
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.name in names or path.stem in names:
            keep(path)
            print(path.name, kept_size(json.loads(path.read_text("utf-8"))), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
