from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench
from workbench.model.counted import counted


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ((1, "node"), "1 node"),
        ((0, "node"), "0 nodes"),
        ((12_000, "node", "", ","), "12,000 nodes"),
        ((1, "switch has", "switches have"), "1 switch has"),
        ((2, "switch has", "switches have"), "2 switches have"),
    ],
)
def test_one_thing_is_singular(given: tuple[int, str], want: str) -> None:
    assert counted(*given) == want


#: A number that may be one before a plural: ``{len(nodes)} nodes``. Limits (``at most {MAX} nodes``) are larger, and
#: the sentences of Volcano keep their words; ``all`` and ``of the`` stand before several only.
#: A range (``1 to {n} GPUs``) and a text of several numbers have the plural.
_UNGUARDED = re.compile(
    r"(?<!at most )(?<!/)(?<!all )(?<!of the )(?<!1 to )\{(?!counted\()"
    r"(?!MAX|_|numbers|found)[^{}\"]*\} (?:more |running |free )?"
    r"(?:nodes|pods|GPUs|jobs|HyperNodes|switches|servers|files|lines|slots)\b(?! and nodes)"
)
#: Rooms whose sentences others own or that quote Volcano.
_OTHERS = ("policies/volcano", "_core", "jobs", "kernels")


@pytest.mark.slow
def test_sentences_count_by_the_helper() -> None:
    root = Path(workbench.__file__).parent
    found = [
        f"{path.relative_to(root)}: {hit[0]}"
        for path in sorted(root.rglob("*.py"))
        if not str(path.relative_to(root)).startswith(_OTHERS)
        for hit in _UNGUARDED.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
