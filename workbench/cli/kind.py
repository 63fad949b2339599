"""The commands `workbench kind`: clusters with fake nodes to try things on."""

from __future__ import annotations

import signal
from typing import Annotated, Any

import typer

from workbench.cli.arguments import key_values, standard_input
from workbench.cli.option_values import one_of, seconds
from workbench.cli.options import Out, TableOutput
from workbench.cli.output import DATA, emit, emit_data, print_tables, tell

__all__ = ["kind_app"]

kind_app = typer.Typer(
    help="Make a cluster with fake GPU nodes from a topology, and remove it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_LONGEST = 1e9

Name = Annotated[str, typer.Option("--name", metavar="NAME", help="The context is called workbench-NAME.")]


@kind_app.callback()
def _kind() -> None:
    """Make a cluster with fake GPU nodes from a topology, and remove it."""


@kind_app.command(short_help="Make a cluster with fake GPU nodes")
def up(
    topology: Annotated[
        str,
        typer.Option("--topology", metavar="TOPOLOGY", help="Manifests, or a preset of 'topology generate'."),
    ],
    name: Name = "demo",
    control_plane: Annotated[
        bool, typer.Option("--control-plane", help="etcd and kube-apiserver on this machine, without Docker and kind.")
    ] = False,
    volcano: Annotated[
        bool, typer.Option("--volcano", help="Install Volcano by helm, which fetches its images; only with kind.")
    ] = False,
    set_: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="Parameter of the preset, such as sizes=4,4,2.")
    ] = [],  # noqa: B006
    run_seconds: Annotated[
        float | None,
        seconds("--run-seconds", least=0, most=_LONGEST, help="How long pods run; else until they are deleted."),
    ] = None,
    start_seconds: Annotated[
        float, seconds("--start-seconds", least=0, most=_LONGEST, help="How long pods take to start.")
    ] = 0.0,
) -> None:
    """Make a cluster with the nodes and HyperNodes of a topology; no pod runs a program there.

    The cluster gets a kubeconfig of its own; other contexts are not touched. A scheduler comes with 'workbench operator
    run', or is installed as on any cluster.

    Examples:

    \b
      workbench kind up --control-plane --topology datasets/three-level-tree/nodes.yaml
      workbench kind up --control-plane --topology balanced --set sizes=4,4,2
    """
    from workbench.live.kubernetes.clusters import cluster_up

    objects = _objects(topology, key_values("--set", set_))
    arguments = ["--start-seconds", str(start_seconds)]
    if run_seconds is not None:
        arguments += ["--run-seconds", str(run_seconds)]
    made = cluster_up(name, objects, control_plane=control_plane, volcano=volcano, fake_nodes=arguments, step=tell)
    emit(
        f"export KUBECONFIG={made.kubeconfig}\n"
        f"# then: workbench operator run --context {made.context}     (a scheduler and Volcano's controllers)\n"
        f"#       workbench live snapshot --context {made.context}\n"
        f"#       workbench kind down --name {made.name}\n"
    )


@kind_app.command(short_help="Delete a cluster of 'kind up'")
def down(name: Name = "demo") -> None:
    """End a cluster that 'workbench kind up' made, and delete its files; no other cluster is touched.

    Example:

    \b
      workbench kind down
    """
    from workbench.live.kubernetes.clusters import cluster_down

    cluster_down(name)
    tell(f"cluster {name} is gone")


@kind_app.command("list", short_help="List the clusters of 'kind up'")
def list_(
    output: Annotated[TableOutput, one_of(TableOutput, "-o", "--output", help="Form of the result.")] = (
        TableOutput.table
    ),
    out: Out = None,
) -> None:
    """List the clusters that 'workbench kind up' made.

    Example:

    \b
      workbench kind list
    """
    from workbench.live.kubernetes.clusters import made_clusters
    from workbench.report.command_tables import made_cluster_tables

    rows = [
        {
            "name": one.name,
            "engine": one.engine,
            "context": one.context,
            "kubeconfig": str(one.kubeconfig),
            "state": "runs" if one.runs else "stopped",
        }
        for one in made_clusters()
    ]
    if output in DATA:
        emit_data(rows, output, out)
    else:
        print_tables(*made_cluster_tables(rows), out=out)


@kind_app.command(hidden=True)
def nodes(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    run_seconds: Annotated[float | None, seconds("--run-seconds", least=0, most=_LONGEST, help="Run time.")] = None,
    start_seconds: Annotated[float, seconds("--start-seconds", least=0, most=_LONGEST, help="Start time.")] = 0.0,
) -> None:
    """Act for the kubelets of a cluster's fake nodes until it ends; 'up' starts this by itself."""
    from workbench.control.kubelets import Behaviour
    from workbench.live.kubernetes.clusters import made_cluster
    from workbench.live.kubernetes.configuration import cluster_of
    from workbench.live.kubernetes.fake_nodes import FakeNodes
    from workbench.live.kubernetes.writer import Writer

    made = made_cluster(name)
    connection = Writer(cluster_of(made.context, made.kubeconfig))
    behaviour = Behaviour(start_seconds, run_seconds)
    loop = FakeNodes(connection, behaviour, bare=made.engine == "control-plane", tell=lambda line: tell(str(line)))
    signal.signal(signal.SIGTERM, lambda *_: loop.stop())
    loop.start()
    try:
        loop.run()
    finally:
        loop.close()


def _objects(topology: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    """The manifests of a file or folder, or of a preset."""
    from workbench.errors import InputError, UnknownNameError
    from workbench.formats.file_bytes import on_disk
    from workbench.formats.manifests import read_manifests
    from workbench.formats.mend import mended_documents
    from workbench.topology.presets import PRESETS, generate

    if topology == "-" or on_disk(topology).exists():
        if given:
            raise InputError("only a preset has parameters", source="--set", expected="--topology PRESET")
        documents = read_manifests([topology], standard_input([topology])).documents
        return [dict(document.data) for document, _ in mended_documents(documents)]
    if topology not in PRESETS and ("/" in topology or "." in topology):
        raise InputError("no such file", source="--topology", got=topology, expected="a file, a folder or a preset")
    if topology not in PRESETS:
        raise UnknownNameError("preset", topology, PRESETS).of("--topology")
    return [dict(one) for one in generate(topology, **given)]
