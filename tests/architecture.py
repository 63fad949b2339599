"""Rules about the sources of the package, as functions from sources to violations.

`tests/test_architecture.py` runs them.

Everything is read by `ast`, never by importing. Which room may import which is import-linter's part
(`tests/test_arrows.py`); here stands what it has no words for: libraries, files, sockets and clocks by room, and
modules that are imported late.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

# Rooms whose libraries the design names; elsewhere the lock file is the list.
LIBRARIES = {
    "errors": frozenset[str](),
    "model": frozenset({"numpy"}),
    "kernels": frozenset({"numpy"}),
    "policies": frozenset({"numpy"}),
    "objects": frozenset({"numpy", "pydantic", "pydantic_core", "re2"}),
}

SOCKET_MODULES = frozenset(
    {
        "aiohttp",
        "ftplib",
        "http",
        "httpx",
        "kubernetes",
        "requests",
        "smtplib",
        "socket",
        "socketserver",
        "ssl",
        "urllib.request",
        "websockets",
        "xmlrpc",
    }
)
#: What ``io`` has beside files.
IN_MEMORY = frozenset({"io.BytesIO", "io.StringIO"})
FILE_MODULES = frozenset({"fileinput", "glob", "io", "os", "pathlib", "shutil", "tarfile", "tempfile", "zipfile"})
CLOCK_MODULES = frozenset({"time", "datetime"})

MAY_OPEN_SOCKETS = frozenset({"live"})
#: Dask opens sockets of its own.
DASK, MAY_USE_DASK = frozenset({"dask", "distributed"}), frozenset({"study"})
NO_FILES = frozenset({"errors", "model", "kernels", "objects", "topology", "jobs", "cluster", "policies", "evaluate"})
NO_CLOCK = frozenset({"cluster", "policies"})

# The notebook's surface and the command line start fast: these are imported when they are asked for.
LAZY = frozenset({"workbench.live", "workbench.widgets", "pandas"})
EAGER_ROOMS = frozenset({"__init__", "cli", "__main__"})


@dataclass(frozen=True)
class Import:
    """One imported module: absolute name, line, whether it runs when the file is imported, and whether by a call."""

    module: str
    line: int
    eager: bool
    called: bool = False


# Several rules are asked of one source, one after the other.
_tree = lru_cache(maxsize=1)(ast.parse)


@lru_cache(maxsize=1)
def _nodes(source: str) -> list[ast.AST]:
    return list(ast.walk(_tree(source)))


def room_of(module: str) -> str:
    """The room of a module: `workbench.policies.volcano.gang` -> `policies`; `workbench` itself -> `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_of(path: Path, root: Path) -> str:
    """Dotted name of a file below the folder that holds the package."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, module: str, is_package: bool) -> Iterator[Import]:
    """Every module that a source file imports, relative names made absolute.

    ``from workbench import x`` counts as ``workbench.x``, and ``from io import x`` as ``io.x``: whether x is a room or
    a name is judged by the caller.
    """
    for node, eager in _walked(_tree(source)):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(name.name, node.lineno, eager)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                package = package[: len(package) - node.level + 1]
                base = ".".join([*package, base] if base else package)
            if base in ("workbench", "io"):
                for name in node.names:
                    yield Import(f"{base}.{name.name}", node.lineno, eager)
            else:
                yield Import(base, node.lineno, eager)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield Import(first.value, node.lineno, eager, called=True)


# Most of a tree, and never an import.
_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.cmpop)


def _walked(tree: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Every node that may hold another, and whether it runs when the file is imported: not inside a function."""
    left = [(tree, True)]
    for node, eager in left:
        yield node, eager
        eager = eager and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        left += [(child, eager) for child in ast.iter_child_nodes(node) if not isinstance(child, _LEAVES)]


def forbidden_imports(source: str, module: str, is_package: bool = False) -> list[str]:
    """What a file imports or opens although its room may not, as sentences with line numbers."""
    room = room_of(module)
    found = []
    for item in imports_of(source, module, is_package):
        problem = _problem(room, item)
        if problem:
            found.append(f"{module}:{item.line}: {problem}")
    if room in NO_FILES and "open" in source:
        found += [
            f"{module}:{node.lineno}: {room} opens a file"
            for node in _nodes(source)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open"
        ]
    return found


def _problem(room: str, item: Import) -> str | None:
    top = item.module.split(".")[0]
    if top == "_core":
        return "imports _core, a second copy of workbench._core"
    if item.eager and room in EAGER_ROOMS and _within(item.module, LAZY):
        return f"{room} imports {item.module} when it is loaded, not when it is used"
    if top == "workbench":
        return f"{room} imports {item.module} by a call, which hides the arrow" if item.called else None
    if top in DASK and room not in MAY_USE_DASK:
        return f"{room} imports {item.module}, which opens sockets"
    if _within(item.module, SOCKET_MODULES) and room not in MAY_OPEN_SOCKETS:
        return f"{room} imports {item.module}, which opens sockets"
    if room in NO_FILES and top in FILE_MODULES and item.module not in IN_MEMORY:
        return f"{room} imports {item.module}, which touches files"
    if room in NO_CLOCK and top in CLOCK_MODULES:
        return f"{room} imports {item.module}, a clock"
    if room in LIBRARIES and not _standard(top) and top not in LIBRARIES[room]:
        return f"{room} imports the library {top}"
    return None


def _within(module: str, names: Iterable[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def _standard(top: str) -> bool:
    return top in sys.stdlib_module_names


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def missing_docstrings(source: str, module: str) -> list[str]:
    """Public functions and classes at the top of a module, and the module itself, that say nothing."""
    tree = _tree(source)
    found = (
        [] if ast.get_docstring(tree) or not tree.body else [f"{module}: the module says nothing about what it owns"]
    )
    for node in tree.body:
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and not ast.get_docstring(node, clean=False)
            and not any("overload" in ast.unparse(decorator) for decorator in node.decorator_list)
        ):
            found.append(f"{module}:{node.lineno}: {node.name} has no docstring")
    return found


#: The only module that writes to a terminal; it escapes control characters.
WRITER = "workbench.cli.output"

_STREAMS = frozenset({"stdout", "stderr", "__stdout__", "__stderr__"})
#: What else may be done with a stream.
_HARMLESS = frozenset({"flush", "fileno", "isatty"})
_PRINTERS = frozenset({"echo", "secho", "echo_via_pager", "confirm", "prompt", "print_exc", "print_exception"})


def terminal_writes(source: str, module: str) -> list[str]:
    """Places other than `WRITER` that print, write to stdout or stderr, hand one of them on, or open a rich console."""
    if module == WRITER:
        return []
    harmless = set()
    for node in _nodes(source):
        if isinstance(node, ast.Attribute) and node.attr in _HARMLESS:
            harmless.add(node.value)
        elif isinstance(node, ast.Compare) and all(
            isinstance(other, ast.Constant) and other.value is None for other in node.comparators
        ):
            harmless.add(node.left)
    found = []
    for node in _nodes(source):
        if isinstance(node, ast.Attribute):
            of = node.value.id if isinstance(node.value, ast.Name) else ""
            stream = of == "sys" and node.attr in _STREAMS and isinstance(node.ctx, ast.Load) and node not in harmless
            if (
                stream
                or (of in ("typer", "click", "traceback") and node.attr in _PRINTERS)
                or (of, node.attr)
                in (
                    ("os", "write"),
                    ("rich", "print"),
                )
            ):
                found.append(f"{module}:{node.lineno}: {of}.{node.attr}")
        elif isinstance(node, ast.Call) and _called(node) in ("print", "input", "Console", "Live", "Progress"):
            found.append(f"{module}:{node.lineno}: {_called(node)}")
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            taken = {
                "sys": _STREAMS,
                "typer": _PRINTERS,
                "click": _PRINTERS,
                "rich": {"print"},
            }.get(node.module or "", frozenset())
            found += [f"{module}:{node.lineno}: {name} from {node.module}" for name in sorted(names & set(taken))]
    return found


#: The only module that uses ruamel.yaml: it changes a text that a person wrote, and keeps the comments.
YAML_EDITOR = "workbench.formats.manifest_text"

_DUMPERS = frozenset({"dump", "dump_all", "emit", "safe_dump", "safe_dump_all", "serialize", "serialize_all"})


def yaml_writes(source: str, module: str) -> list[str]:
    """Places that write YAML by a library: `workbench.formats.write_manifests` writes it for all others."""
    found = []
    for node in _nodes(source):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "yaml" and node.attr in _DUMPERS and module != YAML_EDITOR:
                found.append(f"{module}:{node.lineno}: yaml.{node.attr}")
        elif isinstance(node, ast.ImportFrom):
            names = sorted(alias.name for alias in node.names if node.module == "yaml" and alias.name in _DUMPERS)
            found += [f"{module}:{node.lineno}: {name} from yaml" for name in names]
    if module != YAML_EDITOR and "ruamel" in third_party_imports(source):
        found.append(f"{module}: ruamel.yaml")
    return found


def third_party_imports(source: str) -> set[str]:
    """Top names of the modules that a source imports from outside the standard library and this package."""
    tops = set()
    for node in _nodes(source):
        if isinstance(node, ast.Import):
            tops |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            tops.add(node.module.split(".")[0])
    return {top for top in tops if top not in ("workbench", "_core") and not _standard(top)}


def silent_names(module: ModuleType) -> list[str]:
    """Public functions, classes and methods of a compiled module that say nothing beside their own signature."""
    prefix = f"{module.__name__}."
    found = [(name, value) for name, value in vars(module).items() if _is_public(name) and _is_of(module, value)]
    for name, value in list(found):
        if isinstance(value, type):
            methods = vars(value).items()
            found += [(f"{name}.{method}", it) for method, it in methods if _is_public(method) and callable(it)]
    return [prefix + name for name, value in found if not _without_signature(name, value.__doc__ or "")]


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _is_of(module: ModuleType, value: object) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def _without_signature(name: str, text: str) -> str:
    """Cython writes the signature as the first line of a docstring, and makes one of it where there is none."""
    first, _, rest = text.partition("\n")
    return (rest if first.startswith((f"{name}(", f"{name.rpartition('.')[2]}(")) else text).strip()


CHECKS = frozenset({"raises", "warns", "fail", "expect"})


def checks_nothing(sources: Mapping[str, str]) -> list[str]:
    """Tests without an assertion, an expected error or a call of a function of the tests that has one.

    Parameters
    ----------
    sources : mapping of str to str
        Source of each file, by name: helpers are found by name in all of them.

    Returns
    -------
    list of str
        ``file:line: test``.
    """
    functions = [
        (name, node)
        for name, source in sources.items()
        for node, _ in _walked(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    facts = [(name, node, *_asserts_and_calls(node)) for name, node in functions]
    checking: set[str] = set()
    while (
        more := {node.name for _, node, asserts, calls in facts if asserts or not calls.isdisjoint(checking | CHECKS)}
        - checking
    ):
        checking |= more
    return [
        f"{name}:{node.lineno}: {node.name} asserts nothing"
        for name, node, asserts, calls in facts
        if node.name.startswith("test") and not asserts and calls.isdisjoint(checking | CHECKS)
    ]


def _asserts_and_calls(function: ast.AST) -> tuple[bool, set[str]]:
    """Whether a function asserts something that is no constant, and the names of what it calls."""
    asserts, calls = False, set[str]()
    for node, _ in _walked(function):
        if isinstance(node, ast.Assert):
            asserts |= not isinstance(node.test, ast.Constant | ast.Tuple)
        elif isinstance(node, ast.Call):
            name = _called(node)
            calls.add("raises" if name.startswith("assert_") else name)
    return asserts, calls


CLOCKS = frozenset(
    {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "timeit"}
)


def wall_clock_asserts(source: str, name: str) -> list[str]:
    """Assertions about a clock, directly or through names that were computed from one."""
    if not any(clock in source for clock in CLOCKS):
        return []
    found = []
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        tainted: set[str] = set()
        # Twice, so that a name computed from a later-tainted one (a loop) is seen.
        for _ in range(2):
            for node in ast.walk(function):
                if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) or node.value is None:
                    continue
                if _reads_clock(node.value, tainted):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    tainted.update(t.id for target in targets for t in ast.walk(target) if isinstance(t, ast.Name))
        found += [
            f"{name}:{node.lineno}: asserts on a clock"
            for node in ast.walk(function)
            if isinstance(node, ast.Assert) and _reads_clock(node.test, tainted)
        ]
    return sorted(set(found))


def _reads_clock(expression: ast.AST, tainted: set[str]) -> bool:
    for node in ast.walk(expression):
        if isinstance(node, ast.Name) and node.id in tainted:
            return True
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in CLOCKS and isinstance(called.value, ast.Name):
                if called.value.id in ("time", "timeit"):
                    return True
            elif isinstance(called, ast.Name) and called.id in CLOCKS:
                return True
    return False


# Written in pieces, so that this file does not find itself.
MACHINE_TEXT = re.compile(
    r"(?<![\w.~-])/(?:{folders})/".format(folders="|".join(["wo" + "rk", "tm" + "p", "ro" + "ot", "ho" + "me/[a-z]+"]))
    + "|"
    + "|".join(
        re.escape(host)
        for host in (
            "pypi" + ".org",
            "pythonhosted" + ".org",
            "registry." + "npmjs.org",
            "crates" + ".io",
            "proxy." + "golang.org",
            "deb." + "debian.org",
            "repo1." + "maven.org",
        )
    )
)


def machine_text(text: str, name: str) -> list[str]:
    """Lines with a path of somebody's machine or the host of a package registry."""
    return [
        f"{name}:{number}: {found.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        if (found := MACHINE_TEXT.search(line))
    ]


def empty_packages(root: Path) -> list[str]:
    """Packages below `root` that hold nothing but an ``__init__.py`` without a statement."""
    found = []
    for init in sorted(root.rglob("__init__.py")):
        others = [p for p in init.parent.iterdir() if p.name not in ("__init__.py", "__pycache__")]
        body = ast.parse(init.read_text("utf-8")).body
        if not others and all(isinstance(node, ast.Expr) for node in body):
            found.append(str(init.parent))
    return found
