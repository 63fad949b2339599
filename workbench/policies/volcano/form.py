"""What a search reads of a gang, as a key: gangs with equal keys get equal answers on the same nodes.

The key holds every field of the gang, its roles and its sub-groups but those listed here as unread, so a field that is
added to one of these classes is part of the key until somebody shows that no search reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from workbench.model.gang import Gang, Role, SubGroup

__all__ = ["form_of"]

#: Names and times, what only other policies read, and what is read another way: the roles one by one, the order of the
#: pods as `Gang.task_rank`.
_UNREAD_OF_GANG = frozenset(
    {
        "namespace",
        "name",
        "queue",
        "priority",
        "created",
        "uid",
        "resource_version",
        "notes",
        "former",
        "gpu_group",
        "roles",
        "sub_groups",
        "order",
    }
)
#: Names of pods and what is written on them.
_UNREAD_OF_ROLE = frozenset({"first_index", "pod_names", "pod_uids", "pod_resource_versions", "labels", "annotations"})


def form_of(gang: Gang) -> Hashable:
    """The key of a gang.

    Equal tables in another order are two keys, which costs a search and no answer.
    """
    return (
        _gang(gang),
        gang.task_rank.tobytes() if len(gang.roles) > 1 else b"",
        *map(_role, gang.roles),
        *map(_sub_group, gang.sub_groups),
    )


def _reader(kind: type, unread: frozenset[str]) -> Callable[[Any], tuple[Hashable, ...]]:
    """A function from an object to its fields but the unread ones; tables, which have no hash, become tuples."""
    read = [each for each in fields(kind) if each.init and each.name not in unread]
    tables = [each.name for each in read if "Mapping" in str(each.type)]
    # Few calls, because every placement of a stream begins with the key.
    plain = attrgetter(*(each.name for each in read if each.name not in tables))
    if not tables:
        return plain
    if len(tables) == 1:
        table = attrgetter(*tables)
        return lambda of: (*plain(of), _hashable(table(of)))
    several = attrgetter(*tables)
    return lambda of: (*plain(of), *map(_hashable, several(of)))


def _hashable(value: Any) -> Hashable:
    if type(value) is dict:
        return tuple(value.items())
    if isinstance(value, tuple):
        return tuple(map(_hashable, value)) if value else value
    return tuple(value.items()) if isinstance(value, Mapping) else value


_gang = _reader(Gang, _UNREAD_OF_GANG)
_role = _reader(Role, _UNREAD_OF_ROLE)
_sub_group = _reader(SubGroup, frozenset())
