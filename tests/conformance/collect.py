"""Collection of conformance cases: from a folder of case files to the items that pytest runs."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.conformance.registry import Area

__all__ = ["Item", "items"]

_ENDING = re.compile(r"\.jsonl?(\.gz)?$")


@dataclass(frozen=True)
class Item:
    """One pytest item.

    Attributes
    ----------
    id : str
        ``area/file/case-id``; ``area/file`` for a file as a whole.
    area, file : str
        Sub-folder and file name without ``.json`` and what may follow.
    case : object
        The case as read; None for a file as a whole.
    problem : str
        Why the item fails without being run; empty: it is run.
    skip : str
        Why the item is skipped: a file without a runner; empty otherwise.
    """

    id: str
    area: str
    file: str
    case: Any = None
    problem: str = ""
    skip: str = ""

    @property
    def op(self) -> str:
        """Operation that the case asks for; empty if it names none."""
        given = self.case.get("input") if isinstance(self.case, dict) else None
        return str(given.get("op", "")) if isinstance(given, dict) else ""


def items(folder: Path, areas: Mapping[str, Area]) -> Iterator[Item]:
    """Every item of a folder with one sub-folder per area, areas and files in name order, cases in file order.

    Files end in ``.json`` or, with one document per line, in ``.jsonl``; either may be compressed (``.gz``). What of an
    area's files are cases, the area says. As a rule a file that holds a list is a case file: one item per case where
    its area has a runner for it, else one skipped item; and a file that holds an object is a table that cases refer
    to, and no item. A file that is neither, an id that is missing or stands twice, is a failing item.
    """
    for path in sorted(path for path in folder.glob("*/*") if _ENDING.search(path.name)):
        area, file = path.parent.name, _ENDING.sub("", path.name)
        where = f"{area}/{file}"
        try:
            cases = _read(path, path.stat().st_mtime_ns)
        except (ValueError, OSError, EOFError) as error:
            yield Item(where, area, file, problem=f"not JSON: {error}")
            continue
        if area in areas:
            cases = areas[area].cases_of(cases)
        if cases is None or isinstance(cases, dict):
            continue
        if not isinstance(cases, list) or not cases:
            yield Item(where, area, file, problem="a case file is a list of cases")
        elif area not in areas or not areas[area].knows(file):
            yield Item(where, area, file, skip=f"no runner yet for {where}.json ({len(cases)} cases)")
        else:
            yield from _cases(where, area, file, cases)


@cache
def _read(path: Path, changed: int) -> Any:
    """What a file held when it was changed; several tests look at the same cases."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if ".jsonl" in path.suffixes:
        return [json.loads(line) for line in raw.splitlines() if line.strip()]
    return json.loads(raw)


def _cases(where: str, area: str, file: str, cases: list[Any]) -> Iterator[Item]:
    ids = [case.get("id") if isinstance(case, dict) else None for case in cases]
    times = Counter(ids)
    for number, (case_id, case) in enumerate(zip(ids, cases, strict=True)):
        if not isinstance(case_id, str) or not case_id:
            yield Item(f"{where}/#{number}", area, file, case, problem="the case has no id")
        elif times[case_id] > 1:
            yield Item(f"{where}/{case_id}#{number}", area, file, case, problem="the id stands more than once")
        else:
            yield Item(f"{where}/{case_id}", area, file, case)
