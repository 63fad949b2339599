"""`listed`: all objects of a kind, read page by page from one consistent state of the cluster.

`Served` knows which versions of API groups the cluster has.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

from workbench.errors import ClusterError, InternalError
from workbench.live.kubernetes.connection import Connection, Expired, Forbidden, NoSuchApi
from workbench.live.kubernetes.resources import LISTS, OPTIONAL, Resource
from workbench.live.kubernetes.shapes import Page, checked_page, mapping

__all__ = ["Served", "listed"]

T = TypeVar("T")

#: Objects asked for at a time.
PAGE = 500

#: Times that a list is begun anew because the API server no longer kept the position in it.
_TRIES = 3

#: Pages and objects after which a list counts as one that never ends.
_MOST_PAGES, _MOST_OBJECTS = 10_000, 2_000_000


def listed(
    connection: Connection,
    path: str,
    keep: Callable[[Mapping[str, Any]], T],
    progress: Callable[[int, int], None] | None = None,
    selector: str = "",
) -> tuple[list[T], str]:
    """All objects below a path.

    Raises ClusterError: as for `Connection.get`.

    Returns list, str: what `keep` returned, and the resourceVersion of the list.

    `path`: ``/api/v1/pods``. `keep`: called with each object; what it returns is collected, so that a page can be freed
    before the next is read. `progress`: called after each page with the numbers of objects read and of objects in all.
    `selector`: field selector; empty: all objects.
    """
    for attempt in itertools.count(1):
        found: list[T] = []
        version = ""
        try:
            for page in _pages(connection, path, selector):
                version = version or page.version
                found += map(keep, page.items)
                if len(found) > _MOST_OBJECTS:
                    raise ClusterError(f"{path}: the list does not end; after {_MOST_OBJECTS:,} objects it is given up")
                if progress is not None:
                    progress(len(found), len(found) + page.remaining)
            return found, version
        except Expired:
            if attempt == _TRIES:
                raise
    raise InternalError("a list was neither read nor given up")


def _pages(connection: Connection, path: str, selector: str) -> Iterator[Page]:
    query = {"limit": str(PAGE), **({"fieldSelector": selector} if selector else {})}
    for _ in range(_MOST_PAGES):
        page = checked_page(connection.get(path, **query), path)
        yield page
        if not page.token:
            return
        if page.token == query.get("continue"):
            raise ClusterError(f"{path}: the list does not end; a page names itself as the next one")
        query["continue"] = page.token
    raise ClusterError(f"{path}: the list does not end; after {_MOST_PAGES:,} pages it is given up")


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
