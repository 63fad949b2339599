"""`clean_printout`: a tool's printout as the tool printed it, after it went through logs, mails, boxes and terminals.

Removes colour codes (with or without their escape character), the prefix that a launcher, a log or a mail put before
every line, and drawn boxes; takes columns apart that lost the blank between them. The number of lines never changes, so
that line numbers in messages are those of the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from workbench.model.notice import Notice

__all__ = ["DEVICE_NAME", "Printout", "clean_printout", "is_json_log"]

#: Names of GPUs and NPUs in tables of link types, by several vendors' tools.
DEVICE_NAME = r"(?:GPU|NPU|Phy-ID|DCU|XPU|MLU|GCU|Device|Card)"

# With the escape character, or with what a terminal, a shell or an editor makes of it; without it, colours only.
_ESCAPE = re.compile(
    r"(?:\x1b|\^\[|<ESC>|ESC|\\x1b|\\e|[\\#]0?33|\\u001b|\u241b|\u2190|\ufffd)(?:\[[0-9;?]*[A-Za-z]|\(B)"
    r"|\[(?:\d{1,3}(?:;\d{1,3})*)?m|\[[012]?K|\(B(?=\[m)",
    re.IGNORECASE,
)
# A tab as a log daemon or a JSON string writes it.
_TAB = re.compile(r"#011|\\t")
# Of a colour code only the number and the letter are left, before the first name and behind the last.
_REST_OF_ESCAPE = re.compile(r"^(\s*)\d{1,2}m(?=(?:GPU|NPU|Phy-ID)\d)(.*?)(?:0m)?\s*$")
_REAL_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

# Where lines of a printout begin: everything before is a prefix, or the blank corner of a table.
_BEGINNING = re.compile(
    rf"{DEVICE_NAME} ?\d+(?=\s*[|│┃║]|\s+\S)|(?:Uni|Bi)directional (?:P2P|copy)|P2P=(?:En|Dis)abled|D\\D\s+\d"
    r"|=+ ?[A-Z][A-Za-z ]+ between two GPUs|(?:memcpy|memory) \S+ GPU|SRC(?:\+EXE)?\\DST"
    r"|(?:ACCESS|WEIGHT|HOPS|LINK TYPE|NUMA BW) TABLE"
    r"|(?<![\w:(])[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7](?=\s+\S)"
)
_BARS = "|│┃║¦"
_RULE = re.compile(rf"[-+=:{_BARS}\u2500-\u257f\s]{{3,}}")
_CELL_DEVICE = re.compile(rf"({DEVICE_NAME})\s*(\d+)", re.IGNORECASE)
_SPACED_DEVICE = re.compile(rf"(?<![\w-])({DEVICE_NAME}) (\d+)(?=\s|$)")
_STRING_END = re.compile(r"[\"']\s*,?\s*$")
_LOG_KEYS = ("log", "message", "msg", "MESSAGE", "line", "textPayload")
_QUOTE = re.compile(r"(?:>+[ \t]?)+")
_SAME_LABEL = re.compile(r"\[?[\w.@/,-]+\]?(?:<std(?:out|err)>)?:(?=\s)|\[[\w.@/,:-]+\](?:<std(?:out|err)>)?:?(?=\s)")

_TYPE = r"(?:SYS|SOC|NODE|PHB|PXB|PIX|PSB|NV\d+|HCCS_SW|HCCS|SIO|XGMI|PCIE|OK|CNS|GNS|TNS|NS|DR|ENABLED|DISABLED|X)"
_TYPES = re.compile(_TYPE)
_GLUED_TYPES = re.compile(rf"(?<!\S)(?=\S*[A-WYZ])(?:{_TYPE}){{2,}}(?!\S)")
_GLUED_LABEL = re.compile(rf"^(\s*(?:GPU|NIC|NPU|Phy-ID|DCU|XPU|MLU)\d+)((?:{_TYPE})+)(?!\S)")
_BEFORE_AFFINITY = re.compile(r"(?<!\S)((?:SYS|SOC|NODE|PHB|PXB|PIX|X)+)(?=\d+[-,]\d)")
_NAME = r"(?:(?:GPU|NIC|NPU|Phy-ID|DCU|XPU|MLU)\d+|mlx\d+_\d+|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_NAMES = re.compile(_NAME)
_GLUED_NAMES = re.compile(rf"(?<!\S)(?:{_NAME}){{2,}}(?=\s|$|CPU|NUMA|GPU )")
# Two decimals, as p2pBandwidthLatencyTest and nvbandwidth print; no number has two points.
_NUMBER = re.compile(r"\d+\.\d\d")
_GLUED_NUMBERS = re.compile(r"(?<!\S)(?:\d+\.\d\d){2,}(?!\S)")
_GLUED_TITLES = re.compile(r"(?<=\S)(?=CPU Affinity|NUMA Affinity|GPU NUMA ID)")


@dataclass(frozen=True)
class Printout:
    """A printout as its tool printed it.

    `text`: as many lines as the text that was given. `notes`: what was removed or taken apart.
    """

    text: str
    notes: tuple[Notice, ...] = ()


def clean_printout(text: str) -> Printout:
    """Remove from a tool's printout what other programs added to it, and take glued columns apart.

    Returns: the printout; its text is the given one where nothing was added to it.
    """
    removed: list[str] = []
    logged = _of_json_lines(text.splitlines())
    lines = logged if logged is not None else text.splitlines()
    if logged is not None:
        removed.append("the JSON of a log around each line")
    lines = [_TAB.sub("\t", line) for line in lines]
    bare = [_REST_OF_ESCAPE.sub(r"\1\2", _ESCAPE.sub("", line)) for line in lines]
    if any(_REAL_ESCAPE.sub("", line) != clean for line, clean in zip(lines, bare, strict=True)):
        removed.append("colour codes without their escape character")
    lines = _without_prefix(bare, removed)
    lines = _without_boxes(lines, removed)
    notes = [Notice("left-aside", f"left aside: {'; '.join(removed)}", numbers={"count": len(removed)})] * bool(removed)
    lines, glued = _apart(lines)
    if glued:
        shown = ", ".join(f"line {i + 1} {word!r}" for i, word in glued[:3])
        more = f" and {len(glued) - 3} more" if len(glued) > 3 else ""
        told = f"columns were glued together and have been taken apart: {shown}{more}"
        notes.append(Notice("columns-taken-apart", told, numbers={"count": len(glued)}))
    return Printout("\n".join(lines), tuple(notes))


def _of_json_lines(lines: Sequence[str]) -> list[str] | None:
    """The texts of a log of JSON objects, one per line, as container runtimes keep it; None for another text."""
    found: list[str] = []
    for line in lines:
        if not line.strip():
            found.append("")
            continue
        if not line.lstrip().startswith("{"):
            return None
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            return None
        said = [entry[key] for key in _LOG_KEYS if isinstance(entry, dict) and isinstance(entry.get(key), str)]
        if not said:
            return None
        found.append(" ".join(said[0].splitlines()))
    return found if any(found) else None


def is_json_log(text: str) -> bool:
    """Whether a text is a log of JSON objects, one per line, each with the text of a printout's line."""
    return text.startswith("{") and _of_json_lines(text.splitlines()) is not None


