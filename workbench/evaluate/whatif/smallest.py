"""Search for the smallest sets of edits with which a policy places a pending job.

1. Every edit alone, in the order of the classes.
2. All edits together: if even they do not help, no set of them is looked for. Else the set that avoids the dearest
   edits is found by adding edits in the order of the classes until the job is placed; the last one added is needed.
3. Where neither gave a set of at most two, pairs of edits, and sets of running gangs that empty one HyperNode.

Each set is then weakened edit by edit as far as the job is still placed, and edits that are not needed are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import combinations

from workbench.evaluate.whatif.edit import Edit
from workbench.evaluate.whatif.family import Family
from workbench.evaluate.whatif.trials import EditTrials

__all__ = ["FixSearch", "combinable", "is_free"]

#: Members of a family that are tried one by one where its largest change does not help.
_FEW = 8
#: Smaller changes from which on the smallest ones are tried first, because a small one mostly helps.
_MANY = 64
#: Edits up to which all pairs are tried.
_MOST_PAIRED = 60


class FixSearch:
    """Finds minimal sets of edits from given families.

    `families`: in the order of preference: earlier ones are better. `exhaustive`: whether the smaller members of a
    family are tried where the largest one does not help. Policies are expected, not known, to place a job under a
    larger change whenever they do under a smaller one. `possible`: whether some set of the edits places the job, as far
    as was tried. `proved`: whether every edit, and where no edit helps alone every pair of edits, was tried.
    """

    # Three ways to a set of edits that places the job: one edit (`singles`), the set that needs the dearest edits least
    # (`preferred`), two edits or a larger set that is given (`pairs`). Each set is then made minimal: `_needed` drops
    # edits, `weakened` takes of each edit the smallest change that still helps. Every trial is a session of
    # `EditTrials`.

    def __init__(self, trials: EditTrials, families: Sequence[Family], *, exhaustive: bool) -> None:
        self._trials = trials
        self._families = list(families)
        self._of = {family.loosest: family for family in families}
        self._exhaustive = exhaustive
        self.proved = True

    def within(self, trials: EditTrials, more: Iterable[Family]) -> FixSearch:
        """This search, with the sets of edits that it has found, in another session with the job.

        `more`: families that only the other session has.
        """
        other = copy(self)
        other._trials, other._of = trials, {**self._of, **{family.loosest: family for family in more}}
        return other

    def singles(self, most: int, enough: Callable[[tuple[Edit, ...]], bool] | None = None) -> list[tuple[Edit, ...]]:
        """Edits that help alone, weakened.

        `most`: edits of each class at most. `enough`: whether an edit is so good that those of later classes are not
        tried; None: all classes are.
        """
        found: list[tuple[Edit, ...]] = []
        counts: dict[str, int] = {}
        kinds: set[str] = set()
        last = ""
        for family in self._families:
            loosest = family.loosest
            if last and loosest.category != last:
                break
            if counts.get(loosest.category, 0) >= most or not kinds.isdisjoint(family.spared_by):
                continue
            if not self._trials.affords((loosest,)):
                self.proved = False
                continue
            helping = self._helping(family)
            if helping is not None:
                counts[loosest.category] = counts.get(loosest.category, 0) + 1
                kinds.add(loosest.kind)
                found.append(self.weakened((helping,)))
                if enough is not None and enough(found[-1]):
                    last = loosest.category
        return found

    def _helping(self, family: Family) -> Edit | None:
        """The family's largest change if it helps alone, else the first smaller one that does."""
        if self._trials.works((family.loosest,)):
            return family.loosest
        if self._exhaustive:
            for edit in family.few(_FEW):
                if not self._trials.affords((edit,)):
                    self.proved = False
                elif self._trials.works((edit,)):
                    self._of.setdefault(edit, family)
                    return edit
        return None

    def preferred(self, families: Sequence[Family] | None = None) -> tuple[Edit, ...]:
        """The minimal set that needs the dearest edits least; empty if all edits together do not place the job.

        `families`: families to choose from, better ones first; None: all.
        """
        rest = [family.loosest for family in (self._families if families is None else families)]
        if not rest or not self._trials.works(rest):
            return ()
        chosen: list[Edit] = []
        while not self._trials.works(chosen):
            low, high = 1, len(rest)  # works with the first `high`, not known for fewer
            while low < high:
                middle = (low + high) // 2
                if self._trials.works([*chosen, *rest[:middle]]):
                    high = middle
                else:
                    low = middle + 1
            chosen.append(rest[high - 1])
            rest = rest[: high - 1]
            if not rest and not self._trials.works(chosen):
                return ()  # more edits helped where fewer of them do not: nothing minimal was found this way
        return self.weakened(self._needed(chosen))

    def pairs(self, most: int, further: Iterable[Sequence[Edit]] = ()) -> list[tuple[Edit, ...]]:
        """Pairs of edits that help together and not alone, weakened; then sets of `further` that do.

        `most`: number of sets at most. `further`: larger sets to try where no pair helps.
        """
        found: list[tuple[Edit, ...]] = []
        edits = [family.loosest for family in self._families]
        self.proved = self.proved and len(edits) <= _MOST_PAIRED
        some = edits[:_MOST_PAIRED]
        # By the dearer of the two, so that a pair of good edits comes before one with a dear edit.
        for first, second in sorted(combinations(range(len(some)), 2), key=lambda pair: (pair[1], pair[0])):
            if len(found) >= most:
                return found
            if self._trials.tired:
                self.proved = False
                break
            pair = (some[first], some[second])
            if self._trials.works(pair) and not any(self._trials.works((one,)) for one in pair):
                found.append(self.weakened(pair))
        for given in further:
            if found or self._trials.tired:
                break
            if self._trials.works(given):
                found.append(self.weakened(self._needed(given)))
        return found

    def _needed(self, edits: Iterable[Edit]) -> tuple[Edit, ...]:
        """The edits that are needed: each is left out by way of trial, the dearest first."""
        kept = list(edits)
        for edit in sorted(kept, key=self._place, reverse=True):
            fewer = [one for one in kept if one != edit]
            if fewer and self._trials.works(fewer):
                kept = fewer
        return tuple(kept)

    def _place(self, edit: Edit) -> int:
        for i, family in enumerate(self._families):
            if family.loosest == edit:
                return i
        return len(self._families)

    def weakened(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """The same kinds of edits, each as small a change as still helps; edits that are not needed are dropped."""
        kept = list(edits)
        for i in sorted(range(len(kept)), key=lambda i: -self._place(edits[i])):
            family = self._of.get(edits[i])
            if family is None:
                continue
            others = kept[:i] + kept[i + 1 :]
            milder = list(family.milder(self._trials.outcome(kept)))
            smallest = self._smallest(milder, others)
            if smallest < len(milder):
                kept[i] = milder[smallest]
            kept[i] = self._shrunk(family, kept[i], others)
            self._of.setdefault(kept[i], family)
        return self._needed(kept)

    def _smallest(self, milder: Sequence[Edit], others: Sequence[Edit]) -> int:
        """Index of the smallest change that helps together with other edits; the number of changes if none does."""
        low, high = 0, len(milder)
        step = 1 if high > _MANY else 0  # doubled until a change helps; then, or at once, the rest is halved
        while low < high:
            at = min(low + step, high) - 1 if step else (low + high) // 2
            edits = [*others, milder[at]]
            if not self._trials.affords(edits):
                self.proved = False
                break
            if self._trials.works(edits):
                high, step = at, 0
            else:
                low, step = at + 1, 2 * step
        return high

    def _shrunk(self, family: Family, edit: Edit, others: Sequence[Edit]) -> Edit:
        smaller = True
        while smaller and not self._trials.tired:
            smaller = False
            for part in family.shrunk(edit):
                if self._trials.works([*others, part]):
                    edit, smaller = part, True
                    break
        return edit


def combinable(every: Sequence[Family]) -> Iterator[list[Family]]:
    """Lists of families whose largest changes can be made at once, because none of them undoes another.

    At most one role loses pods, since a job without pods is no job; guarantees of queues are in
    the second list only, since one beyond the cluster takes room from its own queue.
    """
    sizes = [family for family in every if family.loosest.kind == "replicas"]
    rest = [family for family in every if family.loosest.kind not in ("replicas", "queue-guarantee")]
    rest = [family for family in rest if family.loosest.kind != "selector" or family.loosest.after is None]
    shares = [family for family in every if family.loosest.kind == "queue-guarantee"]
    order = {id(family): i for i, family in enumerate(every)}
    bases = (rest, [*rest, *shares])
    for some in (*bases, *([*base, size] for base in bases for size in sizes)):
        yield sorted(some, key=lambda family: order[id(family)])


def is_free(family: Family) -> bool:
    """Whether edits of the family cost neither another job's place nor pods of the job in question."""
    return family.loosest.category != "shrink" and family.loosest.kind not in ("priority", "withdraw")
