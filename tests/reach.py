"""Which definitions of the package a user can reach, read from the sources by `ast`.

A definition is a function, a class or a variable at the top of a module, named ``module:name``. Those that a user
calls are the roots: the commands, the registered policies, and what a notebook or a page of ours names. An export alone
is no root. A definition reaches every definition its text names. A class is one definition; `tests.method_reach` looks
at its methods.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import workbench
from tests.architecture import module_of
from tests.readme import PAGES, blocks

__all__ = [
    "Reach",
    "modules_imported",
    "names_imported",
    "reach_of",
    "sources_of",
    "texts_of_users",
    "user_roots",
]

#: A call that a page names in a sentence, such as ``wb.save(snapshot, "cluster.json")``.
_CALL_IN_A_SENTENCE = re.compile(r"`(\w+(?:\.\w+)+)\(")

#: An object that is imported when it is first wanted (`workbench.model.deferred.Deferred`).
_DEFERRED = re.compile(r"workbench(\.\w+)+:\w+")

#: Statements that run when a module is imported, as one definition.
BODY = "<body>"


def sources_of(root: Path, package: str) -> dict[str, str]:
    """Source of every module below ``root / package``, by dotted name; a package stands as ``package.__init__``."""
    found = {}
    for path in sorted((root / package).rglob("*.py")):
        name = module_of(path, root)
        if not name.startswith("workbench._core"):
            found[f"{name}.__init__" if path.name == "__init__.py" else name] = path.read_text("utf-8")
    return found


def texts_of_users(root: Path) -> Iterator[str]:
    """Python of the notebooks, a text each, then the Python blocks of the pages and the calls that sentences name."""
    for path in sorted(root.glob("notebooks/*.ipynb")):
        cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        lines = [line for cell in cells for line in [*"".join(cell["source"]).splitlines(), ""]]
        yield "\n".join(line for line in lines if not line.lstrip().startswith(("%", "!")))
    for page in PAGES:
        yield from blocks("python", page)
        yield "\n".join(_CALL_IN_A_SENTENCE.findall(page.read_text("utf-8")))


@cache
def user_roots(root: Path) -> frozenset[str]:
    """Definitions that users name: the command line, the registered policies, and calls of notebooks and pages.

    Parameters
    ----------
    root : Path
        Folder of the repository.
    """
    reach = reach_of(root)
    named = {name for text in texts_of_users(root) for name in reach.named_by(text)}
    return frozenset({"workbench.__main__:", "workbench.cli.kubectl:", "workbench.policies.registry:", *named})


def names_imported(source: str, module: str = "") -> Iterator[tuple[str, int]]:
    """What a file imports from the package, as ``module:name`` with its line; ``module:`` for a whole module."""
    for node in ast.walk(ast.parse(source)):
        for _, target in _imported(node, module):
            yield target, node.lineno  # type: ignore[attr-defined]


def modules_imported(source: str, package: str, root: Path) -> list[Path]:
    """Files of the modules of another package below `root` that a file imports absolutely."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    inside = [root.joinpath(*name.split(".")) for name in names if name.split(".")[0] == package]
    files = [path for each in inside for path in (each.with_suffix(".py"), each / "__init__.py")]
    return [path for path in files if path.is_file()]


