"""Key of a gang for reusing a search: gangs with equal keys get equal answers on the same nodes.

The key holds every field of the gang, its extras, its roles and its sub-groups but those listed here as unread, so a
new field of one of these classes is part of the key until it is listed as unread.

The key is not the columns that the kernel gets, because those must be made first: for four pods that takes ten times as
long as the key, half of a placement. Equal keys mean equal columns; the reverse is not promised and costs a search.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from workbench.model.extras import AscendWish, Extra, KoordinatorWish, VolcanoMemory
from workbench.model.gang import Gang, Role, SubGroup
from workbench.policies.volcano.parts.task_order import task_rank

__all__ = ["form_of"]

#: Names, times and versions, and what is read another way: roles, sub-groups and extras one by one, the order of the
#: pods as `task_rank`.
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
        "roles",
        "sub_groups",
        "order",
        "extras",
    }
)
#: Per class of extras the fields that the search of Volcano 1.15 does not read.
_UNREAD_OF_EXTRAS: dict[type[Extra], frozenset[str]] = {
    VolcanoMemory: frozenset({"record", "inqueue"}),
    KoordinatorWish: frozenset({"gpu_group", "gather", "gang_groups"}),
    AscendWish: frozenset({"job_class", "framework", "former"}),
}
#: Names of pods and what is written on them.
_UNREAD_OF_ROLE = frozenset({"first_index", "pod_names", "pod_uids", "pod_resource_versions", "labels", "annotations"})


def form_of(gang: Gang) -> Hashable:
    """Return the key of a gang: gangs with equal keys get equal answers from a search on the same nodes.

    Mappings with equal entries in another order give another key, which costs a search and never a wrong answer.
    """
    return (
        _gang(gang),
        _extras(gang),
        task_rank(gang).tobytes() if len(gang.roles) > 1 else b"",
        *map(_role, gang.roles),
        *map(_sub_group, gang.sub_groups),
    )


def _read(kind: type, unread: frozenset[str]) -> dict[str, bool]:
    """The dataclass fields of a class that a search reads, without ``unread``: whether each is a mapping, by name."""
    read = (each for each in fields(kind) if each.init and each.name not in unread)
    return {each.name: "Mapping" in str(each.type) for each in read}


def _reader(read: Mapping[str, bool]) -> Callable[[Any], tuple[Hashable, ...]]:
    """Make a function that reads these fields of an object as a tuple; mappings become tuples."""
    tables = [path for path, is_table in read.items() if is_table]
    if len(read) < 2:
        return lambda of: tuple([_hashable(getattr(of, name)) for name in read])
    # Few calls, because every placement of a stream begins with the key.
    plain = attrgetter(*(path for path in read if path not in tables))
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


def _extras(gang: Gang) -> tuple[Hashable, ...]:
    """The fields of the gang's extras that a search reads, each with its class; every field of a class not listed."""
    found: list[Hashable] = []
    for kind, extra in gang.extras.items():
        if kind not in _extra_readers:
            read = _read(kind, _UNREAD_OF_EXTRAS.get(kind, frozenset()))
            _extra_readers[kind] = _reader(read) if read else None
        reader = _extra_readers[kind]
        if reader is not None:
            found.append((kind.__name__, reader(extra)))
    return tuple(found)


#: Per class of extras the function that reads one; None: a search reads nothing of it.
_extra_readers: dict[type[Extra], Callable[[Any], tuple[Hashable, ...]] | None] = {}
_gang = _reader(_read(Gang, _UNREAD_OF_GANG))
_role = _reader(_read(Role, _UNREAD_OF_ROLE))
_sub_group = _reader(_read(SubGroup, frozenset()))
