"""Which methods of the package's classes somebody calls, read from the sources by `ast`.

A method counts as called where the package or a user reads an attribute of its name, whatever the object: two classes
with a method of one name vouch for each other, so that the check accuses too few and hardly ever wrongly. Not counted
are reads inside a method of that very name, as an override calls what it overrides, reads inside methods that nobody
calls, and attributes of other packages' modules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache

__all__ = ["methods_of", "names_read", "uncalled"]

#: Functions that read an attribute by a name in a text.
_BY_NAME = ("getattr", "hasattr", "attrgetter", "methodcaller")

#: An attribute that a template or a compiled kernel reads.
_ATTRIBUTE = re.compile(r"\.(\w+)")

Functions = ast.FunctionDef | ast.AsyncFunctionDef


def methods_of(tree: ast.Module) -> Iterator[str]:
    """``Class.method`` of every method and property that has a public name, properties among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, Functions) and not each.name.startswith("_"):
                    yield f"{node.name}.{each.name}"


def names_read(tree: ast.Module) -> set[tuple[str, str]]:
    """(attribute that a source reads, method in which it does so), the method as ``Class.method``; empty: elsewhere."""
    foreign = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and not _is_ours(node)
        for alias in node.names
    }
    found: set[tuple[str, str]] = set()

    def visit(node: ast.AST, inside: frozenset[str], owner: str, method: str) -> None:
        if isinstance(node, Functions):
            inside |= {node.name}
            if owner and not method:
                method = f"{owner}.{node.name}"
        elif isinstance(node, ast.Attribute) and node.attr not in inside:
            if not (isinstance(node.value, ast.Name) and node.value.id in foreign):
                found.add((node.attr, method))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BY_NAME:
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            found.update((text, method) for text in texts if isinstance(text, str))
        for child in ast.iter_child_nodes(node):
            visit(child, inside, node.name if isinstance(node, ast.ClassDef) else "", method)

    visit(tree, frozenset(), "", "")
    return found


def _is_ours(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        return bool(node.level) or (node.module or "").partition(".")[0] == "workbench"
    return any(alias.name.partition(".")[0] == "workbench" for alias in node.names)


@cache
def _looked_through(source: str) -> tuple[set[str], set[tuple[str, str]]]:
    """Methods that a source defines, and names that it reads."""
    tree = ast.parse(source)
    return set(methods_of(tree)), names_read(tree)


def uncalled(
    sources: Mapping[str, str],
    users: Iterable[str] = (),
    templates: Iterable[str] = (),
    called: Collection[str] = (),
) -> list[str]:
    """``module:Class.method`` of the methods that nobody calls, in order.

    Parameters
    ----------
    sources : mapping of str to str
        Source of every module of the package, by dotted name.
    users : iterable of str
        Python of those who use the package.
    templates : iterable of str
        Other texts in which a dot comes before an attribute.
    called : collection of str
        Methods that are called by nobody here, such as a library, as ``module:Class.method``.
    """
    looked = {module: _looked_through(source) for module, source in sources.items()}
    methods = {f"{module}:{method}" for module, (defined, _) in looked.items() for method in defined}
    reads = {(name, f"{module}:{method}") for module, (_, read) in looked.items() for name, method in read}
    outside = {name for text in users for name, _ in _looked_through(text)[1]}
    outside |= {name for text in templates for name in _ATTRIBUTE.findall(text)}
    dead: set[str] = set()
    while True:
        read = outside | {name for name, method in reads if method not in dead}
        found = {method for method in methods - set(called) if method.rpartition(".")[2] not in read}
        if found == dead:
            return sorted(found)
        dead = found
