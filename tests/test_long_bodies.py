"""A long class says in a comment at its top how its methods work together, before the first of them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "workbench"
#: A class with more lines than this, docstrings not counted, has an overview of at least two lines.
LONG = 150


def long_classes_without_overview(source: str) -> list[str]:
    lines = source.splitlines()
    found = []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef) or _length(node) <= LONG:
            continue
        first = node.body[1] if ast.get_docstring(node) else node.body[0]
        head = lines[node.lineno : first.lineno - 1]
        if sum(line.startswith("    # ") for line in head) < 2:
            found.append(node.name)
    return found


def _length(node: ast.ClassDef) -> int:
    """Lines of a class without its docstring and those of its methods."""
    documented = [node, *(inner for inner in node.body if isinstance(inner, ast.FunctionDef))]
    texts = [each.body[0] for each in documented if ast.get_docstring(each)]
    lines = [(each.end_lineno or each.lineno) - each.lineno + 1 for each in (node, *texts)]
    return lines[0] - sum(lines[1:])


@pytest.mark.slow
def test_every_long_class_has_an_overview() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if "_core" not in path.parts
        for name in long_classes_without_overview(path.read_text("utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("comment", "missing"), [("", ["C"]), ("    # One.\n", ["C"]), ("    # One.\n    # Two.\n", [])]
)
def test_a_planted_long_class(comment: str, missing: list[str]) -> None:
    body = "".join(f"        x{i} = {i}\n" for i in range(LONG))
    assert long_classes_without_overview(f'class C:\n    """C."""\n\n{comment}\n    def f(self):\n{body}') == missing
