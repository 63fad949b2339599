"""`listed`: all objects of a kind, read page by page from one consistent state of the cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from workbench.errors import InternalError
from workbench.live.kubernetes.connection import Connection, Expired

__all__ = ["listed"]

T = TypeVar("T")

#: Objects asked for at a time.
PAGE = 500

#: Times that a list is begun anew because the API server no longer kept the position in it.
_TRIES = 3


def listed(
    connection: Connection,
    path: str,
    keep: Callable[[Mapping[str, Any]], T],
    progress: Callable[[int, int], None] | None = None,
    selector: str = "",
) -> tuple[list[T], str]:
    """All objects below a path.

    Parameters
    ----------
    connection : Connection
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

    Raises
    ------
    ClusterError
        As for `Connection.get`.
    """
    for attempt in itertools.count(1):
        found: list[T] = []
        version = ""
        try:
            for page in _pages(connection, path, selector):
                metadata = page.get("metadata") or {}
                version = version or str(metadata.get("resourceVersion", ""))
                found += map(keep, page.get("items") or [])
                if progress is not None:
                    progress(len(found), len(found) + int(metadata.get("remainingItemCount") or 0))
            return found, version
        except Expired:
            if attempt == _TRIES:
                raise
    raise InternalError("a list was neither read nor given up")


def _pages(connection: Connection, path: str, selector: str) -> Iterator[dict[str, Any]]:
    query = {"limit": str(PAGE), **({"fieldSelector": selector} if selector else {})}
    while True:
        page = connection.get(path, **query)
        yield page
        token = (page.get("metadata") or {}).get("continue")
        if not token:
            return
        query["continue"] = str(token)
