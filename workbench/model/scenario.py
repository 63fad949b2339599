"""`Scenario`: a cluster and the gangs that wait to run on it; `session_of` and others read it from arguments."""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import InputError, UnknownNameError
from workbench.model.counted import counted, name_list
from workbench.model.display import Displayed, Tabular, handed_in
from workbench.model.gang import Gang
from workbench.model.notice import Notice
from workbench.model.snapshot import ClusterSnapshot
from workbench.model.value import Value

__all__ = ["Scenario", "gang_of", "key_of_job", "session_of", "snapshot_of"]


def key_of_job(name: str, keys: Sequence[str], *, source: str = "job") -> str:
    """The ``namespace/name`` of the job that is called `name`.

    Raises UnknownNameError: there is none; InputError: a name alone that jobs of several namespaces have.

    `name`: ``namespace/name``, or the name alone. `keys`: ``namespace/name`` of each job. `source`: what the name comes
    from, for an error.
    """
    if name in keys:
        return name
    found = [key for key in keys if key.partition("/")[2] == name]
    if len(found) > 1:
        expected = f"one of {', '.join(found)}"
        raise InputError("several jobs have this name", source=source, got=repr(name), expected=expected)
    if not found:
        raise UnknownNameError("job", name, list(keys))
    return found[0]


@dataclass(frozen=True, eq=False, repr=False)
class Scenario(Value, Displayed, Tabular):
    """A cluster and the gangs that wait to run on it: the result of `workbench.load`.

    Functions of `workbench` that take a snapshot take a scenario, too.

    Attributes
    ----------
    gangs : tuple of Gang
        Sorted by namespace and name.
    refused : tuple of Notice
        Objects that admission refused, each the subject of its notice (``kind namespace/name``).
    ignored : mapping of str to int
        Kinds of objects that were not used, with their numbers.
    inputs : mapping of str to str
        SHA-256 of each input file's content, by file name.
    notes : tuple of Notice
        The part of ``snapshot.gaps`` about jobs and other objects that are not the cluster: objects left to another
        scheduler, and fields of single objects that do not mean what they seem to.
    formats : mapping of str to str
        Format of each file that holds no Kubernetes objects and was recognised by its content, by the name of the file.
    findings : tuple of Notice
        Everything for which a cluster would refuse an object as it is written, with the object and its file and line;
        also where the object is used all the same.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("mine", pods=2, gpus=8))
    >>> tree.gang("mine").n_pods
    2
    >>> tree.place("mine").n_placed
    2
    """

    snapshot: ClusterSnapshot
    gangs: tuple[Gang, ...]
    refused: tuple[Notice, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Notice, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Notice, ...] = ()

    def __repr__(self) -> str:
        refused = f", {counted(len(self.refused), 'object')} refused" if self.refused else ""
        return f"Scenario({self.snapshot!r}, {counted(len(self.gangs), 'job')} to place{refused})"

    def gang(self, name: str) -> Gang:
        """The gang named `name`, given alone or as ``namespace/name``.

        Raises UnknownNameError: there is none; InputError: a name alone that gangs of several namespaces have.
        """
        key = key_of_job(name, [gang.key for gang in self.gangs])
        return next(gang for gang in self.gangs if gang.key == key)

    def with_gangs(self, *gangs: Gang) -> Scenario:
        """A copy of the scenario with further gangs, in place of those of the same name.

        Examples
        --------
        >>> import workbench as wb
        >>> tree = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("mine", pods=4, gpus=8, tier=2))
        >>> [gang.key for gang in tree.gangs]
        ['default/mine']
        """
        kept = {gang.key: gang for gang in (*self.gangs, *gangs)}
        ordered = sorted(kept.values(), key=lambda gang: (gang.namespace.encode(), gang.name.encode()))
        return dataclasses.replace(self, gangs=tuple(ordered))

    def place(self, job: str | Gang | None = None, policy: Any = "volcano", **params: Any) -> Any:
        """Place one job by a policy, by itself: `workbench.place`.

        Parameters
        ----------
        job : str or Gang, optional
            Name of one of the jobs, alone or as ``namespace/name``; or a gang of one's own. None: the only job.
        policy : str or Policy
            Name of a policy, a policy object, or a function decorated with `workbench.policy`.
        **params
            Parameters of the policy by name.

        Examples
        --------
        >>> import workbench as wb
        >>> tree = wb.generate_scenario("three-level-tree").with_gangs(wb.gang("mine", pods=4, gpus=8, tier=2))
        >>> tree.place("mine", policy="volcano-1.15")
        Placement(default/mine by volcano-1.15: 4 pods on 4 nodes inside s4 (tier 2))
        """
        return handed_in("place")(self._named(job), self, policy, **params)

    def _named(self, job: str | Gang | None) -> str | Gang:
        """The job that is asked about: the only one where none is named."""
        if job is not None:
            return job
        if len(self.gangs) == 1:
            return self.gangs[0]
        raise InputError(
            "no job named",
            source="job",
            got="nothing",
            expected=f"one of {name_list([gang.key for gang in self.gangs]) or 'a Gang'}",
        )

    def schedule(self, policy: Any = "volcano", **params: Any) -> Any:
        """Place all jobs in one scheduling session: `workbench.schedule`.

        Parameters
        ----------
        policy, **params
            As in `place`.
        """
        return handed_in("schedule")(self, None, policy, **params)

    def explain(self, job: str | Gang | None = None, policy: Any = "volcano", **params: Any) -> Any:
        """Explain a policy's decision on one job: `workbench.explain`.

        Parameters
        ----------
        job, policy, **params
            As in `place`.
        """
        return handed_in("explain")(self._named(job), self, policy, **params)

    def compare(self, policies: Any = None, **options: Any) -> Any:
        """Place the jobs by each of several policies, and set the results side by side: `workbench.compare`.

        Raises UnknownNameError: an argument that `workbench.compare` does not have.

        Parameters
        ----------
        policies : sequence of str or Policy, optional
            None: the usual ones.
        **options
            Further arguments of `workbench.compare`.
        """
        if policies is not None:
            options["policies"] = policies
        return handed_in("compare")(self, **options)

    def fix(self, job: str | Gang | None = None, policy: Any = "volcano", **params: Any) -> Any:
        """Why a policy leaves a job pending, and the smallest sets of edits with which it places the job.

        Returns FixReport: as `workbench.fix_report` makes it, with its errors.

        Parameters
        ----------
        job, policy, **params
            As in `place`.
        """
        return handed_in("fix")(self._named(job), self, policy, **params)


