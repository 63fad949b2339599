"""`edit_job_text`: the text of jobs that a person writes, after edits of the jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import InputError
from workbench.formats.edit_manifests.apply import apply_to
from workbench.formats.edit_manifests.commands import kubectl_commands
from workbench.formats.edit_manifests.manifest_set import ManifestSet
from workbench.formats.manifest_text import split_documents
from workbench.formats.manifests import unpacked
from workbench.formats.write_manifests import to_yaml
from workbench.formats.yaml_events import read_yaml

__all__ = ["commands_beside_text", "edit_job_text"]


def edit_job_text(text: str, edits: Sequence[Mapping[str, Any]]) -> str:
    """The text of manifests after edits of their jobs; documents that do not change stay as they are written.

    Raises InputError: the text is no YAML, or an edit cannot be made in it.

    `text`: YAML documents or JSON. `edits`: as for `workbench.formats.edit_manifests.apply.apply_edits`.
    """
    pieces = [(piece, _manifests(piece)) for piece in split_documents(text)]
    held = ManifestSet(manifest for _, manifests in pieces for manifest in manifests)
    for edit in edits:
        apply_to(held, edit)
    states = held.states()
    written, at = [], 0
    for piece, manifests in pieces:
        mine = states[at : at + len(manifests)]
        at += len(manifests)
        if all(before == after for before, after in mine):
            written.append(piece)
        elif kept := [after for _, after in mine if after is not None]:
            written.append(to_yaml(kept))
    new = [after for _, after in states[at:] if after is not None]
    parts = [part.removeprefix("---").strip("\n") for part in [*written, *([to_yaml(new)] if new else [])]]
    joined = "\n---\n".join(part for part in parts if part.strip())
    return f"{joined}\n" if joined else ""


def commands_beside_text(text: str, edits: Sequence[Mapping[str, Any]]) -> list[str]:
    """What makes edits in a live cluster, of whose objects the text has the jobs alone (`kubectl_commands`).

    Empty if an edit is of a job that the text does not have.

    `edits`: as for `edit_job_text`; edits of the cluster are told, too.
    """
    try:
        manifests = [manifest for piece in split_documents(text) for manifest in _manifests(piece)]
        return kubectl_commands(manifests, edits, whole_cluster=False)
    except InputError:
        return []


def _manifests(piece: str) -> list[dict[str, Any]]:
    read = (document.data for document in read_yaml(piece.encode(errors="surrogatepass"), "jobs"))
    return [manifest for data in read if isinstance(data, dict) for manifest in unpacked(data)]
