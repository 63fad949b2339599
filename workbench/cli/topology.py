"""`workbench topology`: look at a topology, check it, make one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from workbench.cli.arguments import key_values, load_scenario
from workbench.cli.convert import convert
from workbench.cli.discover import discover_app
from workbench.cli.lint import lint
from workbench.cli.options import Files, From, Out, ShowOutput
from workbench.cli.output import emit, no_table_in_file, print_tables, to_json

__all__ = ["topology_app"]

topology_app = typer.Typer(
    help="Look at a topology, check it, or make one.", no_args_is_help=True, rich_markup_mode=None
)
topology_app.add_typer(discover_app, name="discover")

topology_app.command()(convert)


@topology_app.command()
def show(
    file: Files,
    from_: From = None,
    output: Annotated[ShowOutput, typer.Option("-o", "--output", help="Form of the result.")] = ShowOutput.table,
    out: Out = None,
) -> None:
    """Show the HyperNodes with their tiers, parents and numbers of nodes.

    Example:

    \b
      workbench topology show -f datasets/three-level-tree
    """
    no_table_in_file(output, out)
    snapshot = load_scenario(file, format=from_).snapshot
    topology = snapshot.topology
    if output is ShowOutput.table:
        from workbench.report.tables import topology_tables

        print_tables(*topology_tables(topology))
    elif output is ShowOutput.json:
        domains = [
            {
                "name": name,
                "tier": int(topology.tier[j]),
                "parent": topology.domain_names[topology.parent[j]] if topology.parent[j] >= 0 else None,
                "nodes": len(topology.nodes_of(j)),
            }
            for j, name in enumerate(topology.domain_names)
        ]
        emit(to_json({"nodes": topology.n_nodes, "domains": domains, "problems": _problems(topology)}), out)
    else:
        from workbench.report.html import topology_page

        emit(topology_page(snapshot), out)


topology_app.command()(lint)


@topology_app.command()
def generate(
    kind: Annotated[str, typer.Argument(metavar="[KIND]", help="What to make; without it the kinds are listed.")] = "",
    set_: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the kind. Repeatable.")
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    out: Out = None,
) -> None:
    """Make the Kubernetes objects of a cluster, as YAML.

    Examples:

    \b
      workbench topology generate
      workbench topology generate balanced --set sizes=8,4,2 --set gpus=8 --out cluster.yaml
    """
    from workbench.topology.presets import PRESETS
    from workbench.topology.presets import generate as make

    if not kind:
        from workbench.report.tables import preset_tables

        print_tables(*preset_tables(PRESETS))
        return
    from workbench.formats.write_manifests import to_yaml

    emit(to_yaml(make(kind, **key_values("--set", set_, reserved=("kind",)))), out)


def _problems(topology: Any) -> list[dict[str, str]]:
    return [{"code": p.code, "domain": p.domain, "message": p.message} for p in topology.problems]