def _without_prefix(lines: Sequence[str], removed: list[str]) -> list[str]:
    """The lines without the prefix that most lines of the tables have, such as ``0: `` or a timestamp."""
    before = {i: line[: found.start()].rstrip() for i, line in enumerate(lines) if (found := _BEGINNING.search(line))}
    if not before:
        return _without_label(lines, removed)
    # The bars of drawn tables are no prefix.
    before = {i: prefix.rstrip(_BARS + " \t") for i, prefix in before.items()}
    shape, times = Counter(map(_shape, before.values())).most_common(1)[0]
    pattern = re.compile(r"\s*" + re.escape(shape).replace("0", r"\d+").replace(r"\ ", r"\s+"))
    matches = [pattern.match(line) for line in lines]
    if not shape or (times < 2 and sum(match is not None for match in matches) < 3):
        return list(lines)
    kept = [line if match is None else line[match.end() :] for line, match in zip(lines, matches, strict=True)]
    if shape[-1] in "\"'":
        # Lines as strings of a list, as Ansible shows them: the quotes at their ends go, too.
        kept = [line if m is None else _STRING_END.sub("", line) for line, m in zip(kept, matches, strict=True)]
    others = _of_other_processes(lines, {i: p for i, p in before.items() if _shape(p) == shape})
    first = next(prefix for prefix in before.values() if _shape(prefix) == shape)
    removed.append(f"the prefix {first.strip()!r} of lines")
    if others:
        labels = sorted({prefix.strip() for prefix in others}, key=lambda label: (len(label), label))
        shown = ", ".join(map(repr, labels[:3])) + (", …" if len(labels) > 3 else "")
        removed.append(f"the lines that begin with {shown}")
        for i, match in enumerate(matches):
            if match is not None and match[0].strip() in labels:
                kept[i] = ""
    return kept


