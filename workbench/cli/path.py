"""The command `workbench topology path`: the way between two nodes, HyperNode by HyperNode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.arguments import given_paths, load_scenario, tell_gaps
from workbench.cli.option_values import one_of
from workbench.cli.options import Files, From, Out, Paths, TableOutput
from workbench.cli.output import DATA, check_out, emit, emit_data

if TYPE_CHECKING:
    from workbench.model.topology import Topology

__all__ = ["path", "show_path"]


def path(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Where the way begins.")],
    other: Annotated[str, typer.Argument(metavar="NODE", help="Where it ends.")],
    paths: Paths = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    from_: From = None,
    output: Annotated[TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")] = (
        TableOutput.table
    ),
    out: Out = None,
) -> None:
    """Show the way between two nodes, HyperNode by HyperNode, and where they meet.

    Examples:

    \b
      workbench topology path node0 node2 datasets/three-level-tree
      workbench topology path gpu-01 gpu-12 datasets/one-fabric/topology.conf -o json
    """
    inputs = given_paths(paths, file)
    check_out(out)
    scenario = load_scenario(inputs, format=from_)
    show_path(scenario.snapshot.topology, node, other, form=output.value, out=out)
    tell_gaps(scenario)


def show_path(topology: Topology, node: str, other: str, *, form: str, out: Out = None) -> None:
    """Print the way between two nodes.

    `node`, `other`: names of nodes; UnknownNameError for others. `form`: {"table", "json", "yaml"}. `out`: file to
    write to; None: standard output.
    """
    from workbench.formats.fabric.graphml import route_between

    domain = topology.lca_of_nodes(topology.node(node), topology.node(other))
    way = route_between(topology, node, other)
    meets = {"hypernode": topology.domain_name(domain), "tier": topology.domain_tier(domain)}
    if form in DATA:
        emit_data({"route": way, **meets}, form, out)
    elif way:
        emit(f"{' → '.join(way)}\nmeet in {meets['hypernode']} (tier {meets['tier']})", out)
    else:
        emit(f"{node} and {other} are in no common HyperNode", out)
