"""`digest_of`: a checksum of the content of a value or of a function's code, and of the package's own sources.

Two processes that make equal values in one way compute equal checksums; memory addresses and file names are no part of
them. Where equality cannot be proved (an object that only pickle can take apart, two equal objects of a user's class
where another value has one object twice) the checksums may differ: a run is then done again, and never taken for
another. Changes to files that user code reads, or to modules imported under computed names, are not detected.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    UnionType,
)
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.evaluate.provenance import version
from workbench.policies.contract import Policy
from workbench.policies.function import FunctionPolicy
from workbench.policies.gpu.base import GpuPolicy
from workbench.policies.node_policy import NodePolicy
from workbench.policies.parameters import Parametrised
from workbench.study.own_modules import MAIN, PACKAGE, imported_modules, is_installed, own_modules, reached_modules

__all__ = ["digest_of", "package_digest", "policy_digest"]

#: Fields of the package's dataclasses that describe the origin of a value; they are not hashed.
_ABOUT = frozenset({"source", "taken_at", "gaps"})

#: Rooms whose sources decide the outcome of a simulation.
_ROOMS = (
    *("_core", "kernels", "model", "objects", "topology", "jobs", "cluster", "formats"),
    *("policies", "evaluate", "simulate", "study"),
)
#: Flag of a class that was made at run time (Py_TPFLAGS_HEAPTYPE).
_HEAP_TYPE = 1 << 9

#: Pieces that are hashed at once.
_MOST_WAITING = 1 << 10
_NO_MAPPING = b"mapping:1:0"

_SOURCES = frozenset({".py", ".pyx", ".pxd"})


def digest_of(*values: Any) -> str:
    """SHA-256 of the content of some values, in hex.

    `values`: plain data, numpy arrays, dataclasses (those of this package without the fields `source`, `taken_at` and
    `gaps`), policies, functions, classes and objects of them. A function written by the user counts with its code, its
    defaults, its attributes, what it closes over, the global names that it uses and the user's modules that it imports;
    a class with its attributes; a module with its text and the texts of the user's modules that it imports. What
    belongs to Python or an installed package counts by its name. Raises InputError: an object that can be taken apart
    in none of these ways, and not by pickle either.
    """
    sums = _Sums()
    sums.add(values)
    return sums.hexdigest()


def policy_digest(policy: Policy) -> str:
    """SHA-256 of what decides a policy's answers: its name, its parameters, and what a user wrote of it.

    The user's part is the code and the attributes of a policy of the user's own class, or of a function. The package's
    own code is part of `package_digest`.
    """
    return digest_of(policy)


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
    """A SHA-256 of a sequence of values; each is hashed with a tag and its length, so that the encoding is unambiguous.

    `outer`: the sum for which this one hashes an element of an unordered collection; objects that it has hashed already
    are known here, too.
    """

    # `add` finds the way of a value by its type (`_mapping`, `_dataclass`, …), which takes it apart and adds the
    # parts; plain values end in `_write`. What is written waits until there is enough to hash at once. What neither is
    # plain nor has a way of its own is pickled (`_other`).

    def __init__(self, outer: _Sums | None = None) -> None:
        self.hash = hashlib.sha256()
        #: What is written and not yet hashed.
        self.waiting: list[bytes] = []
        self._inside: list[int] = [] if outer is None else [*outer._inside]
        # By id: first-occurrence index, and the object itself, which keeps the id from being reused.
        self._known: dict[int, tuple[int, Any]] = {} if outer is None else {**outer._known}
        self._read: set[str] = set() if outer is None else {*outer._read}

    @property
    def is_plain(self) -> bool:
        """Whether all that was added is still waiting, and nothing of it is known by identity."""
        return not self._known and self.hash.digest() == hashlib.sha256().digest()

    def hexdigest(self) -> str:
        self.hash.update(b"".join(self.waiting))
        self.waiting.clear()
        return self.hash.hexdigest()

    def add(self, value: Any) -> None:
        kind: Any = type(value)
        if kind is str:
            text = value.encode("utf-8", "surrogatepass")
            self.waiting.append(b"str:%d:%b" % (len(text), text))
        elif kind in _NUMBERS:
            # Equal numbers of two types are two values: 1 and 1.0 may print differently.
            self._write(kind.__name__, repr(value).encode())
        elif kind is dict and not value:
            self.waiting.append(_NO_MAPPING)
        elif id(value) in self._known:
            self._write("known", str(self._known[id(value)][0]).encode())
        elif id(value) in self._inside:
            # A container that contains itself is hashed by its depth.
            self._write("again", str(len(self._inside) - self._inside.index(id(value))).encode())
        else:
            if _is_known_by_identity(kind):
                # Without this, functions that call each other would be hashed once per call path.
                self._known[id(value)] = (len(self._known), value)
            self._inside.append(id(value))
            way = _way(kind)
            way(self, value)
            if way not in _COMPLETE and not is_installed(kind.__module__):
                # Methods and attributes of a class that is derived from dict, Enum or an array.
                self._parts("own class", [kind, _attributes(value)])
            self._inside.pop()

    def _apart(self, value: Any) -> str:
        sums = _Sums(self)
        sums.add(value)
        return sums.hexdigest()

    def _array(self, array: npt.NDArray[Any]) -> None:
        if array.dtype == np.object_:
            self._parts("objects", array.tolist())
        else:
            self._write("array", f"{array.dtype.str}{array.shape}".encode())
            self._write("", np.ascontiguousarray(array).tobytes())

    def _enum(self, member: Enum) -> None:
        self._parts("enum", [type(member).__qualname__, member.name])

    def _mapping(self, mapping: Mapping[Any, Any]) -> None:
        keys = list(mapping)
        if all(type(key) is str for key in keys):
            keys.sort()
        else:
            keys.sort(key=self._apart)
        self._parts("mapping", [(key, mapping[key]) for key in keys])
        if isinstance(mapping, defaultdict):
            self._parts("default", [mapping.default_factory])

    def _set(self, values: Set[Any]) -> None:
        self._parts("set", sorted(self._apart(each) for each in values))

    def _code(self, code: CodeType) -> None:
        counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
        names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
        self._parts("code", [code.co_code, code.co_exceptiontable, code.co_consts, *names, *counts])

    def _dataclass(self, value: Any) -> None:
        kind: Any = type(value)
        if not _is_ours(kind):
            self._parts("dataclass", [kind, *(getattr(value, name, None) for name in _field_names(kind))])
            return
        # Most fields of most objects have their default.
        fields = _defaults(kind)
        self._write("dataclass", b"%d" % (1 + len(fields)))
        self.add(kind)
        for name, default, written in fields:
            part = getattr(value, name, None)
            if part is default:
                self.waiting.append(written)
            else:
                self.add(part)

    def _function(self, function: FunctionType) -> None:
        if is_installed(function.__module__) and _is_found_by_name(function):
            self._parts("function", [function.__module__, function.__qualname__])
            return
        code, around = function.__code__, function.__globals__
        cells = [_content(cell) for cell in function.__closure__ or ()]
        # A package's decorator around a function of the user's is named like that; its globals are the package's.
        own = not is_installed(around.get("__name__"))
        names = _names(code) if own else frozenset()
        used = [(name, around[name]) for name in sorted(names) if name in around]
        self._parts("own function", [code, function.__defaults__, function.__kwdefaults__, cells, used])
        self._parts("attributes", [vars(function)])
        if own:
            modules = [value.__name__ for _, value in used if isinstance(value, ModuleType)]
            modules += _home(around.get("__name__"))
            imported = imported_modules(code, around.get("__package__") or "")
            self._modules(reached_modules([*modules, *imported], names))

    def _class(self, kind: type) -> None:
        self._parts("class", [kind.__module__, kind.__qualname__])
        # Types of the interpreter, such as that of functions, are found under no name, and are never made at run time.
        fixed = not kind.__flags__ & _HEAP_TYPE or _is_found_by_name(kind)
        if not (is_installed(kind.__module__) and fixed):
            self._parts("", [type(kind), *(base for base in kind.__bases__ if base is not object)])
            self._parts("", [(name, vars(kind)[name]) for name in sorted(vars(kind)) if _is_own(kind, name)])
            self._modules(_home(kind.__module__))

    def _property(self, value: property) -> None:
        self._parts("property", [value.fget, value.fset, value.fdel])

    def _module(self, module: ModuleType) -> None:
        self._write("module", module.__name__.encode())
        self._modules([module.__name__])

    def _modules(self, names: Iterable[str]) -> None:
        """Add the user's modules among some, with what they import, each the first time it is met."""
        found = own_modules(names, self._read)
        self._read.update(found)
        self._parts("modules", [*found.items()])

    def _policy(self, policy: Parametrised) -> None:
        assert isinstance(policy, Policy | NodePolicy | GpuPolicy)
        self._parts("policy", [type(policy), policy.name, policy.parameters])
        # The package's node and GPU policies are made of their parameters alone; what else they hold is computed.
        made = isinstance(policy, NodePolicy | GpuPolicy) and not isinstance(policy, FunctionPolicy)
        if not (made and _is_ours(type(policy))):
            self._parts("attributes", [_attributes(policy)])

    def _other(self, value: Any) -> None:
        if hasattr(value, "__dict__") and not is_installed(type(value).__module__):
            self._parts("object", [type(value), _attributes(value)])
            return
        try:
            self._write("pickle", self._pickled(value))
        except Exception as error:  # every class has its own reason not to be pickled
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            raise InputError(
                "its content cannot be told from another's",
                source="study",
                got=f"{kind}: {error}",
                expected="plain data, arrays, dataclasses or functions",
            ) from None

    def _pickled(self, value: Any) -> bytes:
        """Pickle a value, with the user's functions, classes and modules by content instead of by name."""
        file = io.BytesIO()
        pickler = _Pickler(file, 5)
        pickler.sums = self
        pickler.dump(value)
        return file.getvalue()

    def _parts(self, tag: str, parts: Sequence[Any]) -> None:
        self._write(tag, str(len(parts)).encode())
        for part in parts:
            self.add(part)

    def _write(self, tag: str, content: bytes) -> None:
        self.waiting.append(f"{tag}:{len(content)}:".encode() + content)
        if len(self.waiting) > _MOST_WAITING:
            self.hash.update(b"".join(self.waiting))
            self.waiting.clear()


