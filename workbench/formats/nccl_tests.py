"""What the programs of nccl-tests print (``all_reduce_perf`` and others) -> measured collectives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from statistics import median

from workbench.errors import InputError
from workbench.model.collective import CollectiveBlock, Measurement
from workbench.model.counted import counted
from workbench.model.notice import Notice

__all__ = ["is_nccl_tests", "read_nccl_tests"]

_BEGIN = re.compile(r"#\s*nThread\s+\d+|#\s*Using devices\b")
_SIZES = re.compile(r"#\s+size\s+count(?:\s+\(elements\))?\s+type\b")
# A prefix of a launcher may stand before all of these.
_RANK = re.compile(
    r"#\s*Rank\s+(?P<rank>\d{1,9})\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(?P<host>\S+)\s+device\s+\d+\s+"
    r"\[[^\]]*\]\s*(?P<gpu>.*\S)"
)
_ROW = re.compile(
    r"(?:^|[\s:>|\]])(?P<size>\d{1,18})\s+(?P<count>\d{1,18})\s+(?P<type>[a-z]\w*)\s+"
    r"(?:(?P<redop>sum|prod|max|min|avg|mulsum|all|none)\s+)?(?:(?P<root>-?\d{1,9})\s+)?"
    r"(?P<time>\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?)\s+(?P<algbw>\d+\.\d+)\s+(?P<busbw>\d+\.\d+)\s"
)
_PROGRAM = re.compile(r"\b([a-z_]+)_perf\b")
_OVERRULED = re.compile(r"\bNCCL_NVLS_ENABLE\s*[=:]\s*0\b")

#: Names of the programs without ``_perf`` -> our names of collectives.
_NAMES = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "alltoall": "all-to-all",
}
#: A measured factor (bus bandwidth over algorithm bandwidth) this far from that of the ranks contradicts them.
_DOUBT = 0.02


@dataclass
class _ProgramRun:
    """One run of a program: its ranks by number, and its rows."""

    line: int
    program: str = ""
    ranks: dict[int, tuple[str, str]] = field(default_factory=dict)
    rows: list[re.Match[str]] = field(default_factory=list)


def is_nccl_tests(text: str) -> bool:
    """Whether a text is what a program of nccl-tests prints."""
    return _SIZES.search(text) is not None or (_BEGIN.search(text) is not None and _RANK.search(text) is not None)


def read_nccl_tests(text: str, source: str) -> tuple[tuple[Measurement, ...], tuple[Notice, ...], int]:
    """Read the measurements in a printout of nccl-tests; it may hold several runs, and prefixes of a launcher.

    Raises InputError: no row of sizes, no list of devices, unequal numbers of ranks per host, or a collective that
    cannot be told.

    `source`: name of the file, in errors and as the source of the measurements. Returns a measurement per row, by the
    out-of-place time, in file order; what was concluded or left out; and the number of rows left out because
    ``NCCL_NVLS_ENABLE=0`` overruled the library's choice of algorithm.

    Notes
    -----
    Where no name of a program stands in the file, a reduction without a root is an all-reduce if its bus bandwidth is
    at least its algorithm bandwidth, else a reduce-scatter; for others the name of the file is asked.
    """
    found: list[Measurement] = []
    notes: list[Notice] = []
    runs = [run for run in _runs(text) if run.rows]
    if not runs:
        expected = "rows of sizes with time, algbw and busbw"
        raise InputError("no measurement in the printout of nccl-tests", source=source, expected=expected)
    for run in runs:
        collective, told = _collective(run, source)
        if told:
            notes.append(told)
        if not collective:
            continue
        block = _block(run, collective, source)
        notes += _doubts(run, block)
        for row in run.rows:
            size, time_s = int(row["size"]), float(row["time"]) * 1e-6
            if size > 0 and 0 < time_s < 1e9:
                found.append(Measurement(block, PurePath(source).name, size, time_s))
    if _OVERRULED.search(text):
        return (), tuple(notes), len(found)
    return tuple(found), tuple(notes), 0


def _runs(text: str) -> Iterator[_ProgramRun]:
    run, program = _ProgramRun(1), ""
    for number, line in enumerate(text.splitlines(), 1):
        named = _PROGRAM.search(line)
        if run.rows and (_BEGIN.search(line) or named):
            yield run
            run, program = _ProgramRun(number), ""
        program = named[1] if named else program
        run.program = run.program or program
        if (rank := _RANK.search(line)) is not None:
            run.ranks[int(rank["rank"])] = (rank["host"], rank["gpu"])
        elif (row := _ROW.search(f"{line} ")) is not None:
            run.rows.append(row)
    yield run


def _collective(run: _ProgramRun, source: str) -> tuple[str, Notice | None]:
    """Name of the run's collective, empty for one that is left aside, and a notice that says how or why."""
    where = f"line {run.line}"
    if run.program:
        if run.program in _NAMES:
            return _NAMES[run.program], None
        text = f"left aside: {run.program}_perf ({where}); calibrated are {', '.join(_NAMES)}"
        return "", Notice("left-aside", text, numbers={"count": 1})
    row = run.rows[0]
    if row["redop"] not in (None, "none") and (row["root"] is None or int(row["root"]) < 0):
        collective = "all-reduce" if _factor(run.rows) > 1 - _DOUBT / 4 else "reduce-scatter"
        text = f"no program is named in it: a reduction without root and these bandwidths is taken for {collective}"
        return collective, Notice("collective-assumed", text)
    plain = re.sub(r"[^a-z]", "", PurePath(source).name.lower())
    named = [ours for theirs, ours in _NAMES.items() if theirs.replace("_", "") in plain]
    if len(named) == 1:
        return named[0], Notice("collective-assumed", f"no program is named in it: by its name taken for {named[0]}")
    expected = f"the name of the program ({', '.join(f'{name}_perf' for name in _NAMES)}) in the file or its name"
    raise InputError("which collective was measured?", source=source, where=where, expected=expected)


