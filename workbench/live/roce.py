"""Read the links of an Ethernet fabric, in the JSON format of docs/discovery.md, from a URL or a file."""

from __future__ import annotations

from workbench.errors import InputError
from workbench.formats.file_bytes import read_bytes
from workbench.formats.manifests import read_text
from workbench.live.http import Access, checked_url, fetch_json, shown_url
from workbench.topology.discovery.result import DiscoveryResult
from workbench.topology.discovery.roce import discover_roce, read_roce_links

__all__ = ["discover_links"]


def discover_links(place: str, access: Access) -> DiscoveryResult:
    """Read the links of an Ethernet fabric and make HyperNodes of them.

    `place`: A URL that begins with ``http://`` or ``https://``, which is requested once; else the name of a file.
    `access`: settings of the request; not used for a file. Raises ClusterError, InputError: as `fetch_json`; InputError
    also for a file that cannot be read and for content that is no list of links.
    """
    is_url = place.lower().startswith(("http://", "https://"))
    if is_url:
        data = fetch_json(checked_url(place), access)
    else:
        documents = read_text(read_bytes(place), place)
        data = documents[0][0] if len(documents) == 1 else None
    try:
        links = read_roce_links(data)
    except InputError as error:
        raise error.at(source=shown_url(place) if is_url else place) from None
    return discover_roce(links)