class _Pickler(pickle.Pickler):
    sums: _Sums

    def persistent_id(self, value: Any) -> str | None:
        return self.sums._apart(value) if isinstance(value, _NAMED) else None


#: What `functools.cache` makes of a function.
_Cached: Any = type(cache(lambda: None))

#: What pickle would write by its name alone, or in it something of that kind.
_NAMED = (FunctionType, type, ModuleType, _Cached, Parametrised)

_NUMBERS = frozenset({type(None), bool, int, float, complex})

#: Ways that add a value's class and attributes, too.
_COMPLETE = (_Sums._other, _Sums._policy, _Sums._class)

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
    (Parametrised, _Sums._policy),
    (FunctionType, _Sums._function),
    (_Cached, lambda sums, value: sums._parts("cached", [value.__wrapped__])),
    (CodeType, _Sums._code),
    (MethodType, lambda sums, value: sums._parts("method", [value.__func__, value.__self__])),
    (type, _Sums._class),
    (ModuleType, _Sums._module),
    (
        BuiltinFunctionType,
        lambda sums, value: sums._parts("builtin", [value.__module__, value.__qualname__, value.__self__]),
    ),
    (property, _Sums._property),
    (staticmethod | classmethod, lambda sums, value: sums._parts(type(value).__name__, [value.__func__])),
    (cached_property, lambda sums, value: sums._parts("cached property", [value.func])),
    (MemberDescriptorType | GetSetDescriptorType, lambda sums, value: sums._write("slot", value.__name__.encode())),
)


