"""Where discovered HyperNodes go, and where the settings of a source come from: a live cluster or files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.cli.arguments import standard_input
from workbench.cli.options import TIMEOUT_S, announce
from workbench.cli.output import tell
from workbench.errors import InputError
from workbench.model.counted import counted

if TYPE_CHECKING:
    from workbench.objects.discovery import DiscoverySource
    from workbench.objects.kinds import ClusterObjects
    from workbench.topology.discovery.reconcile import ReconcilePlan

__all__ = ["Target", "access_of", "read_given", "setting_of", "source_of", "warn"]

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """The live cluster to which the result goes, if ``--apply`` is given."""

    apply: bool
    dry_run: bool
    context: str | None
    kubeconfig: Path | None

    def __post_init__(self) -> None:
        if not self.apply:
            given = {"--dry-run": self.dry_run, "--context": self.context, "--kubeconfig": self.kubeconfig}
            for option in (name for name, value in given.items() if value):
                raise InputError("it belongs to --apply", source=option, expected=f"--apply {option}")

    def read(
        self, objects: ClusterObjects, manifests: dict[str, dict[str, Any]], *, nodes: bool
    ) -> tuple[ClusterObjects, dict[str, dict[str, Any]]]:
        """The objects with the HyperNodes of the cluster instead of those of the files, and its Nodes if asked for.

        `manifests`: manifests of the HyperNodes in the files, by name. `nodes`: ask for the Nodes, too.
        """
        if not self.apply:
            return objects, manifests
        from workbench.live.kubernetes.carry_out import objects_of
        from workbench.live.kubernetes.configuration import cluster_of
        from workbench.live.kubernetes.connection import Connection
        from workbench.objects.hypernode import read_hypernode
        from workbench.objects.node import read_node

        if manifests:
            given = f"{counted(len(manifests), 'HyperNode')} in the files"
            raise InputError("the HyperNodes are those of the cluster", source="--apply", got=given)
        cluster = cluster_of(self.context, self.kubeconfig, timeout_s=TIMEOUT_S)
        announce(cluster)
        with Connection(cluster, TIMEOUT_S) as connection:
            if nodes:
                read = [read_node(one) for one in objects_of(connection, "Node")]
                objects.nodes |= {one.name: one for one in read}
            manifests = {one["metadata"]["name"]: one for one in objects_of(connection, "HyperNode")}
        objects.hypernodes |= {name: read_hypernode(one) for name, one in manifests.items()}
        return objects, manifests

    def write(self, plan: ReconcilePlan, manifests: dict[str, dict[str, Any]]) -> bool:
        """Carry the plan out, and say so; returns whether the cluster took every change."""
        from workbench.live.kubernetes.carry_out import carry_out
        from workbench.live.kubernetes.configuration import cluster_of
        from workbench.live.kubernetes.writer import Writer

        with Writer(cluster_of(self.context, self.kubeconfig, timeout_s=TIMEOUT_S), TIMEOUT_S) as writer:
            done, refused = carry_out(writer, plan, manifests, dry_run=self.dry_run)
        for line in refused:
            tell(f"refused: {line}")
        kept = "the API server would take {}; nothing is written" if self.dry_run else "{} written to the cluster"
        tell(kept.format(counted(done, "change")))
        return not refused


def source_of(config: Path | None, name: str) -> DiscoverySource | None:
    """The entry of the discovery source `name` in a configuration file; None without a file.

    Raises InputError if the file has no such entry; an entry that is switched off is used, with a note on stderr.
    """
    if config is None:
        return None
    from workbench.formats.discovery_conf import load_discovery_config

    read = load_discovery_config(config)
    for note in read.notes:
        tell(f"note: {note}")
    source = read.enabled.get(name) or next((one for one in read.sources if one.source == name), None)
    if source is None:
        known = ", ".join(dict.fromkeys(one.source for one in read.sources)) or "none"
        raise InputError(f"no source {name}", source=str(config), got=known, expected=f"source: {name}")
    if not source.enabled:
        tell(f"note: source {name} is not enabled in {config}: Volcano would not run it")
    return source


def setting_of(read: Callable[..., T], key: str, source: DiscoverySource | None, config: Path | None) -> T:
    """Read the setting `key` of a discovery source by the function `read`, with the file's name added to errors.

    `read`: given an empty mapping where there is no configuration, so that it returns its default. `config`: the file
    of the configuration, for errors.
    """
    try:
        return read(source.config if source is not None else {}, key, "config")
    except InputError as error:
        raise error.at(source=str(config)) from None


def access_of(
    name: str,
    source: DiscoverySource | None,
    config: Path | None,
    file: Path | None,
    ca_file: Path | None,
    insecure: bool,
    timeout: float,
) -> Any:
    """Settings for requests to an endpoint (`workbench.live.http.Access`), from command-line options and configuration.

    The package `workbench.live` is imported only here.

    `name`: source, which names the environment variables of its credentials. `config`, `file`: files of the
    configuration and of the credentials. `insecure`: do not verify the certificate of the server. `timeout`: seconds.
    """
    from workbench.live.credentials import credentials_from_environment, load_credentials
    from workbench.live.http import Access
    from workbench.objects.fields import get_bool

    credentials = load_credentials(file) if file is not None else credentials_from_environment(os.environ, name)
    skip = setting_of(get_bool, "insecureSkipVerify", source, config) or insecure
    return Access(credentials, verify=not skip, ca_file=ca_file, timeout_s=timeout)


def warn(place: str, access: Any) -> None:
    """Warn of what is readable or not verified on the way to an endpoint."""
    if place.lower().startswith("http://") and access.credentials is not None:
        tell("warning: over http:// the user name and password can be read on the way")
    if not access.verify:
        tell("warning: the server's certificate is not verified")


def read_given(files: list[str], format: str | None) -> tuple[ClusterObjects, dict[str, dict[str, Any]]]:
    """The objects in the input files, and the manifests of the HyperNodes among them by name."""
    from workbench.formats.load import load_as_written
    from workbench.objects.kinds import ClusterObjects

    return load_as_written(files, standard_input(files), format) if files else (ClusterObjects(), {})
