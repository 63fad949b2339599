"""`HyperNodeText`: YAML text of HyperNodes that a person edits; errors have line numbers, changes keep comments.

The text is kept as one piece per YAML document. A piece that did not change is neither parsed nor written again, so
that one edit takes as long in 20,000 documents as in 8, and other documents stay byte for byte.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from workbench.errors import InputError
from workbench.formats.object_lines import line_in_document
from workbench.formats.write_manifests import is_plain, to_yaml
from workbench.formats.yaml_events import read_yaml
from workbench.objects.hypernode import HyperNode, read_hypernode
from workbench.objects.hypernode_manifest import hypernode_manifest
from workbench.objects.metadata import Metadata

__all__ = ["HyperNodeText", "TextError", "line_of", "split_documents"]

_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_LINE = re.compile(r"line (\d+)")
_DASH_INDENT = re.compile(r"^( *)[^\s#-][^\n]*:\s*\n( *)- ", re.MULTILINE)


class TextError(InputError):
    """An error in an edited YAML text, with its line, counted from 1."""

    line: int = 1


@dataclass(frozen=True)
class _Piece:
    """One YAML document of the text with the separator line before it.

    `hypernode` is None for other kinds of objects. `given` is None for a HyperNode whose document nobody has written
    yet: that of thousands takes seconds, and a page shows few.
    """

    given: str | None
    hypernode: HyperNode | None

    @cached_property
    def text(self) -> str:
        if self.given is not None:
            return self.given
        assert self.hypernode is not None
        return to_yaml([hypernode_manifest(self.hypernode)])


class HyperNodeText:
    """A YAML text of HyperNodes, one per document; documents of other kinds are kept unchanged.

    `text`: the whole text.
    """

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []

    @property
    def text(self) -> str:
        return self.part(None)

    @property
    def hypernodes(self) -> list[HyperNode]:
        """The HyperNodes in the text, in its order."""
        return [piece.hypernode for piece in self._pieces if piece.hypernode is not None]

    def part(self, names: Collection[str] | None) -> str:
        """The text of the documents of the HyperNodes in `names`; None means the whole text."""
        return "".join(piece.text for piece in self._pieces if _is_in(piece, names))

    def read(self, text: str, names: Collection[str] | None = None) -> list[str]:
        """Replace the whole text, or the part of it that `part` returns for `names`.

        Raises TextError: not YAML, a field of the wrong type, or a name twice; nothing has changed then.

        Returns names of the HyperNodes in the new text.
        """
        known = {piece.text: piece for piece in self._pieces}
        kept = [piece for piece in self._pieces if not _is_in(piece, names)]
        taken = {piece.hypernode.name for piece in kept if piece.hypernode is not None}
        pieces = []
        line = 1
        for part in split_documents(text):
            piece = known.get(part) or _parse(part, line)
            if piece.hypernode is not None:
                if piece.hypernode.name in taken:
                    raise _at(InputError("the same HyperNode twice", got=piece.hypernode.name), part, line)
                taken.add(piece.hypernode.name)
            pieces.append(piece)
            line += part.count("\n")
        at = next((i for i, piece in enumerate(self._pieces) if _is_in(piece, names)), len(kept))
        self._pieces = [*kept[:at], *pieces, *kept[at:]]
        return [piece.hypernode.name for piece in pieces if piece.hypernode is not None]

    def write(self, changed: Mapping[str, HyperNode | None]) -> None:
        """Change the text so that it describes the given HyperNodes; comments and other documents are kept.

        `changed`: new HyperNode by its old name in the text (the new name may differ); None: remove it. HyperNodes that
        the text lacks are appended in this order.
        """
        changed = dict(changed)
        pieces = []
        for piece in self._pieces:
            name = piece.hypernode.name if piece.hypernode is not None else None
            if name is None or name not in changed:
                pieces.append(piece)
            elif (hypernode := changed.pop(name)) is not None:
                pieces.append(piece if _drawn(piece.hypernode) == _drawn(hypernode) else _edited(piece, hypernode))
        added = [hypernode for hypernode in changed.values() if hypernode is not None]
        if pieces and added and not pieces[-1].text.endswith("\n"):
            pieces[-1] = _Piece(pieces[-1].text + "\n", pieces[-1].hypernode)
        self._pieces = pieces + [_Piece(None, hypernode) for hypernode in added]


def _is_in(piece: _Piece, names: Collection[str] | None) -> bool:
    return names is None or (piece.hypernode is not None and piece.hypernode.name in names)


def split_documents(text: str) -> list[str]:
    """Split a YAML text into its documents, each with its separator line; joined they give the text again."""
    starts = [found.start() for found in _SEPARATOR.finditer(text)]
    # Text before the first separator is a document, or only comments that belong to the first document.
    if not starts or text[: starts[0]].strip():
        if starts and all(not line.strip() or line.lstrip().startswith("#") for line in text[: starts[0]].splitlines()):
            starts = starts[1:]
        starts.insert(0, 0)
    else:
        starts[0] = 0
    ends = [*starts[1:], len(text)]
    return [text[start:end] for start, end in zip(starts, ends) if text[start:end]]


def _parse(part: str, line: int) -> _Piece:
    try:
        documents = list(read_yaml(part.encode(errors="surrogatepass"), "text"))
    except InputError as error:
        found = _LINE.search(error.where or "")
        raise _text_error(error, line + int(found[1]) - 1 if found else line) from None
    if not documents:
        return _Piece(part, None)
    data = documents[0].data
    if not isinstance(data, dict) or data.get("kind") != "HyperNode":
        return _Piece(part, None)
    try:
        return _Piece(part, read_hypernode(data))
    except InputError as error:
        raise _at(error, part, line) from None


def line_of(text: str, error: InputError) -> int:
    """Line of the text, from 1, that an error's ``where`` points to; 1 if the error names no place."""
    found = _LINE.search(error.where or "")
    start = int(found[1]) if found else 1
    _, _, field = (error.where or "").partition("), ")
    if not field:
        return start
    lines = text.splitlines(keepends=True)
    piece = split_documents("".join(lines[start - 1 :]))
    return start + (line_in_document(piece[0], field) - 1 if piece else 0)


