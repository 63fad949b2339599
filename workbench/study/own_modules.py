"""Modules of the user's own: which they are, what they import, and a checksum of the text of each."""

from __future__ import annotations

import dis
import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Set
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from types import CodeType

__all__ = ["MAIN", "PACKAGE", "imported_modules", "is_installed", "own_modules", "reached_modules"]

PACKAGE = "workbench"

#: The user's script or notebook, whatever program runs it.
MAIN = frozenset({"__main__", "__mp_main__"})
#: Folders of installed packages, be they those of this environment, of the user or of the system.
_SITES = frozenset({"site-packages", "dist-packages"})


@cache
def is_installed(module: str | None) -> bool:
    """Whether a module belongs to this package, to Python or to an installed package: it is hashed by name only."""
    if module is None:
        return False
    top = module.partition(".")[0]
    if top in (PACKAGE, "builtins") or top in sys.stdlib_module_names:
        return True
    if module in MAIN:
        return False
    file = _file_of(module)
    if file is None:
        return module in sys.builtin_module_names
    places = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return bool(_SITES & set(file.parts)) or any(file.is_relative_to(place) for place in places)


def own_modules(names: Iterable[str], known: Set[str] = frozenset()) -> dict[str, str]:
    """The user's own modules among some, with those that they import, and so on.

    `names`: full names of modules. Names of nothing, and of modules that are not the user's, are left out. `known`:
    modules to leave out, with what is imported by them alone. Returns: SHA-256 in hex of each module's file as it is
    now, by the module's name, in the order of the names. Worker processes import that file, whatever this process
    imported before. A package counts without its submodules, unless they are imported, too.
    """
    found: dict[str, str] = {}
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name in found or name in known or is_installed(name):
            continue
        file = _file_of(name)
        if file is None or not file.is_file():
            continue
        content = file.read_bytes()
        found[name] = hashlib.sha256(content).hexdigest()
        if file.suffix == ".py":
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            waiting.extend(_imports_of_text(content, package))
    return dict(sorted(found.items()))


def reached_modules(modules: Iterable[str], names: Iterable[str]) -> frozenset[str]:
    """Names of imported modules that are attributes of others, as ``b`` is in ``a.b.rule()``.

    `modules`: full names of modules to begin at, which are part of the answer. `names`: names of attributes that a
    piece of code mentions.
    """
    names = [*names]
    found: set[str] = set()
    new = {*modules}
    while new:
        found |= new
        new = {f"{module}.{name}" for module in new for name in names if f"{module}.{name}" in sys.modules} - found
    return frozenset(found)


def imported_modules(code: CodeType, package: str) -> frozenset[str]:
    """Names of modules that a piece of code imports, also in the functions inside of it.

    `package`: name of the package that relative imports begin in; empty: none. Returns: full names, with the packages
    around each module. ``from a import b`` gives ``a`` and ``a.b``, which may be no module.
    """
    found: set[str] = set()
    # Before 3.13, dis shows the prefixes of long arguments as instructions.
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for i, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            # The compiler loads the level and the names of the from-list right before.
            level, members = steps[i - 2].argval, steps[i - 1].argval or ()
            parts = package.split(".")
            around = parts[: len(parts) - level + 1] if level else []
            name = ".".join(part for part in (*around, step.argval) if part)
            found.update(accumulate(name.split("."), "{}.{}".format))
            found.update(f"{name}.{member}" for member in members)
    inner = (imported_modules(const, package) for const in code.co_consts if isinstance(const, CodeType))
    return frozenset(found).union(*inner)


@lru_cache(maxsize=1024)
def _imports_of_text(content: bytes, package: str) -> frozenset[str]:
    try:
        return imported_modules(compile(content, "module", "exec", dont_inherit=True), package)
    except (SyntaxError, ValueError):  # an import of it fails, too, and says so
        return frozenset()


def _file_of(module: str) -> Path | None:
    """File of a module, or the file that an import would read if it is not imported yet; None if there is none."""
    if module in sys.modules:
        file = getattr(sys.modules[module], "__file__", None)
        return None if file is None else Path(file)
    spec = _spec_of(module)
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _spec_of(module: str) -> ModuleSpec | None:
    """Where an import would find a module. `find_spec` alone would import, and run, the packages around it."""
    parent = module.rpartition(".")[0]
    try:
        if not parent:
            return find_spec(module)
        if parent in sys.modules:
            places = getattr(sys.modules[parent], "__path__", None)
        else:
            package = _spec_of(parent)
            places = None if package is None else package.submodule_search_locations
        return None if places is None else PathFinder.find_spec(module, [*places])
    except (ImportError, ValueError):  # no name of a module, or one whose __spec__ is None
        return None