def snapshot_of(given: object) -> ClusterSnapshot:
    """The snapshot that an argument is or has. Raises InputError: neither."""
    if isinstance(given, Scenario):
        return given.snapshot
    if not isinstance(given, ClusterSnapshot):
        expected = "a ClusterSnapshot, such as scenario.snapshot, or a Scenario"
        raise InputError("not a snapshot", source="snapshot", got=reprlib.repr(given), expected=expected)
    return given


def gang_of(gang: object, cluster: object) -> tuple[Gang, ClusterSnapshot]:
    """The gang and the snapshot that two arguments mean.

    `gang`: a gang, or the name of one of the scenario's. `cluster`: both arguments may also be given in the other
    order. Raises InputError: no gang, a name without a scenario, or no snapshot; UnknownNameError: the scenario has no
    gang of this name.
    """
    if isinstance(gang, Scenario) or (isinstance(gang, ClusterSnapshot) and isinstance(cluster, Gang)):
        gang, cluster = cluster, gang
    if isinstance(gang, str) and isinstance(cluster, Scenario):
        gang = cluster.gang(gang)
    if not isinstance(gang, Gang):
        expected = "a Gang, such as scenario.gang('name'), or the name of one together with its Scenario"
        raise InputError("not a gang", source="gang", got=reprlib.repr(gang), expected=expected)
    return gang, snapshot_of(cluster)


def session_of(gangs: object, cluster: object = None) -> tuple[tuple[Gang, ...], ClusterSnapshot]:
    """The gangs and the snapshot that two arguments mean.

    `gangs`: names are accepted in place of gangs together with a scenario; a scenario alone stands for all of its
    gangs. `cluster`, if None: the cluster of the scenario that `gangs` is. Raises InputError: no sequence of gangs, or
    no snapshot; UnknownNameError: the scenario has no gang of a name.
    """
    if isinstance(gangs, Scenario):
        return gangs.gangs, gangs.snapshot if cluster is None else snapshot_of(cluster)
    if isinstance(gangs, Gang | str | ClusterSnapshot) or not isinstance(gangs, Iterable):
        expected = "a list of gangs, such as scenario.gangs, or a Scenario"
        raise InputError("no list of gangs", source="gangs", got=reprlib.repr(gangs), expected=expected)
    snapshot = snapshot_of(cluster)
    return tuple(gang_of(gang, cluster)[0] for gang in gangs), snapshot
