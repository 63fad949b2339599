"""Measure what one more gang costs against the nodes of a fleet, for the picture of docs/fleets.md.

`python benchmarks/fleet_picture.py docs/images/fleets.csv` measures; `python -m tests.gallery fleets` draws.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench_fleet import POLICIES, SIZES, cost_per_gang, slope

from workbench.formats.whole_file import write_whole


def main(path: str) -> None:
    """Measure every size of fleet by every policy, print the numbers, and write them as a table."""
    rows = ["policy,nodes,ms"]
    for policy in POLICIES:
        costs = [cost_per_gang(sizes, policy) for sizes in SIZES]
        print(
            policy, f"slope {slope(costs):.2f}", *(f"{nodes:,}: {us / 1e3:.2f} ms" for nodes, us in costs), flush=True
        )
        rows += [f"{policy},{nodes},{us / 1e3:.4g}" for nodes, us in costs]
    write_whole(Path(path), "\n".join(rows) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
