"""`draw_switch_history`: states of leaf switches over time as SVG, with a column per step and a row per switch.

Text is `currentColor`, so that the picture fits light and dark pages. Each state has a letter beside its colour.
"""

from __future__ import annotations

from html import escape

from workbench.model.counted import counted
from workbench.model.switch_history import Moment, SwitchHistory
from workbench.report.chart import bar, chart, keys, label
from workbench.report.colours import ink_on
from workbench.report.svg_text import fit_text

__all__ = ["draw_switch_history"]

#: State -> fill, letter.
_LOOKS = {
    "idle": ("#e8e8e8", "I"),
    "exclusive": ("#0072b2", "X"),
    "shared/healthy": ("#009e73", "S"),
    "shared/unhealthy": ("#d55e00", "U"),
}
_TALL, _LOW = 34.0, 8.0
_WIDE, _NARROW = 96.0, 26.0
#: More switches get low rows without text, more steps narrow columns.
_TALL_SWITCHES, _WIDE_STEPS = 40, 40
_NAMES, _HEAD, _LINE = 96.0, 46.0, 12.0
_JOBS_NAMED = 2


def draw_switch_history(history: SwitchHistory, title: str = "") -> str:
    """Draw the states of the leaf switches after each step of a timeline, with the jobs under each switch.

    `title`: heading; also the accessible name. Returns: one ``<svg>`` element; all text escaped. Same input, same
    bytes. A cell's tool tip names every job there with its pods.
    """
    height = _TALL if len(history.names) <= _TALL_SWITCHES else _LOW
    width = _WIDE if len(history.moments) <= _WIDE_STEPS else _NARROW
    top = _HEAD + 22.0
    bottom = top + height * len(history.names)
    total_width = max(_NAMES + width * len(history.moments) + 2, 490.0)
    total_height = bottom + 2 * _LINE + 26.0
    name = title or f"Switches under {history.policy or 'a policy'}"
    said = f"{counted(len(history.names), 'switch', 'switches')}, {counted(len(history.moments) - 1, 'step')}"
    parts: list[str] = []
    for column, moment in enumerate(history.moments):
        parts += _column(history, moment, _NAMES + width * column, top, width, height, bottom)
    if height == _TALL:
        for row, switch in enumerate(history.names):
            y = top + height * (row + 0.5) + 3
            parts.append(label(0, y, fit_text(switch, _NAMES - 6, 10)))
    entries = [(f"fill='{fill}'", f"{letter} {state}") for state, (fill, letter) in _LOOKS.items()]
    parts += keys(entries, 0, total_height - 16, total_width, 10)[0]
    return chart("tw-switch-history", name, (total_width, total_height), parts, px=10, description=said)


def _column(
    history: SwitchHistory, moment: Moment, x: float, top: float, width: float, height: float, bottom: float
) -> list[str]:
    here: dict[int, list[tuple[str, int]]] = {}
    for job, under in moment.jobs.items():
        for switch, pods in under.items():
            here.setdefault(switch, []).append((job, pods))
    lines = [_fitted(word, width) for word in moment.step.split(" ", 1)] if width == _WIDE else []
    parts = [f"<g><title>{escape(moment.step)}</title>"]
    parts += [label(x + 2, top - 22 + 11 * i, line) for i, line in enumerate(lines)]
    parts.append("</g>")
    for row, name in enumerate(history.names):
        state = "idle" if moment.states is None else moment.states.name(row)
        fill, letter = _LOOKS[state]
        y = top + height * row
        jobs = here.get(row, [])
        tip = ", ".join(f"{job}: {counted(pods, 'pod')}" for job, pods in jobs) or "no job"
        said = escape(f"{name} after {moment.step}: {state}; {tip}")
        box = bar(x, y, (width - 1, height - 1), f"fill='{fill}'")
        parts.append(f"<g fill='{ink_on(fill)}'><title>{said}</title>{box}")
        if height == _TALL:
            parts.append(label(x + 4, y + 11, letter, more=" font-weight='600'"))
            if width == _WIDE:
                parts += _jobs(jobs, x, y, width)
        parts.append("</g>")
    if moment.pending and width == _WIDE:
        waiting = label(x + 2, bottom + 13, _fitted(f"{len(moment.pending)} pending", width))
        parts.append(f"<g><title>pending: {escape(', '.join(moment.pending))}</title>{waiting}</g>")
    return parts


def _jobs(jobs: list[tuple[str, int]], x: float, y: float, width: float) -> list[str]:
    texts = [f"{job.rpartition('/')[2]} {pods}" for job, pods in jobs]
    if len(texts) > _JOBS_NAMED:
        texts = [*texts[: _JOBS_NAMED - 1], f"+{counted(len(texts) - _JOBS_NAMED + 1, 'job')}"]
    return [label(x + 16, y + 11 + _LINE * i, _fitted(text, width - 16)) for i, text in enumerate(texts)]


def _fitted(text: str, width: float) -> str:
    return fit_text(text, width - 4, 10)