def _at(error: InputError, part: str, line: int) -> TextError:
    """Turn an error in the document `part`, which begins at line `line` of the text, into a `TextError`."""
    return _text_error(error, line + line_in_document(part, error.where or "metadata.name") - 1)


def _text_error(error: InputError, line: int) -> TextError:
    where = f"line {line}" + (f", {error.where}" if error.where and not _LINE.search(error.where) else "")
    found = TextError(error.message, source="text", where=where, got=error.got, expected=error.expected)
    found.line = line
    return found


def _round_trip(part: str) -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1 << 16
    dash = _DASH_INDENT.search(part)
    offset = len(dash[2]) - len(dash[1]) if dash else 0
    yaml.indent(mapping=2, sequence=2 + max(offset, 0), offset=max(offset, 0))
    return yaml


def _load(part: str) -> Any:
    try:
        return _round_trip(part).load(part)
    except YAMLError:
        return None


def _edited(piece: _Piece, hypernode: HyperNode) -> _Piece:
    document = _load(piece.text)
    if not isinstance(document, CommentedMap):
        return _Piece(None, hypernode)
    wanted = hypernode_manifest(hypernode)
    for field in ("name", "labels", "annotations"):
        _set(document.setdefault("metadata", CommentedMap()), field, wanted["metadata"].get(field))
    spec = document.setdefault("spec", CommentedMap())
    read = piece.hypernode
    if read is None or read.tier != hypernode.tier:
        _set(spec, "tier", hypernode.tier)
    _set(spec, "tierName", wanted["spec"].get("tierName"))
    before = hypernode_manifest(read)["spec"]["members"] if read is not None else []
    _set_members(spec, before, wanted["spec"]["members"])
    out = io.StringIO()
    _round_trip(piece.text).dump(document, out)
    text = out.getvalue()
    if piece.text.startswith("---") and not text.startswith("---"):
        text = "---\n" + text
    return _Piece(text if text.endswith("\n") else text + "\n", hypernode)


def _set(mapping: CommentedMap, field: str, value: Any) -> None:
    """Set a field of a parsed YAML mapping, or remove it if `value` is None; quotes and comments are kept."""
    if value is None:
        mapping.pop(field, None)
    elif mapping.get(field) != value:
        mapping[field] = _quoted(value)


def _set_members(spec: CommentedMap, before: list[Any], after: list[Any]) -> None:
    members = spec.get("members")
    if not isinstance(members, CommentedSeq) or len(members) != len(before):
        if before != after:
            spec["members"] = _quoted(after)
        return
    kept = [member for member in before if member in after]
    for position in reversed(range(len(before))):
        if before[position] not in after:
            del members[position]
    for member in after:
        if member not in kept:
            members.append(_quoted(member))
    members.fa.set_block_style()


def _quoted(value: Any) -> Any:
    """Values prepared for ruamel.yaml, with quotes around text that a YAML reader could take for another type."""
    if isinstance(value, str):
        return value if is_plain(value) else DoubleQuotedScalarString(value)
    if isinstance(value, dict):
        return CommentedMap((key, _quoted(item)) for key, item in value.items())
    if isinstance(value, list):
        return CommentedSeq(_quoted(item) for item in value)
    return value


def _drawn(hypernode: HyperNode | None) -> HyperNode | None:
    """The HyperNode without what a drawing cannot change (the node count), its members sorted."""
    if hypernode is None:
        return None
    metadata = Metadata(hypernode.name, labels=hypernode.metadata.labels, annotations=hypernode.metadata.annotations)
    members = tuple(sorted(hypernode.members, key=repr))
    return replace(hypernode, metadata=metadata, node_count=None, members=members)
