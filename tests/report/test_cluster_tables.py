"""Tables of an embedded cluster at the width of a terminal."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from workbench.control.event_log import LogLine
from workbench.control.kinds import Ref
from workbench.control.views import JobRow
from workbench.report.cluster_tables import job_table, log_table
from workbench.report.layout import fitted


def test_fifty_columns_show_what_happened_to_which_object() -> None:
    key = Ref("PodGroup", "default", "hard-tier-2-df9cd5d6-0000-4000-8000-000000000000")
    (table,) = log_table([LogLine(0, key, "Scheduled", "4 of 4 waiting pods have a node inside s5 (tier 2)", False)])
    assert isinstance(table, Table)
    console = Console(file=io.StringIO(), width=50, highlight=False)
    console.print(fitted(table, console))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, shown.splitlines())) <= 50
    assert "hard-tier-2-df9cd5d6…" in shown and "4 of 4 waiting" in shown and "too narrow for: event" in shown


def waiting(name: str, reason: str) -> JobRow:
    return JobRow("ns", name, "Job", "Inqueue", 2, 0, 0, 0, "", None, reason)


def test_jobs_that_wait_for_the_same_share_a_line() -> None:
    rows = [*(waiting(f"part-{i}", "too few HyperNodes") for i in range(4)), waiting("other", "2 Insufficient gpu")]
    _, *told = job_table(rows, headlines={"ns/other": "needs 2 GPUs; free 2 on node2"})
    assert told == [
        "4 jobs wait (ns/part-0..ns/part-3): too few HyperNodes",
        "ns/other waits: needs 2 GPUs; free 2 on node2",
        "  when it was tried: 2 Insufficient gpu",
    ]


def test_an_event_that_an_object_meets_again_is_one_row_with_a_count() -> None:
    a, b = Ref("Pod", "ns", "a"), Ref("Pod", "ns", "b")
    lines = [LogLine(at, key, "Unschedulable", "no room", True) for at in (0, 0, 5) for key in (a, b)]
    lines += [LogLine(6, a, "Scheduled", "has a node"), LogLine(7, a, "Unschedulable", "no room", True)]
    (table,) = log_table(lines)
    assert isinstance(table, Table)
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    assert cells[0] == ["0", "0", "6", "7"]
    again = "no room (3 times, the last at 5 s)"
    assert cells[3] == [again, again, "has a node", "no room"]
    more, _ = log_table(lines, 2)
    assert more == "6 events before these (-o json has all)"


def test_events_of_one_second_have_no_last_time() -> None:
    (table,) = log_table([LogLine(3, Ref("Pod", "ns", "a"), "NodeLost", "gone")] * 2)
    assert isinstance(table, Table)
    assert [str(cell) for cell in table.columns[3].cells] == ["gone (2 times)"]
