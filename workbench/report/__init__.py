"""Tables, pictures and HTML of results; nothing is computed or decided here.

`draw_lines` and `draw_bars` draw a chart of a notebook's own numbers as SVG.

Examples
--------
>>> from workbench.report import draw_lines
>>> draw_lines("Waiting", "load", "hours", {"binpack": [(0.6, 1.0), (0.8, 2.5)]})[:4]
'<svg'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.model.deferred import deferred_names

if TYPE_CHECKING:
    from workbench.report.charts import Bar as Bar
    from workbench.report.charts import draw_bars as draw_bars
    from workbench.report.lines import draw_lines as draw_lines

# Loaded when first used: most outputs need no chart.
_HOME = {"Bar": "charts", "draw_bars": "charts", "draw_lines": "lines"}

__all__ = ["Bar", "draw_bars", "draw_lines"]


__getattr__ = deferred_names(__name__, _HOME)
