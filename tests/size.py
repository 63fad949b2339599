"""The size of the package in numbers that say how hard it is to know: `python -m tests.size` prints them.

`tests/test_size.py` holds each below a ceiling, which may only be lowered.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import grimp
import networkx as nx

__all__ = ["sizes"]

PACKAGE = Path(__file__).parents[1] / "workbench"
SHORT, LONG, VERY_LONG = 60, 400, 600
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def sizes() -> dict[str, int]:
    """Every number by its name, in the order in which they are printed."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))]
    lengths = [text.count("\n") for text in texts]
    docs = [_doc_lines(text) for text in texts]
    code = [len(_code_lines(text) - doc) for text, doc in zip(texts, docs, strict=True)]
    graph = _imports()
    return {
        "files": len(texts),
        "lines": sum(lengths),
        "lines of code": sum(code),
        "lines of docstrings": sum(map(len, docs)),
        f"files of at most {SHORT} lines": sum(length <= SHORT for length in lengths),
        f"files above {LONG} lines": sum(length > LONG for length in lengths),
        f"files above {VERY_LONG} lines": sum(length > VERY_LONG for length in lengths),
        "lines of the longest function": max(length for text in texts for length in _function_lengths(text)),
        "import circles": sum(len(some) > 1 for some in nx.strongly_connected_components(graph)),
        "pairs of folders that import each other": len(_pairs(graph)),
    }


def _code_lines(text: str) -> set[int]:
    """Numbers of the lines that hold more than blanks and comments, from 1."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    return found


def _doc_lines(text: str) -> set[int]:
    """Numbers of the lines of docstrings and of other statements that are only a text, from 1."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and type(node.value.value) is str:
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _function_lengths(text: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def _imports() -> nx.DiGraph:
    """Imports between modules, those for types alone and those inside functions included."""
    found = grimp.build_graph(PACKAGE.name, cache_dir=None)
    graph = nx.DiGraph()
    graph.add_nodes_from(found.modules)
    graph.add_edges_from(
        (one, other) for one in found.modules for other in found.find_modules_directly_imported_by(one)
    )
    return graph


def _pairs(graph: nx.DiGraph) -> list[tuple[str, str]]:
    """Folders side by side in one folder that import each other, as pairs in order."""
    folders = {module for module in graph if (PACKAGE.parent / module.replace(".", "/")).is_dir()}
    arrows: set[tuple[str, str]] = set()
    for one, other in graph.edges:
        mine, yours = _ancestors(one, folders), _ancestors(other, folders)
        arrows.update((a, b) for a in mine for b in yours if a != b and a.rpartition(".")[0] == b.rpartition(".")[0])
    return sorted(pair for pair in arrows if pair[0] < pair[1] and pair[::-1] in arrows)


def _ancestors(module: str, folders: set[str]) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[: i + 1]) for i in range(len(parts))} & folders


if __name__ == "__main__":
    for name, number in sizes().items():
        print(f"{number:>8,}  {name}")
    for pair in _pairs(_imports()):
        print(f"          {' and '.join(pair)} import each other")
    for circle in nx.strongly_connected_components(_imports()):
        if len(circle) > 1:
            print(f"          circle: {', '.join(sorted(circle))}")
