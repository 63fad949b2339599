"""Gantt charts of simulations: colours with a legend, round hours, and a title that says which jobs are shown."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.simulate.test_engine import job, run
from workbench.report.gantt import draw_gantt
from workbench.simulate.result import Attempt, SimulationResult

HOUR = 3600.0


def shown(picture: str) -> list[str]:
    """Texts of the picture, without tips."""
    return re.findall(r">([^<>]+)<", re.sub(r"<title>.*?</title>", "", picture))


def with_outcomes(*outcomes: str) -> SimulationResult:
    """A simulation of one job whose attempts have these outcomes."""
    result = run([job("a", 1, 0, HOUR)])
    attempts = tuple(Attempt(0, i * 60.0, (i + 1) * 60.0, outcome, 0.0, (0,), 8) for i, outcome in enumerate(outcomes))
    return replace(result, attempts=attempts)


def test_a_legend_tells_the_colours_that_occur() -> None:
    plain = shown(draw_gantt(with_outcomes("grown", "completed")))
    assert {"waiting", "running"} <= set(plain)
    assert not any("fault" in text or "holding" in text for text in plain)
    broken = shown(draw_gantt(with_outcomes("stopped", "standing", "running")))
    assert {
        "waiting",
        "running",
        "running until a fault stopped it",
        "holding nodes, waiting for lost pods",
    } <= set(broken)


def test_ticks_are_round_hours() -> None:
    ticks = [text for text in shown(draw_gantt(run([job("a", 1, 0, 33.96 * HOUR)]))) if text.endswith(" h")]
    assert ticks == ["0 h", "10 h", "20 h", "30 h"]
    window = draw_gantt(run([job("a", 1, 0, 33.96 * HOUR)]), (3.3 * HOUR, 7.9 * HOUR))
    assert [text for text in shown(window) if text.endswith(" h") and len(text) < 4] == ["4 h", "5 h", "6 h", "7 h"]


def test_the_title_says_which_jobs_are_shown() -> None:
    few = run([job("a", 8, 0, 10), job("b", 8, 0, 10)])
    assert shown(draw_gantt(few))[0] == "binpack: 2 jobs"
    assert shown(draw_gantt(few, (12, 15)))[0] == "binpack, 12 to 15 s: 1 job"
    # One after another: the first waits for nothing.
    queue = run([job(f"q{i}", 8, 0, 10) for i in range(70)])
    assert shown(draw_gantt(queue))[0] == "binpack: the 60 of 70 jobs that waited longest"
    calm = run([job(f"c{i}", 8, 20 * i, 10) for i in range(68)] + [job("d", 8, 5, 10)])
    assert shown(draw_gantt(calm))[0] == "binpack: the 1 of 69 jobs that waited, and 59 others"
