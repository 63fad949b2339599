"""What the pictures of the gallery show, kept beside them: one is old as soon as its widget would show something else.

`tests.gallery` keeps it whenever it takes a picture; ``PYTHONPATH=. python -m tests.gallery keep`` keeps it alone, for
a change that cannot be seen.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import workbench as wb
from tests import report_picture
from tests.browser.lab import ROOT

__all__ = ["KEPT", "keep", "kept", "shown"]

KEPT = ROOT / "docs" / "images" / "gallery.json"


def shown(widget: str, value: Any) -> str:
    """A digest of what a widget shows.

    Parameters
    ----------
    widget : str
        Which of the gallery.
    value : object
        The widget; for the comparer the scenario and the policies.
    """
    text = json.dumps(_SHOWN[widget](value), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def kept() -> dict[str, str]:
    """The digest of what each picture of the gallery shows, by the picture's name without theme."""
    found: dict[str, str] = json.loads(KEPT.read_text("utf-8"))
    return found


def keep(digests: dict[str, str]) -> None:
    """Write digests by the picture's name without theme; those of other pictures stay."""
    found = {**(kept() if KEPT.is_file() else {}), **digests}
    KEPT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _compared(asked: tuple[wb.Scenario, list[str]]) -> Any:
    scenario, policies = asked
    return report_picture.numbers_and_pods(wb.compare(scenario, policies))


def _texts(widget: Any) -> Iterator[str]:
    """Every text of a tree of ipywidgets, pictures included."""
    value = getattr(widget, "value", None)
    if isinstance(value, str):
        # Pictures number their marks anew in every process.
        yield re.sub(r"\b(id|href|url)(=\"|\()#?[^\")]*", "", value)
    for child in getattr(widget, "children", ()):
        yield from _texts(child)


_SHOWN = {
    "comparer": _compared,
    "editor": lambda snapshot: snapshot.to_dataframe().to_csv() + snapshot.topology.to_dataframe().to_csv(),
    "matrix": lambda matrix: [matrix.to_dataframe().to_csv(), wb.best_gpus(matrix, 4).gpus],
    "explorer": lambda explorer: list(_texts(explorer)),
}
