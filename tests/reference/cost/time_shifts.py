"""One shift per job from the shifts that each link wants, walked over jobs and links breadth first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def time_shifts(periods: Mapping[str, int], shift_on_link: Mapping[str, Mapping[str, int]]) -> dict[str, int] | None:
    """One shift per job from the shifts that each link wants.

    Parameters
    ----------
    periods : Mapping of str to int
        Period of each job, in the order in which jobs are visited.
    shift_on_link : Mapping
        Link -> job -> shift that the link's own rotation found.

    Returns
    -------
    dict of str to int or None
        None where jobs share links in a loop, so that the links may contradict each other.
    """
    links_of: dict[str, list[str]] = {job: [] for job in periods}
    for link, shifts in shift_on_link.items():
        for job in shifts:
            links_of[job].append(link)
    found: dict[str, int] = {}
    seen: set[str] = set()
    edges, parts = sum(map(len, shift_on_link.values())), sum(not jobs for jobs in shift_on_link.values())
    for root in periods:
        if root in found:
            continue
        parts += 1
        found[root] = 0
        _walk([root], found, seen, links_of, periods, shift_on_link)
    loop_free = edges == len(periods) + len(shift_on_link) - parts
    return {job: found[job] for job in periods} if loop_free else None


def _walk(
    queue: list[str],
    found: dict[str, int],
    seen: set[str],
    links_of: Mapping[str, Sequence[str]],
    periods: Mapping[str, int],
    shift_on_link: Mapping[str, Mapping[str, int]],
) -> None:
    """Give every job that `queue` reaches over links its shift, breadth first."""
    for job in queue:
        for link in links_of[job]:
            if link in seen:
                continue
            seen.add(link)
            wanted = shift_on_link[link]
            for other in wanted:
                if other not in found:
                    found[other] = (found[job] - wanted[job] + wanted[other]) % periods[other]
                    queue.append(other)
