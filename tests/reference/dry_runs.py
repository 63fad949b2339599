"""Oracle of the ``dry_runs`` kernel: for each domain a fresh full-rescan fill, pod by pod."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.reference.copies import copied
from tests.reference.domains import RescanFill


@dataclass
class Ask:
    shapes: list[int]
    left: list[int]
    present: list[int]
    minimums: list[int]
    names: list[int]
    min_available: int
    counted: int
    after_failure: str
    every: bool = False  # the turns that follow, too
    order: list[int] | None = None  # entry of each pod, in the order in which they are tried; None: entry by entry

    def ready(self) -> bool:
        if self.counted < self.min_available:
            return False
        return self.min_available < sum(self.minimums) or not self.below(range(len(self.shapes)))

    def below(self, entries: Sequence[int]) -> bool:
        return any(self.present[e] < self.minimums[e] for e in entries)

    def missing(self) -> int:
        short = sum(max(0, m - p) for p, m in zip(self.present, self.minimums, strict=True))
        if self.min_available < sum(self.minimums):
            short = 0
        return max(short, self.min_available - self.counted, 0)

    def go_on(self, failed: list[int]) -> bool:
        if self.after_failure != "by-minimums":
            return self.after_failure == "go-on"
        if self.min_available < sum(self.minimums):
            return self.counted + sum(self.left) >= self.min_available
        return not self.below(failed)


@dataclass
class Trial:
    ask: Ask
    fill: RescanFill
    placed: list[tuple[int, int, float]] = field(default_factory=list)  # entry, position, score
    numbers: list[int] = field(default_factory=list)  # of each pod placed among those of its entry
    failed: int | None = None  # entry of which first a pod fitted nowhere in the last turn

    @property
    def total(self) -> float:
        total = 0.0
        for _, _, score in self.placed:
            total += score
        return total


def trial(fill: RescanFill, ask: Ask) -> Trial:
    """Turns over copies of both: one, or where every turn is asked for until one places nothing."""
    done = Trial(copied(ask), copied(fill))
    now = done.ask
    waiting = [e for e, left in enumerate(now.left) for _ in range(left)] if now.order is None else list(now.order)
    queue = [(e, waiting[:at].count(e)) for at, e in enumerate(waiting)]
    while True:
        before = len(done.placed)
        queue = turn(done, queue)
        if now.order is not None:
            now.order = [e for e, _ in queue]
        if not (now.every and now.ready() and len(done.placed) > before and any(now.left)):
            return done


def turn(done: Trial, queue: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """One turn, pod by pod in their order until the gang is ready; answers the pods behind."""
    now, failed = done.ask, []
    behind: dict[int, int] = {}  # pods of the entries that failed which are still in the queue
    done.failed = None
    for at, (entry, number) in enumerate(queue):
        if entry in behind:
            behind[entry] -= 1
        if not now.left[entry]:
            continue
        found = done.fill.place(now.shapes[entry], sole_unscored=True)
        if found is None:
            failed += [e for e, name in enumerate(now.names) if name == now.names[entry]]
            done.failed = entry if done.failed is None else done.failed
            for e in failed:
                behind.setdefault(e, now.left[e] - (e == entry))
                now.left[e] = 0
            if not now.go_on(failed):
                return queue[at + 1 :]
            continue
        done.placed.append((entry, *found))
        done.numbers.append(number)
        now.left[entry] -= 1
        now.present[entry] += 1
        now.counted += 1
        if now.ready():
            if now.order is not None:
                for e, count in behind.items():
                    now.left[e] = max(count, 0)
            return queue[at + 1 :]
    return []


def runs_of(order: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The same order as runs: entry of each, and how many of its pods there are up to its end."""
    entries = [e for i, e in enumerate(order) if i + 1 == len(order) or order[i + 1] != e]
    ends = [i + 1 for i, e in enumerate(order) if i + 1 == len(order) or order[i + 1] != e]
    counts = [order[:end].count(e) for e, end in zip(entries, ends, strict=True)]
    return np.array(entries, dtype=np.int32), np.array(counts, dtype=np.int64)


def shuffled(rng: random.Random, left: list[int]) -> list[int]:
    """The pods of every entry in any order."""
    order = [e for e, count in enumerate(left) for _ in range(count)]
    rng.shuffle(order)
    return order
