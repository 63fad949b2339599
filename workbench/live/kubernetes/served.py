"""`Served`: the versions of API groups that a cluster has, and which kinds are asked for in them."""

from __future__ import annotations

from functools import cached_property

from workbench.live.kubernetes.connection import Connection, Forbidden, NoSuchApi
from workbench.live.kubernetes.resources import LISTS, OPTIONAL, Resource
from workbench.live.kubernetes.shapes import mapping

__all__ = ["Served"]

#: API groups and versions that are read, as (group, version).
_READ = frozenset((one.group, one.version) for kind in (*LISTS, *OPTIONAL) for one in kind.versions)


class Served:
    """The API groups of a cluster with their versions. `connection`: asked once, when the groups are first needed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @cached_property
    def _groups(self) -> set[str] | None:
        return _versions(self._connection)

    @property
    def known(self) -> bool:
        """Whether the user may ask for the groups; if not, every kind may be there."""
        return self._groups is not None

    def versions_of(self, resource: Resource) -> tuple[Resource, ...]:
        """The versions of a kind that may be there, in the order in which they are asked for; empty: none is."""
        groups = self._groups
        return tuple(one for one in resource.versions if groups is None or one.api_version in groups)

    def misses(self, resource: Resource) -> bool:
        """Whether a kind is not seen because the cluster has its API group in versions that are not read."""
        found = {one.partition("/")[2] for one in self._groups or () if one.partition("/")[0] == resource.group}
        unread = any((resource.group, version) not in _READ for version in found)
        return unread and not self.versions_of(resource)


def _versions(connection: Connection) -> set[str] | None:
    """The API groups that a cluster serves, each as ``group/version``; None if the user may not ask for them."""
    try:
        groups = mapping(connection.get("/apis")).get("groups")
    except (NoSuchApi, Forbidden):
        return None
    rows = [mapping(one).get("versions") for one in groups] if isinstance(groups, list) else []
    return {str(mapping(one).get("groupVersion")) for row in rows if isinstance(row, list) for one in row}
