"""Tables of GPUs that went through logs, mails, boxes and terminals, or that stand with others in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import pytest

from tests.formats.matrices.test_link_tables import TOPO
from workbench.formats.matrices.base import MatrixReading
from workbench.formats.matrices.link_speeds import default_link_speeds
from workbench.formats.matrix import read_matrix_content

PAIRS = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tSYS\tNV12\tSYS\tPIX\tSYS\t0-31\t0\t\tN/A
GPU1\tSYS\t X \tSYS\tNV12\tPXB\tSYS\t0-31\t0\t\tN/A
GPU2\tNV12\tSYS\t X \tSYS\tSYS\tNODE\t32-63\t1\t\tN/A
GPU3\tSYS\tNV12\tSYS\t X \tSYS\tPHB\t32-63\t1\t\tN/A
NIC0\tPIX\tPXB\tSYS\tSYS\t X \tSYS
NIC1\tSYS\tSYS\tNODE\tPHB\tSYS\tX

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
"""
STATES = """\
 \tGPU0\tGPU1\tGPU2\tGPU3\t
 GPU0\tX\tOK\tOK\tGNS\t
 GPU1\tOK\tX\tOK\tOK\t
 GPU2\tOK\tOK\tX\tOK\t
 GPU3\tCNS\tOK\tOK\tX\t

Legend:

  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
"""
MEASURED = """\
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 915.00  17.00
     1  18.00 915.00
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 915.00  22.00
     1  23.00 915.00
"""
READS = MEASURED.split("Unidirectional P2P=Enabled")[0] + (
    "Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)\n"
    "   D\\D     0      1\n     0 915.00  19.80\n     1  20.10 915.00\n"
)


def read(text: str, block: str | None = None) -> MatrixReading:
    return read_matrix_content(text.encode(), "topo.txt", block=block)


def told(reading: MatrixReading) -> str:
    return "; ".join(map(str, reading.notes))


def each(change: Callable[[str], str]) -> str:
    return "\n".join(map(change, PAIRS.splitlines())) + "\n"


def boxed(bar: str, rule: str, corner: str = "") -> str:
    rows = [line.split("\t") for line in PAIRS.split("\n\n")[0].splitlines()[:5]]
    rows[0][0] = corner
    drawn = [bar + bar.join(f" {cell.strip():<14} " for cell in row) + bar for row in rows]
    edge = rule * len(drawn[0])
    return "\n".join([edge, drawn[0], edge, *drawn[1:], edge])


@pytest.mark.parametrize(
    ("prefix", "named"),
    [
        ("0: ", "0:"),
        ("> ", ">"),
        (">", ">"),
        ("> > ", "> >"),
        ("[1,0]<stdout>:", "[1,0]<stdout>:"),
        ("[1,0]<stdout>: ", "[1,0]<stdout>:"),
        ("2026-05-01T08:00:00.123456789Z stdout F ", "2026-05-01T08:00:00.123456789Z stdout F"),
        ("[2026-05-01 08:00:00,123] INFO: ", "[2026-05-01 08:00:00,123] INFO:"),
        ("May  1 08:00:00 node-1 collect[4711]: ", "May  1 08:00:00 node-1 collect[4711]:"),
        ("[pod/train-0/main] ", "[pod/train-0/main]"),
        ("train-0  | ", "train-0"),
        ("(RayWorker pid=311, ip=10.0.0.7) ", "(RayWorker pid=311, ip=10.0.0.7)"),
        ("node-12: ", "node-12:"),
        ("# ", "#"),
        (
            "2026-05-01 08:00:00.123 | INFO     | collect:run:12 - ",
            "2026-05-01 08:00:00.123 | INFO     | collect:run:12 -",
        ),
        ("<stdout>: ", "<stdout>:"),
        ("[rank0]: ", "[rank0]:"),
        ("[0] ", "[0]"),
    ],
)
def test_a_prefix_of_every_line_is_left_aside_and_named(prefix: str, named: str) -> None:
    plain, reading = read(PAIRS), read(each(lambda line: prefix + line))
    assert reading.matrix == plain.matrix
    assert reading.matrix.parts == plain.matrix.parts
    assert repr(named) in told(reading)
    assert not reading.unread


