"""Oracle of switch affinity 2.0 for new jobs, as the document describes it: one switch after another.

Shares no code with `workbench.policies.switch_affinity`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Row:
    """One switch, in configuration order."""

    state: str
    free: int
    common_only: bool = True


def place(rows: list[Row], kind: str, n: int, per_switch: int, max_shared: int) -> list[tuple[int, int, str]] | None:
    """(switch, pods, state during the job) in selection order; None: pending.

    Parameters
    ----------
    rows : list of Row
    kind : {"foundation", "common", "padding"}
    n : int
        Pods.
    per_switch : int
        M.
    max_shared : int
        K.
    """
    if kind == "padding" or n < per_switch:
        for wanted in ("exclusive", "shared/unhealthy", "shared/healthy", "idle"):
            if wanted == "shared/unhealthy" and kind == "foundation":
                continue
            fitting = [i for i, row in enumerate(rows) if row.state == wanted and row.free >= n]
            if fitting:
                best = min(fitting, key=lambda i: (rows[i].free, i))
                return [(best, n, wanted)]
        if kind == "padding":
            return None
    found = _foundation(rows, n, max_shared)
    if found is None and kind == "common":
        found = _fall_back(rows, n)
    return found


def _foundation(rows: list[Row], n: int, max_shared: int) -> list[tuple[int, int, str]] | None:
    answer = []
    idle = sorted((i for i, row in enumerate(rows) if row.state == "idle" and row.free), key=lambda i: -rows[i].free)
    while idle and n and rows[idle[0]].free <= n:
        switch = idle.pop(0)
        answer.append((switch, rows[switch].free, "exclusive"))
        n -= rows[switch].free
    if n == 0:
        return answer
    healthy = sorted(
        (i for i, row in enumerate(rows) if row.state == "shared/healthy" and row.free), key=lambda i: (rows[i].free, i)
    )
    shared = closest(rows, healthy, n, max_shared)
    if shared:
        return answer + [(switch, taken, "shared/healthy") for switch, taken in shared]
    opened = [i for i in idle if rows[i].free >= n]
    if not opened:
        return None
    return [*answer, (min(opened, key=lambda i: (rows[i].free, i)), n, "shared/healthy")]


def closest(rows: list[Row], healthy: list[int], n: int, max_shared: int) -> list[tuple[int, int]]:
    """The shared-switch rule: (switch, pods) of one or two of the healthy ones, which come in ascending order."""
    groups = [group for size in range(1, max_shared + 1) for group in combinations(healthy, size)]
    enough = [group for group in groups if sum(rows[i].free for i in group) >= n]
    if not enough:
        return []
    # Closest to n; the pair before the single switch; then the smaller switch, then configuration order.
    best = min(enough, key=lambda g: (sum(rows[i].free for i in g), -len(g), [(rows[i].free, i) for i in g]))
    answer = []
    for switch in best:
        answer.append((switch, min(n, rows[switch].free)))
        n -= answer[-1][1]
    return answer


def _fall_back(rows: list[Row], n: int) -> list[tuple[int, int, str]] | None:
    answer = []
    for state, becomes in (
        ("idle", "exclusive"),
        ("shared/unhealthy", "shared/unhealthy"),
        ("shared/healthy", "shared/unhealthy"),
    ):
        switches = [i for i, row in enumerate(rows) if row.state == state and row.free]
        if state == "shared/healthy":
            switches = [i for i in switches if rows[i].common_only]
        for i in sorted(switches, key=lambda i: -rows[i].free if state == "idle" else rows[i].free):
            taken = min(n, rows[i].free)
            if taken:
                answer.append((i, taken, becomes))
            n -= taken
    return None if n else answer


def states_after(rows: list[Row], answer: list[tuple[int, int, str]]) -> list[str]:
    """States with the job: of a job under one switch only what it took whole changes."""
    after = [row.state for row in rows]
    for switch, _, state in answer:
        if len(answer) > 1 or state == "exclusive":
            after[switch] = state
    return after
