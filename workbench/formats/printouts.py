"""`known_printout`: recognise text that another program prints and no reader takes, and say what to bring instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["KnownPrintout", "known_printout"]

#: Characters at the beginning of a text that are looked at.
_LOOKED_AT = 1 << 16

_FABRIC = "the output of ibnetdiscover, which has the same cables"
_SLURM_FABRIC = "topology.conf or topology.yaml, which hold the switches (scontrol show topology prints them)"
_OBJECTS = "the objects: kubectl get … -o yaml, or -o json"


@dataclass(frozen=True)
class KnownPrintout:
    """A text of another program.

    `what`: what the text is: ``the output of iblinkinfo``. `instead`: what the user can bring instead of it, or where
    it belongs.
    """

    what: str
    instead: str


def _lines(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


#: What tells a text, in the order in which it is tried: the more particular first.
_KNOWN: tuple[tuple[re.Pattern[str], KnownPrintout], ...] = (
    (
        _lines(r"==\(.*\)==>|^(?:CA|Switch|RT): .*:\r?$"),
        KnownPrintout("the output of iblinkinfo", _FABRIC),
    ),
    (
        _lines(r"^(?:CA|SW|RT)\s+\d+\s+\d+\s+0x[0-9a-f]+\s"),
        KnownPrintout("the output of ibnetdiscover -p", "the output of ibnetdiscover without options"),
    ),
    (
        _lines(r"^(?:Ca|Switch|Rt)\s*:\s*0x[0-9a-f]+ ports "),
        KnownPrintout("a list of InfiniBand devices (ibhosts, ibswitches)", _FABRIC),
    ),
    (_lines(r"^CA '[^']+'\s*$"), KnownPrintout("the output of ibstat", _FABRIC)),
    (
        re.compile(
            r"(?:\s*#.*\n)*\s*(?:\{ ?(?:CA|SW|RT)\b[-:\w ]* Ports:|\".*\", [-\w ]+, [SH]:(?:0x)?[0-9a-f]{16}, LID \d)"
        ),
        KnownPrintout("a file of ibdiagnet", _FABRIC),
    ),
    (
        _lines(r"^#\s*Topology file: generated on"),
        KnownPrintout(
            "a printout of ibnetdiscover without a switch or an adapter",
            "blocks that begin with Switch or Ca; the printout is cut off, or the fabric could not be read",
        ),
    ),
    (
        re.compile(r"\s*(?:\{\s*\"lldp\"\s*:|LLDP neighbors|Interface:\s+\S+, via: LLDP|-+\s*\nLLDP neighbors)"),
        KnownPrintout("the output of lldpctl", "NetQ's topology graph, or the cables as GraphML"),
    ),
    (
        re.compile(r"\s*(?:NAMESPACE +)?NAME {2,}[A-Z]|\s*\S+ +(?:Not)?Ready[\w,]* +\S+ +\S+ +v\d"),
        KnownPrintout("a table that kubectl prints for people", _OBJECTS),
    ),
    (
        re.compile(r"(?:[a-z][a-z.0-9]*/[a-z0-9][-a-z0-9.]*\r?\n?)+\Z"),
        KnownPrintout("names that kubectl prints (-o name)", _OBJECTS),
    ),
    (
        re.compile(r"\s*Name: +\S+\r?\n(?:Namespace|Roles|Labels|Priority|API Version|Annotations): "),
        KnownPrintout("the output of kubectl describe", _OBJECTS),
    ),
    (
        re.compile(
            r"\s*(?:Error from server|error: |Unable to connect to the server|The connection to the server"
            r"|No resources found)"
        ),
        KnownPrintout("an answer of kubectl without any object", _OBJECTS),
    ),
    (
        re.compile(r"\s*PARTITION +AVAIL "),
        KnownPrintout("the output of sinfo", _SLURM_FABRIC),
    ),
    (
        _lines(r"^[ \t]*(?:ClusterName|SlurmctldHost|ControlMachine|NodeName|PartitionName)[ \t]*=[ \t]*\S"),
        KnownPrintout("Slurm's slurm.conf, or nodes as scontrol prints them", _SLURM_FABRIC),
    ),
    (
        _lines(r"^(?:Name=gpu|AutoDetect=)"),
        KnownPrintout("Slurm's gres.conf", _SLURM_FABRIC),
    ),
    (
        re.compile(r"\s*(?:JOBID +PARTITION |JobId=\d+ )"),
        KnownPrintout("jobs as squeue or scontrol print them", "a log with times: sacct -X -P, for simulate --trace"),
    ),
    (
        re.compile(r"\s*\{(?=[\s\S]{0,4000}?\"slurm\"\s*:)(?=[\s\S]*?\"jobs\"\s*:)"),
        KnownPrintout(
            "jobs of Slurm as JSON (sacct --json, squeue --json)", "its columns: sacct -X -P, for simulate --trace"
        ),
    ),
    (
        re.compile(r"JobID(?:Raw)?\|"),
        KnownPrintout("a log of jobs (sacct)", "a manifest; 'workbench simulate --trace FILE' reads the log"),
    ),
    (
        re.compile(r"; *(?:Version|Computer|SWFversion)\s*:", re.IGNORECASE),
        KnownPrintout(
            "a log of jobs (Standard Workload Format)", "a manifest; 'workbench simulate --trace FILE' reads the log"
        ),
    ),
    (
        re.compile(r"\s*(?:strict\s+)?(?:di)?graph\b[^{\n]*\{"),
        KnownPrintout("a Graphviz graph (dot)", "GraphML, into which networkx or Gephi convert it"),
    ),
)

_COMMENT = re.compile(r"\s*(?:#.*)?\r?\Z")
_HEADING = _lines(r"^#{1,6} \S")
#: What only Markdown has at the left edge, and what text of other kinds may have, too.
_MARKDOWN = _lines(r"^(?:```|~~~|\*\*\w)")
_PERHAPS_MARKDOWN = _lines(r"^\|.*\|\s*$|\]\([^)\s]+\)|`[^`\n]+`")
#: The first line below the comments of a file for programs: a key with a value, an entry of a list, a document marker,
#: or JSON.
_FOR_PROGRAMS = re.compile(r"[\w.\"'/-]+(?:\s*=|:(?:\s|$))|- |---|[{\[<]|%YAML")
_NO_FABRIC = KnownPrintout(
    "a file with nothing but comments",
    "manifests, or a topology.conf with SwitchName= or BlockName= lines, without which Slurm does not start",
)


def known_printout(text: str) -> KnownPrintout | None:
    """The program's text that `text` is, judged by its beginning; None if it is none of those known."""
    head = text[:_LOOKED_AT].lstrip("\ufeff")
    found = next((printout for pattern, printout in _KNOWN if _tells(pattern, head)), None)
    if found is not None:
        return found
    lines = head.splitlines()
    if len(text) <= _LOOKED_AT and "#" in head and all(map(_COMMENT.match, lines)):
        return _NO_FABRIC
    first = next((line for line in lines if not _COMMENT.match(line)), "")
    likely = _MARKDOWN.search(head) or (_PERHAPS_MARKDOWN.search(head) and not _FOR_PROGRAMS.match(first))
    if likely and _HEADING.match(head.lstrip()):
        return KnownPrintout("a text for people (Markdown)", "a manifest, or a network topology of a known format")
    return None


def _tells(pattern: re.Pattern[str], head: str) -> bool:
    """Whether a pattern tells a text: on any line if it is one of lines, else at the beginning of the text."""
    return (pattern.search if pattern.flags & re.MULTILINE else pattern.match)(head) is not None