def test_times_that_go_on_are_one_prefix() -> None:
    seconds = iter(range(100))
    text = each(lambda line: f"2026-05-01T08:00:{next(seconds):02d}Z {line}")
    assert read(text).matrix == read(PAIRS).matrix


def test_the_second_process_of_a_job_is_left_aside_and_named() -> None:
    text = each(lambda line: f"0: {line}\n1: {line.replace('NV12', 'NV4')}")
    reading = read(text)
    assert reading.matrix == read(PAIRS).matrix
    assert "the lines that begin with '1:'" in told(reading)


def test_text_around_a_quoted_table_is_told_by_line() -> None:
    text = "On Monday somebody wrote:\n" + each(lambda line: f"> {line}") + "Any idea?\n"
    assert [line for _, line in read(text).unread] == ["On Monday somebody wrote:", "Any idea?"]


@pytest.mark.parametrize(
    "damaged",
    [
        "\x1b[4m{}\x1b[0m",
        "[4m{}[0m",
        "^[[4m{}^[[0m",
        "\\x1b[4m{}\\x1b[0m",
        "\\033[1;4m{}\\033[m",
        "\u241b[4m{}\u241b[0m",
        "\ufffd[4m{}\ufffd[0m",
        "[1;32m{}[m",
        "#033[4m{}#033[0m",
        "4m{}0m",
        "\u2190[4m{}\u2190[0m",
    ],
)
def test_colour_codes_are_left_aside_with_and_without_their_escape_character(damaged: str) -> None:
    header, rest = PAIRS.split("\n", 1)
    reading = read(damaged.format(header.strip()) + "\n" + rest)
    assert reading.matrix == read(PAIRS).matrix
    assert reading.matrix.parts == read(PAIRS).matrix.parts
    assert ("without their escape character" in told(reading)) == ("\x1b" not in damaged)


@pytest.mark.parametrize(
    ("bar", "rule", "corner"), [("|", "-", ""), ("│", "─", "MTHREADS"), ("║", "═", ""), ("|", "=", "x")]
)
def test_a_drawn_table_is_read_as_a_plain_one(bar: str, rule: str, corner: str) -> None:
    reading = read(boxed(bar, rule, corner))
    assert reading.matrix == read(PAIRS).matrix
    assert reading.matrix.link_types == read(PAIRS).matrix.link_types
    assert "drawn table" in told(reading)


def test_a_drawn_table_may_be_quoted_and_name_devices_in_two_words() -> None:
    text = boxed("|", "-", "VENDOR").replace("GPU", "Device ")
    reading = read("\n".join(f"> {line}" for line in text.splitlines()))
    assert np.array_equal(reading.matrix.gb_s, read(PAIRS).matrix.gb_s)
    assert reading.matrix.labels[0] == "Device0"


def test_a_table_with_every_other_line_empty_is_read() -> None:
    assert read(PAIRS.replace("\n", "\n\n")).matrix == read(PAIRS).matrix


@pytest.mark.parametrize("lost", ["NIC0\tNIC1", "GPU3\tNIC0", "GPU1\tGPU2"])
def test_columns_that_were_glued_together_are_taken_apart_and_named(lost: str) -> None:
    header = PAIRS.split("\n")[0].split("\t")
    at = header.index(lost.split("\t")[0])

    def glue(line: str) -> str:
        cells = line.split("\t")
        return line if len(cells) < 6 else "\t".join([*cells[:at], cells[at] + cells[at + 1], *cells[at + 2 :]])

    reading = read(each(glue))
    assert reading.matrix == read(PAIRS).matrix
    assert reading.matrix.parts == read(PAIRS).matrix.parts
    assert lost.replace("\t", "") in told(reading)


def test_names_of_rows_that_were_glued_to_the_first_cell_are_taken_apart() -> None:
    glued = re.sub(r"(?m)^((?:GPU|NIC)\d)\t ?([A-Z])", r"\1\2", PAIRS)
    assert "GPU1SYS" in glued and "NIC0PIX" in glued
    assert read(glued).matrix == read(PAIRS).matrix
    assert read(glued).matrix.parts == read(PAIRS).matrix.parts


