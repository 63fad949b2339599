"""`draw_switch_history`: states of leaf switches over time as SVG, with a column per step and a row per switch.

Text is `currentColor`, so that the picture fits light and dark pages. Each state has a letter beside its colour.
"""

from __future__ import annotations

import hashlib
from html import escape

from workbench.model.counted import counted
from workbench.model.switch_history import Moment, SwitchHistory
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

    Parameters
    ----------
    history : SwitchHistory
    title : str
        Heading; also the accessible name.

    Returns
    -------
    str
        One ``<svg>`` element; all text escaped. Same input, same bytes. A cell's tool tip names every job there with
        its pods.
    """
    height = _TALL if len(history.names) <= _TALL_SWITCHES else _LOW
    width = _WIDE if len(history.moments) <= _WIDE_STEPS else _NARROW
    top = _HEAD + (22.0 if title else 0.0)
    bottom = top + height * len(history.names)
    total_width = max(_NAMES + width * len(history.moments) + 2, 490.0)
    total_height = bottom + 2 * _LINE + 26.0
    steps = [moment.step for moment in history.moments]
    key = "sh" + hashlib.sha256(repr((title, history.names, steps)).encode()).hexdigest()[:10]
    name = title or f"Switches under {history.policy or 'a policy'}"
    said = f"{counted(len(history.names), 'switch', 'switches')}, {counted(len(history.moments) - 1, 'step')}"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' class='tw-switch-history' role='img' "
        f"aria-labelledby='{key}t {key}d' width='{total_width:.0f}' height='{total_height:.0f}' "
        f"viewBox='0 0 {total_width:.0f} {total_height:.0f}' font-family='system-ui, sans-serif' font-size='10' "
        f"fill='currentColor'><title id='{key}t'>{escape(name)}</title><desc id='{key}d'>{escape(said)}</desc>"
    ]
    if title:
        parts.append(
            f"<text x='1' y='15' font-size='13' font-weight='600'>{escape(fit_text(title, total_width, 13))}</text>"
        )
    for column, moment in enumerate(history.moments):
        parts += _column(history, moment, _NAMES + width * column, top, width, height, bottom)
    if height == _TALL:
        for row, switch in enumerate(history.names):
            y = top + height * (row + 0.5) + 3
            parts.append(f"<text x='1' y='{y:.0f}'>{escape(fit_text(switch, _NAMES - 6, 10))}</text>")
    x = 1.0
    for state, (fill, letter) in _LOOKS.items():
        y = total_height - 16
        parts.append(f"<rect x='{x:.0f}' y='{y:.0f}' width='12' height='12' fill='{fill}'/>")
        parts.append(f"<text x='{x + 16:.0f}' y='{y + 10:.0f}'>{letter} {state}</text>")
        x += 122.0
    return "".join([*parts, "</svg>"])


def _column(
    history: SwitchHistory, moment: Moment, x: float, top: float, width: float, height: float, bottom: float
) -> list[str]:
    here: dict[int, list[tuple[str, int]]] = {}
    for job, under in moment.jobs.items():
        for switch, pods in under.items():
            here.setdefault(switch, []).append((job, pods))
    lines = [_fitted(word, width) for word in moment.step.split(" ", 1)] if width == _WIDE else []
    parts = [f"<g><title>{escape(moment.step)}</title>"]
    parts += [
        f"<text x='{x + 2:.0f}' y='{top - 22 + 11 * i:.0f}'>{escape(line)}</text>" for i, line in enumerate(lines)
    ]
    parts.append("</g>")
    for row, name in enumerate(history.names):
        state = "idle" if moment.states is None else moment.states.name(row)
        fill, letter = _LOOKS[state]
        y = top + height * row
        jobs = here.get(row, [])
        tip = ", ".join(f"{job}: {counted(pods, 'pod')}" for job, pods in jobs) or "no job"
        parts.append(
            f"<g fill='{ink_on(fill)}'><title>{escape(f'{name} after {moment.step}: {state}; {tip}')}</title>"
            f"<rect x='{x:.0f}' y='{y:.0f}' width='{width - 1:.0f}' height='{height - 1:.0f}' fill='{fill}'/>"
        )
        if height == _TALL:
            parts.append(f"<text x='{x + 4:.0f}' y='{y + 11:.0f}' font-weight='600'>{letter}</text>")
            if width == _WIDE:
                parts += _jobs(jobs, x, y, width)
        parts.append("</g>")
    if moment.pending and width == _WIDE:
        waiting = _fitted(f"{len(moment.pending)} pending", width)
        who = escape(", ".join(moment.pending))
        parts.append(
            f"<g><title>pending: {who}</title><text x='{x + 2:.0f}' y='{bottom + 13:.0f}'>{waiting}</text></g>"
        )
    return parts


def _jobs(jobs: list[tuple[str, int]], x: float, y: float, width: float) -> list[str]:
    texts = [f"{job.rpartition('/')[2]} {pods}" for job, pods in jobs]
    if len(texts) > _JOBS_NAMED:
        texts = [*texts[: _JOBS_NAMED - 1], f"+{counted(len(texts) - _JOBS_NAMED + 1, 'job')}"]
    return [
        f"<text x='{x + 16:.0f}' y='{y + 11 + _LINE * i:.0f}'>{escape(_fitted(text, width - 16))}</text>"
        for i, text in enumerate(texts)
    ]


def _fitted(text: str, width: float) -> str:
    return fit_text(text, width - 4, 10)