def _imported(node: ast.AST, module: str) -> Iterator[tuple[str, str]]:
    """(name that an import statement binds, what it stands for), of the package's own modules."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == "workbench":
                yield (alias.asname, f"{alias.name}:") if alias.asname else ("workbench", "workbench:")
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = module.split(".")[: -node.level]
            base = ".".join([*package, base] if base else package)
        if base.split(".")[0] == "workbench":
            for alias in node.names:
                yield alias.asname or alias.name, f"{base}:{alias.name}"


class Reach:
    """The definitions of a package and what each one names.

    Parameters
    ----------
    sources : mapping of str to str
        As `sources_of` returns them.
    """

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources
        self._targets: dict[str, set[str]] = {}
        self._handed_on: dict[str, str] = {}
        self.definitions: set[str] = set()
        for name, source in sources.items():
            self._read(name.removesuffix(".__init__"), name, ast.parse(source))

    def _read(self, module: str, path: str, tree: ast.Module) -> None:
        bound: dict[str, str] = {}
        body: list[ast.stmt] = []
        own: dict[str, list[ast.AST]] = {}
        registered: set[str] = set()
        for node in _flat(tree.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                bound.update(_imported(node, path))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                own.setdefault(node.name, []).append(node)
                if node.decorator_list:
                    registered.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and all(map(_is_plain, _targets(node))):
                for target in _targets(node):
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            own.setdefault(name.id, []).append(node)
            else:
                body.append(node)
        for name, target in bound.items():
            self._targets[f"{module}:{name}"] = {target, f"{module}:{BODY}"}
            self._handed_on[f"{module}:{name}"] = target
        for name in own:
            bound[name] = f"{module}:{name}"
        self.definitions |= {bound[name] for name in own}
        for name, nodes in own.items():
            self._targets[f"{module}:{name}"] = {f"{module}:{BODY}"}.union(
                *(self._named(node, bound, path) for node in nodes)
            )
        run = set().union(*(self._named(node, bound, path) for node in body))
        for name in registered:
            # A decorator of ours may enter what it decorates in a table.
            for node in own[name]:
                for decorator in getattr(node, "decorator_list", ()):
                    if any(not target.endswith(":") for target in self._named(decorator, bound, path)):
                        run.add(f"{module}:{name}")
        eager = {target for name, target in bound.items() if name not in own}
        # Importing a module runs the modules that it imports, and the package that holds it.
        run |= {f"{self._resolved(target).partition(':')[0]}:{BODY}" for target in eager}
        parent = module.rpartition(".")[0]
        self._targets[f"{module}:{BODY}"] = run | ({f"{parent}:{BODY}"} if parent else set())

    def _named(self, node: ast.AST, bound: dict[str, str], path: str) -> set[str]:
        """What a definition names: its own imports, names of its module, attributes of modules."""
        local = dict(bound)
        for each in ast.walk(node):
            if isinstance(each, ast.Import | ast.ImportFrom):
                local.update(_imported(each, path))
        found: set[str] = set()
        inner: set[ast.AST] = set()
        for each in ast.walk(node):  # the longest chain of attributes comes before what it holds
            if isinstance(each, ast.Attribute) and each not in inner:
                dotted = _dotted(each)
                if dotted and self._is_module(local.get(dotted[0], "")):
                    inner.update(ast.walk(each))
                    found.add(self._attribute(local[dotted[0]], dotted[1:]))
            elif isinstance(each, ast.Name) and each.id in local and each not in inner:
                found.add(local[each.id])
            elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value in bound:
                found.add(bound[each.value])  # a quoted annotation
            elif isinstance(each, ast.Constant) and isinstance(each.value, str) and _DEFERRED.fullmatch(each.value):
                found.add(each.value)
        return found

    def named_by(self, text: str) -> set[str]:
        """Definitions that a user's text names: imports, attributes of ``workbench``, ``wb`` and imported modules."""
        tree = ast.parse(text)
        bound = {"wb": "workbench:", "workbench": "workbench:"}
        for node in ast.walk(tree):
            bound.update(_imported(node, ""))
        found = {target for target in bound.values() if not self._is_module(target)}
        for node in ast.walk(tree):
            dotted = _dotted(node) if isinstance(node, ast.Attribute) else []
            if dotted and self._is_module(bound.get(dotted[0], "")):
                key, rest = bound[dotted[0]], dotted[1:]
                if self._resolved(key) == "workbench:" and rest[0] in workbench._HOME:
                    key, rest = f"{workbench._HOME[rest[0]]}:{rest[0]}", rest[1:]
                if rest and self._is_module(key):
                    key = self._attribute(key, rest)
                if not self._is_module(key):
                    found.add(key)
        return {self.defined(key) for key in found}

    def _is_module(self, key: str) -> bool:
        return self._resolved(key).endswith(":")

    def _attribute(self, key: str, attributes: list[str]) -> str:
        """What ``module.attribute.attribute`` names: the first attribute that is no module."""
        for attribute in attributes:
            key = f"{self._resolved(key)}{attribute}"
            if not self._is_module(key):
                break
        return key

    def reached(self, roots: Iterable[str]) -> set[str]:
        """Every definition that the roots reach, the roots included; ``module:`` is everything in a module."""
        left, seen = list(roots), set[str]()
        while left:
            key = self._resolved(left.pop())
            if key in seen:
                continue
            seen.add(key)
            module, _, name = key.partition(":")
            left += [each for each in self._targets if each.startswith(f"{module}:")] if not name else ()
            left += self._targets.get(key, ())
        return seen

    def _resolved(self, key: str) -> str:
        """``package:module`` is a whole module."""
        module, _, name = key.partition(":")
        whole = f"{module}.{name}" if name else module
        return f"{whole}:" if name and (whole in self._sources or f"{whole}.__init__" in self._sources) else key

    def defined(self, key: str) -> str:
        """The definition behind a name that a module imports and hands on; another name as it is."""
        key = self._resolved(key)
        while key not in self.definitions and key in self._handed_on:
            key = self._resolved(self._handed_on[key])
        return key

    def everything_in(self, module: str) -> set[str]:
        """The definitions of a module, or of a package and all below it."""
        return {key for key in self.definitions if key.startswith((f"{module}:", f"{module}."))}


def _flat(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a module, those under ``if TYPE_CHECKING`` and ``try`` among them."""
    for node in statements:
        if isinstance(node, ast.If):
            yield from _flat([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _flat([*node.body, *node.orelse, *node.finalbody, *(s for h in node.handlers for s in h.body)])
        else:
            yield node


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _is_plain(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and all(map(_is_plain, target.elts)))


def _dotted(node: ast.expr) -> list[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


@cache
def reach_of(root: Path) -> Reach:
    """The reach of the package below `root`, whose sources are read once per process."""
    return Reach(sources_of(root, "workbench"))
