"""Sets of GPUs that a machine hands out only as a whole: partitions of a fabric, and modules of several dies.

A fabric manager offers the listed partitions and nothing else. A module is taken with all of its dies or not at all,
and several modules together are a set like any other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.errors import CapacityError, InputError
from workbench.kernels.gpu_sets import BestSubset, indices_of, mask_of
from workbench.model.bandwidth import BandwidthMatrix, Symmetric
from workbench.model.counted import counted
from workbench.model.gpu_ties import TieOrder, numa_names

__all__ = ["AllowedSets", "best_allowed", "modules_of_links"]

#: Sets that are compared one by one.
_MOST_SETS = 50_000
#: Link type between the two dies of an Ascend 910C.
_ONE_MODULE = "SIO"
_NAMED = 4


@dataclass(frozen=True)
class AllowedSets:
    """The sets of GPUs that may be chosen; `of` makes and checks them.

    `masks`: the sets as bit masks, in the order of their GPUs. `modules`: whether the sets are modules, which have no
    GPU in common: unions of them are allowed, and single GPUs.
    """

    masks: tuple[int, ...]
    modules: bool

    @staticmethod
    def of(n: int, sets: Iterable[Iterable[int]], modules: bool = False) -> AllowedSets:
        """Check lists of GPU numbers and make allowed sets of them.

        Raises InputError: no set, an empty set, a GPU that the machine lacks or that a set has twice, a GPU in two
        modules.

        `n`: number of GPUs of the machine. `modules`: whether the sets are modules; a GPU in none of them is a module
        of its own.
        """
        name = "modules" if modules else "allowed"
        masks: list[int] = []
        for number, given in enumerate(sets, 1):
            gpus = list(given)
            wrong = next((gpu for gpu in gpus if isinstance(gpu, bool) or gpu not in range(n)), None)
            if not gpus or wrong is not None or len(set(gpus)) != len(gpus):
                got = repr(wrong) if wrong is not None else str(gpus)
                expected = f"different GPUs, 0 to {n - 1}"
                raise InputError("not a set of GPUs", source=name, where=f"set {number}", got=got, expected=expected)
            masks.append(mask_of(gpus))
        if not masks:
            raise InputError("no set of GPUs", source=name, got="nothing", expected="sets such as 0,1;2,3")
        if modules:
            seen = 0
            for number, mask in enumerate(masks, 1):
                if seen & mask:
                    got = str(indices_of(seen & mask)[0])
                    raise InputError("a GPU in two modules", source=name, where=f"set {number}", got=got)
                seen |= mask
            masks += [1 << gpu for gpu in range(n) if not seen >> gpu & 1]
        return AllowedSets(tuple(sorted(set(masks), key=indices_of)), modules)

    def of_size(self, k: int) -> list[int]:
        """Masks of all allowed sets of k GPUs. Raises CapacityError: more unions of modules than can be compared."""
        if not self.modules:
            return [mask for mask in self.masks if mask.bit_count() == k]
        if k == 1:
            return [1 << gpu for mask in self.masks for gpu in indices_of(mask)]
        return list(self._unions(k))

    def _unions(self, k: int) -> Iterable[int]:
        sizes = {mask.bit_count() for mask in self.masks}
        if len(sizes) == 1:
            size = sizes.pop()
            if k % size:
                return []
            if math.comb(len(self.masks), k // size) > _MOST_SETS:
                raise CapacityError(f"modules: more than {_MOST_SETS:,} sets of {counted(k, 'GPU')} consist of modules")
            return (sum(chosen) for chosen in itertools.combinations(self.masks, k // size))
        reached: dict[int, set[int]] = {0: {0}}
        for mask in self.masks:
            for total in sorted(reached, reverse=True):
                more = total + mask.bit_count()
                if more <= k:
                    reached.setdefault(more, set()).update(one | mask for one in reached[total])
            if sum(map(len, reached.values())) > _MOST_SETS:
                raise CapacityError(f"modules: more than {_MOST_SETS:,} sets of {counted(k, 'GPU')} consist of modules")
        return sorted(reached.get(k, ()), key=indices_of)

    def why_none(self, k: int, usable: int, required: int) -> str:
        """A sentence that says why no allowed set of `k` GPUs can be chosen.

        `usable`, `required`: masks of the GPUs that may be chosen and of those that must be.
        """
        what = "set of whole modules" if self.modules else "allowed set"
        of_size = self.of_size(k)
        if not of_size:
            sizes = sorted({mask.bit_count() for mask in self.masks})
            named = " ".join(_braces(mask) for mask in self.masks[:_NAMED])
            more = " …" if len(self.masks) > _NAMED else ""
            have = "modules" if self.modules else "allowed sets"
            return f"no {what} has {counted(k, 'GPU')}; {have} of {_or(sizes)}: {named}{more}"
        if not any(mask & ~usable == 0 for mask in of_size):
            taken = [_braces(mask & ~usable) for mask in of_size[:_NAMED]]
            return (
                f"no {what} of {counted(k, 'GPU')} is free: of {counted(len(of_size), 'such set', 'such sets')} "
                f"each has a GPU that is not free or is avoided, such as {' '.join(dict.fromkeys(taken))}"
            )
        return f"no {what} of {counted(k, 'GPU')} that is free has the required {_braces(required)}"


def best_allowed(
    matrix: BandwidthMatrix,
    k: int,
    allowed: Sequence[AllowedSets],
    usable: int,
    required: int,
    symmetric: Symmetric,
    link_classes: bool,
    max_ties: int | None,
) -> BestSubset | str:
    """Choose the best set of `k` GPUs that all of some lists of allowed sets have.

    `allowed`: one list or more; a set has to be in each. `usable`, `required`: masks of the GPUs that may and that must
    be chosen. `symmetric`: {"min", "max", "mean"}. `max_ties`: how many ties to list; None: all. Returns BestSubset or
    str: ties: docs/decisions.md, decision 1, where the next equal request has the same allowed sets. A sentence that
    says why if there is no such set.
    """
    both = set.intersection(*(set(one.of_size(k)) for one in allowed))
    everywhere = sorted(both, key=indices_of)
    sets = [mask for mask in everywhere if not mask & ~usable and not required & ~mask]
    if not sets:
        return next(
            (
                one.why_none(k, usable, required)
                for one in allowed
                if not any(not mask & ~usable and not required & ~mask for mask in one.of_size(k))
            ),
            f"no allowed set of {counted(k, 'GPU')} consists of whole modules",
        )
    order = TieOrder(matrix, symmetric, link_classes, numa_names(matrix))
    values = {mask: order.objective(mask) for mask in everywhere if not mask & ~usable}
    best = max(values[mask] for mask in sets)
    ties = [mask for mask in sets if values[mask] == best]

    ranked = sorted(values.items(), key=lambda item: item[1], reverse=True) if 2 * k <= usable.bit_count() else []

    def left_over(mask: int) -> tuple[float, float]:
        return next((value for other, value in ranked if not other & mask), (-math.inf, -math.inf))

    chosen = order.best(ties, left_over)
    shown = ties if max_ties is None else ties[:max_ties]
    return BestSubset(
        mask=chosen,
        bottleneck_gb_s=best[1],
        pair=order.slowest_pair(chosen),
        ties=tuple(shown if chosen in shown else [*shown[:-1], chosen]),
        optimal_sets=len(ties),
        optimal_sets_complete=True,
        upper_bound_gb_s=best[1],
        exact=True,
        tie_break_complete=True,
    )


def modules_of_links(matrix: BandwidthMatrix) -> tuple[tuple[int, ...], ...]:
    """The modules that link types tell: pairs of Ascend 910C dies joined by ``SIO``, if every NPU is in one pair."""
    partner = {
        i: tuple(j for j, kind in enumerate(row) if i != j and kind == _ONE_MODULE)
        for i, row in enumerate(matrix.link_types)
    }
    if not partner or any(len(found) != 1 or partner[found[0]] != (i,) for i, found in partner.items()):
        return ()
    return tuple((i, found[0]) for i, found in partner.items() if i < found[0])


def _braces(mask: int) -> str:
    return f"{{{','.join(map(str, indices_of(mask)))}}}"


def _or(sizes: Sequence[int]) -> str:
    texts = list(map(str, sizes))
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
