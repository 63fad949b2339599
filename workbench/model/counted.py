"""Words of messages.

`counted` is a number with its noun in singular or plural, `name_list` a few of many names with consecutive ones as
ranges, `quoted` the reason of a pending job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from workbench.model.notice import Notice

__all__ = ["counted", "name_list", "quoted", "ranges", "some"]


def counted(count: int, one: str, many: str = "", form: str = "") -> str:
    """A number followed by its noun in singular or plural, such as ``1 node`` or ``3 nodes``.

    `one`: the word for one thing, with the verb where the sentence has one: ``node has``. `many`: the word for several
    things or none; by default `one` with an s. `form`: format of the number: ``,`` for ``12,000``.
    """
    return f"{count:{form}} {one if count == 1 else many or f'{one}s'}"


def quoted(reason: Notice) -> str:
    """The message of a reason, marked as a quotation if Volcano or the Kubernetes scheduler writes that sentence."""
    if reason.code == "gang-unschedulable":
        return f"Volcano writes: “{reason.message}”"
    if reason.code == "pod-group-unschedulable":
        return f"kube-scheduler writes: “{reason.message}”"
    # The number of nodes that its sentence speaks of.
    return f"Kubernetes writes: “{reason.message}”" if "nodes" in reason.numbers else reason.message


#: The last number of a name, with what stands before and behind it.
_NUMBERED = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
#: Fewer consecutive names than these are listed one by one.
_SHORTEST = 3


def name_list(names: Sequence[str], most: int = 3) -> str:
    """The first of the given names as text, in their order, and the number of the others.

    Three or more consecutive names become one range, which counts as one entry of the list.

    `most`: names and ranges that are listed at most.

    Examples
    --------
    >>> name_list(["node00", "node01", "node02", "node03"])
    'node00..node03'
    >>> name_list(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    found = list(ranges(names))
    left = sum(count for _, count in found[most:])
    listed = ", ".join(text for text, _ in found[:most])
    return f"{listed} and {left:,} more" if left else listed


def ranges(names: Iterable[str]) -> Iterable[tuple[str, int]]:
    """Texts of names and of ranges of consecutive names, each with the number of names that it stands for.

    Names are consecutive if only their last number differs and grows by one from each to the next; with leading zeros
    all of them have equally many digits. The order of the names is kept.
    """
    run: list[str] = []
    for name in names:
        if run and not _follows(run[-1], name):
            yield from _told(run)
            run = []
        run.append(name)
    yield from _told(run)


def _told(run: Sequence[str]) -> Iterable[tuple[str, int]]:
    if len(run) < _SHORTEST:
        return [(name, 1) for name in run]
    return [(f"{run[0]}..{run[-1]}", len(run))]


def _follows(before: str, name: str) -> bool:
    first, second = _NUMBERED.fullmatch(before), _NUMBERED.fullmatch(name)
    if first is None or second is None:
        return False
    (prefix, low, suffix), (other, high, ending) = first.groups(), second.groups()
    # Counted on as a text: a number of many digits is not worth an int, and int() limits their count.
    return prefix == other and suffix == ending and len(low) < 19 and high == str(int(low) + 1).zfill(len(low))


def some(kind: str, names: Sequence[str]) -> str:
    """The kind and the first names or ranges of names: ``nodes a, b, c and 4 more``, ``nodes n0..n6``."""
    return f"{kind}{'s' if len(names) > 1 else ''} {name_list(names)}"