@cache
def _way(kind: type) -> Callable[[_Sums, Any], None]:
    found = next((way for known, way in _WAYS if issubclass(kind, known)), None)
    if found is not None:
        return found
    # An object of a user's dataclass may have attributes that are no fields.
    whole = is_installed(kind.__module__) or not kind.__dictoffset__
    return _Sums._dataclass if dataclasses.is_dataclass(kind) and whole else _Sums._other


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any, bytes], ...]:
    """The hashed fields of a dataclass of this package: name, default, and what is written for the default.

    A field without a default, or with one that is more than a few plain values, gets an object that no value is: it is
    always hashed in full.
    """
    found = []
    for field in dataclasses.fields(kind):
        if field.name in _field_names(kind):
            sums = _Sums()
            if field.default is not dataclasses.MISSING:
                sums.add(field.default)
            found.append((field.name, *((field.default, b"".join(sums.waiting)) if sums.is_plain else (object(), b""))))
    return tuple(found)


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    """Names of the dataclass fields that are hashed."""
    names = [field.name for field in dataclasses.fields(kind) if field.init or not _is_ours(kind)]
    return tuple(name for name in names if name not in _ABOUT or not _is_ours(kind))


def _is_ours(kind: type) -> bool:
    """Whether a class belongs to this package."""
    return kind.__module__.partition(".")[0] == PACKAGE


@cache
def _is_known_by_identity(kind: type) -> bool:
    """Whether repeated references to an object of this type are hashed by first-occurrence index."""
    return issubclass(kind, FunctionType | type | ModuleType) or not is_installed(kind.__module__)


def _attributes(value: Any) -> dict[str, Any]:
    """Attributes of an object, slots included, without values cached by `cached_property`."""
    members = [item for base in type(value).__mro__ for item in vars(base).items()]
    slots = [name for name, member in members if isinstance(member, MemberDescriptorType) and hasattr(value, name)]
    computed = {name for name, member in members if isinstance(member, cached_property)}
    kept = {name: each for name, each in getattr(value, "__dict__", {}).items() if name not in computed}
    return {**{name: getattr(value, name) for name in slots}, **kept}


def _is_own(kind: type, name: str) -> bool:
    """Whether an attribute of a class was written by its author rather than added by Python."""
    if name == "_abc_impl":
        return False
    value = vars(kind)[name]
    special = name.startswith("__") and name.endswith("__")
    return not special or callable(value) or isinstance(value, classmethod | property)


def _is_found_by_name(value: Any) -> bool:
    """Whether importing the function or class by its qualified name gives this very object, as pickle requires."""
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def _home(module: str | None) -> list[str]:
    """The module of a function or class, if workers import it; empty for a cell or a script, which is sent to them.

    Workers import the module's current file, which may have been edited since this process imported it.
    """
    return [] if module is None or module in MAIN else [module]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _names(code: CodeType) -> set[str]:
    """Global names and attributes that a code object refers to, nested functions included."""
    inner = (_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*inner)
