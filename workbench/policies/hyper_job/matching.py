"""Assignment of Jobs to HyperNodes, one Job to each: as many Jobs as possible, then the first HyperNodes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

__all__ = ["match_jobs"]


def match_jobs(kinds: Sequence[int], n_places: int, fits: Callable[[int, int], bool]) -> list[int]:
    """Assign Jobs to places.

    Returns list of int: place of each Job, -1 for none. As many Jobs as possible have a place. Of the assignments with
    that many Jobs, those that leave out later Jobs are preferred; then the first Job gets the first place possible,
    then the second Job, and so on.

    `kinds`: kind of each Job; Jobs of one kind fit the same places. `n_places`: number of places, which are in the
    order of preference. `fits`: whether a Job of a kind fits a place. It is only asked where the answer matters, and
    may be slow the first time.
    """
    matching = _Matching(kinds, n_places, fits)
    hopeless: set[int] = set()
    for job, kind in enumerate(kinds):
        # Where one Job of a kind finds no place, not even by moving others, no later one does.
        if kind not in hopeless and not matching.seat(job, set()):
            hopeless.add(kind)
    fixed: set[int] = set()
    for job in range(len(kinds)):
        if matching.place_of[job] >= 0:
            matching.move_forward(job, fixed)
            fixed.add(matching.place_of[job])
    return matching.place_of


class _Matching:
    """A matching that grows along augmenting paths: `place_of` each Job and `job_at` each place, -1 for none."""

    def __init__(self, kinds: Sequence[int], n_places: int, fits: Callable[[int, int], bool]) -> None:
        self.place_of = [-1] * len(kinds)
        self.job_at = [-1] * n_places
        self._kinds = kinds
        self._fits = fits

    def seat(self, job: int, forbidden: set[int]) -> bool:
        """Give a Job a place, moving other Jobs if need be, but none from or to a forbidden place.

        False, and nothing changed, if that is impossible.
        """
        came_from: dict[int, int] = {}
        waiting = deque([job])
        while waiting:
            asking = waiting.popleft()
            for place, holder in enumerate(self.job_at):
                if place in came_from or place in forbidden or not self._fits(self._kinds[asking], place):
                    continue
                came_from[place] = asking
                if holder < 0:
                    self._shift(place, came_from, job)
                    return True
                waiting.append(holder)
        return False

    def move_forward(self, job: int, fixed: set[int]) -> None:
        """Move a Job to the first place where it can be while all others keep some place; fixed places do not change.

        `fixed`: places of earlier Jobs.
        """
        mine = self.place_of[job]
        for place in range(mine):
            if place in fixed or not self._fits(self._kinds[job], place):
                continue
            other = self.job_at[place]
            self._set(job, place)
            self.job_at[mine] = -1
            if other < 0:
                return
            self.place_of[other] = -1
            if self.seat(other, fixed | {place}):
                return
            self._set(other, place)
            self._set(job, mine)

    def _shift(self, place: int, came_from: dict[int, int], job: int) -> None:
        while True:
            moved = came_from[place]
            before = self.place_of[moved]
            self._set(moved, place)
            if moved == job:
                return
            place = before

    def _set(self, job: int, place: int) -> None:
        self.place_of[job], self.job_at[place] = place, job
