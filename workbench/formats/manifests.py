"""Reader of Kubernetes manifests: from files, folders and text to parsed documents with their places."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from workbench.cancel import reached
from workbench.errors import InputError
from workbench.formats.file_bytes import checked_path, on_disk, read_bytes, unreadable
from workbench.formats.misplaced import describe_content, describe_document
from workbench.formats.yaml_events import YamlDocument, read_yaml
from workbench.formats.yaml_slips import find_slips, slip_texts
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.fields import shown

__all__ = [
    "HAND_WRITTEN",
    "STDIN",
    "Claim",
    "Document",
    "Manifests",
    "Take",
    "objects_in",
    "read_documents",
    "read_manifests",
    "read_text",
    "unpacked",
]

#: The path that stands for standard input.
STDIN = "-"

#: Bytes of the longest text that counts as written by hand: it is searched for slips of the pen and for lines.
HAND_WRITTEN = 1 << 22

_SUFFIXES = (".yaml", ".yml", ".json")

_NO_KIND = "(no kind)"

#: A quote in other letters: in a text that has it the ends of keys cannot be counted. Writers of JSON never produce it.
_QUOTE = b"\\u0022"
_SPACES = tuple(b" \t\n\r")


@dataclass(frozen=True)
class Document:
    """One parsed Kubernetes object (`data`), with the file (`source`) and document (`where`) it was read from."""

    data: dict[str, Any]
    source: str
    where: str

    def error(self, error: InputError) -> InputError:
        """A copy of an error in one of the document's fields, with file and document added."""
        where = f"{self.where}, {error.where}" if error.where else self.where
        return InputError(error.message, source=self.source, where=where, got=error.got, expected=error.expected)


@dataclass
class Manifests:
    """Everything read from an input.

    Attributes
    ----------
    documents : list of Document
        The objects in the order of the input.
    inputs : dict of str to str
        SHA-256 of each file's content, by file name.
    ignored : dict of str to int
        Number of documents that are no objects, by what they are.
    notices : list of Notice
        A notice about each slip of the author that `workbench.formats.mend` corrected, and about what the snapshot of a
        live cluster lacks.
    findings : tuple of Notice
        Everything for which a cluster would refuse an object (`workbench.formats.review.Reviewer`).
    """

    documents: list[Document] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    findings: tuple[Notice, ...] = ()

    def record(self, source: str, content: bytes) -> None:
        """Store the checksum of an input file."""
        self.inputs[source] = hashlib.sha256(content).hexdigest()


#: Reads a file that is no manifest: (content, source) -> whether the file was taken.
Claim = Callable[[bytes, str], bool]

#: Receives each object as soon as it is read.
Take = Callable[[Document], None]


def read_manifests(
    paths: Iterable[str | Path],
    stdin: bytes | str | None = None,
    claim: Claim | None = None,
    take: Take | None = None,
) -> Manifests:
    """Read every Kubernetes object in files, folders and, for the path ``-``, in `stdin`.

    Raises InputError: missing, not text, empty, not YAML or JSON, or a folder without manifests.

    Parameters
    ----------
    paths : iterable of str or Path
        Of a folder the files ``*.yaml``, ``*.yml`` and ``*.json`` are read, sorted by name, without sub-folders. A
        document without a kind is counted as ignored in a folder, and is an error in a file that is named itself.
    stdin : bytes or str, optional
        Content for the path ``-``.
    claim : callable, optional
        Called with the content and name of each file; if it returns True, the file is not read as manifests.
    take : callable, optional
        Called with each object, which is then not appended to `Manifests.documents`: a large file is then never
        in memory as a whole tree of parsed objects.
    """
    result = Manifests()
    take = take or result.documents.append
    paths = list(paths)
    if not paths:
        raise InputError("nothing to read", source="paths", expected="a file, a folder or -")
    for path in paths:
        if isinstance(path, str) and path == "":
            raise InputError("an empty path", source="paths", expected="a file, a folder or -")
        path = checked_path(path)
        if str(path) == STDIN:
            if stdin is None:
                raise InputError("no text was handed in", source=STDIN, expected="manifests on standard input")
            content = stdin.encode(errors="surrogatepass") if isinstance(stdin, str) else stdin
            _add(result, content, "stdin", claim, take, strict=True)
        elif on_disk(path).is_dir():
            _add_folder(result, Path(path), claim, take)
        else:
            _add(result, read_bytes(path), str(path), claim, take, strict=True)
    return result


