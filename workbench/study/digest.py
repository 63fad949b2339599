"""`digest_of`: a checksum of the content of a value or of a function's code, and of the package's own sources.

Two processes that make equal values compute equal checksums; memory addresses and file names are no part of them.
Where equality cannot be proved (an object that only pickle can take apart) the checksums may differ: a run is then done
again, and never taken for another.
"""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, UnionType
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.evaluate.provenance import version
from workbench.policies.base import Composed, Policy
from workbench.policies.function import FunctionPolicy

__all__ = ["digest_of", "package_digest", "policy_digest"]

#: Fields that say where a value was read and what was missing there, not what the value is.
_ABOUT = frozenset({"source", "taken_at", "gaps"})

#: Rooms whose sources decide the outcome of a simulation.
_ROOMS = (
    *("_core", "kernels", "model", "objects", "topology", "jobs", "cluster", "formats"),
    *("policies", "evaluate", "simulate", "study"),
)
_SOURCES = frozenset({".py", ".pyx", ".pxd", ".pxi"})

_PACKAGE = "workbench"


def digest_of(*values: Any) -> str:
    """SHA-256 of the content of some values, in hex.

    Parameters
    ----------
    *values
        Plain data, numpy arrays, dataclasses (their fields, but for `source`, `taken_at` and `gaps`), functions and
        classes. A function written by the user counts with its code, its defaults, what it closes over and the global
        names that it uses; one of an installed package by its name.

    Raises
    ------
    InputError
        An object that can be taken apart in none of these ways, and not by pickle either.
    """
    sums = _Sums()
    sums.add(values)
    return sums.hash.hexdigest()


def policy_digest(policy: Policy) -> str:
    """SHA-256 of what decides a policy's answers: its name, its parameters, and its code if that is not the package's.

    The package's own code is part of `package_digest`.
    """
    parts: list[Any] = [policy.node, policy.gpu] if isinstance(policy, Composed) else [policy]
    code = [part.function if isinstance(part, FunctionPolicy) else type(part) for part in parts]
    return digest_of(policy.name, policy.parameters, code)


@cache
def package_digest() -> str:
    """SHA-256 of the package's version and of the sources of every room that can change the outcome of a run.

    The version alone would let an edited checkout find the results of its former code.
    """
    found = hashlib.sha256(version().encode())
    root = Path(__file__).resolve().parents[1]
    for room in _ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in _SOURCES:
                found.update(f"{path.relative_to(root).as_posix()}\0".encode())
                found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