def _of_other_processes(lines: Sequence[str], before: dict[int, str]) -> list[str]:
    """Prefixes of all processes but the first, where several printed a table each; empty where prefixes are times."""
    groups: dict[str, list[int]] = {}
    for i, prefix in before.items():
        groups.setdefault(prefix, []).append(i)
    headers = [any(len(_CELL_DEVICE.findall(lines[i])) > 1 for i in group) for group in groups.values()]
    sizes = {len(group) for group in groups.values()}
    return list(groups)[1:] if len(groups) > 1 and all(headers) and len(sizes) == 1 and sizes != {1} else []


def _without_label(lines: Sequence[str], removed: list[str]) -> list[str]:
    """A table of plain numbers without the quotes of a mail, or one label before every line."""
    filled = [line.lstrip() for line in lines if line.strip()]
    if len(filled) < 2:
        return list(lines)
    if all(_QUOTE.match(line) for line in filled):
        removed.append("the prefix '>' of lines")
        return [_QUOTE.sub("", line.lstrip(), count=1) for line in lines]
    labels = {found[0] if (found := _SAME_LABEL.match(line)) else "" for line in filled}
    if len(labels) > 1 or labels == {""}:
        return list(lines)
    label = labels.pop()
    removed.append(f"the prefix {label!r} of lines")
    return [line.lstrip()[len(label) :] if line.strip() else line for line in lines]


def _shape(prefix: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\d+", "0", prefix.strip()))


def _without_boxes(lines: Sequence[str], removed: list[str]) -> list[str]:
    """The lines with the cells of drawn tables apart by tabs, and without the lines that are drawn only."""
    kept, boxes = [], False
    for line in lines:
        bare = line.strip()
        if not bare:
            kept.append(line)
            continue
        cells = [cell.strip() for cell in re.split(f"[{_BARS}]", bare.strip(_BARS))]
        if _RULE.fullmatch(line):
            kept.append("")
        elif len(cells) > 2 or (len(cells) == 2 and bare[0] in _BARS):
            boxes = True
            kept.append("\t".join(_cells(cells)))
        elif bare[0] in _BARS:
            boxes = True
            kept.append(bare.strip(_BARS))
        else:
            kept.append(_joined_names(line))
    if boxes:
        removed.append("the lines of a drawn table")
    return kept


def _cells(cells: list[str]) -> list[str]:
    named = [_CELL_DEVICE.sub(r"\1\2", cell) if _CELL_DEVICE.fullmatch(cell) else cell for cell in cells]
    devices = [_CELL_DEVICE.fullmatch(cell) is not None for cell in named]
    if not devices[0] and len(devices) > 1 and devices[1]:
        return ["", *named[1:]]  # the corner: a vendor's name, or nothing
    if devices[0] and not any(devices[1:]):
        return [named[0], *(re.sub(r"\s+", "", cell) or "N/A" for cell in named[1:])]
    return named


def _joined_names(line: str) -> str:
    """A line of a table with ``Device 0`` as one word."""
    names = _SPACED_DEVICE.findall(line)
    after = _SPACED_DEVICE.sub("", line, count=1).split()
    if len(names) > 1 or (names and _SPACED_DEVICE.match(line.lstrip()) and after and _TYPES.fullmatch(after[0])):
        return _SPACED_DEVICE.sub(r"\1\2", line)
    return line


def _apart(lines: Sequence[str]) -> tuple[list[str], list[tuple[int, str]]]:
    """The lines with names and link types that were glued together apart, and what was taken apart, by line."""
    glued: list[tuple[int, str]] = []
    kept: list[str] = []
    for i, line in enumerate(lines):
        if not line:
            kept.append(line)
            continue
        line = _GLUED_TITLES.sub(" ", line) if _NAMES.search(line) else line
        if (label := _GLUED_LABEL.match(line)) is not None:
            glued.append((i, label[0].strip()))
            line = f"{label[1]} {line[label.end(1) :]}"
        for whole, part in (
            (_GLUED_NAMES, _NAMES),
            (_GLUED_TYPES, _TYPES),
            (_GLUED_NUMBERS, _NUMBER),
        ):
            for found in reversed(list(whole.finditer(line))):
                words = part.findall(found[0])
                if "".join(words) == found[0] and len(words) > 1:
                    glued.append((i, found[0]))
                    line = f"{line[: found.start()]}{' '.join(words)}{line[found.end() :]}"
        line = _BEFORE_AFFINITY.sub(r"\1 ", line)
        kept.append(line)
    return kept, glued
