"""Logs of Slurm clusters: what sacct prints for programs, and the Standard Workload Format."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.job_logs import load_jobs
from workbench.model.job_log import JobLog

SACCT = """\
JobID|JobName|Partition|Submit|Start|End|ElapsedRaw|NNodes|AllocTRES|State
101|a|gpu|2026-05-01T08:00:00|2026-05-01T08:00:05|2026-05-01T10:00:05|7200|2|cpu=64,gres/gpu=16,mem=512G,node=2|COMPLETED
102|b "x"|gpu|2026-05-01T08:01:00|2026-05-01T10:00:06|2026-05-01T11:00:06|3600|4|gres/gpu=32,gres/gpu:h100=32|FAILED
103|tiny|debug|2026-05-01T08:02:00|2026-05-01T08:02:01|2026-05-01T08:32:01|1800|1|gres/gpu=1,node=1|COMPLETED
"""
SWF = """\
; Version: 2.2
; MaxNodes: 4
; MaxProcs: 32
  1      0      5   7200   16   -1   -1    16   7200    -1  1   1   1  -1   1  -1  -1  -1
  2     60   7145   3600   -1   -1   -1    32   3600    -1  1   2   1  -1   2  -1  -1  -1
  3    120      1   1800    1   -1   -1     1   1800    -1  1   3   1  -1  -1  -1  -1  -1
