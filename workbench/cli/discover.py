"""The command `workbench topology discover`: find HyperNodes by a discovery source and compare them with
existing ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.arguments import given_paths, key_values
from workbench.cli.discovery_target import Target, access_of, read_given, setting_of, source_of, warn
from workbench.cli.option_values import one_of, seconds
from workbench.cli.options import Context, Files, From, Kubeconfig, Out
from workbench.cli.output import check_out, confirm, emit, print_tables, tell, to_json
from workbench.errors import InputError
from workbench.model.counted import counted
from workbench.model.release import Release

if TYPE_CHECKING:
    from workbench.objects.kinds import ClusterObjects
    from workbench.topology.discovery.reconcile import ReconcilePlan
    from workbench.topology.discovery.result import DiscoveryResult

__all__ = ["discover_app"]

#: Asks the source.
Discover = Callable[[], "DiscoveryResult"]
#: From a place and a `workbench.live.http.Access` to what the place is called and how to ask it.
Ask = Callable[[str, Any], tuple[str, Discover]]
discover_app = typer.Typer(
    help="Find HyperNodes as Volcano's controller does: node labels, UFM, RoCE links.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class DiscoverOutput(StrEnum):
    """Output formats of `workbench topology discover` (``-o``)."""

    yaml = "yaml"
    json = "json"
    table = "table"


Existing = Annotated[
    list[str],
    typer.Argument(metavar="PATH", help="HyperNodes that exist: files, folders or -.", show_default=False),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="volcano-controller.conf, or its ConfigMap, with the source's settings."
    ),
]
Output = Annotated[DiscoverOutput, one_of(DiscoverOutput, "-o", "--output", help="Form of the result.")]
Yes = Annotated[bool, typer.Option("--yes", help="Delete what the source owned when it finds nothing, without asking.")]
CredentialsFile = Annotated[
    Path | None,
    typer.Option("--credentials", metavar="FILE", help="username and password, or a Secret; else the environment."),
]
CaFile = Annotated[Path | None, typer.Option("--ca-file", metavar="FILE", help="Authorities to trust, in PEM.")]
Insecure = Annotated[
    bool, typer.Option("--insecure-skip-verify", help="Do not verify the server's certificate (also in --config).")
]
ForRelease = Annotated[
    Release | None,
    one_of(Release, "--release", help="Release of Volcano that will store the result; else the newest."),
]
Apply = Annotated[
    bool, typer.Option("--apply", help="Compare with the HyperNodes of a live cluster, and change them there.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="With --apply: the API server checks every change and stores none.")
]
Timeout = Annotated[float, seconds("--timeout", least=0.1, most=3600, help="For the whole exchange.")]
_TIMEOUT_S = 30.0


@discover_app.command(short_help="From the labels of nodes")
def label(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH", help="Nodes, and HyperNodes that exist: files, folders or -.", show_default=False
        ),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    file: Files = [],  # noqa: B006
    from_: From = None,
    config: Config = None,
    type_: Annotated[
        list[str],
        typer.Option(
            "--type",
            metavar="NAME=KEY,…",
            help="Label keys, widest first, the node's own last. Repeatable, or --config.",
        ),
    ] = [],  # noqa: B006 - typer reads the default, nobody changes it
    release: ForRelease = None,
    apply: Apply = False,
    dry_run: DryRun = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Output = DiscoverOutput.yaml,
    out: Out = None,
    yes: Yes = False,
) -> None:
    """Make HyperNodes from the labels of nodes.

    The last label key of a type never becomes a HyperNode. Existing HyperNodes keep their names. With --apply and
    without PATH the nodes are those of the cluster.

    Examples:

    \b
      workbench topology discover label datasets/demo --type fabric=spine,rack,kubernetes.io/hostname
      workbench topology discover label cluster.yaml --config volcano-controller.conf -o table
      workbench topology discover label --config volcano-controller.conf --release 1.13 --apply --dry-run
    """
    from workbench.objects.discovery import read_topology_types
    from workbench.topology.discovery.label import discover_label

    inputs = [*paths, *file] if apply else given_paths(paths, file)
    check_out(out)
    target = Target(apply, dry_run, context, kubeconfig)
    types: dict[str, tuple[str, ...]] = {}
    source = source_of(config, "label")
    if source is not None:
        try:
            types |= read_topology_types(source.config)
        except InputError as error:
            raise error.at(source=str(config)) from None
    for name, keys in key_values("--type", type_, "NAME=KEY,KEY").items():
        types[name] = tuple(key.strip() for key in keys.split(",") if key.strip())
    if not types:
        raise InputError("no topology types", source="label", expected="--type NAME=KEY,… or --config FILE")
    objects, manifests = read_given(inputs, from_)
    objects, manifests = target.read(objects, manifests, nodes=not inputs)
    if not objects.nodes:
        tell("note: no Node in the input")
    nodes = {name: node.metadata.labels for name, node in objects.nodes.items()}
    result = discover_label(types, nodes, objects.hypernodes.values())
    _finish(result.for_release(release or Release.V1_15), objects, manifests, target, output, out, yes)


def _asking(name: str, line: str, metavar: str, meaning: str) -> Callable[[Ask], Ask]:
    """Decorator that makes a function the command of a discovery source with an endpoint.

    The endpoint is the command's first argument, or else the one in the file of ``--config``. `name` is the source,
    `line` its summary in a list of commands; `metavar` and `meaning` describe the argument in the help.
    """

    def register(ask: Ask) -> Ask:
        def command(
            place: str = "",
            paths: Existing = [],  # noqa: B006 - as above
            file: Files = [],  # noqa: B006
            from_: From = None,
            config: Config = None,
            credentials: CredentialsFile = None,
            ca_file: CaFile = None,
            insecure_skip_verify: Insecure = False,
            timeout: Timeout = _TIMEOUT_S,
            release: ForRelease = None,
            apply: Apply = False,
            dry_run: DryRun = False,
            context: Context = None,
            kubeconfig: Kubeconfig = None,
            output: Output = DiscoverOutput.yaml,
            out: Out = None,
            yes: Yes = False,
        ) -> None:
            from workbench.objects.fields import get_text

            check_out(out)
            target = Target(apply, dry_run, context, kubeconfig)
            source = source_of(config, name)
            access = access_of(name, source, config, credentials, ca_file, insecure_skip_verify, timeout)
            called, discover = ask(place or setting_of(get_text, "endpoint", source, config), access)
            objects, manifests = read_given([*paths, *file], from_)
            objects, manifests = target.read(objects, manifests, nodes=False)
            warn(called, access)
            result = discover().for_release(release or Release.V1_15)
            _finish(result, objects, manifests, target, output, out, yes)

        command.__doc__ = ask.__doc__
        command.__annotations__["place"] = Annotated[str, typer.Argument(metavar=metavar, help=meaning)]
        discover_app.command(name, short_help=line)(command)
        return ask

    return register


@_asking("ufm", "From the ports of an InfiniBand fabric", "ENDPOINT", "https://HOST[:PORT]; else from --config.")
def _ufm(place: str, access: Any) -> tuple[str, Discover]:
    """Make HyperNodes of an InfiniBand fabric from the ports that NVIDIA's UFM lists.

    User name and password come from WORKBENCH_UFM_USERNAME and WORKBENCH_UFM_PASSWORD, or from a file. Exit status 3
    when the server does not answer or refuses; nothing is written then.

    Examples:

    \b
      workbench topology discover ufm https://ufm.example.com --credentials ufm.yaml
      workbench topology discover ufm ufm.example.com hypernodes.yaml --out hypernodes.yaml
    """
    from workbench.live.fabric import UfmServer

    server = UfmServer(place, access)
    return server.endpoint, server.discover


@_asking("roce", "From the links of an Ethernet fabric", "URL|FILE", "Links of the fabric; else from --config.")
def _roce(place: str, access: Any) -> tuple[str, Discover]:
    """Make HyperNodes of an Ethernet fabric from its links between nodes, leaves and spines.

    The format of the links is described in docs/discovery.md. A URL may need WORKBENCH_ROCE_USERNAME and
    WORKBENCH_ROCE_PASSWORD, or a file with both.

    Examples:

    \b
      workbench topology discover roce links.json
      workbench topology discover roce https://fabric.example.com/links.json hypernodes.yaml -o table
    """
    from workbench.live.fabric import discover_links

    if not place:
        raise InputError("no links", source="roce", expected="a URL, a file, or config.endpoint in --config")
    return place, lambda: discover_links(place, access)


def _finish(
    result: DiscoveryResult,
    objects: ClusterObjects,
    manifests: dict[str, dict[str, Any]],
    target: Target,
    output: DiscoverOutput,
    out: Path | None,
    yes: bool,
) -> None:
    """Compare discovered HyperNodes with the existing ones and write the result, with the counts of changes on stderr.

    If the source found nothing, so that all its HyperNodes would be deleted, the user is asked first unless `yes` is
    set.
    """
    from workbench.topology.discovery.reconcile import reconcile

    plan = reconcile(result, objects.hypernodes.values())
    for note in result.notes:
        tell(f"note: {note}")
    for conflict in plan.conflicts:
        owner = f"source {conflict.owner!r}" if conflict.owner else "someone by hand"
        tell(f"conflict: {conflict.name} belongs to {owner}: left as it is")
    if plan.empties and not yes and not _agreed(plan):
        count = len(plan.delete)
        tell(
            f"refused: source {plan.source} found nothing, its {counted(count, 'HyperNode')} would be deleted; "
            "nothing is written (--yes agrees)"
        )
        raise typer.Exit(1)
    if output is DiscoverOutput.table:
        from workbench.report.command_tables import plan_tables

        print_tables(*plan_tables(plan), out=out)
    elif output is DiscoverOutput.json:
        emit(to_json(_facts(plan, result, manifests)), out)
    elif out is not None or not target.apply:
        from workbench.formats.write_manifests import to_yaml

        # With nothing left an empty list: an empty file could not be read back.
        emit(to_yaml(plan.apply(manifests) or [{"apiVersion": "v1", "kind": "List", "items": []}]), out)
    if output is not DiscoverOutput.table:  # there it is the last line
        tell(f"{plan.summary}")
    written = target.write(plan, manifests) if target.apply else True
    if plan.conflicts or not written:
        raise typer.Exit(1)


def _agreed(plan: ReconcilePlan) -> bool:
    if not sys.stdin.isatty():
        return False
    return confirm(f"source {plan.source} found nothing: delete its {counted(len(plan.delete), 'HyperNode')}?")


def _facts(plan: ReconcilePlan, result: DiscoveryResult, manifests: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "source": plan.source,
        "create": [hypernode.name for hypernode in plan.create],
        "update": [hypernode.name for hypernode in plan.update],
        "unchanged": list(plan.unchanged),
        "delete": list(plan.delete),
        "conflicts": [{"name": conflict.name, "owner": conflict.owner} for conflict in plan.conflicts],
        "notes": [note.to_dict() for note in result.notes],
        "hypernodes": plan.apply(manifests),
    }
