"""Which of the waiting jobs are tried next: disciplines, quotas of queues, and which jobs ask for the same."""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Literal, NamedTuple

from workbench.errors import InputError
from workbench.model.gang import Gang

__all__ = [
    "DISCIPLINES",
    "Discipline",
    "QueuedJob",
    "Quotas",
    "Reservation",
    "WaitingJobs",
    "fewest_gpus",
    "kind_of",
    "most_gpus",
    "reserve",
    "slowest_pace",
]

Discipline = Literal["fifo", "best-effort", "priority", "backfill", "shares"]
DISCIPLINES: tuple[Discipline, ...] = ("fifo", "best-effort", "priority", "backfill", "shares")

#: Fields that name a gang or are read by `kind_of` one by one; every other field must have its default.
_READ = frozenset(
    {
        "namespace",
        "name",
        "roles",
        "min_available",
        "constraint",
        "queue",
        "priority",
        "created",
        "uid",
        "kind",
        "notes",
    }
)
_DEFAULTS = {
    each.name: getattr(Gang("", "", (), 0), each.name) for each in fields(Gang) if each.init and each.name not in _READ
}


def kind_of(gang: Gang) -> Hashable | None:
    """Key that is equal for gangs that ask for the same: roles, minimum, constraint, queue and priority.

    None for a gang that says anything else (a HyperJob, sub-groups, a vendor's wishes, labels): it is like no other.
    """
    for name, default in _DEFAULTS.items():
        if getattr(gang, name) != default:
            return None
    roles: list[Hashable] = []
    for role in gang.roles:
        if role.labels or role.annotations or role.succeeded or role.pod_names or role.pod_uids or role.depends_on:
            return None
        requests, assumed = tuple(role.requests.items()), tuple(role.assumed.items())
        asked = (role.count, requests, role.container_gpus, role.gpu_milli, assumed)
        roles.append((*asked, role.min_available, role.filter, role.priority))
    return (tuple(roles), gang.min_available, gang.constraint, gang.queue, gang.priority, gang.kind)


def fewest_gpus(gang: Gang) -> int:
    """Whole GPUs without which a gang cannot start: those of its smallest pods, or Jobs, as many as it needs."""
    if gang.jobs:
        sizes = sorted(fewest_gpus(job.gang) for job in gang.jobs if job.gang is not None)
        return sum(sizes[: max(sum(gang.min_subgroups.values()), 1)])
    counts = sorted(role.n_gpus for role in gang.roles for _ in range(role.count))
    return sum(counts[: max(gang.min_available - gang.ready, 0)])


def most_gpus(gang: Gang) -> int:
    """GPUs that all pods of a gang take; a share of a GPU counts as a whole one."""
    return sum(role.count * (role.n_gpus or (1 if role.gpu_milli else 0)) for role in gang.roles)


def slowest_pace(gang: Gang) -> float:
    """Seconds that a second of work takes at most: with the fewest pods with which a gang starts."""
    if gang.jobs:
        sizes = sorted(job.gang.n_pods for job in gang.jobs if job.gang is not None)
        pods = sum(sizes[: max(sum(gang.min_subgroups.values()), 1)])
    else:
        pods = max(gang.min_available - gang.ready, 1)
    return gang.n_pods / min(max(pods, 1), gang.n_pods)


class Reservation(NamedTuple):
    """GPUs that backfilling reserves for the first job that does not fit, by their count alone.

    Attributes
    ----------
    begins_s : float
        When enough GPUs will be free; infinite: never, as far as is known.
    spare : int
        GPUs that will be free then beyond those that it needs.
    """

    begins_s: float
    spare: int

    def lets_pass(self, ends_s: float, gpus: int) -> bool:
        """Whether a job that ends at `ends_s` and takes `gpus` GPUs may start before."""
        return ends_s <= self.begins_s or gpus <= self.spare


def reserve(needed: int, free: int, now_s: float, running: Iterable[tuple[float, int]]) -> Reservation:
    """Reserve GPUs for a job that does not fit now.

    Parameters
    ----------
    needed : int
        GPUs that it needs.
    free : int
        GPUs that are free.
    now_s : float
    running : iterable of (float, int)
        End and GPUs of each running job.
    """
    begins, later = float("inf"), free
    ends: dict[float, int] = {}
    for end, gpus in running:
        ends[end] = ends.get(end, 0) + gpus
    for end in sorted(ends):
        # Where GPUs enough are free, but not where the job can use them, the next change is the first chance.
        later += ends[end]
        if later >= needed and end > now_s:
            begins = end
            break
    return Reservation(begins, later - needed if begins < float("inf") else 0)


class Quotas:
    """What queues may hold at most, and what they hold.

    Parameters
    ----------
    limits : mapping of str to mapping of str to int
        By queue: resources in base units. A queue or a resource that is missing has no limit.

    Raises
    ------
    InputError
        A negative limit.
    """

    def __init__(self, limits: Mapping[str, Mapping[str, int]]) -> None:
        self._limits = limits
        self._held: dict[str, dict[str, int]] = {}
        for queue, amounts in limits.items():
            for name, amount in amounts.items():
                if amount < 0:
                    raise InputError("a negative quota", source=f"queue {queue}", where=name, got=str(amount))

    def admits(self, gang: Gang) -> bool:
        """Whether the queue of a gang may hold all its pods beside what it holds."""
        limits = self._limits.get(gang.queue)
        if not limits:
            return True
        held = self._held.get(gang.queue, {})
        asked = _total(gang)
        return all(held.get(name, 0) + asked.get(name, 0) <= limit for name, limit in limits.items())

    def change(self, gang: Gang, sign: int) -> None:
        """Count a gang that starts (1) or ends (-1)."""
        if gang.queue in self._limits:
            held = self._held.setdefault(gang.queue, {})
            for name, amount in _total(gang).items():
                held[name] = held.get(name, 0) + sign * amount


def _total(gang: Gang) -> dict[str, int]:
    total: dict[str, int] = {}
    for role in gang.roles:
        for name, amount in role.requests.items():
            total[name] = total.get(name, 0) + amount * role.count
    return total


class QueuedJob(NamedTuple):
    """A waiting job: minus its priority if that counts, else 0; its arrival; its number. The smallest comes first."""

    rank: int
    submitted_s: float
    number: int


class WaitingJobs:
    """Waiting jobs by kind (`kind_of`), so that looking for the next one costs the kinds and not the jobs."""

    def __init__(self) -> None:
        self._groups: dict[int, list[QueuedJob]] = {}
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[QueuedJob]:
        """All entries, the first first."""
        return iter(sorted(entry for group in self._groups.values() for entry in group))

    def add(self, kind: int, entry: QueuedJob) -> None:
        """Add a job of a kind."""
        insort(self._groups.setdefault(kind, []), entry)
        self._n += 1

    def remove(self, kind: int, entry: QueuedJob) -> None:
        """Take out a job of a kind."""
        group = self._groups[kind]
        group.remove(entry)
        if not group:
            del self._groups[kind]
        self._n -= 1

    def heads(self) -> list[tuple[QueuedJob, int]]:
        """The first job of each kind, with the kind, in no order."""
        return [(group[0], kind) for kind, group in self._groups.items()]

    def of_kind(self, kind: int) -> Sequence[QueuedJob]:
        """Jobs of a kind, the first first; to be read only, until the next change."""
        return self._groups.get(kind, ())