def test_an_affinity_that_was_glued_to_the_last_column_is_taken_apart() -> None:
    glued = TOPO.replace("SYS\t0-23", "SYS0-23").replace("\tCPU Affinity", "CPU Affinity")
    assert read(glued).matrix == read(TOPO).matrix


def test_no_nic_is_named_where_its_columns_cannot_be_told_apart() -> None:
    text = PAIRS.split("NIC0\tPIX")[0].replace("NIC0\tNIC1", "rocep1/x")
    reading = read(text)
    assert reading.matrix.parts is None
    assert any(note.code == "nics-unread" and "line 1" in note.message for note in reading.notes)


def test_reads_and_writes_that_say_the_same_are_told_once() -> None:
    both = read(f"{PAIRS}\n$ topo -p2p r\n{STATES}\n$ topo -p2p w\n{STATES}")
    assert both.matrix.suspicious == read(f"{PAIRS}\n$ topo -p2p r\n{STATES}").matrix.suspicious


@pytest.mark.parametrize("text", [PAIRS + "\n" + STATES, STATES + "\n" + PAIRS, f"{PAIRS}\n$ topo -p2p rw\n{STATES}"])
def test_pairs_without_p2p_have_the_staging_speed_whichever_table_comes_first(text: str) -> None:
    reading = read(text)
    staging = default_link_speeds().staging_gb_s
    assert (reading.matrix.gb_s[0, 3], reading.matrix.gb_s[3, 0]) == (staging, staging)
    assert reading.matrix.gb_s[0, 2] == read(PAIRS).matrix.gb_s[0, 2]
    assert {(d.code, d.pairs) for d in reading.matrix.suspicious} == {
        ("p2p-disabled", ((0, 3),)),
        ("p2p-disabled", ((3, 0),)),
    }
    assert reading.matrix.parts is not None


def test_a_table_of_nvlink_states_says_nothing_about_copies() -> None:
    reading = read(f"{PAIRS}\n$ nvidia-smi topo -p2p n\n{STATES}")
    assert reading.matrix == read(PAIRS).matrix
    assert "-p2p n in line" in told(reading)


def test_a_second_table_of_links_is_named_and_can_be_chosen() -> None:
    text = PAIRS + "\n" + PAIRS.replace("NV12", "NV4")
    first, second = read(text), read(text, "topo-2")
    assert first.matrix == read(PAIRS).matrix
    assert "line 20 (--block topo-2)" in told(first)
    assert second.matrix == read(PAIRS.replace("NV12", "NV4")).matrix
    assert read(PAIRS + "\n" + PAIRS).blocks == ()


def test_lines_behind_a_legend_are_told() -> None:
    assert read(PAIRS + "\nand something else\n").unread == ((20, "and something else"),)


def test_a_measured_table_takes_link_types_and_nics_from_a_table_in_the_same_file() -> None:
    two = "\n".join("\t".join(line.split("\t")[:3] + line.split("\t")[5:]) for line in PAIRS.splitlines()[:3])
    reading = read(f"{MEASURED}\n{two}\n")
    assert reading.matrix == read(MEASURED).matrix
    assert reading.matrix.link_types == (("", "SYS"), ("SYS", ""))
    assert reading.matrix.parts is not None
    assert reading.matrix.parts.numa == ("0", "0")
    assert "nvidia-smi topo -m; of it are used: link types, NICs and NUMA nodes" in told(reading)
    assert not reading.unread


def test_reads_are_a_block_and_the_answer_where_nothing_else_is_on() -> None:
    reading = read(READS)
    assert (reading.block, reading.blocks) == (
        "unidirectional-reads",
        ("unidirectional-p2p-off", "unidirectional-reads"),
    )
    # The row's device reads, so that the data go from the column to the row.
    assert (reading.matrix.gb_s[0, 1], reading.matrix.gb_s[1, 0]) == (20.1, 19.8)
    assert not reading.matrix.suspicious
    both = MEASURED + READS.split("17.00\n     1  18.00 915.00\n")[1]
    assert read(both).block == "unidirectional"
    assert read(both, "unidirectional-reads").matrix == reading.matrix


