"""Calls side by side answer as calls in turn."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import workbench as wb
from tests.waiting import until
from workbench.cancel import Cancelled, Token
from workbench.cli import main
from workbench.cli.output import to_json
from workbench.evaluate.beside import beside_each_other
from workbench.policies import get_policy

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot copy a process"
)


@needs_fork
def test_results_come_in_the_order_of_the_calls_from_processes_of_their_own():
    begun = []
    found = beside_each_other([lambda i=i: (i, os.getpid()) for i in range(5)], 2, started=begun.append)
    assert [i for i, _ in found] == begun == [0, 1, 2, 3, 4]
    assert os.getpid() not in {process for _, process in found}


def test_one_job_calls_in_this_process():
    assert beside_each_other([os.getpid, os.getpid], 1) == [os.getpid()] * 2


def test_a_result_refers_to_the_very_values_that_both_have():
    large, other = ["a"], ["b"]
    (one, two), _ = beside_each_other([lambda: (large, list(other)), lambda: None], 2, [large, other])
    assert one is large and two == other and two is not other


@needs_fork
@pytest.mark.parametrize("fails", [lambda: 1 / 0, lambda: os._exit(3)])
def test_what_a_process_fails_at_is_done_here(fails):
    here, pid = [], os.getpid()

    def call():
        if os.getpid() != pid:
            fails()
        here.append(1)
        return lambda: 1  # cannot be sent, either

    results = beside_each_other([call, lambda: 2], 2)
    assert results[0]() == 1 and results[1] == 2 and here == [1]


@needs_fork
def test_what_a_process_leaves_half_sent_is_done_here(monkeypatch, caplog):
    def killed(self, sent):
        os.write(self.fileno(), struct.pack("!i", len(sent) + 1_000) + sent)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Connection, "send_bytes", killed)
    assert beside_each_other([lambda: 1, lambda: 2], 2) == [1, 2]
    assert caplog.text.count("a process ended early (signal 9)") == 2


class KilledPolicy(type(get_policy("binpack"))):
    """Is killed by the system in any process but this one."""

    def __init__(self):
        self.__dict__.update(get_policy("binpack").__dict__, home=os.getpid())

    def schedule(self, gangs, snapshot, recorders=None):
        if os.getpid() != self.home:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().schedule(gangs, snapshot)


@needs_fork
def test_one_line_on_stderr_says_that_the_system_ended_a_process(monkeypatch, capsys):
    monkeypatch.setattr("workbench.cli.compare.policies_with", lambda names, set_: [KilledPolicy(), get_policy("gang")])
    arguments = ["compare", "datasets/demo", "--policies", "binpack,gang", "--jobs"]
    told = []
    for jobs in ("1", "2"):
        assert main([*arguments, jobs]) == 0
        told.append(capsys.readouterr())
    (line,) = set(told[1].err.splitlines()) - set(told[0].err.splitlines())
    assert "a process ended early (signal 9)" in line


def test_an_error_is_raised_as_in_turn():
    with pytest.raises(ZeroDivisionError):
        beside_each_other([lambda: 1, lambda: 1 / 0], 2)


@needs_fork
def test_cancelled_work_leaves_no_process():
    token = Token()
    token.cancel()
    before = {process.pid for process in multiprocessing.active_children()}
    with token.watched(), pytest.raises(Cancelled):
        beside_each_other([lambda: 1, lambda: 2], 2)
    assert {process.pid for process in multiprocessing.active_children()} <= before


class FailingPolicy(type(get_policy("binpack"))):
    """Raises for every session."""

    def __init__(self):
        self.__dict__.update(get_policy("binpack").__dict__)

    def schedule(self, gangs, snapshot, recorders=None):
        raise ValueError("never")


@pytest.mark.parametrize("jobs", [1, 2, *(pytest.param(jobs, marks=pytest.mark.slow) for jobs in (3, 8))])
def test_a_comparison_is_equal_for_any_number_of_jobs(jobs):
    scenario = wb.generate_scenario("fleet", sizes=(4, 4, 4, 2), pending=8, queues=3, busy=30)
    policies = ["volcano-1.15", "gang", "volcano-1.13", "spread", "volcano+gpu-bottleneck", FailingPolicy()]
    want = wb.compare(scenario, policies, most_advised=1)
    got = wb.compare(scenario, policies, most_advised=1, jobs=jobs)
    assert to_json(timeless(got)) == to_json(timeless(want))
    assert got.to_html().count("<svg") == want.to_html().count("<svg")
    for row in got.rows[:-1]:
        assert all(mine.gang is gang for mine, gang in zip(row.decisions, scenario.gangs, strict=True))


def timeless(comparison):
    record = comparison.to_dict()
    return {**record, "policies": [{**row, "decision_s": 0} for row in record["policies"]]}


@pytest.mark.slow
def test_the_command_writes_the_same_bytes_for_any_number_of_jobs(capsys):
    written = []
    for jobs in ("1", "2", "4"):
        main(["compare", "datasets/demo", "--by-job", "--jobs", jobs])
        written.append(capsys.readouterr())
    assert written[0] == written[1] == written[2]


_KILLED = """
import os, time
from workbench.evaluate.beside import beside_each_other

def call():
    os.write(1, b"%d\\n" % os.getpid())  # in one piece
    time.sleep(0.5)
    return bytes(1_000_000)

beside_each_other([call, call], 2)
"""


@needs_fork
def test_no_process_stays_when_the_one_that_waits_is_killed():
    with subprocess.Popen([sys.executable, "-c", _KILLED], stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None
        begun = [int(waiting.stdout.readline()) for _ in range(2)]
        waiting.kill()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in begun))
