"""Read a fabric over HTTP: the ports of NVIDIA's Unified Fabric Manager (UFM), or the links of an Ethernet fabric.

Links have the JSON format of docs/discovery.md and may also stand in a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import InputError
from workbench.formats.file_bytes import read_bytes
from workbench.formats.manifests import read_text
from workbench.live.http import Access, checked_url, fetch_json, shown_url
from workbench.topology.discovery.result import DiscoveryResult
from workbench.topology.discovery.roce import discover_roce, read_roce_links
from workbench.topology.discovery.ufm import discover_ufm, read_ufm_ports

__all__ = ["PORTS_PATH", "UfmServer", "discover_links"]

PORTS_PATH = "/ufmRest/resources/ports"


@dataclass(frozen=True)
class UfmServer:
    """A UFM server, whose list of InfiniBand ports is made into HyperNodes.

    `endpoint`: ``https://HOST[:PORT]``; https where the scheme is missing. Raises InputError: the endpoint or the
    credentials are missing (in Volcano's words), or the endpoint is no URL.

    Source: docs/reference/volcano-topology.md, section 9.2.
    """

    endpoint: str
    access: Access

    def __post_init__(self) -> None:
        if not self.endpoint:
            raise InputError("UFM endpoint is not configured", expected="https://HOST[:PORT]")
        if self.access.credentials is None:
            raise InputError(
                "UFM authentication credentials are not configured",
                expected="WORKBENCH_UFM_USERNAME and WORKBENCH_UFM_PASSWORD in the environment, or a file with both",
            )
        checked_url(self.endpoint, PORTS_PATH)

    def discover(self) -> DiscoveryResult:
        """Request the list of ports once and make HyperNodes of it.

        Every failure raises an error, so that a failed request is not mistaken for an empty fabric.

        Raises ClusterError, InputError: as `fetch_json`; InputError also where the answer is no list of ports.
        """
        url = checked_url(self.endpoint, PORTS_PATH)
        data = fetch_json(url, self.access)
        try:
            ports = read_ufm_ports(data)
        except InputError as error:
            raise error.at(source=shown_url(url)) from None
        return discover_ufm(ports)


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
