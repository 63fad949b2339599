"""`workbench.load`: read files into a `Scenario`, that is a cluster and its jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import re2

from workbench.cancel import reached
from workbench.cluster.assemble import assemble
from workbench.cluster.node_matrices import assign_matrices
from workbench.errors import InputError, named_arguments
from workbench.formats.fabric.intake import Joined
from workbench.formats.file_bytes import read_bytes
from workbench.formats.manifests import Document, Manifests, Take
from workbench.formats.read_files import read_files
from workbench.jobs.gangs import read_workload
from workbench.jobs.schedulers import TakenSchedulers
from workbench.model.bandwidth import MAX_GPUS, BandwidthMatrix
from workbench.model.no_collection import no_collection
from workbench.model.scenario import Scenario
from workbench.model.snapshot import ClusterSnapshot
from workbench.objects.fields import shown
from workbench.objects.hypernode_manifest import hypernode_manifest, is_hypernode
from workbench.objects.kinds import ClusterObjects
from workbench.objects.selectors import compile_pattern
from workbench.topology.objects_of import hypernodes_in, nodes_in

__all__ = [
    "load",
    "load_and_keep",
    "load_as_written",
    "load_joined",
    "load_objects",
    "load_to_draw",
]


@named_arguments
def load(
    *paths: str | Path | IO[str] | IO[bytes] | Sequence[str | Path],
    matrices: Mapping[str, str | Path] | None = None,
    stdin: bytes | str | None = None,
    format: str | None = None,
    any_scheduler: TakenSchedulers = False,
    gpus_per_node: int | None = None,
) -> Scenario:
    """Read a cluster and the jobs that want to run on it.

    Objects in the same order give the same Scenario. ``snapshot.gaps`` lists missing data, ``ignored`` counts unused
    objects, ``refused`` lists objects that admission refuses. A slip that has one meaning is mended, and a gap says so
    (docs/manifests.md).

    Parameters
    ----------
    *paths : str or Path
        Files, folders (``*.yaml``, ``*.yml``, ``*.json``, sorted) or ``-``: Kubernetes manifests in YAML or JSON,
        network topologies in any format of `workbench.formats.fabric.registry`, recognised by their content, and
        scenario files, of which the cluster and the jobs are read. A list of paths stands for its paths, and one open
        file for its content.
    matrices : mapping of str to path, optional
        Bandwidth matrix files by a pattern (RE2, unanchored) on node names; they take precedence over matrices of
        Devices.
    stdin : bytes or str, optional
        Content for the path ``-``.
    format : str, optional
        Name of the format (`workbench.formats.fabric.registry`) of every file without Kubernetes objects; or a format
        whose HyperNodes are derived from Kubernetes objects, such as node labels. None: detected by content.
    any_scheduler : bool or collection of str
        True: jobs of every scheduler are read; names in schedulerName, such as ``["default-scheduler"]``: those of
        these schedulers, too. By default Volcano's Jobs, Deployments and pods with another schedulerName than
        ``volcano`` or ``koord-scheduler`` are left out, with their number in ``snapshot.gaps``. A pod without a
        schedulerName is placed, and so are gangs of other systems, whichever scheduler they name: pods of PodGroups of
        scheduling.k8s.io, what has Kueue's label for a queue, JobSets and the other kinds of docs/job-kinds.md.
    gpus_per_node : int, optional
        Number of GPUs (``nvidia.com/gpu``), 1 to 1,024, that a node without any reported resource is assumed to have,
        such as a node that only a fabric file names; its cores and memory are then those of a generated node, and
        ``snapshot.gaps`` says so. None: such a node offers nothing.

    Raises
    ------
    InputError
        Bad input, with file, place, what was found and what was expected; `gpus_per_node` out of range. HyperNodes that
        parse but form no tree are no error; see ``snapshot.topology.problems`` (docs/decisions.md, decision 14).
    UnknownNameError
        No such format.

    Examples
    --------
    >>> import workbench as wb
    >>> cluster = '''
    ... {apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {nvidia.com/gpu: 8}}}
    ... ---
    ... {apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {nvidia.com/gpu: 8}}}
    ... '''
    >>> wb.load("-", stdin=cluster).snapshot.topology.node_names
    ('a', 'b')
    """
    given, stdin = _handed_in(paths, stdin)
    return load_joined(
        given, matrices, stdin, format, any_scheduler=any_scheduler, gpus_per_node=gpus_per_node, keep=None
    )[0]


def _handed_in(paths: Sequence[Any], stdin: bytes | str | None) -> tuple[list[str | Path], bytes | str | None]:
    """Paths without lists, an open file in them as ``-``; and the content for ``-``."""
    found: list[str | Path] = []
    for path in paths:
        if isinstance(path, list | tuple):
            inner, stdin = _handed_in(path, stdin)
            found += inner
        elif callable(getattr(path, "read", None)):
            if stdin is not None:
                raise InputError("several texts", source="paths", expected="one open file, or stdin")
            stdin = path.read()
            found.append("-")
        else:
            found.append(path)
    return found, stdin


def load_joined(
    paths: Sequence[str | Path],
    matrices: Mapping[str, str | Path] | None,
    stdin: bytes | str | None,
    format: str | None,
    *,
    any_scheduler: TakenSchedulers,
    gpus_per_node: int | None,
    keep: Take | None,
) -> tuple[Scenario, ClusterObjects, Joined]:
    """Read files as `load` does, and return also what the scenario was made of.

    `paths`, `matrices`, `stdin`, `format`, `any_scheduler`, `gpus_per_node`: as in `load`, with its errors. `keep`:
    receives each manifest, mended, after its object was added; None: manifests are not kept.

    Returns
    -------
    Scenario
    ClusterObjects
        The objects of the manifests and of the network topology files, derived HyperNodes included.
    Joined
        The joint contents of the network topology files.
    """
    gpus = 0 if gpus_per_node is None else _checked_gpus(gpus_per_node)
    with no_collection():
        manifests, cluster, joined = read_files(paths, stdin, format, keep, mend=True)
        scenario = _scenario(
            paths, manifests, cluster, joined, matrices or {}, any_scheduler=any_scheduler, gpus_per_node=gpus
        )
    return scenario, cluster, joined


def load_objects(*paths: str | Path, stdin: bytes | str | None = None, format: str | None = None) -> ClusterObjects:
    """Read the objects of files like `load`, but without joining them into a snapshot, as input of an editor.

    Parameters and errors are those of `load`. A snapshot file gives its HyperNodes and Nodes; notices about gaps in
    network topology files are dropped.
    """
    with no_collection():
        _, cluster, joined = read_files(paths, stdin, format)
        return _drawable(cluster, joined)


def load_as_written(
    paths: Sequence[str | Path], stdin: bytes | str | None = None, format: str | None = None
) -> tuple[ClusterObjects, dict[str, dict[str, Any]]]:
    """Read objects as `load_objects` does, but without derived HyperNodes, and return the HyperNodes' manifests too.

    HyperNodes are not derived from other objects, such as labels of nodes: derived ones exist in no cluster.

    `paths`, `stdin`, `format`: as in `load`, with its errors.

    Returns
    -------
    ClusterObjects
    dict of str to dict
        Manifest of each HyperNode by name, in the order of the input: the parsed document itself, or a new manifest
        for a HyperNode that a fabric in another format describes.
    """
    written: dict[str, dict[str, Any]] = {}

    def keep(document: Document) -> None:
        if is_hypernode(document.data):
            written[document.data["metadata"]["name"]] = document.data

    with no_collection():
        _, cluster, joined = read_files(paths, stdin, format, keep, derive=False)
        cluster = _drawable(cluster, joined)
    for name, hypernode in cluster.hypernodes.items():
        if name not in written:
            written[name] = hypernode_manifest(hypernode)
    return cluster, written


def load_to_draw(path: str | Path) -> tuple[ClusterObjects, ClusterSnapshot]:
    """Read a file or folder once, both as objects (as `load_objects`) and as a snapshot (as `load`)."""
    with no_collection():
        manifests, cluster, joined = read_files([path], None, None)
        snapshot = _scenario([path], manifests, cluster, joined, {}, any_scheduler=False, gpus_per_node=0).snapshot
        return _drawable(cluster, joined), snapshot


def load_and_keep(
    path: str | Path, wanted: Callable[[Mapping[str, Any]], bool], stdin: bytes | str | None = None
) -> tuple[Scenario, list[dict[str, Any]]]:
    """Read a file or folder once, as the scenario that `load` makes and the manifests that are wanted.

    `wanted`: function that tells whether a manifest is to be returned. `stdin`: content for the path ``-``.

    Returns
    -------
    Scenario
    list of dict
        The wanted manifests in the order of the input; network topologies in other formats have none.
    """
    kept: list[dict[str, Any]] = []

    def keep(document: Document) -> None:
        if wanted(document.data):
            kept.append(document.data)

    scenario, _, _ = load_joined([path], None, stdin, None, any_scheduler=False, gpus_per_node=None, keep=keep)
    return scenario, kept


def _scenario(
    paths: Sequence[str | Path],
    manifests: Manifests,
    cluster: ClusterObjects,
    joined: Joined,
    matrices: Mapping[str, str | Path],
    *,
    any_scheduler: TakenSchedulers,
    gpus_per_node: int,
) -> Scenario:
    reached("joining nodes and pods")
    given = _given_matrices(matrices, manifests)
    source = ", ".join(str(path) for path in paths)
    exact = [(f"^{re2.escape(name)}$", matrix) for name, matrix in joined.matrices.items()]
    if joined.snapshot is not None:
        if gpus_per_node:
            raise InputError("a snapshot has its nodes' resources", source="gpus_per_node", expected="other input")
        workload = read_workload(cluster, any_scheduler=any_scheduler)
        snapshot = assign_matrices(joined.snapshot, given)
        snapshot = replace(snapshot, gaps=(*snapshot.gaps, *workload.notes))
        snapshot = replace(snapshot, queues={**snapshot.queues, **cluster.queues})
    else:
        snapshot, workload = assemble(
            cluster, [*exact, *given], source=source, any_scheduler=any_scheduler, gpus_per_node=gpus_per_node
        )
        snapshot = replace(snapshot, gaps=(*snapshot.gaps, *joined.notes))
        if joined.tors is not None and joined.tors.tors:
            from workbench.formats.fabric.tor_node import nodes_by_address
            from workbench.formats.fabric.tor_tables import switch_table_of

            bound = nodes_by_address(joined.tors, cluster.nodes)
            snapshot = snapshot.with_switches(switch_table_of(joined.tors, bound, snapshot.topology))
    snapshot = replace(snapshot, gaps=(*manifests.notices, *snapshot.gaps)) if manifests.notices else snapshot
    for share in sorted(cluster.tor_shares.values(), key=lambda c: c.metadata.key.encode())[:1]:
        from workbench.formats.fabric.tor_tables import with_share

        snapshot, told = with_share(snapshot, share.switches)
        snapshot = replace(snapshot, gaps=(*snapshot.gaps, *told))
    return Scenario(
        snapshot=snapshot,
        gangs=workload.gangs,
        refused=workload.refused,
        notes=workload.notes,
        ignored=dict(sorted((Counter(manifests.ignored) + cluster.ignored).items())),
        inputs=dict(manifests.inputs),
        formats=joined.formats,
        findings=manifests.findings,
    )


def _checked_gpus(gpus_per_node: int) -> int:
    if not isinstance(gpus_per_node, int) or isinstance(gpus_per_node, bool) or not 1 <= gpus_per_node <= MAX_GPUS:
        raise InputError(
            "no number of GPUs", source="gpus_per_node", got=shown(gpus_per_node), expected=f"1 to {MAX_GPUS:,}"
        )
    return gpus_per_node


def _drawable(cluster: ClusterObjects, joined: Joined) -> ClusterObjects:
    if joined.snapshot is not None:
        cluster.hypernodes.update((h.name, h) for h in hypernodes_in(joined.snapshot.topology))
        cluster.nodes.update((node.name, node) for node in nodes_in(joined.snapshot))
    return cluster


def _given_matrices(matrices: Mapping[str, str | Path], manifests: Manifests) -> list[tuple[str, BandwidthMatrix]]:
    if not matrices:
        return []
    from workbench.formats.matrix import MAX_BYTES, parse_matrix

    given = []
    for pattern, path in matrices.items():
        try:
            compile_pattern(pattern)
        except InputError as error:
            raise error.at(source="--matrix") from None
        content = read_bytes(path, MAX_BYTES)
        given.append((pattern, parse_matrix(content, str(path))))
        manifests.record(str(path), content)
    return given
