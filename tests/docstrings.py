"""Rules about docstrings, as functions from sources to violations; `tests/test_docstrings.py` runs them.

Everything is read by `ast`, never by importing. The rules are numpydoc's ("Parameters" names every parameter), without
numpydoc itself: its validation imports what it checks.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

#: A public function with so many parameters documents each whose annotation does not say everything.
MANY = 3
#: Generic types of the standard library that add to a class only that there are several.
SEVERAL = frozenset({"Collection", "Iterable", "Iterator", "Sequence", "list"})
#: An annotation that means an array: `np.ndarray`, `NDArray[np.int64]`, `IntArray`.
ARRAY = re.compile(r"\b(ndarray|NDArray|\w+Array)\b")
#: "ndarray of shape (n, r), int64", also inside "tuple of …".
SHAPED = re.compile(r"ndarray of shape \([^)]*\), (bool|u?int\d+|float\d+|str|object|any)")
#: Names of parameters that mean the same in every function; where one means more, an entry or a sentence says it.
_USUAL = """
annotations bytes_per_element ca_file column content count data folder gang gangs gates given handler height_px host key
kind labels level levels line link_classes link_gbit_s n_failed n_nodes n_pods name namespace objective path paths phase
policy queue replicas rng seed shapes snapshot source spec tier tier_name tiers title token text url
user value volumes width x y
"""
USUAL = frozenset(_USUAL.split())
#: A section of a docstring: its heading and its lines.
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n((?:(?!\w[\w ]*\n-{3,}).*\n)*)", re.MULTILINE)
#: An entry whose type says no shape, no choices, and nothing in brackets.
PLAIN_ENTRY = re.compile(r"[\w*, ]+ : (?!.*(?:ndarray|array))[\w.,\[\] |]+")
#: A Markdown file, as written.
DOCUMENT = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)*[\w.-]+\.md)\b")
#: The design page, which is not in the repository.
DESIGN = re.compile(r"DESIGN(?:\.md)?,? (?:section|decision)s?\b")


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Public functions and methods of public classes, each with its docstring; `__init__` with that of its class."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield node.name, node, ast.get_docstring(node) or ""
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    if inner.name == "__init__":
                        yield node.name, inner, ast.get_docstring(node) or ""
                    elif not inner.name.startswith("_"):
                        yield f"{node.name}.{inner.name}", inner, ast.get_docstring(inner) or ""


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    """The annotation of each parameter by its name, `self` and `cls` left out."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return {p.arg: ast.unparse(p.annotation) if p.annotation else "" for p in every if p.arg not in ("self", "cls")}


def documented(docstring: str) -> dict[str, str]:
    """What stands behind the colon of each parameter in the section "Parameters"; "" where there is no colon."""
    found: dict[str, str] = {}
    lines = docstring.splitlines()
    for at, line in enumerate(lines[:-1]):
        if line.strip() != "Parameters" or set(lines[at + 1].strip()) != {"-"}:
            continue
        for below, text in enumerate(lines[at + 2 :], at + 2):
            if below + 1 < len(lines) and lines[below + 1].strip() and set(lines[below + 1].strip()) == {"-"}:
                break
            if text and not text.startswith(" "):
                names, _, kind = text.partition(" :")
                found |= {name.strip().lstrip("*"): kind for name in names.split(",")}
    return found


def classes(sources: Iterable[str]) -> frozenset[str]:
    """Names of all classes that the sources define: their own docstrings say what they are."""
    trees = map(ast.parse, sources)
    return frozenset(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def documenting_methods(sources: Iterable[str]) -> frozenset[str]:
    """Names of methods that some class documents by a section or by `name`: what overrides one of them inherits it."""
    return frozenset(
        method.name
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
        and (
            documented(told := ast.get_docstring(method) or "") or any(f"`{one}`" in told for one in parameters(method))
        )
    )


def says_everything(annotation: str, known: Collection[str]) -> bool:
    """Whether an annotation is a class of `known`, or several of one: an entry with its name alone adds nothing."""
    outer, bracket, inner = annotation.partition("[")
    if bracket:
        return outer in SEVERAL and says_everything(inner.removesuffix("]"), known)
    return annotation in known


def is_named(name: str, docstring: str) -> bool:
    """Whether a parameter is one of `USUAL`, or sentences of a docstring hold each word of its name, also in plural."""
    if name in USUAL:
        return True
    prose = re.split(r"\n\w[\w ]*\n-{3,}\n", docstring)[0]
    words = [word.rstrip("s") for word in name.split("_") if word]
    found = [re.search(rf"\b{re.escape(word)}(s|es)?\b", prose, re.IGNORECASE) for word in words]
    return f"`{name}`" in prose or (len(name) > 1 and None not in found)


def undocumented_parameters(
    source: str, module: str, known: Collection[str] = (), inherited: Collection[str] = ()
) -> list[str]:
    """Functions with many parameters that leave some out, and arrays that come without shape or dtype.

    Parameters whose annotation is a class of `known` may be left out, those of which the docstring speaks (`is_named`),
    and the section as a whole in a method with a name of `inherited` in a class that has a base. A command of typer is
    left out: its parameters carry their help in ``Annotated``.
    """
    found = []
    tree = ast.parse(source)
    derived = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.bases}
    for name, function, docstring in functions(tree):
        wanted = parameters(function)
        owner, _, method = name.partition(".")
        if owner in derived and method in inherited and not documented(docstring):
            continue
        if any(kind.startswith("Annotated[") for kind in wanted.values()):
            continue
        told = documented(docstring)
        unclear = [
            one
            for one, kind in wanted.items()
            if one not in told and not says_everything(kind, known) and not is_named(one, docstring)
        ]
        if len(wanted) >= MANY and unclear:
            found.append(f"{module}:{name}: undocumented {', '.join(unclear)}")
        arrays = [one for one, kind in wanted.items() if one in told and ARRAY.search(kind)]
        bare = [one for one in arrays if not SHAPED.search(told[one])]
        if bare:
            found.append(f"{module}:{name}: no shape or dtype of {', '.join(bare)}")
    return found


def empty_entries(source: str, module: str) -> list[str]:
    """Entries of "Parameters" and "Attributes" that say a plain type only: the annotation stands beside them."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        for heading, body in SECTION.findall((ast.get_docstring(node) or "") + "\n"):
            lines = body.split("\n")
            for line, after in zip(lines, [*lines[1:], ""], strict=True):
                if heading in ("Parameters", "Attributes") and PLAIN_ENTRY.fullmatch(line) and after[:1] != " ":
                    found.append(f"{module}:{node.name}: {line}")
    return found


def class_names(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Names of classes that several modules define, private ones included, with the modules."""
    where = defaultdict(list)
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                where[node.name].append(module)
    return {name: modules for name, modules in sorted(where.items()) if len(modules) > 1}


def misplaced_citations(source: str, root: Path) -> list[str]:
    """Citations of documents that are not in the repository at `root`: a missing path, a bare name, the design page."""
    own = {path.name for path in (root / "docs").rglob("*.md")} - {"README.md"}
    cited = DOCUMENT.findall(source)
    found = [text for text in cited if text.startswith("docs/") and not (root / text).is_file()]
    found += [text for text in cited if text.startswith("reference/") or (text in own and not (root / text).is_file())]
    return found + DESIGN.findall(source)
