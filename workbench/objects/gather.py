"""Koordinator's annotations of a gang: `read_gather`, the layers of the network in which its pods gather, and
`read_gang_groups`, the gangs that are placed together or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from workbench.model.extras import Gather
from workbench.objects.fields import child, get_int, get_maps, get_text, wrong

__all__ = ["GANG_GROUPS_ANNOTATION", "GATHER_ANNOTATION", "read_gang_groups", "read_gather"]

GATHER_ANNOTATION = "gang.scheduling.koordinator.sh/network-topology-spec"


def read_gather(annotations: Mapping[str, str]) -> tuple[Gather, ...]:
    """Read Koordinator's gather rules of a gang from annotations; empty if the annotation is absent or empty.

    Raises InputError: no JSON object, a rule without a layer, an unknown strategy, a multiple below 1.
    """
    text = annotations.get(GATHER_ANNOTATION, "")
    if not text:
        return ()
    where = f"metadata.annotations[{GATHER_ANNOTATION!r}]"
    try:
        spec = json.loads(text)
    except (ValueError, RecursionError):
        spec = None
    if type(spec) is not dict:
        raise wrong(where, text, 'JSON, {"gatherStrategy": [{"layer": ..., "strategy": ...}]}')
    rules = []
    for path, item in get_maps(spec, "gatherStrategy", where):
        layer, strategy = get_text(item, "layer", path), get_text(item, "strategy", path)
        if not layer:
            raise wrong(child(path, "layer"), item.get("layer"), "the name of a layer")
        if strategy not in ("MustGather", "PreferGather"):
            raise wrong(child(path, "strategy"), item.get("strategy"), "MustGather or PreferGather")
        multiple = get_int(item, "podCountMultiple", path)
        if multiple is not None and multiple < 1:
            raise wrong(child(path, "podCountMultiple"), multiple, "a number of pods, at least 1")
        rules.append(Gather(layer, strategy == "MustGather", multiple or 1))
    return tuple(rules)


GANG_GROUPS_ANNOTATION = "gang.scheduling.koordinator.sh/groups"


def read_gang_groups(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """Read the keys of the gangs of a gang group from annotations, each once; empty if the annotation is absent.

    Raises InputError: no JSON list of ``namespace/name``.
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
