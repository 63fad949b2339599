"""The commands `workbench validate`, whether admission would accept, complete or refuse each object, and
`workbench schema`, JSON Schema and CustomResourceDefinitions of Volcano's kinds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.arguments import given_paths, kinds_with_counts, standard_input
from workbench.cli.option_values import one_of
from workbench.cli.options import Files, From, ObjectOutput, Out, Paths, TableOutput
from workbench.cli.output import check_out, emit, print_tables, tell, to_json
from workbench.errors import InputError
from workbench.model.release import Release
from workbench.objects.frameworks import FRAMEWORKS

if TYPE_CHECKING:
    from workbench.formats.review import Review

__all__ = ["schema", "validate"]

_OWN = ", ".join(sorted(name for name, framework in FRAMEWORKS.items() if not framework.in_volcano))


def validate(
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    from_: From = None,
    release: Annotated[
        Release | None,
        one_of(
            Release,
            "--release",
            help=f"Release of Volcano; without it the newest, and {_OWN} is accepted.",
        ),
    ] = None,
    output: Annotated[
        TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")
    ] = TableOutput.table,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", show_default=False, help="Refuse what a cluster would refuse, as this command always does."
        ),
    ] = True,
    out: Out = None,
) -> None:
    """Say whether a cluster would accept, complete or refuse objects.

    Covers schema, admission policy and webhooks, and pod templates. A HyperJob is checked together with the Jobs that
    it becomes; of Pods and Deployments the names of fields are checked. Unknown fields, and unknown labels and
    annotations in Volcano's domain, are refused. A fabric in another format has no objects to review. -o yaml prints
    the objects as they would be stored.

    Exit status 1 when an object is refused, 2 when there is none to review.

    Examples:

      workbench validate datasets/three-level-tree

      workbench validate datasets/samples/pytorch-job.yaml --release 1.13 -o json

      workbench validate datasets/samples/pytorch-job.yaml -o yaml
    """
    from workbench.formats.fabric.intake import FabricIntake
    from workbench.formats.manifests import read_manifests
    from workbench.formats.review import review_manifests
    from workbench.objects.admission import REVIEWED_KINDS
    from workbench.objects.top_owner import TOP_OWNERS

    check_out(out)
    del strict  # accepted so that all commands that read manifests take the same options
    inputs = given_paths(paths, file)
    intake = FabricIntake.of(from_)
    stdin = standard_input(inputs)
    manifests = read_manifests(inputs, stdin, intake.claim)
    review = review_manifests(manifests, release or Release.V1_15, own_plugins=release is None)
    unread = kinds_with_counts(review.not_reviewed)
    unread += [f"{source} (a fabric, {name})" for source, name in zip(intake.sources, intake.formats, strict=True)]
    kinds = ", ".join(unread)
    if kinds:
        tell(f"not reviewed: {kinds}")
    if not review.objects:
        raise InputError(
            "nothing to review",
            source=", ".join(inputs),
            got=kinds or "no object",
            expected=" or ".join(f"{kind} ({group or 'v1'})" for group, kind in sorted({*REVIEWED_KINDS, *TOP_OWNERS})),
        )
    _show(review, stdin, output, out)
    if review.refused:
        raise typer.Exit(1)


def _show(review: Review, stdin: bytes | None, output: TableOutput, out: Path | None) -> None:
    if output is TableOutput.json:
        findings: dict[int, list[dict[str, str]]] = {}
        for one, fault, place, _ in review.located(stdin):
            record = {"code": "refused-by-admission", "path": fault.path, "message": fault.text.strip(), "place": place}
            findings.setdefault(id(one), []).append(record)
        objects = [
            {
                "kind": one.kind,
                "namespace": one.namespace,
                "name": one.name,
                "source": one.source,
                "where": one.where,
                "allowed": one.verdict.allowed,
                "judged_by": one.judge(review.release),
                "message": one.verdict.refusal,
                "findings": findings.get(id(one), []),
                "defaults": dict(one.verdict.defaults),
                "warnings": [warning.to_dict() for warning in one.verdict.warnings],
            }
            for one in review.objects
        ]
        emit(to_json({"release": review.release.value, "refused": review.refused, "objects": objects}), out)
    elif output is TableOutput.yaml:
        from workbench.formats.write_manifests import to_yaml

        accepted = [one.stored for one in review.objects if one.verdict.allowed]
        # A file is written even where nothing was accepted: what it held before was not reviewed.
        if accepted or out is not None:
            emit(to_yaml(accepted) if accepted else "", out)
        for finding in review.findings(stdin):
            tell(f"refused: {finding.subject}: {finding}")
    else:
        from workbench.report.command_tables import review_tables

        print_tables(*review_tables(review, stdin), out=out)


def schema(
    kind: Annotated[str | None, typer.Argument(metavar="KIND", help="Kind, such as Job; without it: list all.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All kinds; only with --crd.")] = False,
    crd: Annotated[bool, typer.Option("--crd", help="A CustomResourceDefinition instead of JSON Schema.")] = False,
    output: Annotated[
        ObjectOutput | None,
        one_of(ObjectOutput, "-o", "--output", help="Form of the result: json, with --crd yaml by default."),
    ] = None,
    out: Out = None,
) -> None:
    """Write the JSON Schema of a kind for editors, or its CustomResourceDefinition.

    Examples:

    \b
      workbench schema Job > job.schema.json
      workbench schema --all --crd | kubectl apply -f -
    """
    from workbench.formats.write_manifests import to_yaml, to_yaml_value
    from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of, json_schema_of

    check_out(out)
    if all_ and (not crd or kind is not None):
        raise InputError("not allowed here", source="--all", expected="--crd and no KIND")
    if kind is None and not all_:
        if crd or output is not None:
            raise InputError("no kind given", source="KIND", expected=" or ".join(SCHEMA_KINDS))
        emit("\n".join(SCHEMA_KINDS), out)
    elif not crd:
        found = json_schema_of(str(kind))
        emit(to_yaml_value(found).removesuffix("\n") if output is ObjectOutput.yaml else to_json(found), out)
    else:
        crds = [crd_of(one) for one in (SCHEMA_KINDS if all_ else [str(kind)])]
        if output is ObjectOutput.json:
            emit(to_json({"apiVersion": "v1", "kind": "List", "items": crds} if all_ else crds[0]), out)
        else:
            emit(to_yaml(crds).removesuffix("\n"), out)