def _factor(rows: Sequence[re.Match[str]]) -> float:
    """Bus bandwidth over algorithm bandwidth, of the rows that print enough digits."""
    ratios = [float(row["busbw"]) / float(row["algbw"]) for row in rows if float(row["algbw"]) >= 1]
    return median(ratios) if ratios else 1.0


def _block(run: _ProgramRun, collective: str, source: str) -> CollectiveBlock:
    where = f"line {run.line}"
    if not run.ranks:
        expected = "the list of devices ('Rank 0 … Pid … on HOST device 0'), or a row of collectives.csv"
        raise InputError("how many ranks measured it?", source=source, where=where, expected=expected)
    hosts = [host for host, _ in run.ranks.values()]
    per_host = {hosts.count(host) for host in hosts}
    if len(per_host) > 1:
        got = ", ".join(f"{host}: {hosts.count(host)}" for host in dict.fromkeys(hosts))
        raise InputError("hosts with different numbers of ranks", source=source, where=where, got=got)
    gpu = next(iter(run.ranks.values()))[1]
    try:
        return CollectiveBlock(gpu, collective, per_host.pop(), len(set(hosts)))
    except InputError as error:
        raise error.of(source).at(where=where) from None


def _doubts(run: _ProgramRun, block: CollectiveBlock) -> list[Notice]:
    """A notice where bus bandwidths are those of another number of ranks than the list of devices has."""
    share = _factor(run.rows) / (2 if block.collective == "all-reduce" else 1)
    told, listed = share, 1 - 1 / block.ranks
    if abs(told - listed) <= _DOUBT * listed or not any(float(row["algbw"]) >= 1 for row in run.rows):
        return []
    ranks = round(1 / (1 - told)) if told < 1 - 1e-4 else 0
    tells = f"those of {counted(ranks, 'rank')}" if ranks > 1 else "those of no number of ranks"
    text = (
        f"the bus bandwidths from line {run.line} on are {tells}, the list of devices names {block.ranks}: "
        "is the list cut off?"
    )
    return [Notice("ranks-contradict", text, numbers={"listed": block.ranks, "ranks": ranks})]
