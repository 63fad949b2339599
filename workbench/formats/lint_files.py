"""Lint files: report findings with file and line, and apply the linter's fixes to the files."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.formats.fabric.intake import FabricIntake
from workbench.formats.fabric.smallest_cut import smallest_cut
from workbench.formats.file_bytes import read_bytes
from workbench.formats.manifests import STDIN, Manifests, read_manifests, read_text
from workbench.formats.mend import with_readable_head
from workbench.formats.object_lines import decoded, not_editable, object_texts, spliced
from workbench.formats.read_files import read_objects
from workbench.formats.review import Reviewer
from workbench.formats.whole_file import write_whole
from workbench.model.no_collection import no_collection
from workbench.model.notice import Notice
from workbench.objects.admission import review
from workbench.objects.hypernode import unreadable
from workbench.objects.hypernode_manifest import is_hypernode
from workbench.topology.lint import FieldEdit, LintReport, Place, Subject, apply_edits, edits_by_hypernode, lint

__all__ = ["FileChange", "FixedFiles", "LintedFiles", "fix_files", "lint_files"]

_STDIN_SOURCE = "stdin"

#: Passes of fixing: one fix may enable another, such as when a corrected name exists already. Three always sufficed.
_PASSES = 10


@dataclass(frozen=True)
class LintedFiles:
    """Result of `lint_files`: the linter's report, and notices on the input that are not findings.

    Attributes
    ----------
    ignored : mapping of str to int
        Number of objects of each kind that is not read.
    notes : tuple of Notice
        Notes of the readers of other formats about ignored or doubtful input, such as a printout that is cut off.
    findings : tuple of Notice
        Everything for which a cluster would refuse an object of any kind, in the words of `workbench validate`.
    """

    report: LintReport
    ignored: Mapping[str, int]
    notes: tuple[Notice, ...] = ()
    findings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class FileChange:
    """The text of one file (`file` is its name) before and after the linter's fixes."""

    file: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The changes of the file as a unified diff, like `diff -u`."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True), self.after.splitlines(keepends=True), self.file, self.file
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True)
class FixedFiles:
    """Result of `fix_files`.

    `changes` (tuple of FileChange): the changed files; empty if no fix applies. `done` (tuple of str): one text per
    applied fix. `left`: a new report on the fixed files, with the remaining findings.
    """

    changes: tuple[FileChange, ...]
    done: tuple[str, ...]
    left: LintedFiles


def lint_files(
    paths: Iterable[str | Path],
    stdin: bytes | str | None = None,
    only: Iterable[str] = (),
    ignore: Iterable[str] = (),
    format: str | None = None,
) -> LintedFiles:
    """Lint the HyperNodes in files: Kubernetes manifests, or network topologies in other formats.

    Every finding about a HyperNode has its file; where the HyperNode was written as a manifest, document and line too.

    `paths`, `stdin`, `format`: as for `workbench.formats.load.load`. `only`, `ignore`: as for
    `workbench.topology.lint.lint`. Raises InputError: a file that does not parse (docs/decisions.md, decision 14).
    """
    places: dict[str, Place] = {}
    intake = FabricIntake.of(format)

    def claim(content: bytes, source: str) -> bool:
        taken = intake.claim(content, source)
        if taken:
            places.update((h.name, Place(source)) for h in intake.found[-1].hypernodes)
        return taken

    with no_collection():
        manifests = read_manifests(paths, stdin, claim)
        reviewer = Reviewer(written_only=True)
        for document in manifests.documents:
            reviewer.take(document)
        findings = reviewer.review().findings(stdin)
        refusals = _leave_out_refused(manifests)
        cluster = read_objects(manifests, keep_patterns=True, error_of=partial(reviewer.error, stdin=stdin))
        joined = intake.join(cluster)
        places |= {name: place for name, (place, _) in refusals.items()}
        written = {d.data["metadata"]["name"]: d for d in manifests.documents if is_hypernode(d.data)}
        places |= {name: Place(d.source, d.where) for name, d in written.items()}
        if joined.snapshot is not None:
            subject = replace(Subject.of_snapshot(joined.snapshot), places=places)
            notes = joined.snapshot.gaps
        else:
            data = {name: d.data for name, d in written.items()}
            subject = Subject.of_objects(cluster, places, data, joined.matrices)
            subject = replace(subject, refusals={name: texts for name, (_, texts) in refusals.items()})
            cuts = [smallest_cut(found.wiring) for found in intake.found if found.wiring is not None]
            notes = (*joined.notes, *(cut for cut in cuts if cut is not None))
        report = lint(subject, only, ignore)
    ignored = dict(sorted((Counter(manifests.ignored) + cluster.ignored).items()))
    return LintedFiles(_with_lines(report, manifests, stdin), ignored, notes, findings)


def _leave_out_refused(manifests: Manifests) -> dict[str, tuple[Place, list[str]]]:
    """Take out of the documents the HyperNodes that cannot be read, and mend those whose kind or name cannot be told.

    Returns the place of each such HyperNode, and why a cluster refuses it, by name.
    """
    refusals: dict[str, tuple[Place, list[str]]] = {}
    kept = []
    for written in manifests.documents:
        document, texts = with_readable_head(written)
        error = unreadable(document.data, keep_patterns=True) if is_hypernode(document.data) else None
        if error is None:
            kept.append(document)
        else:
            texts += _said(document.data) or [str(error)]
        if texts and is_hypernode(document.data):
            refusals[document.data["metadata"]["name"]] = Place(document.source, document.where), texts
    manifests.documents[:] = kept
    return refusals


