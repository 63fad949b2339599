"""Annotations of what users call can be evaluated, as pydantic, magicgui and `typing.get_type_hints` do."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import workbench


def exported() -> Iterator[tuple[str, Any]]:
    """Every function and class of ``workbench``, of the packages that it exports, and their public methods."""
    for name in sorted(workbench.__all__):
        value = getattr(workbench, name)
        if inspect.ismodule(value):
            inside = ((f"{name}.{one}", getattr(value, one)) for one in getattr(value, "__all__", ()))
            for path, one in inside:
                yield from with_methods(path, one)
        else:
            yield from with_methods(name, value)


def with_methods(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isclass(value):
        yield path, value
        for name, member in vars(value).items():
            bare = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            bare = bare.fget if isinstance(bare, property) else bare
            if inspect.isfunction(bare) and (not name.startswith("_") or name == "__init__"):
                yield f"{path}.{name}", bare
    elif inspect.isfunction(value):
        yield path, value


@pytest.mark.slow
@pytest.mark.parametrize("value", [pytest.param(value, id=path) for path, value in exported()])
def test_annotations_can_be_evaluated(value: Any) -> None:
    typing.get_type_hints(value)


def test_annotations_of_tables_are_pandas_own_class() -> None:
    import pandas

    assert typing.get_type_hints(workbench.Comparison.to_dataframe)["return"] is pandas.DataFrame
    assert typing.get_type_hints(workbench.differences)["comparison"] is workbench.Comparison


def test_they_cost_no_import_before_they_are_evaluated() -> None:
    code = "import sys, workbench as wb; wb.Comparison, wb.differences, wb.Study; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
