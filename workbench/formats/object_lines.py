"""Find the lines of Kubernetes objects in a YAML text field by field, and change fields without touching anything else.

The reader of manifests keeps no positions, because few files need them. Here the documents that hold a wanted object
are parsed once more, with positions. `workbench.formats.yaml_events` has accepted them before, so they have no tags and
no dangerous depth; what an alias stands for has the position of its anchor.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import yaml

from workbench.errors import InputError
from workbench.formats.write_manifests import to_yaml_scalar
from workbench.objects.fields import path_steps

if TYPE_CHECKING:
    from workbench.topology.lint import FieldEdit

__all__ = ["ObjectText", "decoded", "line_in_document", "object_texts", "spliced"]

#: Beginning of a YAML document; at the start of a line it can be nothing else.
_MARKER = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)

_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

#: Kinds without a namespace.
_CLUSTER_SCOPED = ("HyperNode", "Node", "Queue")

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class ObjectText:
    """The position of an object in a YAML text: its YAML node, and where its document begins.

    `node`: YAML node of the object; its positions count from the beginning of the document. `offset`, `line`:
    characters and lines before that document.
    """

    node: Any
    offset: int
    line: int

    def line_of(self, path: Path) -> int:
        """Line of the field at `path`, from 1; if it does not exist, that of the innermost existing field above it."""
        node, mark = self.node, self.node.start_mark
        for part in path:
            if isinstance(node, yaml.MappingNode):
                pair = next((pair for pair in node.value if pair[0].value == part), None)
                if pair is None:
                    break
                mark, node = pair[0].start_mark, pair[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
                mark = node.start_mark
            else:
                break
        return int(self.line + mark.line + 1)

    def at(self, path: Path) -> Any:
        """The YAML node of the field at `path`, which must exist."""
        node = self.node
        for part in path:
            node = node.value[part] if isinstance(part, int) else next(v for k, v in node.value if k.value == part)
        return node


def decoded(content: bytes) -> tuple[str, str, bytes]:
    """Text, codec and byte order mark of a manifest file's content."""
    for mark, codec in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return content.removeprefix(mark).decode(codec), codec, mark
    return content.decode("utf-8"), "utf-8", b""


def line_in_document(text: str, path: str) -> int:
    """Line, from 1, of the field at `path` in the first document of a text; 1 if the text is no YAML."""
    try:
        node = next(yaml.compose_all(text, Loader=yaml.CSafeLoader), None)
    except yaml.YAMLError:
        node = None
    return 1 if node is None else ObjectText(node, 0, 0).line_of(path_steps(path))


def object_texts(text: str, keys: Collection[str]) -> dict[str, ObjectText]:
    """Positions of the objects with these keys in a text.

    Some may be missing, as not every JSON text is valid YAML.

    `keys`: ``Kind namespace/name`` each, and ``Kind name`` of a kind without a namespace.
    """
    found: dict[str, ObjectText] = {}
    kinds = {key.partition(" ")[0] for key in keys}
    starts = [0, *(match.start() for match in _MARKER.finditer(text)), len(text)]
    line = 0
    for start, end in pairwise(starts):
        document = text[start:end]
        if any(kind in document for kind in kinds):
            try:
                root = yaml.compose(document, Loader=yaml.CSafeLoader)
            except yaml.YAMLError:
                root = None
            found.update((key, ObjectText(node, start, line)) for key, node in _objects(root, "") if key in keys)
        line += document.count("\n")
    return found


def _objects(node: Any, inherited: str) -> Iterator[tuple[str, Any]]:
    """Key and YAML node of the object, or of each item of a List; `inherited` is the kind that a typed list gives."""
    if not isinstance(node, yaml.MappingNode):
        return
    fields = {key.value: value for key, value in node.value}
    kind = fields["kind"].value if "kind" in fields else inherited
    items = fields.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, yaml.SequenceNode):
        for item in items.value:
            yield from _objects(item, kind.removesuffix("List"))
        return
    metadata = fields.get("metadata")
    named = {key.value: value.value for key, value in metadata.value} if isinstance(metadata, yaml.MappingNode) else {}
    name = named.get("name") or (fields["name"].value if "name" in fields else None)
    if name is not None:
        namespace = "" if kind in _CLUSTER_SCOPED else f"{named.get('namespace') or 'default'}/"
        yield f"{kind} {namespace}{name}", node


def spliced(text: str, changes: Iterable[tuple[ObjectText, Iterable[FieldEdit]]]) -> str:
    """The text with the given edits made to some of its objects; all other characters stay as they are."""
    pieces: list[tuple[int, int, str]] = []
    for found, edits in changes:
        removed: dict[Path, set[int]] = {}
        for edit in edits:
            *above, last = edit.path
            if edit.remove and isinstance(last, int):
                removed.setdefault(tuple(above), set()).add(last)
            else:
                node = found.at(edit.path)
                start, end = found.offset + node.start_mark.index, found.offset + node.end_mark.index
                pieces.append((start, end, _scalar(edit.value, node)))
        for path, numbers in removed.items():
            pieces += [(a, b, "") for a, b in _removals(text, found, found.at(path), numbers)]
    pieces.sort(reverse=True)
    for start, end, new in pieces:
        text = text[:start] + new + text[end:]
    return text


def _scalar(value: Any, node: Any) -> str:
    """YAML text of `value`, with the kind of quotes that the replaced YAML node has if possible."""
    text = to_yaml_scalar(value)
    if text.strip('"') == value and "'" not in value and node.style in ("'", '"'):
        return f"{node.style}{value}{node.style}"  # nothing in it is escaped
    return text


def _removals(text: str, found: ObjectText, sequence: Any, numbers: set[int]) -> Iterator[tuple[int, int]]:
    """Ranges (start, end) of the text to delete so that the entries with these indices leave a YAML list."""
    items = sequence.value
    for i in sorted(numbers):
        if not sequence.flow_style:
            # Whole lines: from the line of the dash to the end of the entry's last line, with the remark behind it.
            dash = text.rfind("-", 0, found.offset + items[i].start_mark.index)
            start = text.rfind("\n", 0, dash) + 1
            end = text.find("\n", found.offset + _last(items[i]).end_mark.index)
            yield start, len(text) if end < 0 else end + 1
        elif any(j not in numbers for j in range(i + 1, len(items))):
            yield found.offset + items[i].start_mark.index, found.offset + items[i + 1].start_mark.index
        else:
            # From here to the end all go, and the comma before them.
            yield found.offset + items[i - 1].end_mark.index, found.offset + items[-1].end_mark.index
            return


def _last(node: Any) -> Any:
    """The last scalar or flow collection inside a YAML node; a block's own end would include comments after it."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return node


def not_editable(source: str, why: str) -> InputError:
    """The error for a file that cannot be changed in place; `why` is the reason."""
    return InputError(f"cannot be changed in place: {why}", source=source, expected="a file that --fix can edit")
