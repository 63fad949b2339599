"""Checksums of content: equal for equal values in any process, different wherever an outcome could differ."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import workbench
from tests.evaluate.cost.test_plan import plan
from tests.hand_made import document_tree, gang_of, snapshot_of
from workbench.errors import InputError
from workbench.evaluate.cost import LeastCost
from workbench.policies import Policy, get_policy
from workbench.policies.composed import Composed
from workbench.policies.contract import SchedulerTraits
from workbench.policies.function import FunctionPolicy
from workbench.policies.node_policy import NodePolicy
from workbench.study.digest import digest_of, package_digest, policy_digest
from workbench.study.own_modules import imported_modules, own_modules


def function(source: str, name: str = "f", **names: object) -> object:
    """A function as a notebook's cell makes it."""
    cell: dict[str, object] = {"__name__": "__main__", **names}
    exec(source, cell)
    return cell[name]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0, None),
        ("1", 1),
        ("a", b"a"),
        (["ab", "c"], ["a", "bc"]),
        ([1, [2]], [[1], 2]),
        ((1, 2), [1, 2]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        (np.arange(4), np.arange(4.0)),
        (np.arange(4), np.arange(4).reshape(2, 2)),
        (np.arange(4), np.array([0, 1, 2, 4])),
        (0.0, -0.0),
        (range(3), range(4)),
        (print, len),
        (os.path.join, os.path.split),
    ],
)
def test_different_values(one: object, other: object) -> None:
    assert digest_of(one) != digest_of(other)
    assert digest_of(one, other) != digest_of(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"x", "y", "z"}, {"z", "y", "x"}),
        (np.float64(0.5), 0.5),
        (np.arange(6).reshape(2, 3).T, np.ascontiguousarray(np.arange(6).reshape(2, 3).T)),
        (float("nan"), float("nan")),
    ],
)
def test_equal_values(one: object, other: object) -> None:
    assert digest_of(one) == digest_of(other)


def test_where_a_snapshot_was_read_is_no_part_of_it() -> None:
    snapshot = snapshot_of(document_tree())
    assert digest_of(replace(snapshot, source="elsewhere", taken_at="later")) == digest_of(snapshot)
    used = snapshot.used.copy()
    used[0, 0] += 1
    assert digest_of(replace(snapshot, used=used)) != digest_of(snapshot)


TWO = "def f(gang, ledger, x=1):\n    return x + A\n"


def test_a_function_is_its_code_its_defaults_and_what_it_names() -> None:
    first = digest_of(function(TWO, A=1))
    assert digest_of(function(f"# a comment\n\n{TWO}", A=1, unused=3)) == first
    others = [
        function(TWO, A=2),
        function(TWO.replace("x=1", "x=2"), A=1),
        function(TWO.replace("x + A", "x - A"), A=1),
        function(TWO.replace("x + A", "x + A + 1"), A=1),
    ]
    assert len({first, *map(digest_of, others)}) == 5


def test_what_a_function_calls_counts_too() -> None:
    source = "def g(): return 1\ndef f(gang, ledger): return g()\n"
    assert digest_of(function(source)) != digest_of(function(source.replace("return 1", "return 2")))
    inner = "def f(gang, ledger):\n    def h(): return [A for _ in range(3)]\n    return h()\n"
    assert digest_of(function(inner, A=1)) != digest_of(function(inner, A=2))
    nested = "def make(n):\n    def f(gang, ledger): return n\n    return f\nf, g = make(1), make(2)\n"
    assert digest_of(function(nested)) != digest_of(function(nested, "g"))
    kind = "class K:\n    def m(self): return 1\nk = K()\ndef f(gang, ledger): return k.m()\n"
    assert digest_of(function(kind)) != digest_of(function(kind.replace("return 1", "return 2")))


def test_a_function_that_calls_itself_or_a_partner() -> None:
    source = "def f(n): return n and g(n - 1)\ndef g(n): return n and f(n - 1)\n"
    assert digest_of(function(source)) == digest_of(function(source))
    assert digest_of(function(source)) != digest_of(function(source.replace("n and f(n - 1)", "n or f(n - 1)")))


def test_a_module_of_the_users_counts_with_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for text in ("RULE = 1\n", "RULE = 2\n"):
        (tmp_path / "own_rules.py").write_text(text)
        sys.modules.pop("own_rules", None)
        found.append(
            digest_of(function("import own_rules, numpy\ndef f(gang, ledger): return own_rules.RULE, numpy\n"))
        )
    sys.modules.pop("own_rules", None)
    assert found[0] != found[1]