def _said(hypernode: Mapping[str, Any]) -> list[str]:
    """Admission's words on a HyperNode that cannot be read; empty if admission cannot read it either."""
    try:
        return [fault.sentence for fault in review(hypernode).findings]
    except InputError:
        return []


def _with_lines(report: LintReport, manifests: Manifests, stdin: bytes | str | None) -> LintReport:
    """Add line numbers to the findings of a report; only files with findings are read again."""
    names: dict[str, set[str]] = {}
    for finding in report.findings:
        if finding.place is not None:
            names.setdefault(finding.place.file, set()).add(finding.hypernode)
    texts = {}
    for source in manifests.inputs:
        if source in names:
            text = decoded(_content(source, stdin))[0]
            texts.update(object_texts(text, {f"HyperNode {name}" for name in names[source]}))
    findings = tuple(
        replace(f, place=replace(f.place, line=texts[f"HyperNode {f.hypernode}"].line_of(f.path)))
        if f.place is not None and f"HyperNode {f.hypernode}" in texts
        else f
        for f in report.findings
    )
    return replace(report, findings=findings)


def _content(source: str, stdin: bytes | str | None) -> bytes:
    if source == _STDIN_SOURCE and stdin is not None:
        return stdin.encode(errors="surrogatepass") if isinstance(stdin, str) else stdin
    return read_bytes(source)


def fix_files(
    paths: Iterable[str | Path], only: Iterable[str] = (), ignore: Iterable[str] = (), format: str | None = None
) -> FixedFiles:
    """Apply every fix that has no alternative to the files, and lint the result.

    Comments, order, quotes and blank lines of a file stay as they are. A file is replaced as a whole, after its new
    text was read back and found to have exactly the intended content. A second run changes nothing.

    `paths`, `format`: as for `workbench.formats.load.load`. `only`, `ignore`: as for `workbench.topology.lint.lint`.
    Raises InputError: standard input among the paths, a file that cannot be written, or one whose form cannot be
    edited.
    """
    paths = [str(path) for path in paths]
    if STDIN in paths:
        raise InputError("standard input cannot be changed", source="--fix", got="-", expected="files or folders")
    only, ignore = tuple(only), tuple(ignore)

    def run() -> LintedFiles:
        return lint_files(paths, None, only, ignore, format)

    first: dict[str, str] = {}
    last: dict[str, str] = {}
    done: list[str] = []
    for _ in range(_PASSES):
        linted = run()
        edits = edits_by_hypernode(linted.report.findings)
        if not edits:
            break
        changed = [_changed(file, edits, names) for file, names in sorted(_by_file(linted.report).items())]
        for file, old, new, content in changed:
            write_whole(file, content)
            first.setdefault(file, old)
            last[file] = new
        done += [f"{f.hypernode}: {f.message}: {f.fix.meaning}" for f in linted.report.fixable if f.fix]
    changes = tuple(FileChange(file, first[file], last[file]) for file in first)
    return FixedFiles(changes, tuple(done), run())


def _by_file(report: LintReport) -> dict[str, set[str]]:
    files: dict[str, set[str]] = {}
    for finding in report.fixable:
        if finding.place is not None:
            files.setdefault(finding.place.file, set()).add(finding.hypernode)
    return files


def _changed(
    file: str, edits: Mapping[str, tuple[FieldEdit, ...]], names: Collection[str]
) -> tuple[str, str, str, bytes]:
    """File name, old text, new text and new content of a file with the edits applied; nothing is written."""
    content = read_bytes(file)
    text, codec, mark = decoded(content)
    keys = {name: f"HyperNode {name}" for name in names}
    texts = object_texts(text, keys.values())
    found = {name: texts[key] for name, key in keys.items() if key in texts}
    if missing := sorted(set(names) - set(found)):
        raise not_editable(file, f"HyperNode {missing[0]} has no position in the text")
    new = spliced(text, [(found[name], edits[name]) for name in sorted(names)])
    after = mark + new.encode(codec)
    wanted = [_patched(data, {name: edits[name] for name in names}, "") for data, _ in read_text(content, file)]
    try:
        said = [data for data, _ in read_text(after, file)]
    except InputError as error:
        raise not_editable(file, f"the result would not be readable, {error.message}") from None
    if said != wanted:
        raise not_editable(file, "the result would say something else than meant")
    return file, text, new, after


def _patched(data: Any, edits: Mapping[str, tuple[FieldEdit, ...]], inherited: str) -> Any:
    """A parsed document with the edits applied to its HyperNodes; `inherited`: kind of the items of a typed list."""
    if type(data) is not dict:
        return data
    kind = data.get("kind", inherited)
    if type(kind) is str and kind.endswith("List") and type(data.get("items")) is list:
        return {**data, "items": [_patched(item, edits, kind.removesuffix("List")) for item in data["items"]]}
    name = str(data["metadata"].get("name")) if kind == "HyperNode" and type(data.get("metadata")) is dict else ""
    return apply_edits(data, edits[name]) if name in edits else data