def read_text(content: bytes, source: str) -> list[tuple[Any, str]]:
    """All documents of a YAML or JSON text as a list; see `read_documents`."""
    return list(read_documents(content, source))


def read_documents(content: bytes, source: str) -> Iterator[tuple[Any, str]]:
    """Parse every document of a YAML or JSON text; yields each with its place ("document 2") for errors.

    Whether a text is YAML or JSON is decided by its content; YAML documents are parsed one by one as they are consumed.

    Raises InputError: binary, empty, or neither YAML nor JSON.
    """
    documents: Iterable[YamlDocument]
    head = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("binary data", source=source, got=shown(content[:8]), expected="YAML or JSON text")
    if not head:
        raise InputError(
            "the file is empty", source=source, got=counted(len(content), "byte"), expected="YAML or JSON text"
        )
    if head[:1] in (b"{", b"["):
        try:
            data = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError as error:
            json_error = InputError(
                f"not JSON: {error.msg}",
                source=source,
                where=f"line {error.lineno}, column {error.colno}",
                expected="JSON, or YAML",
            )
        else:
            _refuse_keys_twice(data, content, source)
            yield data, "document 1"
            return
        # YAML may begin with a brace as well; JSON documents one after another, separated by ---, are YAML.
        try:
            documents = list(read_yaml(content, source))
        except InputError:
            raise json_error from None
    else:
        documents = read_yaml(content, source)
    number = 0
    try:
        for number, document in enumerate(documents, 1):
            yield document.data, f"document {number} (line {document.line})"
    except InputError as error:
        raise _with_slips(error, content) from None
    if not number:
        raise InputError("no document in it", source=source, got="only comments", expected="Kubernetes manifests")


def objects_in(text: str, source: str) -> Iterator[Document]:
    """The Kubernetes objects in a YAML or JSON text; none if it is empty or has only comments.

    Raises InputError: as `read_documents`, and for a document that is no Kubernetes object.

    `source`: name of the text in errors.
    """
    if all(line.lstrip().startswith("#") for line in text.splitlines() if line.strip()):
        return
    for data, where in _documents(text.encode(errors="surrogatepass"), source, strict=True):
        if type(data) is not dict or "kind" not in data:
            raise _no_object(data, source, where)
        yield from _objects(data, source, where)


def _with_slips(error: InputError, content: bytes) -> InputError:
    """The parser's error, followed by every slip that the text has if it is written by hand."""
    slips = find_slips(content.decode("utf-8-sig", "replace")) if len(content) <= HAND_WRITTEN else []
    if not slips:
        return error
    return error.remarking("; ".join(["to be mended", *slip_texts(slips)]))


def _refuse_keys_twice(data: Any, content: bytes, source: str) -> None:
    """Raise InputError if a JSON text has duplicate keys, of which Python's JSON parser would keep the last."""
    # Every key ends in a quote and a colon. Written anew, the text has as many of them, or fewer if a key was lost.
    try:
        if (ends := _ends_of_keys(content)) >= 0 and ends == _ends_of_keys(orjson.dumps(data)):
            return
    except orjson.JSONEncodeError:  # nested more deeply than it writes
        pass

    def pairs(found: list[tuple[str, Any]]) -> None:
        known: set[str] = set()
        for key, _ in found:
            if key in known:
                raise InputError(
                    "the same key twice in JSON", source=source, where="document 1", got=repr(key), expected="each once"
                )
            known.add(key)

    try:
        json.loads(content.decode("utf-8-sig"), object_pairs_hook=pairs)
    except RecursionError:
        raise InputError("nested too deeply in JSON", source=source, expected="fewer levels") from None


def _ends_of_keys(content: bytes) -> int:
    """Number of quotes before a colon in a JSON text; -1 if a space before a colon or an escape makes it uncertain."""
    text = np.frombuffer(content, dtype=np.uint8)
    before = text[np.flatnonzero(text == ord(":")) - 1]
    odd = any(bool((before == space).any()) for space in _SPACES) or _QUOTE in content
    return -1 if odd else int(np.count_nonzero(before == ord('"')))


