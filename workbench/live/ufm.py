"""Client of NVIDIA's Unified Fabric Manager (UFM): reads the list of InfiniBand ports over REST."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.errors import InputError
from workbench.live.http import Access, checked_url, fetch_json, shown_url
from workbench.topology.discovery.result import DiscoveryResult
from workbench.topology.discovery.ufm import discover_ufm, read_ufm_ports

__all__ = ["PORTS_PATH", "UfmServer"]

PORTS_PATH = "/ufmRest/resources/ports"


@dataclass(frozen=True)
class UfmServer:
    """A UFM server, whose list of InfiniBand ports is made into HyperNodes.

    `endpoint`: ``https://HOST[:PORT]``; https where the scheme is missing. Raises InputError: the endpoint or the
    credentials are missing (in Volcano's words), or the endpoint is no URL.

    Notes
    -----
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
