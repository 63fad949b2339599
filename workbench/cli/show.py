"""The command `workbench topology show`: a topology as a tree, a picture, or JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.arguments import given_paths, load_scenario, tell_gaps
from workbench.cli.option_values import one_of, whole
from workbench.cli.options import Files, From, GpusPerNode, Out, Paths
from workbench.cli.output import DATA, check_out, emit, emit_data, emit_png, print_tables
from workbench.cli.path import show_path
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.model.topology import Topology

__all__ = ["DrawOutput", "show"]


class DrawOutput(StrEnum):
    """Output formats of `workbench topology show` (``-o``)."""

    table = "table"
    json = "json"
    yaml = "yaml"
    svg = "svg"
    png = "png"
    html = "html"
    pyvis = "pyvis"


def show(
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    from_: From = None,
    gpus_per_node: GpusPerNode = None,
    depth: Annotated[
        int | None, whole("--depth", least=1, metavar="N", help="Show N tiers from the top, all of their HyperNodes.")
    ] = None,
    unfold: Annotated[
        list[str],
        typer.Option("--unfold", metavar="NAME", help="Show all of this HyperNode, node by node. Repeatable."),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    route: Annotated[
        str,
        typer.Option("--route", metavar="NODE,NODE", help="As `workbench topology path`.", hidden=True),
    ] = "",
    output: Annotated[
        DrawOutput,
        one_of(
            DrawOutput,
            "-o",
            "--output",
            help="Form of the result; table is a tree, pyvis a page whose nodes can be dragged.",
        ),
    ] = DrawOutput.table,
    out: Out = None,
) -> None:
    """Show the HyperNodes as a tree or a picture; large trees are folded.

    Examples:

    \b
      workbench topology show datasets/three-level-tree
      workbench topology show datasets/three-level-tree --depth 1 --unfold s5
      workbench topology show datasets/one-fabric/topology.conf -o svg --out fabric.svg
    """
    inputs = given_paths(paths, file)
    check_out(out)
    if output is not DrawOutput.table and (unfold or depth is not None):
        source = "--unfold" if unfold else "--depth"
        raise InputError("only for the tree", source=source, got=f"-o {output.value}", expected="-o table")
    if route and output not in (DrawOutput.table, *DATA):
        raise InputError("a route is no picture", source="--route", got=f"-o {output.value}", expected="-o table")
    scenario = load_scenario(inputs, format=from_, gpus_per_node=gpus_per_node)
    snapshot = scenario.snapshot
    if route:
        names = [part.strip() for part in route.split(",")]
        if len(names) != 2 or not all(names):
            raise InputError("no two nodes", source="--route", got=repr(route), expected="NODE,NODE")
        show_path(snapshot.topology, *names, form=output.value, out=out)
    elif output is DrawOutput.table:
        from workbench.report.tree_text import topology_tree

        print_tables(*topology_tree(snapshot.topology, depth, unfold), out=out)
    elif output in DATA:
        emit_data(_record(snapshot.topology), output, out)
    elif output in (DrawOutput.svg, DrawOutput.png):
        from workbench.report.html import topology_svg

        write = emit if output is DrawOutput.svg else emit_png
        write(topology_svg(snapshot), out)
    elif output is DrawOutput.pyvis:
        from workbench.report.occupancy import occupancy_of_running
        from workbench.report.pyvis_view import network_page

        emit(network_page(snapshot.topology, occupancy_of_running(snapshot)), out)
    else:
        from workbench.report.html import topology_page

        emit(topology_page(snapshot), out)
    tell_gaps(scenario)


def _record(topology: Topology) -> dict[str, Any]:
    domains = [
        {
            "name": name,
            "tier": int(topology.tier[j]),
            "parent": topology.domain_names[topology.parent[j]] if topology.parent[j] >= 0 else None,
            "nodes": len(topology.nodes_of(j)),
        }
        for j, name in enumerate(topology.domain_names)
    ]
    problems = [{"code": p.code, "domain": p.domain, "message": p.message} for p in topology.problems]
    return {"nodes": topology.n_nodes, "domains": domains, "problems": problems}
