"""`carry_out`: create, change and delete the HyperNodes of a cluster as a round of discovery asks for."""

from __future__ import annotations

from typing import Any

from workbench.control.kinds import api_path
from workbench.errors import StoreError
from workbench.live.kubernetes.connection import Connection, NoSuchApi
from workbench.live.kubernetes.lists import listed
from workbench.live.kubernetes.projection import projected
from workbench.live.kubernetes.resources import LISTS
from workbench.live.kubernetes.writer import Writer
from workbench.topology.discovery.reconcile import ReconcilePlan

__all__ = ["carry_out", "objects_of"]


def objects_of(connection: Connection, kind: str) -> list[dict[str, Any]]:
    """All Nodes or HyperNodes of a cluster as manifests; an empty list where the cluster does not have the kind.

    Raises ClusterError: as for `Connection.get`.

    `kind`: {"Node", "HyperNode"}.
    """
    resource = next(one for one in LISTS if one.kind == kind)
    head = {"apiVersion": resource.api_version, "kind": kind}
    try:
        found, _ = listed(connection, resource.path, lambda item: {**head, **projected(kind, item)})
    except NoSuchApi:
        return []
    return found


def carry_out(
    writer: Writer, plan: ReconcilePlan, manifests: dict[str, dict[str, Any]], *, dry_run: bool
) -> tuple[int, list[str]]:
    """Write the changes of a plan to a cluster; what the cluster refuses is left as it is.

    Returns number of changes that the API server took, and one line for each that it refused. Raises ClusterError: no
    answer that can be used; changes before it stay.

    `manifests`: HyperNodes of the cluster by name, with the resourceVersion that they were read at; one that was
    changed since is refused. `dry_run`: let the API server check every change (``dryRun=All``) and store none.
    """
    query = {"dryRun": "All"} if dry_run else {}
    after = {one["metadata"]["name"]: one for one in plan.apply(manifests)}
    changes = [
        *(("POST", name) for name in (one.name for one in plan.create)),
        *(("PUT", name) for name in (one.name for one in plan.update)),
        *(("DELETE", name) for name in plan.delete),
    ]
    done, refused = 0, []
    for method, name in changes:
        path = api_path("HyperNode", "", "" if method == "POST" else name)
        body = {} if method == "DELETE" else {key: value for key, value in after[name].items() if key != "status"}
        try:
            writer.write(method, path, body, **query)
        except StoreError as error:
            refused.append(f"HyperNode {name}: {error}")
        else:
            done += 1
    return done, refused
