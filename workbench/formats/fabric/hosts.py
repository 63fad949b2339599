"""`host_role`: guess from a host's name whether it is a compute node, storage or a fabric manager."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from workbench.model.name_list import name_list

__all__ = ["Role", "host_role", "some"]

Role = Literal["compute", "storage", "fabric manager", "unnamed"]

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
    }
)
_STORAGE_BEGINS = ("storage", "lustre", "weka", "beegfs", "gpfs", "ceph")
_MANAGERS = frozenset({"ufm", "cufm", "opensm"})
#: Default names of hosts that were never given a name.
_UNSET = frozenset({"localhost", "localhost.localdomain", "(none)", "none", "ubuntu", "debian", "centos", "linux"})

_LISTED = 5


def host_role(name: str) -> Role:
    """The role of a host, guessed from the words in its name: compute, storage, fabric manager or unnamed.

    ``storage`` (``storage-01``, ``lustre-oss3``, ``nas2``), ``fabric manager`` (``b11-ufm-1``), ``unnamed`` (empty,
    ``localhost``, a distribution's default such as ``ubuntu``), else ``compute``. Words are runs of letters before the
    first dot, regardless of case; a word inside another one (``tossed``) does not count.
    """
    lower = name.lower()
    if not lower or lower in _UNSET:
        return "unnamed"
    words = _LETTERS.findall(lower.split(".", 1)[0])
    if any(word in _STORAGE or word.startswith(_STORAGE_BEGINS) for word in words):
        return "storage"
    if any(word in _MANAGERS for word in words):
        return "fabric manager"
    return "compute"


def some(names: Sequence[str]) -> str:
    """The first few of the given names or ranges of names, and the number of the others, as text for a message."""
    return name_list(names, _LISTED)
