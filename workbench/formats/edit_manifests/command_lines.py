"""`CommandLines`: kubectl commands and comments as lines of a shell, where equal ones of several objects become one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.formats.edit_manifests.manifest_set import GROUPS
from workbench.objects.names import is_subdomain
from workbench.objects.top_owner import TOP_OWNERS

__all__ = ["CommandLines", "as_json"]

#: Plural of each kind, as kubectl takes it with the API group behind it.
_PLURALS = {
    "Node": "nodes",
    "Pod": "pods",
    "ConfigMap": "configmaps",
    "HyperNode": "hypernodes",
    "Device": "devices",
    "Queue": "queues",
    "PodGroup": "podgroups",
    "PriorityClass": "priorityclasses",
    "Job": "jobs",
    "HyperJob": "hyperjobs",
    "Deployment": "deployments",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    **{kind: f"{kind.lower()}s" for _, kind in TOP_OWNERS},
}


class CommandLines:
    """Collects what a user has to do; `lines` writes it down, deletions last."""

    def __init__(self) -> None:
        self._comments: dict[tuple[str, str], list[str]] = {}
        self._patches: dict[tuple[str, str, str, str], list[str]] = {}
        self._deletions: dict[tuple[str, str], list[str]] = {}
        # Commands, and keys of the first two tables, in the order in which they came.
        self._order: dict[Any, None] = {}

    def command(self, namespace: str, *words: str, names: Iterable[str]) -> None:
        """Add a command; `names` are those words that come from the input. An empty namespace: none is given."""
        self._order[_command(namespace, words, names)] = None

    def comment(self, text: str, about: str = "") -> None:
        """Add what no command can do; equal texts with a ``{}`` become one, with all of what they are about in it."""
        key = (text, "{}" if about else "")
        found = self._comments.setdefault(key, [])
        if about and about not in found:
            found.append(about)
        self._order[key] = None

    def patch(self, kind: str, namespace: str, name: str, patch: Any) -> None:
        """Add a patch of one object.

        `namespace`: its namespace; empty: none is given. `patch`: a mapping is a merge patch, a list a JSON patch.
        """
        key = (kind, namespace, "merge" if isinstance(patch, Mapping) else "json", as_json(patch))
        self._patches.setdefault(key, []).append(name)
        self._order[key] = None

    def delete(self, kind: str, namespace: str, name: str) -> None:
        """Add the deletion of one object.

        `kind`, `namespace`: as in `patch`.
        """
        names = self._deletions.setdefault((kind, namespace), [])
        if name not in names:
            names.append(name)

    def lines(self) -> list[str]:
        """One line for each command and each comment; comments begin with ``#``."""
        written = [entry if isinstance(entry, str) else self._line(entry) for entry in self._order]
        for (kind, namespace), names in self._deletions.items():
            written.append(_command(namespace, ("delete", _resource(kind), *names), names))
        return written

    def _line(self, entry: tuple[str, ...]) -> str:
        if len(entry) == 2:
            text, mark = entry
            return _comment(text.replace(mark, ", ".join(self._comments[text, mark]), 1) if mark else text)
        kind, namespace, style, patch = entry
        names = self._patches[kind, namespace, style, patch]
        return _command(namespace, ("patch", _resource(kind), *names, f"--type={style}", "-p", patch), names)


def _command(namespace: str, words: Sequence[str], names: Iterable[str]) -> str:
    """A kubectl command; a name that no object can have might be taken for an option, so it is then a comment."""
    line = shlex.join(["kubectl", *(["-n", namespace] if namespace else []), *words])
    known = all(map(is_subdomain, [*names, *([namespace] if namespace else [])]))
    return line if known else _comment(f"names that no object can have: {line}")


def _comment(text: str) -> str:
    return "# " + "".join(letter if letter.isprintable() else "?" for letter in text)


def _resource(kind: str) -> str:
    """Name of a kind for kubectl; a kind may be followed by a dot and its API group, if several have that kind."""
    kind, _, group = kind.partition(".")
    group = group or GROUPS[kind][0]
    return f"{_PLURALS[kind]}.{group}" if group else _PLURALS[kind]


def as_json(value: Any) -> str:
    """A value as JSON on one line, in ASCII."""
    return json.dumps(value, separators=(",", ":"))
