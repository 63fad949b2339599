"""`listed`: all objects of a kind, read page by page from one consistent state of the cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from workbench.errors import ClusterError, InternalError
from workbench.live.kubernetes.connection import Connection, Expired
from workbench.live.kubernetes.shapes import Page, checked_page

__all__ = ["listed"]

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

    Parameters
    ----------
    path : str
        ``/api/v1/pods``.
    keep : callable
        Called with each object; what it returns is collected, so that a page can be freed before the next is read.
    progress : callable, optional
        Called after each page with the numbers of objects read and of objects in all.
    selector : str
        Field selector; empty: all objects.

    Returns
    -------
    list, str
        What `keep` returned, and the resourceVersion of the list.
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
