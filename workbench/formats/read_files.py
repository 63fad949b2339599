"""Read files into typed objects and joined network topologies, before anything is made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from workbench.cancel import reached
from workbench.errors import CapacityError, InputError
from workbench.formats.fabric.base import FabricRecords
from workbench.formats.fabric.intake import FabricIntake, Joined
from workbench.formats.kueue_configuration import add_object
from workbench.formats.manifests import Document, Manifests, Take, objects_in, read_manifests
from workbench.formats.mend import mended
from workbench.formats.mend_names import renamed_hypernodes
from workbench.formats.review import Reviewer
from workbench.formats.scenario_file import parse_scenario
from workbench.jobs.before_submission import plugin_notices_of
from workbench.jobs.frameworks.checking import plugin_fault
from workbench.model.notice import Notice
from workbench.objects.hypernode import unreadable
from workbench.objects.hypernode_manifest import is_hypernode
from workbench.objects.kinds import ClusterObjects
from workbench.objects.metadata import read_metadata

__all__ = ["read_files", "read_objects"]


def read_objects(
    manifests: Manifests,
    *,
    keep_patterns: bool = False,
    error_of: Callable[[Document, InputError], InputError] = lambda _, error: error,
) -> ClusterObjects:
    """Make typed objects of parsed manifests; an InputError names file, document and field.

    `keep_patterns`: as in `workbench.objects.hypernode.read_hypernode`. `error_of`: chooses the error to raise for a
    document that cannot be read, such as `Reviewer.error`.
    """
    cluster = ClusterObjects(keep_patterns=keep_patterns)
    for document in manifests.documents:
        try:
            _add(cluster, document)
        except InputError as error:
            raise error_of(document, error) from None
    return cluster


def _add(cluster: ClusterObjects, document: Document, *, accepted: bool = False) -> None:
    try:
        place = f"{document.source}: {document.where}"
        add_object(cluster, document.data, document.source, place, accepted=accepted)
        fault, notices = plugin_fault(document.data), plugin_notices_of(document.data)
        if fault is not None or notices:
            name = f"{document.data['kind']} {read_metadata(document.data, namespaced=True).key}"
            if fault is not None:
                cluster.refused.setdefault(name, str(fault))
            cluster.notes[name] = (*cluster.notes.get(name, ()), *notices)
    except InputError as error:
        raise document.error(error) from None
    except CapacityError as error:
        raise CapacityError(f"{document.source}: {document.where}: {error}") from None


def read_files(
    paths: Sequence[str | Path],
    stdin: bytes | str | None,
    format: str | None,
    keep: Take | None = None,
    *,
    derive: bool = True,
    mend: bool = False,
) -> tuple[Manifests, ClusterObjects, Joined]:
    """Read files and standard input, for `workbench.formats.load.load` and its variants.

    `paths`, `stdin`, `format`: as in `workbench.formats.load.load`, with its errors. `keep`: receives each document
    after its object was added. `derive`: whether HyperNodes may be derived from node labels. `mend`: whether to mend
    what `workbench.formats.mend` knows.

    Returns
    -------
    Manifests
    ClusterObjects
        The typed objects.
    Joined
        The joint contents of the network topology files.
    """
    intake = FabricIntake.of(format)
    cluster = ClusterObjects()

    reviewer = Reviewer(written_only=True)
    counts: Counter[str] = Counter()
    told: dict[tuple[str, str], Notice] = {}

    def take(document: Document) -> None:
        written, accepted = document, False
        if mend:
            accepted = reviewer.take(written)
            document, notices = mended(document)
            # Nodes by the thousand may have one slip.
            told.update({(one.code, one.message): one for one in notices if (one.code, one.message) not in told})
            if is_hypernode(document.data) and (fault := unreadable(document.data)) is not None:
                # No cluster would store it: it is left out, and told with the other objects that are refused.
                cluster.refused[f"HyperNode {document.data['metadata']['name']}"] = str(document.error(fault))
                return
        try:
            _add(cluster, document, accepted=accepted and document is written)
        except InputError as error:
            raise (reviewer.error(written, error, stdin) if mend else error) from None
        kind = document.data["kind"]
        counts[kind] += 1
        reached(f"{kind} objects", counts[kind])
        if keep is not None:
            keep(document)

    def claim(content: bytes, source: str) -> bool:
        saved = parse_scenario(content, source)
        if saved is None:
            return intake.claim(content, source)
        if saved.snapshot is not None:
            intake.add(FabricRecords(snapshot=saved.snapshot), source, "snapshot")
        for document in objects_in(saved.jobs, f"{source}, jobs"):
            take(document)
        return True

    manifests = read_manifests(paths, stdin, claim, take)
    reached("joining topology files")
    if mend:
        manifests.notices += [*told.values(), *renamed_hypernodes(cluster.hypernodes)]
        manifests.findings = reviewer.review().findings(stdin)
    joined = intake.join(cluster, derive=derive)
    if format is None and joined.snapshot is None:
        joined.formats = dict(zip(intake.sources, intake.formats, strict=True))
    return manifests, cluster, joined
