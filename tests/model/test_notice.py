"""Notices as values; every code is registered, used and documented; no code reads a sentence."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.notice_codes import PAGE, REMEDIES, page
from workbench.model.notice import Notice, texts_of
from workbench.model.notice_codes import CODES, GROUPS

PACKAGE = Path(__file__).parents[2] / "workbench"
TABLE = PACKAGE / "model" / "notice_codes.py"
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p != TABLE and "_core" not in p.relative_to(PACKAGE).parts)

#: Calls whose first argument is the code of a notice.
MAKERS = {"Notice", "NoPlan", "Cause"}

#: Calls whose code is no literal. Where it comes from a table or a condition, that is in the same module.
COMPUTED = {
    "formats/manifests.py": "read from a file",
    "formats/snapshot_file.py": "read from a file",
    "jobs/object_notes.py": "the code of the notice that is told with its object",
    "jobs/roles.py": "an argument of the inner function, literal in its calls",
    "jobs/running.py": "a table in the function",
    "policies/demand.py": "an argument of the inner function, literal in its calls; the code of a cause",
    "policies/gpu_sharing/policy.py": "the code of the most frequent cause",
    "policies/koordinator/turn.py": "one of two",
    "policies/kube/groups/policy.py": "one of two",
    "policies/kube/policy.py": "a table in the module",
    "policies/reasons.py": "the code of the most frequent cause",
    "policies/switch_affinity/new_job.py": "a table in the module",
    "policies/switch_affinity/policy.py": "the code of the plan that was not found",
}

#: Ways to look into a text.
SEARCHES = {
    "startswith", "endswith", "find", "rfind", "index", "rindex", "count", "split", "rsplit", "partition", "rpartition",
    "splitlines", "removeprefix", "removesuffix", "replace", "strip", "lstrip", "rstrip",
    "match", "search", "fullmatch", "findall", "finditer", "sub",
}  # fmt: skip

#: Names that variables with a notice have.
NOTICES = {"gap", "note", "notice", "reason", "warning"}


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def codes_given(tree: ast.Module) -> Iterator[ast.expr]:
    """The code of each notice that a module makes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node) in MAKERS:
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            yield from [*node.args[:1], *named]


def is_text(node: ast.AST) -> bool:
    """Whether an expression is a message, or an element of some messages."""
    if isinstance(node, ast.Subscript):
        return is_text(node.value)
    match node:
        case ast.Call(func=ast.Name(id="texts_of")):
            return True
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return is_text(value) or (isinstance(value, ast.Name) and value.id in NOTICES)
        case ast.Call(func=ast.Attribute(value=value, attr="lower" | "upper" | "casefold")):
            return is_text(value)
    return isinstance(node, ast.Attribute) and node.attr == "message"


def sentences_read(tree: ast.Module) -> list[int]:
    """Lines where a message is compared, searched or taken apart."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                looked_at = [left, *others]
            case ast.Call(func=ast.Attribute(value=value, attr=attr), args=args) if attr in SEARCHES:
                looked_at = [value, *args]
            case ast.comprehension(target=_, iter=of, ifs=conditions) if is_text(of):
                looked_at = [of] if conditions else []
            case ast.Match(subject=subject):
                looked_at = [subject]
            case _:
                continue
        if any(map(is_text, looked_at)):
            found.append(node.lineno if hasattr(node, "lineno") else looked_at[0].lineno)
    return found


def test_a_notice_is_a_value_that_prints_as_its_message() -> None:
    notice = Notice("gpu", "no GPUs", "node n0", {"count": 2})
    assert str(notice) == f"{notice}" == "no GPUs"
    assert notice.to_dict() == {"code": "gpu", "message": "no GPUs", "subject": "node n0", "numbers": {"count": 2}}
    assert pickle.loads(pickle.dumps(notice)) == notice
    assert {notice: 1}[replace(notice, numbers={"count": 2})] == 1
    for other in ({"code": "taint"}, {"message": "no"}, {"subject": ""}, {"numbers": {"count": 3}}):
        assert replace(notice, **other) != notice
    assert (notice.meaning, Notice("of-another-package", "x").meaning) == (CODES["gpu"], "")
    assert texts_of([notice, Notice("gpu", "none")]) == ["no GPUs", "none"]


def test_the_codes_are_kebab_case_each_in_one_group_with_a_meaning() -> None:
    assert len(CODES) == sum(map(len, GROUPS.values()))
    for code, meaning in CODES.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code), code
        assert len(meaning) > len(code) and meaning.endswith(".") and meaning[0].isalnum(), code
    for group in GROUPS.values():
        assert list(group) == sorted(group)


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Every module of the package by its path, parsed once for all tests."""
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


@pytest.mark.slow
def test_a_code_is_a_registered_literal(trees: dict[str, ast.Module]) -> None:
    computed, unregistered = set(), []
    for module, tree in trees.items():
        for given in codes_given(tree):
            if not isinstance(given, ast.Constant):
                computed.add(module)
            elif given.value not in CODES:
                unregistered.append(f"{module}:{given.lineno}: {given.value}")
    assert unregistered == []
    assert sorted(computed) == sorted(COMPUTED)


@pytest.mark.slow
def test_every_registered_code_is_used(trees: dict[str, ast.Module]) -> None:
    used: set[object] = set()
    for module, tree in trees.items():
        used |= {code.value for code in codes_given(tree) if isinstance(code, ast.Constant)}
        if module in COMPUTED:
            used |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert sorted(CODES.keys() - used) == []


@pytest.mark.slow
def test_nobody_reads_a_sentence(trees: dict[str, ast.Module]) -> None:
    assert [f"{module}:{line}" for module, tree in trees.items() for line in sentences_read(tree)] == []


@pytest.mark.parametrize(
    "code",
    [
        'if gap.message.startswith("x"): pass',
        'if "x" in gap.message: pass',
        'if "x" in str(gap.message).lower(): pass',
        'if gap.message == "x": pass',
        'if "x" in str(gap): pass',
        'word = gap.message.split(" ")[0]',
        'word = re.search("x", gap.message)',
        'if "x" in texts_of(gaps): pass',
        "match gap.message:\n    case 'x': pass",
        'found = [text for text in texts_of(gaps) if text > "x"]',
    ],
)
def test_reading_a_sentence_is_found(code: str) -> None:
    assert sentences_read(ast.parse(code))


@pytest.mark.parametrize("code", ['if gap.code == "x": pass', "print(gap.message)", 'f"{gap.message}: {gap.code}"'])
def test_telling_a_sentence_is_no_reading(code: str) -> None:
    assert sentences_read(ast.parse(code)) == []


def test_the_page_says_what_the_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_reason_why_something_waits_has_a_remedy() -> None:
    assert REMEDIES.keys() == GROUPS["Why a gang or a pod waits"].keys()
