"""Checksums of content: equal for equal values in any process, different wherever an outcome could differ."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import workbench
from tests.hand_made import document_tree, snapshot_of
from workbench.errors import InputError
from workbench.policies import Policy, get_policy
from workbench.policies.base import Composed, NodePolicy
from workbench.policies.function import FunctionPolicy
from workbench.study.digest import digest_of, package_digest, policy_digest


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