TRY = "def f(g=None, h=None):\n    try: g(); h()\n    except ValueError: return 1\n    return 2\n"
CLASS = """
from functools import cached_property
class f:
    k = 1
    @staticmethod
    def s(x): return x + 20
    @classmethod
    def c(cls): return 30
    @property
    def p(self): return 40
    @p.setter
    def p(self, value): self.q = 50
    @cached_property
    def d(self): return 60
    def m(self): return self.k
"""
CACHED = "from functools import cache\n@cache\ndef g(): return 1\ndef f(gang, ledger): return g()\n"
PARTIAL = "from functools import partial\ndef h(x): return x + 1\ng = partial(h, 1)\ndef f(gang, ledger): return g()\n"
ENUM = "from enum import Enum\nclass Rule(Enum):\n    A = 1\ndef f(gang, ledger): return Rule.A.value\n"
MADE = """
from dataclasses import dataclass, field
@dataclass
class Rule:
    source: str = "left"
    drawn: int = field(init=False, default=1)
rule = Rule()
def f(gang, ledger): return rule
"""
INNER = "def make(n):\n    def g(): return n\n    return g\ng = make(1)\ndef f(gang, ledger): return g()\n"

#: A cell that makes `f`, and pieces of it, each with another one in its place.
EDITS = {
    "what stands in a try": (TRY, [("try: g(); h()", "g()\n    try: h()")]),
    "kinds of arguments": (
        "def f(gang, ledger): return 1\n",
        [("(gang, ledger)", args) for args in ("(gang, *, ledger)", "(gang, /, ledger)", "(gang, *ledger)")],
    ),
    "a generator": ("def f(n):\n    return n\n    yield\n", [("    yield\n", "")]),
    "attributes of a class": (
        CLASS,
        [
            ("k = 1", "k = 2"),
            ("x + 20", "x - 20"),
            ("return 30", "return 31"),
            ("return 40", "return 41"),
            ("self.q = 50", "self.q = 51"),
            ("return 60", "return 61"),
            ("staticmethod", "classmethod"),
        ],
    ),
    "attributes of a function": ("def f(n): return f.limit\nf.limit = 1\n", [("limit = 1", "limit = 2")]),
    "a function behind a cache": (CACHED, [("return 1", "return 2")]),
    "a function in a partial": (PARTIAL, [("x + 1", "x - 1"), ("(h, 1)", "(h, 2)")]),
    "values of an Enum": (ENUM, [("A = 1", "A = 2")]),
    "fields of a dataclass": (MADE, [('"left"', '"right"'), ("default=1", "default=2")]),
    "a closure": (INNER, [("make(1)", "make(2)"), ("return n\n    r", "return -n\n    r")]),
    "a dict with methods": (
        "class D(dict):\n    def __missing__(self, key): return 1\nd = D()\ndef f(gang, ledger): return d[0]\n",
        [("return 1", "return 2")],
    ),
    "a dict with a default": (
        "from collections import defaultdict\nd = defaultdict(int)\ndef f(gang, ledger): return d[0]\n",
        [("(int)", "(float)")],
    ),
    "a method of a built-in object": (
        "import random\ndraw = random.Random(1).random\ndef f(gang, ledger): return draw()\n",
        [("Random(1)", "Random(2)")],
    ),
    "arguments of a function of Python": (
        "from operator import itemgetter\nkey = itemgetter(0)\ndef f(gang, ledger): return key(gang)\n",
        [("(0)", "(1)")],
    ),
}


@pytest.mark.parametrize(("source", "edits"), EDITS.values(), ids=EDITS.keys())
def test_an_edit_anywhere_makes_another_digest(
    source: str, edits: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a notebook, whose names pickle finds.
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))

    def made(text: str) -> str:
        cell = vars(sys.modules["__main__"])
        exec(text, cell)
        return digest_of(cell["f"])

    first = made(source)
    assert all(old in source for old, _ in edits)
    assert made(f"# a comment\n\n{source}") == first
    assert len({first, *(made(source.replace(old, new)) for old, new in edits)}) == 1 + len(edits)


def test_what_a_cached_property_computed_is_no_part_of_an_object() -> None:
    made: Any = function(CLASS)
    used, unused = made(), made()
    assert used.d == 60 and digest_of(used) == digest_of(unused)
    used.more = 1
    assert digest_of(used) != digest_of(unused)


