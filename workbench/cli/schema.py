"""The command `workbench schema`: JSON Schema and CustomResourceDefinitions of Volcano's kinds."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.option_values import one_of
from workbench.cli.options import ObjectOutput
from workbench.cli.output import emit, to_json
from workbench.errors import InputError

__all__ = ["schema"]


def schema(
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help="Kind, such as Job; without it: list all.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All kinds; only with --crd.")] = False,
    crd: Annotated[bool, typer.Option("--crd", help="A CustomResourceDefinition instead of JSON Schema.")] = False,
    output: Annotated[
        ObjectOutput | None,
        one_of(ObjectOutput, "-o", "--output", help="Form of the result: json, with --crd yaml by default."),
    ] = None,
) -> None:
    """Write the JSON Schema of a kind for editors, or its CustomResourceDefinition.

    Examples:

    \b
      workbench schema Job > job.schema.json
      workbench schema --all --crd | kubectl apply -f -
    """
    from workbench.formats.write_manifests import to_yaml, to_yaml_value
    from workbench.objects.schemas.json_schema import SCHEMA_KINDS, crd_of, json_schema_of

    if all_ and (not crd or kind is not None):
        raise InputError("not allowed here", source="--all", expected="--crd and no KIND")
    if kind is None and not all_:
        if crd or output is not None:
            raise InputError("no kind given", source="KIND", expected=" or ".join(SCHEMA_KINDS))
        emit("\n".join(SCHEMA_KINDS))
    elif not crd:
        found = json_schema_of(str(kind))
        emit(to_yaml_value(found).removesuffix("\n") if output is ObjectOutput.yaml else to_json(found))
    else:
        crds = [crd_of(one) for one in (SCHEMA_KINDS if all_ else [str(kind)])]
        if output is ObjectOutput.json:
            emit(to_json({"apiVersion": "v1", "kind": "List", "items": crds} if all_ else crds[0]))
        else:
            emit(to_yaml(crds).removesuffix("\n"))
