"""All exceptions that this package raises on purpose; the class tells who has to act.

The user who gave the input: `InputError`, `UnknownNameError`, `CapacityError`. Who installed this package:
`MissingExtraError`. The owner of the cluster or of the discovery endpoint: `ClusterError`. The authors of this package:
`InternalError`. A job that does not fit is no error: policies then return a `workbench.model.placement.Refusal`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = [
    "CapacityError",
    "ClusterError",
    "InputError",
    "InternalError",
    "MissingExtraError",
    "StoreError",
    "UnknownNameError",
    "WorkbenchError",
    "close_names",
    "named_arguments",
]

P = ParamSpec("P")
R = TypeVar("R")


class WorkbenchError(Exception):
    """Base class of every exception that this package raises on purpose.

    Survives pickle, so that process pools can return it.

    Examples
    --------
    >>> import workbench as wb
    >>> issubclass(wb.InputError, wb.WorkbenchError)
    True
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # By default a copy is made by calling the class with the text alone, which not every class takes.
        return _read_back, (type(self), self.args, self.__dict__)


def _read_back(kind: type[WorkbenchError], args: tuple[Any, ...], state: dict[str, Any]) -> WorkbenchError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class InputError(WorkbenchError, ValueError):
    """A file or an argument has a wrong form or value.

    Parameters
    ----------
    message : str
        The mistake in one sentence, without its place.
    source : str, optional
        File name or argument name.
    where : str, optional
        Place inside the source: ``line 7``, ``document 3, spec.tier``, ``row 'gpu_4'``.
    got, expected : str, optional
        The value found and the values allowed.
    remark : str, optional
        How the input was interpreted, if the mistake may lie in that: ``read as slurm``.

    Examples
    --------
    >>> import workbench as wb
    >>> try:
    ...     wb.BandwidthMatrix([[0, 1]])
    ... except wb.InputError as error:
    ...     print(error)
    array: the matrix is not square (found 1 x 2, expected n rows of n numbers, n >= 1)
    """

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        where: str | None = None,
        got: str | None = None,
        expected: str | None = None,
        remark: str | None = None,
    ) -> None:
        self.message = message
        self.source = source
        self.where = where
        self.got = got
        self.expected = expected
        self.remark = remark
        super().__init__(str(self))

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.source, self.where) if part)
        text = f"{place}: {self.message}" if place else self.message
        found = [f"found {self.got}"] if self.got is not None else []
        if self.expected is not None:
            found.append(f"expected {self.expected}")
        text = f"{text} ({', '.join(found)})" if found else text
        return f"{text}; {self.remark}" if self.remark else text

    def at(self, *, source: str | None = None, where: str | None = None) -> InputError:
        """A copy of the error with `source` and `where` filled in if they were unknown."""
        return self._copy(source=self.source or source, where=self.where or where)

    def of(self, source: str) -> InputError:
        """A copy of the error with another `source`, for a text that was read under a temporary name."""
        return self._copy(source=source)

    def remarking(self, remark: str) -> InputError:
        """A copy of the error with `remark` at the end of its text."""
        return self._copy(remark=remark)

    def _copy(self, **changes: str | None) -> InputError:
        parts = ("source", "where", "got", "expected", "remark")
        return type(self)(self.message, **{part: changes.get(part, getattr(self, part)) for part in parts})


class UnknownNameError(WorkbenchError, KeyError):
    """A name that does not exist in a registry, table or list; the message suggests similar names.

    `kind`: kind of name that was looked up: ``policy``, ``parameter of volcano-1.13``, ``preset``. `name`: the name
    given. `known`: the names that exist.

    Examples
    --------
    >>> import workbench as wb
    >>> try:
    ...     wb.get_policy("vulcano")
    ... except wb.UnknownNameError as error:
    ...     print(error)
    unknown policy 'vulcano'; did you mean volcano or volcano-1.15 or volcano-1.13?
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = str(name)
        self.known = sorted(known)
        self.source = ""
        super().__init__(str(self))

    def __str__(self) -> str:
        close = _close(self.name, self.known)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(self.known) or 'none'}"
        place = f"{self.source}: " if self.source else ""
        return f"{place}unknown {self.kind} '{self.name}'; {hint}"

    def of(self, source: str) -> UnknownNameError:
        """A copy of the error that names the option, argument or file that the name comes from, unless one is known."""
        error = UnknownNameError(self.kind, self.name, self.known)
        error.source = self.source or source
        error.args = (str(error),)
        return error


def named_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function refuse an argument that it does not have by `UnknownNameError`, which suggests similar names."""
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def checked(*given: P.args, **options: P.kwargs) -> R:
        for option in options:
            if option not in known:
                called = function.__qualname__.removesuffix(".__init__")
                raise UnknownNameError(f"argument of {called}", option, known[len(given) :])
        return function(*given, **options)

    return checked


def close_names(name: str, known: Iterable[str]) -> str:
    """Up to three known names similar to a wrong one, or all names if none is, as text for `InputError.expected`."""
    known = list(known)
    return " or ".join(_close(name, known)) or ", ".join(known)


def _close(name: str, known: Iterable[str]) -> list[str]:
    known = list(known)
    found = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if found or "/" in name:
        return found
    # A job is often named without its namespace.
    short = {one.rpartition("/")[2]: one for one in reversed(known)}
    return [short[one] for one in difflib.get_close_matches(name, list(short), n=3, cutoff=0.5)]


class CapacityError(WorkbenchError, ValueError):
    """The input exceeds a documented limit, such as 1,024 GPUs in one matrix.

    Examples
    --------
    >>> import workbench as wb
    >>> import numpy
    >>> try:
    ...     wb.BandwidthMatrix(numpy.zeros((1025, 1025)))
    ... except wb.CapacityError as error:
    ...     print(error)
    array: 1025 GPUs in one matrix, at most 1024 are supported
    """


class MissingExtraError(WorkbenchError, ImportError):
    """What was asked for needs a package that the default install leaves out; the message says what to install.

    `package`: name under which the package is imported. `extra`: extra of this project that brings it.

    Examples
    --------
    >>> import workbench as wb
    >>> print(wb.MissingExtraError("matplotlib", "plot"))
    matplotlib is not installed: pip install "topology-workbench[plot]"
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f'{package} is not installed: pip install "topology-workbench[{extra}]"')


class ClusterError(WorkbenchError, RuntimeError):
    """The cluster or discovery endpoint did not answer, or refused the request.

    Examples
    --------
    >>> import workbench as wb
    >>> issubclass(wb.StoreError, wb.ClusterError), issubclass(wb.ClusterError, RuntimeError)
    (True, True)
    """


class StoreError(ClusterError):
    """A store of Kubernetes objects, the API server or the embedded one, refused to read or to write an object.

    `reason` ({"AlreadyExists", "NotFound", "Conflict", "Invalid", "Denied", "Expired"}): as the API server names it:
    the object exists; does not exist; was changed by somebody else; has a wrong form; is refused by an admission
    webhook; or the version to watch from is no longer kept. `message`: the refusal, in the words of the API server.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.StoreError("NotFound", "jobs.batch.volcano.sh \\"train\\" not found").reason
    'NotFound'
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class InternalError(WorkbenchError, RuntimeError):
    """Something that must always hold inside this package does not: a bug, please report it.

    Examples
    --------
    >>> import workbench as wb
    >>> issubclass(wb.InternalError, RuntimeError)
    True
    """
