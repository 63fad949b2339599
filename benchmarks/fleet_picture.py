"""Draw what one more gang costs against the nodes of a fleet.

`python benchmarks/fleet_picture.py docs/images/fleets.svg` draws the picture of docs/fleets.md.
"""

from __future__ import annotations

import sys
from math import log2
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench_fleet import POLICIES, SIZES, cost_per_gang, slope

from workbench.formats.whole_file import write_whole
from workbench.report.lines import draw_lines


def main(path: str) -> None:
    """Measure every size of fleet by every policy, print the numbers, and write the picture."""
    lines = {}
    for policy in POLICIES:
        costs = [cost_per_gang(sizes, policy) for sizes in SIZES]
        print(
            policy, f"slope {slope(costs):.2f}", *(f"{nodes:,}: {us / 1e3:.2f} ms" for nodes, us in costs), flush=True
        )
        lines[f"{policy}, nodes^{slope(costs):.2f}"] = [(log2(nodes), us / 1e3) for nodes, us in costs]
    title = "One more gang of 8 to 32 pods on a fleet"
    write_whole(Path(path), draw_lines(title, "nodes, as a power of two", "ms of processor time", lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