class _Sums:
    """A SHA-256 that values are added to, each with a tag and its length, so that no two values run together."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._inside: list[int] = []

    def add(self, value: Any) -> None:
        kind: Any = type(value)
        if kind in _NUMBERS:
            # Equal numbers of two types are two values: 1 and 1.0 may print differently.
            self._write(kind.__name__, repr(value).encode())
        elif kind is str:
            self._write("str", value.encode("utf-8", "surrogatepass"))
        elif id(value) in self._inside:
            # A function that calls itself; how deep it was met says which.
            self._write("again", str(len(self._inside) - self._inside.index(id(value))).encode())
        else:
            self._inside.append(id(value))
            _way(kind)(self, value)
            self._inside.pop()

    def _array(self, array: npt.NDArray[Any]) -> None:
        if array.dtype == np.object_:
            self._parts("objects", array.tolist())
        else:
            self._write("array", f"{array.dtype.str}{array.shape}".encode())
            self._write("", np.ascontiguousarray(array).tobytes())

    def _enum(self, member: Enum) -> None:
        self._parts("enum", [type(member).__qualname__, member.name])

    def _mapping(self, mapping: Mapping[Any, Any]) -> None:
        self._parts("mapping", sorted(mapping.items(), key=lambda item: digest_of(item[0])) if mapping else [])

    def _set(self, values: Set[Any]) -> None:
        self._parts("set", sorted(digest_of(each) for each in values))

    def _code(self, code: CodeType) -> None:
        self._parts("code", [code.co_code, code.co_consts, code.co_names, code.co_varnames])

    def _dataclass(self, value: Any) -> None:
        kind: Any = type(value)
        self._parts("dataclass", [kind, *(getattr(value, name) for name in _field_names(kind))])

    def _function(self, function: FunctionType) -> None:
        if _is_installed(function.__module__):
            self._parts("function", [function.__module__, function.__qualname__])
            return
        cells = [_content(cell) for cell in function.__closure__ or ()]
        names = sorted(name for name in _names(function.__code__) if name in function.__globals__)
        used = [(name, function.__globals__[name]) for name in names]
        self._parts("own function", [function.__code__, function.__defaults__, function.__kwdefaults__, cells, used])

    def _class(self, kind: type) -> None:
        self._parts("class", [kind.__module__, kind.__qualname__])
        if not _is_installed(kind.__module__):
            self._parts("", [base for base in kind.__bases__ if base is not object])
            own = {name: value for name, value in vars(kind).items() if isinstance(value, FunctionType | property)}
            # A property is no function; what it calls is.
            plain = {name: value.fget if isinstance(value, property) else value for name, value in own.items()}
            self._parts("", [(name, plain[name]) for name in sorted(plain)])

    def _module(self, module: ModuleType) -> None:
        self._write("module", module.__name__.encode())
        file = getattr(module, "__file__", None)
        if not _is_installed(module.__name__) and file is not None:
            self._write("file", Path(file).read_bytes())

    def _other(self, value: Any) -> None:
        if hasattr(value, "__dict__") and not _is_installed(type(value).__module__):
            self._parts("object", [type(value), vars(value)])
            return
        try:
            self._write("pickle", pickle.dumps(value, 5))
        except Exception as error:  # every class has its own reason not to be pickled
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            raise InputError(
                "its content cannot be told from another's",
                source="study",
                got=f"{kind}: {error}",
                expected="plain data, arrays, dataclasses or functions",
            ) from None

    def _parts(self, tag: str, parts: Sequence[Any]) -> None:
        self._write(tag, str(len(parts)).encode())
        for part in parts:
            self.add(part)

    def _write(self, tag: str, content: bytes) -> None:
        self.hash.update(f"{tag}:{len(content)}:".encode() + content)


_NUMBERS = frozenset({type(None), bool, int, float, complex})

#: How values of a type or of one derived from it are added, the first that fits.
_WAYS: tuple[tuple[type | UnionType, Callable[[_Sums, Any], None]], ...] = (
    (np.generic, lambda sums, value: sums.add(value.item())),
    (Enum, _Sums._enum),
    (int | float | complex, lambda sums, value: sums._parts("number", [type(value), repr(value)])),
    (str, lambda sums, value: sums._parts("text", [type(value), *value])),
    (bytes | bytearray, lambda sums, value: sums._write("bytes", bytes(value))),
    (np.ndarray, _Sums._array),
    (Mapping, _Sums._mapping),
    (Set, _Sums._set),
    (list, lambda sums, value: sums._parts("list", value)),
    (tuple, lambda sums, value: sums._parts("tuple", value)),
    (FunctionType, _Sums._function),
    (CodeType, _Sums._code),
    (MethodType, lambda sums, value: sums._parts("method", [value.__func__, value.__self__])),
    (type, _Sums._class),
    (ModuleType, _Sums._module),
    (BuiltinFunctionType, lambda sums, value: sums._parts("builtin", [value.__module__, value.__qualname__])),
)


@cache
def _way(kind: type) -> Callable[[_Sums, Any], None]:
    found = next((way for known, way in _WAYS if issubclass(kind, known)), None)
    return found or (_Sums._dataclass if dataclasses.is_dataclass(kind) else _Sums._other)


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    """Fields of a dataclass that say what a value is."""
    return tuple(field.name for field in dataclasses.fields(kind) if field.init and field.name not in _ABOUT)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _names(code: CodeType) -> set[str]:
    """Global names and attributes that a piece of code mentions, those of functions inside it among them."""
    inner = (_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*inner)


@cache
def _is_installed(module: str) -> bool:
    """Whether a module belongs to this package, to Python or to an installed package, so that its name says enough."""
    top = module.partition(".")[0]
    if top in (_PACKAGE, "builtins") or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if module == "__main__" or file is None:
        return module not in ("__main__", "__mp_main__") and module in sys.builtin_module_names
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return any(Path(file).is_relative_to(place) for place in places)
