"""`read_gang_groups`: Koordinator's annotation that names the gangs which are placed together or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping

from workbench.objects.fields import wrong

__all__ = ["GANG_GROUPS_ANNOTATION", "read_gang_groups"]

GANG_GROUPS_ANNOTATION = "gang.scheduling.koordinator.sh/groups"


def read_gang_groups(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """Read the keys of the gangs of a gang group from annotations, each once; empty if the annotation is absent.

    Raises
    ------
    InputError
        No JSON list of ``namespace/name``.
    """
    text = annotations.get(GANG_GROUPS_ANNOTATION, "")
    if not text:
        return ()
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    if type(names) is not list or not all(map(_is_key, names)):
        where = f"metadata.annotations[{GANG_GROUPS_ANNOTATION!r}]"
        raise wrong(where, text, 'JSON, ["namespace/gang", ...]')
    return tuple(dict.fromkeys(names))


def _is_key(name: object) -> bool:
    return type(name) is str and name.count("/") == 1 and all(name.split("/"))
