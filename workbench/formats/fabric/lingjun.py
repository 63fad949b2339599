"""Reader of the host table of the Alibaba Lingjun data set: one host per line, with the switches above it."""

from __future__ import annotations

import csv
import io

from workbench.errors import InputError
from workbench.formats.fabric.base import FabricFormat, FabricRecords, Sample, make_node, switch_tree

__all__ = ["LINGJUN", "read_lingjun"]

_HOST = ("ip", "host", "hostname", "node")
#: Switches of a host from the widest in: distribution, pod, access.
_SWITCHES = ("dsw", "psw", "asw")
_EXPECTED = "a first line with ip, DSW, PSW and ASW"
#: Longest field; the data set's hosts are 64 characters.
_MOST = 1 << 12


def read_lingjun(text: str, source: str) -> FabricRecords:
    """Read HyperNodes and nodes from a table with columns ip (or host, hostname, node), DSW, PSW and ASW in any order.

    HyperNodes of tier 3 are the DSWs, of tier 2 the PSWs (pod switches), of tier 1 the leaves. Since ASWs (access
    switches) are numbered separately under each PSW, a leaf is named ``PSW-ASW``, such as ``P10-S14``. A pod switch
    that is listed under two DSWs keeps both parents, which `workbench topology lint` reports. Raises InputError: no
    such columns, a line with too few or too many fields, an empty field, a host listed twice, two switches that would
    get one name; the line is named.

    Notes
    -----
    Source: alibaba-lingjun-dataset-2023, topo.csv.
    """
    rows = csv.reader(io.StringIO(text), strict=True)
    columns: list[int] | None = None
    width = 0
    line_of: dict[str, int] = {}
    children: dict[str, dict[str, None]] = {}
    nodes: dict[str, list[str]] = {}
    meaning: dict[str, tuple[str, ...]] = {}
    try:
        for row in rows:
            where = f"line {rows.line_num}"
            fields = [field.strip() for field in row]
            if not any(fields):
                continue
            if columns is None:
                columns, width = _columns(fields, source, where), len(fields)
                continue
            if len(fields) != width:
                got = f"{len(fields)} fields"
                raise InputError("not a row of the table", source=source, where=where, got=got, expected=str(width))
            host, dsw, psw, asw = (fields[i] for i in columns)
            if not all((host, dsw, psw, asw)) or max(map(len, fields)) > _MOST:
                raise InputError("an empty field", source=source, where=where, got=",".join(fields)[:60])
            if host in line_of:
                got = f"{host}, also in line {line_of[host]}"
                raise InputError("a host listed twice", source=source, where=where, got=got, expected="each host once")
            line_of[host] = rows.line_num
            leaf = f"{psw}-{asw}"
            for name, what in ((dsw, ("DSW",)), (psw, ("PSW",)), (leaf, ("ASW", psw, asw))):
                # P-1 with S and P with 1-S are two leaves; joining them would be worse than stopping.
                if meaning.setdefault(name, what) != what:
                    got = f"{name}: {' '.join(meaning[name])} and {' '.join(what)}"
                    raise InputError("two switches of one name", source=source, where=where, got=got)
            children.setdefault(dsw, {})[psw] = None
            children.setdefault(psw, {})[leaf] = None
            nodes.setdefault(leaf, []).append(host)
    except csv.Error as error:
        where = f"line {rows.line_num}"
        raise InputError(f"not CSV: {error}", source=source, where=where, expected="fields with commas") from None
    if not nodes:
        raise InputError("no host in the table", source=source, where="line 1", expected=f"{_EXPECTED}, then hosts")
    tiers = {name: what[0] for name, what in meaning.items()}
    hypernodes = switch_tree({name: list(below) for name, below in children.items()}, nodes, tiers)
    return FabricRecords(hypernodes, tuple(make_node(host) for host in sorted(line_of, key=str.encode)))


def _columns(header: list[str], source: str, where: str) -> list[int]:
    """Indices of the columns host, DSW, PSW and ASW in the header; raises InputError if one is missing."""
    lower = [name.lower() for name in header]
    host = next((name for name in _HOST if name in lower), None)
    if host is None or any(name not in lower for name in _SWITCHES) or len(set(lower)) < len(lower):
        got = ",".join(header)[:60]
        raise InputError("not the columns of this table", source=source, where=where, got=got, expected=_EXPECTED)
    return [lower.index(name) for name in (host, *_SWITCHES)]


def _detect(sample: Sample) -> bool:
    first = sample.text.lstrip().split("\n", 1)[0].lower()
    return set(_SWITCHES) <= {field.strip().strip('"') for field in first.split(",")}


LINGJUN = FabricFormat("lingjun", "table of hosts with DSW, PSW and ASW (CSV)", detect=_detect, read=read_lingjun)