CYCLES = {
    "a list": "f = []\nf.append(f)\n",
    "a set of a function that mentions it": "s = set()\ndef f(): return s\ns.add(f)\n",
    "a key": "d = {}\ndef f(): return d\nd[f] = f\n",
    "an object": "class K: pass\nf = K()\nf.own = [f]\n",
    "a class": "class f:\n    @staticmethod\n    def made(): return f()\nf.only = f()\n",
    "functions that all mention each other": "".join(
        f"def g{i}(): return {', '.join(f'g{j}' for j in range(40))}\n" for i in range(40)
    )
    + "f = g7\n",
}


@pytest.mark.parametrize("source", CYCLES.values(), ids=CYCLES.keys())
def test_cycles_end(source: str) -> None:
    assert digest_of(function(source)) == digest_of(function(source))


IMPORTS = {
    "inside of a function": "def f(gang, ledger):\n    import own_rules\n    return own_rules.RULE\n",
    "from inside of a function": "def f(gang, ledger):\n    from own_rules import RULE\n    return RULE\n",
    "inside of an inner function": "def f(gang, ledger):\n    def g():\n        import own_rules\n    return g()\n",
    "with a function": "from own_rules import rule\ndef f(gang, ledger): return rule()\n",
    "with a class": "from own_rules import Rule\ndef f(gang, ledger): return Rule()\n",
    "by a module": "import own_uses\ndef f(gang, ledger): return own_uses.rule()\n",
    "by a module of a module, inside": "def f(gang, ledger):\n    import own_uses_that\n    return own_uses_that\n",
    "by a part of a package": "import own_pack.part\ndef f(gang, ledger): return own_pack.part.RULE\n",
    "by a package": "def f(gang, ledger):\n    from own_pack import part\n    return part.RULE\n",
}


