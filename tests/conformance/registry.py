"""Registry of conformance runners: maps the operations of a case file to the functions that run them.

A runner is one function per operation of one case file; it calls the workbench and asserts. It declares the keys it
reads, so that a case with a key that nobody looks at fails instead of passing for the wrong reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from workbench.model.release import Release

__all__ = ["Area", "Case", "NotUnderstood", "Runner", "Runners", "assert_pinned"]

Case = Mapping[str, Any]
Runner = Callable[..., None]

#: What a case's ``release`` stands for.
_RELEASES = {
    "v1.13.0": (Release.V1_13,),
    "head": (Release.V1_15,),
    "both": (Release.V1_13, Release.V1_15),
}


class Area(Protocol):
    """What an area offers to whoever collects and runs its cases."""

    area: str

    def knows(self, file: str) -> bool:
        """Whether the cases of a file have a runner."""

    def cases_of(self, content: Any) -> Any:
        """The cases in what a file holds; None, or a mapping: it holds none."""

    def run(self, file: str, case: Any) -> None:
        """Run one case; an AssertionError for a wrong answer."""


class NotUnderstood(AssertionError):
    """The case asks something that its runner does not know: a failure, never a skip."""


def assert_pinned(found: Mapping[str, Any], want: Mapping[str, Any], answers: Collection[str] = ()) -> None:
    """Compare answers by key with what a case expects; null there means that nothing is said about the key.

    Parameters
    ----------
    found : mapping
        Every key that the case may pin.
    want : mapping
    answers : collection of str
        Keys whose null is an answer itself.
    """
    pinned = {key: value for key, value in want.items() if key in found and (value is not None or key in answers)}
    assert {key: found[key] for key in pinned} == pinned


class Runners:
    """The runners of one area, by file and operation.

    Parameters
    ----------
    area : str
        Name of the sub-folder: ``gpu``, ``volcano-topology`` ...
    """

    def __init__(self, area: str) -> None:
        self.area = area
        self._by_file: dict[str, dict[str, tuple[Runner, frozenset[str], frozenset[str] | None, bool]]] = {}

    def op(
        self, file: str, op: str, given: Collection[str], want: Collection[str] | None, per_release: bool = False
    ) -> Callable[[Runner], Runner]:
        """Register a function ``(input, expected) -> None`` for an operation of a file (named without ``.json``).

        Parameters
        ----------
        given, want : collection of str
            The keys of ``input`` (besides ``op``) and of ``expected`` that the function reads. ``want`` None: what is
            expected is a list, maybe an empty one, and the function reads all of it.
        per_release : bool
            The function takes a `Release` too and is called once for each that the case is about.
        """

        def register(runner: Runner) -> Runner:
            keys = None if want is None else frozenset(want)
            self._by_file.setdefault(file, {})[op] = (runner, frozenset(given), keys, per_release)
            return runner

        return register

    def operations(self) -> dict[str, dict[str, Runner]]:
        """The runner of each operation, by file."""
        return {file: {op: entry[0] for op, entry in ops.items()} for file, ops in self._by_file.items()}

    def knows(self, file: str) -> bool:
        """Whether any operation of a file has a runner."""
        return file in self._by_file

    def cases_of(self, content: Any) -> Any:
        """The file as it is: a list of cases, or a table that cases refer to."""
        return content

    def run(self, file: str, case: Case) -> None:
        """Run one case; NotUnderstood for an operation or a key without a reader, AssertionError for a wrong answer."""
        given, want = case.get("input"), case.get("expected")
        if "steps" in case:
            # A sequence says after each step what it expects; the steps are handed over as one key of `expected`.
            want = {**(want or {}), "steps": case["steps"]}
        if not isinstance(given, dict) or not isinstance(want, dict | list):
            raise NotUnderstood("a case has an object 'input' and an object or a list 'expected'")
        ops = self._by_file[file]
        if given.get("op") not in ops:
            raise NotUnderstood(f"operation {given.get('op')!r}; {self.area}/{file} knows {', '.join(sorted(ops))}")
        runner, given_keys, want_keys, per_release = ops[given["op"]]
        if isinstance(want, list) is not (want_keys is None):
            raise NotUnderstood(f"'expected' is {'an object' if want_keys is None else 'a list'}, which nobody reads")
        wanted = want.keys() if isinstance(want, dict) else set()
        for name, keys, known in (
            ("input", given.keys() - {"op"}, given_keys),
            ("expected", wanted, want_keys or frozenset()),
        ):
            if keys - known:
                raise NotUnderstood(f"{name} has keys that nobody reads: {', '.join(sorted(keys - known))}")
        if want == {}:
            raise NotUnderstood("'expected' is empty: nothing to check")
        if not per_release:
            runner(given, want)
            return
        if case.get("release") not in _RELEASES:
            raise NotUnderstood(f"release {case.get('release')!r}; known are {', '.join(_RELEASES)}")
        for release in _RELEASES[case["release"]]:
            runner(given, want, release)