def test_reads_that_are_slower_than_staging_are_suspicious() -> None:
    slow = READS.replace("19.80", " 9.80").replace("20.10", " 9.90")
    assert [doubt.code for doubt in read(slow).matrix.suspicious] == ["p2p-slower-than-staging"]


@pytest.mark.parametrize(
    ("word", "says", "kind"),
    [
        ("SOC", "Path traverses a socket-level link (e.g. QPI)", "SOC"),
        ("PSX", "Connection traversing the SMP interconnect between NUMA nodes", "SYS"),
        ("QPI", "Connection traversing the SMP interconnect between NUMA nodes", "SYS"),
        ("SKT", "Path between sockets", "SYS"),
    ],
)
def test_old_words_of_links_are_read_by_the_table_or_by_their_legend(word: str, says: str, kind: str) -> None:
    text = re.sub(r"(?m)^  SYS  = .*$", f"  {word}  = {says}", PAIRS).replace("SYS", word)
    reading = read(text)
    assert np.array_equal(reading.matrix.gb_s, read(PAIRS).matrix.gb_s)
    assert reading.matrix.link_types[0][1] == kind
    assert ("is taken for SYS" in told(reading)) == (kind == "SYS")


@pytest.mark.parametrize("text", ["> 1 2\n> 3 4\n", "0: 1 2\n0: 3 4\n", "| 1 | 2 |\n|---|---|\n| 3 | 4 |\n"])
def test_a_plain_table_may_be_quoted_labelled_or_drawn(text: str) -> None:
    assert read(text).matrix.gb_s.tolist() == [[1, 2], [3, 4]]


def test_a_log_of_json_lines_is_read_and_named() -> None:
    text = each(lambda line: json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-05-01T08:00:00Z"}))
    reading = read(text)
    assert reading.matrix == read(PAIRS).matrix
    assert "the JSON of a log" in told(reading)


def test_lines_as_strings_of_a_list_are_read() -> None:
    body = "\n".join(f"        {json.dumps(line)}," for line in PAIRS.splitlines() if line)
    reading = read(f'ok: [node-1] => {{\n    "out.stdout_lines": [\n{body}\n    ]\n}}\n')
    assert reading.matrix == read(PAIRS).matrix
    assert reading.matrix.parts == read(PAIRS).matrix.parts


def test_tabs_as_a_log_daemon_writes_them_are_tabs() -> None:
    assert read(PAIRS.replace("\t", "#011")).matrix == read(PAIRS).matrix
    assert read(PAIRS.replace("\t", "\\t")).matrix.parts == read(PAIRS).matrix.parts


def test_a_page_around_the_table_and_utf_16_are_read() -> None:
    reading = read(f"<details>\n<pre>\n{PAIRS}</pre>\n")
    assert reading.matrix == read(PAIRS).matrix
    assert [line for _, line in reading.unread] == ["<details>", "<pre>", "</pre>"]
    assert read_matrix_content(PAIRS.encode("utf-16"), "topo.txt").matrix == read(PAIRS).matrix


def test_numbers_of_two_decimals_that_were_glued_are_taken_apart() -> None:
    reading = read(MEASURED.replace("915.00  22.00", "915.0022.00"))
    assert reading.matrix == read(MEASURED).matrix
    assert "915.0022.00" in told(reading)


def test_words_of_links_may_be_small() -> None:
    assert read(PAIRS.replace("SYS", "sys").replace("NV12", "nv12")).matrix == read(PAIRS).matrix


def test_a_second_table_of_rocm_smi_does_not_replace_the_first() -> None:
    table = "=== Link Type between two GPUs ===\n GPU0 GPU1\nGPU0 0 {0}\nGPU1 {0} 0\n"
    reading = read(table.format("XGMI") + "\n" + table.format("PCIE"))
    assert reading.matrix.link_types[0][1] == "XGMI"
    assert "line 6, the second of that name" in told(reading)