"""


def read(text: str, name: str = "log") -> JobLog:
    return load_jobs(name, text.encode())


def rows(log: JobLog) -> list[tuple[str, float, float, int, int, str]]:
    """Name, submission, work, pods, GPUs of each pod and queue of every job."""
    return [
        (j.gang.name, j.submitted_s, j.duration_s, j.gang.roles[0].count, j.gang.roles[0].n_gpus, j.gang.queue)
        for j in log.jobs
    ]


def test_jobs_of_sacct_are_a_pod_for_every_node() -> None:
    log = read(SACCT)
    assert (log.format, log.notes) == ("sacct", ())
    assert rows(log) == [
        ("job-101", 0.0, 7200.0, 2, 8, "gpu"),
        ("job-102", 60.0, 3600.0, 4, 8, "gpu"),
        ("job-103", 120.0, 1800.0, 1, 1, "debug"),
    ]


@pytest.mark.parametrize(
    ("columns", "line", "want"),
    [
        (
            "JobIDRaw|Submit|Start|Elapsed|AllocTRES",
            "7|2026-05-01|2026-05-01|1-02:03:04|gres/gpu=4,node=2",
            (93784.0, 2, 2),
        ),
        (
            "JobID|Submit|Start|End|ReqTRES|NNodes",
            "7_3|1777622400|1777622400|1777622460|gres/gpu:a100=4|1",
            (60.0, 1, 4),
        ),
        (
            "JobID|Submit|Start|ElapsedRaw|AllocGRES|AllocNodes",
            "7|2026-05-01|2026-05-01|9|gpu:h100:8(S:0,2)|2",
            (9.0, 2, 8),
        ),
        ("JobID|Submit|Start|Elapsed|AllocTRES|", "7+1|2026-05-01|2026-05-01|03:04|gres/gpu=3,node=2|", (184.0, 2, 2)),
        ("JobID|Submit|Start|ElapsedRaw|AllocTRES|ReqTRES", "7|2026-05-01|2026-05-01|9||gres/gpu=2", (9.0, 1, 2)),
    ],
)
def test_other_columns_of_sacct_say_the_same(columns: str, line: str, want: tuple[float, int, int]) -> None:
    ((_, _, seconds, pods, gpus, _),) = rows(read(f"{columns}\n{line}\n"))
    assert (seconds, pods, gpus) == want


def test_steps_are_no_jobs_and_jobs_without_gpus_start_or_end_are_left_out() -> None:
    more = [
        "101.batch||gpu|2026-05-01T08:00:00|2026-05-01T08:00:05|2026-05-01T10:00:05|7200|1|gres/gpu=8|COMPLETED",
        "104|cpu|cpu|2026-05-01T08:03:00|2026-05-01T08:03:00|2026-05-01T08:04:00|60|1|cpu=4,node=1|COMPLETED",
        "105|gone|gpu|2026-05-01T08:03:00|None|2026-05-01T08:04:00|0|1|gres/gpu=8|CANCELLED by 0",
        "106|runs|gpu|2026-05-01T08:03:00|2026-05-01T08:03:00|Unknown|60|1|gres/gpu=8|RUNNING",
        "107|odd|gpu|2026-05-01T08:03:00|2026-05-01T08:03:00|2026-05-01T08:04:00|60|2|gres/gpu=9|TIMEOUT",
        "107|odd|gpu|2026-05-01T08:05:00|2026-05-01T08:05:00|2026-05-01T08:06:00|60|2|gres/gpu=8|COMPLETED",
    ]
    log = read(SACCT + "".join(f"{line}\n" for line in more))
    assert [name for name, *_ in rows(log)] == ["job-101", "job-102", "job-103", "job-107", "job-107-run-2"]
    assert [(n.code, n.numbers["count"]) for n in log.notes] == [
        ("jobs-without-gpus", 1),
        ("jobs-without-times", 2),
        ("gpus-rounded-up", 1),
    ]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("JobID|Submit|Start|End\n1|x|y|z\n", r"line 1: no column tells GPUs .*sacct -X -P"),
        ("JobID|Submit|Start|AllocTRES\n1|x|y|z\n", "line 1: no column tells the length of a job"),
        ("JobID|Start|End|AllocTRES\n", "no column Submit"),
        (SACCT.replace("2026-05-01T08:01:00", "yesterday"), "line 3, Submit: not a value"),
        (SACCT.replace("|7200|", "|long|"), "line 2, ElapsedRaw: not a value"),
        (SACCT.replace("gres/gpu=16,", "gres/gpu=999999999,"), "line 2, AllocTRES: not a value"),
        (SACCT.replace("|2|cpu", "|0|cpu"), "line 2, NNodes: not a value"),
        (SACCT[: SACCT.index("102")] + "102|b|gpu|2026", "line 3: not a row of the table|not a row of the table"),
        (SACCT.splitlines()[0], "no job in it"),
        ("JobID           JobName  Partition\n------------ ---------- ----------\n", "without bars .*sacct -X -P"),
        ("             JOBID PARTITION     NAME\n  101 gpu a\n", "no log of jobs .*squeue.*sacct -X -P"),
        ("NAME    STATUS   ROLES\ngpu-0   Ready    <none>\n", "no log of jobs .*kubectl"),
        ("", "the file is empty|no log of jobs"),
    ],
)
def test_a_bad_log_of_sacct_is_refused_with_its_line(text: str, want: str) -> None:
    with pytest.raises(InputError, match=want):
        read(text)


def test_jobs_of_swf_take_a_gpu_for_every_processor() -> None:
    log = read(SWF)
    assert log.format == "swf" and [note.code for note in log.notes] == ["processors-as-gpus"]
    assert rows(log) == [
        ("job-1", 0.0, 7200.0, 2, 8, "queue-1"),
        ("job-2", 60.0, 3600.0, 4, 8, "queue-2"),
        ("job-3", 120.0, 1800.0, 1, 1, "default"),
    ]


def test_swf_without_a_header_has_nodes_of_eight_and_counts_from_the_first_job() -> None:
    text = "".join(f"{line}\n" for line in SWF.splitlines()[4:])
    log = read(text.replace("    1   -1   -1     1", "   -1   -1   -1    20"))
    assert [row[1:5] for row in rows(log)] == [(0.0, 3600.0, 4, 8), (60.0, 1800.0, 3, 7)]
    assert [note.code for note in log.notes] == ["processors-as-gpus", "gpus-rounded-up"]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (SWF + "4 0 1 2\n", "line 7: not a job"),
        (SWF + SWF.splitlines()[3] + "\n", "line 7: two jobs of one number"),
        (SWF.replace("  7200   16", "  7200   x"), "line 4: not a job"),
        (SWF.replace("   7200   16", "   9" + "0" * 20 + "   16"), "line 4: out of range"),
        ("; Version: 2.2\n", "no job in it"),
        (
            SWF.replace("7145   3600", "7145     -1")
            .replace("   1800 ", "   -1 ")
            .replace("   7200   16", "   -1   16"),
            "no job",
        ),
    ],
)
def test_a_bad_swf_is_refused_with_its_line(text: str, want: str) -> None:
    with pytest.raises(InputError, match=want):
        read(text)


@pytest.mark.parametrize("name", ["sacct.txt", "jobs.swf"])
def test_the_logs_from_life_are_three_jobs_of_16_32_and_1_gpus(public_data: Path, name: str) -> None:
    log = load_jobs(public_data / "from-life-3" / "19-traces-of-slurm" / name)
    assert [(pods, pods * gpus) for _, _, _, pods, gpus, _ in rows(log)] == [(2, 16), (4, 32), (1, 1)]
