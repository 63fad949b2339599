"""Regret of GPU policies as a heat map, a terminal table and an HTML page."""

from __future__ import annotations

from html import escape
from typing import Any

from workbench.evaluate.regret import NEAR, Regret, RegretLine
from workbench.model.counted import counted
from workbench.model.notice import texts_of
from workbench.report.chart import chart, label, row_name
from workbench.report.colours import heat, ink_on
from workbench.report.heatmap import draw_heatmap
from workbench.report.html import render
from workbench.report.svg_text import Inserted
from workbench.report.tables import listed

__all__ = ["draw_regret", "regret_html", "regret_page", "regret_tables"]

_CELL = (58.0, 40.0)
_LEFT = 150.0
_ABOVE = 44.0


def draw_regret(regret: Regret) -> str:
    """An SVG heat map with a row per policy and a column per number of GPUs: the mean share of the best bottleneck.

    The smaller number in a cell is the share in the worst state, which the tool tip names. A cell is grey if the policy
    refuses every state, and its corner is marked if the policy refuses some. One ``<svg>`` element.
    """
    width = max(_LEFT + len(regret.sizes) * _CELL[0] + 4.0, 420.0)
    height = _ABOVE + len(regret.rows) * _CELL[1] + 40.0
    by_place = iter(regret.lines)
    parts = []
    for s, k in enumerate(regret.sizes):
        x = _LEFT + (s + 0.5) * _CELL[0]
        parts.append(label(x, _ABOVE - 6, f"k={k}", "middle"))
    for r, row in enumerate(regret.rows):
        y = _ABOVE + r * _CELL[1]
        parts.append(row_name(row.policy, _LEFT, y + 24))
        parts.extend(_cell(next(by_place), _LEFT + s * _CELL[0], y) for s in range(len(regret.sizes)))
    y = _ABOVE + len(regret.rows) * _CELL[1]
    for line, note in enumerate(
        ("mean part of the best bottleneck; small: the worst state", "grey: refused; corner: in some states")
    ):
        parts.append(label(0, y + 16 + 15 * line, note))
    title = f"Regret on {regret.matrix.source}"
    return chart("tw-regret", title, (width, height), parts, description=_summary(regret))


def _cell(line: RegretLine, x: float, y: float) -> str:
    width, height = _CELL
    box = f"x='{x:.1f}' y='{y:.1f}' width='{width - 2:.1f}' height='{height - 2:.1f}'"
    if line.mean_ratio is None or line.worst_ratio is None:
        said = f"{line.policy}, k={line.k}: refused in all {counted(line.states, 'state')}"
        return f"<g><title>{escape(said)}</title><rect {box} fill-opacity='.12'/></g>"
    ground = heat(line.mean_ratio)
    said = (
        f"{line.policy}, k={line.k}: {line.optimal} of {counted(line.states, 'state')} optimal, {line.refused}"
        " refused; worst "
        f"{line.worst_ratio:.3f} with free {_list(line.worst_free)}: takes {_list(line.worst_gpus)}"
    )
    corner = f"M{x + width - 14:.1f} {y:.1f}h12v12z"
    refused = f"<path d='{corner}' fill='currentColor' fill-opacity='.6'/>" if line.refused else ""
    texts = "".join(
        f"<text x='{x + width / 2 - 1:.1f}' y='{y + down:.1f}' font-size='{size}' text-anchor='middle' "
        f"fill='{ink_on(ground)}'>{text}</text>"
        for down, size, text in ((17.0, 12, f"{line.mean_ratio:.3f}"), (31.0, 9, f"{line.worst_ratio:.3f}"))
    )
    return f"<g><title>{escape(said)}</title><rect {box} fill='{ground}'/>{texts}{refused}</g>"


def regret_tables(regret: Regret) -> list[Any]:
    """Terminal tables with the summary of a regret computation."""
    heads = ("policy", "k", "states", "refused", "optimal", "near", "mean", "worst")
    rows = [
        (
            one.policy,
            one.k,
            one.states,
            one.refused,
            one.optimal,
            one.near,
            _ratio(one.mean_ratio),
            _ratio(one.worst_ratio),
        )
        for one in regret.lines
    ]
    return [_summary(regret), *listed(heads, rows, right=range(1, 8)), *_warnings(regret)]


def regret_html(regret: Regret) -> str:
    """Heat map and summary of a regret computation as an HTML fragment for a notebook."""
    return render("regret.html.j2", **_values(regret))


def regret_page(regret: Regret) -> str:
    """An HTML page, complete in itself: the regret of GPU policies and the bandwidth matrix it was computed for."""
    return render("regret_page.html.j2", matrix=Inserted(draw_heatmap(regret.matrix)), **_values(regret))


def _values(regret: Regret) -> dict[str, Any]:
    return {
        "picture": Inserted(draw_regret(regret)),
        "summary": _summary(regret),
        "lines": [(line, _list(line.worst_free), _list(line.worst_gpus)) for line in regret.lines],
        "warnings": _warnings(regret),
    }


def _warnings(regret: Regret) -> list[str]:
    return texts_of(notice for row in regret.rows for notice in row.warnings)


def _summary(regret: Regret) -> str:
    kind = "every state" if regret.every_state else "a sample of states"
    return (
        f"{counted(len(regret.matrix), 'GPU')} from {regret.matrix.source}, {kind} ({len(regret.states):,}); "
        "near: at least "
        f"{NEAR:.0%} of the best bottleneck; mean and worst: parts of it"
    )


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _list(gpus: tuple[int, ...]) -> str:
    return ",".join(map(str, gpus))
