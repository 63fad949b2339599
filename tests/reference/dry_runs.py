"""Oracle of the ``dry_runs`` kernel: for each domain a fresh full-rescan fill, pod by pod."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

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

    @property
    def total(self) -> float:
        total = 0.0
        for _, _, score in self.placed:
            total += score
        return total


def trial(fill: RescanFill, ask: Ask) -> Trial:
    """One pass over copies of both: a role until the gang is ready or others alone are missing, then the next."""
    done = Trial(copy.deepcopy(ask), copy.deepcopy(fill))
    now = done.ask
    failed: list[int] = []
    for entry, shape in enumerate(now.shapes):
        looked = False
        while now.left[entry]:
            others = [e for e in range(len(now.shapes)) if e != entry]
            minimums_count = now.min_available >= sum(now.minimums)
            if looked and not (minimums_count and now.below(others)):
                short = minimums_count and now.present[entry] < now.minimums[entry]
                if now.counted >= now.min_available and not short:
                    break
            looked = True
            found = done.fill.place(shape, sole_unscored=True)
            if found is None:
                failed += [e for e, name in enumerate(now.names) if name == now.names[entry]]
                for e in failed:
                    now.left[e] = 0
                if not now.go_on(failed):
                    return done
                break
            done.placed.append((entry, *found))
            now.left[entry] -= 1
            now.present[entry] += 1
            now.counted += 1
        else:
            if ask.left[entry] and looked and now.ready():
                return done
            continue
        if entry not in failed and now.ready():
            return done
    return done
