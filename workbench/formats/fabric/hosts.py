"""`host_role`: guess from a host's name whether it is a compute node, storage, a service host or a fabric manager."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from workbench.model.counted import name_list

__all__ = ["Role", "host_role", "hosts_aside", "some"]

Role = Literal["compute", "storage", "service", "fabric manager", "unnamed"]

_LETTERS = re.compile(r"[a-z]+")

#: Words of a host name that say storage: the servers of Lustre and GPFS, and products.
_STORAGE = frozenset(
    {
        "storage",
        "stor",
        "stg",
        "nas",
        "nfs",
        "oss",
        "ost",
        "mds",
        "mdt",
        "mgs",
        "lustre",
        "gpfs",
        "nsd",
        "ddn",
        "weka",
        "vast",
        "beegfs",
        "ceph",
        "daos",
        "isilon",
        "bee",
        "panfs",
        "minio",
    }
)
_STORAGE_BEGINS = ("storage", "lustre", "weka", "beegfs", "gpfs", "ceph")
#: Words of a host name that say login, management or another service.
_SERVICE = frozenset(
    {
        "admin",
        "adm",
        "backup",
        "bastion",
        "control",
        "controlplane",
        "ctl",
        "ctld",
        "dns",
        "dtn",
        "etcd",
        "frontend",
        "gateway",
        "grafana",
        "gw",
        "head",
        "infra",
        "jump",
        "jumphost",
        "ldap",
        "lnet",
        "logging",
        "logon",
        "maas",
        "management",
        "master",
        "monitor",
        "monitoring",
        "prometheus",
        "provision",
        "proxy",
        "router",
        "service",
        "slurmctl",
        "slurmctld",
        "slurmdbd",
        "submit",
    }
)
_SERVICE_BEGINS = ("login", "mgmt", "mgt", "headnode", "controller", "adminnode")
_MANAGERS = frozenset({"ufm", "cufm", "opensm"})
#: Default names of hosts that were never given a name.
_UNSET = frozenset({"localhost", "localhost.localdomain", "(none)", "none", "ubuntu", "debian", "centos", "linux"})

_LISTED = 5


def host_role(name: str) -> Role:
    """The role of a host, guessed from the words in its name: compute, storage, service, fabric manager or unnamed.

    ``storage`` (``storage-01``, ``lustre-oss3``, ``nas2``), ``fabric manager`` (``b11-ufm-1``), ``service``
    (``login01``, ``controller``, ``mgmt-2``, ``head1``), ``unnamed`` (empty, ``localhost``, a distribution's default
    such as ``ubuntu``), else ``compute``. Words are runs of letters before the first dot, regardless of case; a word
    inside another one (``tossed``) does not count.
    """
    lower = name.lower()
    if not lower or lower in _UNSET:
        return "unnamed"
    return _role_of_words(tuple(_LETTERS.findall(lower.split(".", 1)[0])))


# The nodes of a fabric have the same words and differ in their numbers.
@lru_cache(maxsize=1 << 12)
def _role_of_words(words: tuple[str, ...]) -> Role:
    if any(word in _STORAGE or word.startswith(_STORAGE_BEGINS) for word in words):
        return "storage"
    if any(word in _MANAGERS for word in words):
        return "fabric manager"
    if any(word in _SERVICE or word.startswith(_SERVICE_BEGINS) for word in words):
        return "service"
    return "compute"


def hosts_aside(names: Iterable[str]) -> dict[str, Role]:
    """The hosts of a fabric that are no compute nodes although they have a name, each with its role.

    Service hosts count as compute nodes where no other host does: in such a fabric the words in the names mean
    something else.
    """
    roles = {name: host_role(name) for name in names}
    if "compute" not in roles.values():
        roles = {name: "compute" if role == "service" else role for name, role in roles.items()}
    return {name: role for name, role in roles.items() if role not in ("compute", "unnamed")}


def some(names: Sequence[str]) -> str:
    """The first few of the given names or ranges of names, and the number of the others, as text for a message."""
    return name_list(names, _LISTED)