def _add_folder(result: Manifests, folder: Path, claim: Claim | None, take: Take) -> None:
    try:
        inside = on_disk(folder).iterdir()
        files = sorted(folder / p.name for p in inside if p.suffix in _SUFFIXES and p.is_file())
    except OSError as error:
        raise unreadable(folder, error) from None
    found = False
    for file in files:
        found = _add(result, read_bytes(file), str(file), claim, take, strict=False) or found
    if not found:
        raise InputError(
            "no manifest in the folder",
            source=str(folder),
            got=f"{counted(len(files), 'file')} *.yaml, *.yml or *.json",
            expected="Kubernetes manifests; fabric files of other names are given one by one",
        )


def _add(result: Manifests, content: bytes, source: str, claim: Claim | None, take: Take, *, strict: bool) -> bool:
    """Add the documents of a file to `result`; returns whether the file was claimed or held an object.

    `claim` and `take` are as in `read_manifests`; with `strict`, a document without a kind raises InputError.
    """
    reached("parsing bytes", 0, len(content))
    result.record(source, content)
    if claim is not None and claim(content, source):
        return True
    found = False
    for data, where in _documents(content, source, strict=strict):
        if type(data) is not dict or ("kind" not in data and not strict):
            if strict:
                raise _no_object(data, source, where, describe_document(data, content))
            result.ignored[_NO_KIND] = result.ignored.get(_NO_KIND, 0) + 1
        elif "kind" not in data and (seems := describe_document(data, content)) is not None:
            raise _no_object(data, source, where, seems)
        else:
            result.notices += _recorded_gaps(data)
            for document in _objects(data, source, where):
                take(document)
                found = True
    return found


def _recorded_gaps(data: Mapping[str, Any]) -> list[Notice]:
    """What the snapshot of a live cluster (`workbench live snapshot`) could not read, as the file says."""
    recorded: Any = data
    for key in ("metadata", "snapshot", "gaps"):
        recorded = recorded.get(key) if isinstance(recorded, Mapping) else None
    if data.get("kind") != "List" or not isinstance(recorded, list):
        return []
    gaps = [[one.get(key) for key in ("code", "message", "subject")] for one in recorded if isinstance(one, Mapping)]
    return [Notice(str(code), str(said), str(subject or "")) for code, said, subject in gaps if code and said]


def unpacked(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The object in a manifest, or the items of a List, which stays as it is."""
    return (document.data for document in _objects(dict(data), "", "", release=False))


def _objects(data: dict[str, Any], source: str, where: str, *, release: bool = True) -> Iterator[Document]:
    """The object in a parsed document, or the items of a List; items of a typed list (NodeList) get their kind from it.

    A List whose items are null is empty, as in the API; items that are no list raise InputError. With `release` an item
    is taken out of the List, so that the whole List is never in memory beside what is made of it.
    """
    kind, items = data.get("kind"), data.get("items")
    if type(kind) is not str or not kind.endswith("List") or (kind != "List" and "items" not in data):
        yield Document(data, source, where)
        return
    if items is None:
        return
    if type(items) is not list:
        raise InputError(
            "wrong type or value",
            source=source,
            where=f"{where}, items",
            got=shown(items),
            expected="a list of objects",
        )
    inherited = {"apiVersion": data.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    for i, item in enumerate(items):
        if release:
            # Whoever takes the object keeps what it needs.
            items[i] = None
        place = f"{where}, items[{i}]"
        if type(item) is not dict:
            raise _no_object(item, source, place)
        yield from _objects({**inherited, **item} if "kind" not in item else item, source, place, release=release)


def _documents(content: bytes, source: str, *, strict: bool) -> Iterator[tuple[Any, str]]:
    try:
        yield from read_documents(content, source)
    except InputError as error:
        seems = describe_content(content) if strict else None
        if seems is None:
            raise
        raise _misplaced(source, error.where, *seems) from None


def _no_object(value: Any, source: str, where: str, seems: tuple[str, str] | None = None) -> InputError:
    if seems is not None:
        return _misplaced(source, where, *seems)
    # A text is often a fabric that its content does not give away.
    expected = "a mapping, or a fabric of a known format (--from)" if type(value) is str else "a mapping"
    return InputError("no Kubernetes object", source=source, where=where, got=shown(value), expected=expected)


def _misplaced(source: str, where: str | None, what: str, expected: str) -> InputError:
    """The error for a file of a kind that is known and not read here, which it names instead of a syntax error."""
    return InputError(
        "no Kubernetes object", source=source, where=where, got=f"what looks like {what}", expected=expected
    )