@pytest.mark.parametrize("source", IMPORTS.values(), ids=IMPORTS.keys())
@pytest.mark.parametrize("imported", [False, True])
def test_a_module_counts_wherever_it_is_imported(
    source: str, imported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_pack").mkdir()
    texts = {
        "own_uses.py": "import own_uses_too, json\nfrom own_rules import RULE\ndef rule(): return RULE\n",
        "own_uses_too.py": "import own_uses\n",
        "own_uses_that.py": "def late():\n    from own_uses import rule, nothing\n",
        "own_pack/__init__.py": "raise_if_imported = 1\n",
        "own_pack/part.py": "from .. import none\nfrom .deep import RULE\n".replace("from .. import none\n", ""),
        "own_pack/deep.py": "from own_rules import RULE\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    def told(rule: str) -> str:
        (tmp_path / "own_rules.py").write_text(rule)
        forget()
        if imported:
            import_module("own_rules")
            import_module("own_pack.part")
        return digest_of(function(source))

    def forget() -> None:
        for name in [name for name in sys.modules if name.startswith("own_")]:
            del sys.modules[name]

    try:
        rules = "def rule(): pass\nclass Rule: pass\n"
        assert told(f"{rules}RULE = 1\n") == told(f"{rules}RULE = 1\n") != told(f"{rules}RULE = 22\n")
    finally:
        forget()


def test_an_edited_module_that_was_not_imported_anew_makes_another_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worker processes import the edited file."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_edited.py").write_text("def rule(): return 1\n")
    try:
        used: Any = function("from own_edited import rule\ndef f(gang, ledger): return rule()\n")
        first = digest_of(used)
        (tmp_path / "own_edited.py").write_text("def rule(): return 2\n")
        assert used(None, None) == 1 and digest_of(used) != first
    finally:
        sys.modules.pop("own_edited", None)


def test_looking_for_a_module_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_loud").mkdir()
    (tmp_path / "own_loud" / "__init__.py").write_text("raise RuntimeError\n")
    (tmp_path / "own_loud" / "part.py").write_text("from ... import beyond\nfrom . import other\n")
    (tmp_path / "own_loud" / "broken.py").write_text("def\n")
    code = compile("import own_loud.part, own_loud.broken, own_loud.missing, numpy.linalg, own_none", "cell", "exec")
    assert [*own_modules(imported_modules(code, ""))] == ["own_loud", "own_loud.broken", "own_loud.part"]
    assert not [name for name in sys.modules if name.startswith("own_")]


@dataclass
class Odd:
    """Something that cannot be taken apart."""

    inner: object


def test_what_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot be told from another's .found _io"):
        digest_of(Odd(sys.__stderr__))


_ELSEWHERE = """
import sys
from tests.study.test_digest import function, TWO
from workbench.study.digest import digest_of, package_digest, policy_digest
import workbench
print(digest_of({"p", "q", "r"}, function(TWO + "B = {'x', 'y'}", A=frozenset("abc"))), package_digest(),
      policy_digest(workbench.get_policy("volcano")),
      digest_of(workbench.load("datasets/job-log/cluster.yaml").snapshot))
"""


@pytest.mark.slow
def test_another_process_computes_the_same() -> None:
    root = Path(__file__).parents[2]

    def told(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
        command = [sys.executable, "-c", _ELSEWHERE]
        return subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True).stdout

    assert told("1") == told("2") and len(told("3").split()) == 4


def test_every_policy_has_a_digest_of_its_own() -> None:
    names = [info.name for info in workbench.list_policies() if info.kind != "gpu"]
    policies = [*map(get_policy, names), get_policy("random", seed=1), get_policy("binpack+gpu-simple")]
    assert len(set(map(policy_digest, policies))) == len(policies)
    assert len(package_digest()) == 64


def test_a_policy_that_is_no_function_counts_with_its_class() -> None:
    def made(body: str) -> Policy:
        base = get_policy("binpack")
        assert isinstance(base, Composed)
        source = f"class Own(Base):\n    name = 'own'\n    parameters = {{}}\n    def assign(self, request): {body}\n"
        kind = function(source, "Own", Base=NodePolicy)
        return Composed("own", kind(), base.gpu)  # type: ignore[operator]

    assert policy_digest(made("return 1")) == policy_digest(made("return 1")) != policy_digest(made("return 2"))
    by_function = Composed("own", FunctionPolicy("own", function(TWO, A=1)), get_policy("binpack").gpu)  # type: ignore
    assert policy_digest(by_function) != policy_digest(made("return 1"))


def test_attributes_of_a_users_policy_count() -> None:
    source = """
class Own(Base):
    name = "own"
    parameters = {}
    def __init__(self, rule): self.rule = rule
    def assign(self, request): return self.rule
"""
    kind: Any = function(source, "Own", Base=NodePolicy)
    gpu = get_policy("binpack").gpu  # type: ignore[attr-defined]
    one, same, other = (Composed("own", kind(rule), gpu) for rule in ([1], [1], [2]))
    assert policy_digest(one) == policy_digest(same) != policy_digest(other)


def test_whether_a_function_reads_the_topology_counts() -> None:
    gpu = get_policy("binpack").gpu  # type: ignore[attr-defined]
    traits = [SchedulerTraits(reads_topology=reads) for reads in (False, True)]
    made = [Composed("own", FunctionPolicy("own", function(TWO, A=1), {}, each), gpu) for each in traits]  # type: ignore[arg-type]
    assert policy_digest(made[0]) != policy_digest(made[1])


def test_policies_inside_of_a_policy_count_with_their_content() -> None:
    class Wrapper(Policy):
        name, parameters = "wrapper", {}  # type: ignore[assignment]

        def __init__(self, inner: Policy) -> None:
            self.inner = [inner]

        def place(self, gang: Any, ledger: Any, recorder: Any = None) -> Any:
            return self.inner[0].place(gang, ledger, recorder)

    def wrapped(source: str) -> Policy:
        own: Any = FunctionPolicy("own", function(source, A=1))  # type: ignore[arg-type]
        return Wrapper(Composed("own", own, get_policy("binpack").gpu))  # type: ignore[attr-defined]

    assert policy_digest(wrapped(TWO)) == policy_digest(wrapped(TWO))
    assert policy_digest(wrapped(TWO)) != policy_digest(wrapped(TWO.replace("x + A", "x - A")))


def test_policies_to_choose_among_count_with_their_parameters_and_the_plan_with_its_content() -> None:
    def chosen(ranks: int, seed: int) -> str:
        return policy_digest(LeastCost(plan(ranks), [get_policy("random", seed=seed)]))

    assert chosen(8, 1) == chosen(8, 1)
    assert len({chosen(8, 1), chosen(8, 2), chosen(16, 1)}) == 3


def test_a_policy_that_was_used_is_the_policy_that_it_was() -> None:
    snapshot = snapshot_of(document_tree())
    for name in ("volcano", "volcano-1.13", "binpack+gpu-best-effort", "koordinator-gpu", "fgd"):
        policy = get_policy(name)
        before = policy_digest(policy)
        policy.place(gang_of("a", 2), snapshot.ledger())
        assert policy_digest(policy) == before
