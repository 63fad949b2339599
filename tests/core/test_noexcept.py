"""Tests that no compiled function swallows an exception.

An exception can come out of every step that touches Python, also as a MemoryError or a KeyboardInterrupt.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench._core

SOURCES = Path(workbench._core.__path__[0])
MODULES = sorted(path.stem for path in SOURCES.glob("*.pyx"))

ROOT = Path(__file__).parents[2]
#: Where `make build` leaves the C of the kernels.
BUILT = ROOT / "build" / "cython-release" / "workbench" / "_core"

# As `setup.py` compiles them: with bounds checks every access to an array could raise.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
}


def unproven(source: str) -> list[str]:
    """Lines on which Cython is told that nothing is raised without its having to prove that no object is touched.

    It refuses to compile ``noexcept nogil`` where an object is used, but for a part that takes the GIL back.
    """
    code = [re.sub(r"#.*|\"[^\"]*\"", "", line) for line in source.splitlines()]
    open_ended = r"\bnoexcept\b(?!\s+nogil\b)"
    found = [f"line {i}: {line.strip()}" for i, line in enumerate(code, 1) if re.search(open_ended, line)]
    inside = 0
    for i, line in enumerate(code, 1):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        if re.search(r"\bnoexcept\s+nogil\s*:", line):
            inside = indent + 1
        elif inside and indent < inside and not line.lstrip().startswith(")"):
            inside = 0
        if inside and re.search(r"\bwith\s+gil\b|\braise\b|\bassert\b", line):
            found.append(f"line {i}: {line.strip()}")
    return found


def swallowing(generated: str) -> list[str]:
    """Compiled functions that print an exception and go on, in the C that Cython wrote."""
    calls = re.findall(r'__Pyx_WriteUnraisable\(\s*"([^"]+)"', generated)
    return sorted(set(calls))


def built_c(module: str) -> str | None:
    """The C of which a kernel was built here; None if there is none, or if a source is newer."""
    made, sources = BUILT / f"{module}.c", [*(ROOT / "_core").glob("*.p[yx][xd]"), ROOT / "setup.py"]
    if not made.is_file() or made.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        return None
    return made.read_text("utf-8")


def generated_c(source: Path, folder: Path) -> str:
    """The C that Cython writes now, which takes most of a second."""
    from Cython.Compiler.Main import CompilationOptions, compile, default_options

    out = folder / "out.c"
    options = CompilationOptions(default_options, output_file=str(out), compiler_directives=dict(DIRECTIVES))
    assert compile(str(source), options).num_errors == 0
    return out.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.p[yx][xid]")), ids=lambda path: path.name)
def test_what_is_declared_to_raise_nothing_touches_no_object(path):
    if path.suffix != ".pyi":
        assert unproven(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("cdef int* pin(self, array) noexcept:\n    return f(array)\n", 1),
        ("cdef extern from *:\n    int f(int x) noexcept\n", 1),
        ("cdef int f() noexcept nogil:\n    with gil:\n        g()\n    return 0\n", 1),
        ("cdef int f(\n    int x,\n) noexcept nogil:\n    raise ValueError\n", 1),
        ("cdef int f() noexcept nogil:\n    return 0\n\ncdef int g() except -1:\n    raise ValueError\n", 0),
    ],
)
def test_the_scan_sees_what_it_is_for(source, lines):
    assert len(unproven(source)) == lines


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_no_compiled_function_swallows_an_exception(module, tmp_path):
    """Destructors and functions that Cython itself makes are among them."""
    assert swallowing(built_c(module) or generated_c(SOURCES / f"{module}.pyx", tmp_path)) == []


@pytest.mark.slow
def test_the_search_in_generated_c_sees_what_it_is_for(tmp_path):
    source = tmp_path / "swallows.pyx"
    source.write_text(
        "cdef int pin(array) noexcept:\n    return array.size\n\ndef ask(array):\n    return pin(array)\n"
    )
    assert swallowing(generated_c(source, tmp_path)) == ["swallows.pin"]
