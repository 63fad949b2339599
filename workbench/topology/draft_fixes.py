"""Apply the one remedy of a finding of the linter to a drawing."""

from __future__ import annotations

from workbench.errors import InputError
from workbench.objects.hypernode import read_hypernode
from workbench.objects.hypernode_manifest import hypernode_manifest
from workbench.objects.kinds import ClusterObjects
from workbench.topology.draft import Change, Draft, differences
from workbench.topology.draft_objects import draft_of, hypernodes_of, nodes_of
from workbench.topology.lint import Subject, apply_edits, edits_by_hypernode, lint

__all__ = ["fix_finding", "subject_of"]


def subject_of(draft: Draft) -> Subject:
    """The HyperNodes and Nodes of a drawing as the linter judges them; failures cordon no node here."""
    cluster = ClusterObjects.of(hypernodes_of(draft), nodes_of(draft))
    manifests = {name: hypernode_manifest(hypernode) for name, hypernode in cluster.hypernodes.items()}
    return Subject.of_objects(cluster, manifests=manifests)


def fix_finding(draft: Draft, rule: str, hypernode: str, field: str) -> list[Change]:
    """The changes that make the only possible correction of a finding.

    Parameters
    ----------
    draft : Draft
        Not changed.
    rule : str
        Id of the rule.
    hypernode, field : str
        Where the finding is, as in `Finding`.

    Raises
    ------
    UnknownNameError
        No rule has that id.
    InputError
        The drawing has no such finding any more, or one without a single remedy.
    """
    subject = subject_of(draft)
    report = lint(subject, only=[rule])
    chosen = [finding for finding in report.fixable if (finding.hypernode, finding.field) == (hypernode, field)]
    if not chosen:
        raise InputError(
            "no finding that has one remedy",
            source="editor",
            got=f"{rule} at {field or 'all'} of {hypernode or 'no HyperNode'}",
            expected="a finding of the drawing as it is now",
        )
    edits = edits_by_hypernode(chosen[:1])[hypernode]
    mended = read_hypernode(apply_edits(subject.manifests[hypernode], edits))
    hypernodes = {**subject.hypernodes, hypernode: mended}
    return differences(draft, draft_of(hypernodes.values(), nodes_of(draft)))
