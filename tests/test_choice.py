"""Choices shrink, are drawn evenly, and are what properties draw random clusters from."""

from __future__ import annotations

import ast
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import find, given, settings

from tests.choice import choices
from tests.policies.random_cases import random_cluster

ROOT = Path(__file__).parent

#: Properties whose seed is none of a cluster, with the reason.
ALLOWED = {
    "test_any_order_of_the_controllers_ends_alike": "the generator goes to the product, and the steps shrink",
    "test_the_bootstrap_is_its_slow_twin": "the generator goes to the product, and the values shrink",
}


@given(choices())
def test_every_choice_is_in_its_range(rng: random.Random) -> None:
    assert rng.randint(3, 5) in (3, 4, 5)
    assert rng.randrange(2, 9, 3) in (2, 5, 8)
    assert rng.choice("ab") in "ab"
    assert 0 <= rng.random() < 1
    assert len(set(rng.sample(range(30), 25))) == 25
    assert rng.sample("ab", 0) == []
    order = list("abc")
    rng.shuffle(order)
    assert sorted(order) == list("abc")


@pytest.mark.slow
def test_the_simplest_choices_are_the_lowest_the_first_and_no_chance() -> None:
    def drawn(rng: random.Random) -> tuple[object, ...]:
        order = list("abc")
        rng.shuffle(order)
        return rng.randint(3, 9), rng.choice("xyz"), rng.sample(range(9), 3), order, rng.random() < 0.95

    simplest = find(choices().map(drawn), lambda found: True)
    assert simplest == (3, "x", [0, 1, 2], ["a", "b", "c"], False)


@pytest.mark.slow
def test_what_a_condition_does_not_need_is_left_out() -> None:
    def drawn(rng: random.Random) -> tuple[int, int]:
        topology = random_cluster(rng).topology
        return topology.n_nodes, topology.n_domains

    n_nodes, n_domains = find(choices().map(drawn), lambda counts: counts[1] >= 2)
    assert n_nodes <= 4
    assert n_domains == 2


@pytest.mark.slow
def test_chances_and_choices_are_drawn_evenly() -> None:
    """Small examples come first, which is why the tolerance is wide."""
    seen: Counter[object] = Counter()

    @settings(max_examples=400, database=None)
    @given(choices())
    def draw(rng: random.Random) -> None:
        seen.update([rng.random() < 0.8, ("choice", rng.randint(0, 3)), "drawn"])

    draw()
    assert 0.65 < seen[True] / seen["drawn"] < 0.9
    assert all(0.15 < seen["choice", number] / seen["drawn"] < 0.45 for number in range(4))


# ---------------------------------------------------------------------------------------------------------------------
# No property feeds an integer that it draws to a random generator
# ---------------------------------------------------------------------------------------------------------------------

GENERATORS = {"Random", "default_rng", "RandomState", "SeedSequence"}


@dataclass
class Module:
    """Functions of a file by name (a class stands for its constructor), and what it imports from tests."""

    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Module:
        found = cls()
        constructors = {}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                found.functions[node.name] = node
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
                found.imports.update({a.asname or a.name: (node.module or "", a.name) for a in node.names})
            elif isinstance(node, ast.ClassDef):
                inside = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
                constructors.update(zip([node.name], inside, strict=False))
        found.functions.update(constructors)
        return found


def parameters(function: ast.FunctionDef) -> list[str]:
    every = [*function.args.posonlyargs, *function.args.args]
    return [one.arg for one in every if one.arg not in ("self", "cls")]


def values_in(expression: ast.expr) -> set[str]:
    """Names whose values are part of an expression; `rng` of ``rng.randrange(9)`` is none."""
    if isinstance(expression, ast.Call):
        return set().union(*map(values_in, [*expression.args, *(k.value for k in expression.keywords)]))
    if isinstance(expression, ast.Name):
        return {expression.id}
    parts = (part for part in ast.iter_child_nodes(expression) if isinstance(part, ast.expr))
    return set().union(*map(values_in, parts))


def name_of(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


class Seeds:
    """Parameters of functions that reach a random generator as its seed, also through functions that are called."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        self.known: dict[tuple[str, str], set[str]] = {}

    def of(self, module: str, name: str) -> set[str]:
        function = self.modules[module].functions.get(name) if module in self.modules else None
        if function is None:
            owner = self.modules[module].imports.get(name) if module in self.modules else None
            return self.of(*owner) if owner else set()
        if (module, name) not in self.known:
            self.known[module, name] = set()  # of a function that calls itself
            self.known[module, name] = self.found_in(module, function)
        return self.known[module, name]

    def found_in(self, module: str, function: ast.FunctionDef) -> set[str]:
        seeds: set[str] = set()
        parts_of: dict[str, str] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                for target in node.targets:
                    parts_of.update({one.id: node.value.id for one in ast.walk(target) if isinstance(one, ast.Name)})
            elif isinstance(node, ast.Call):
                called = name_of(node.func)
                if called in GENERATORS:
                    seeds |= values_in(node)
                elif wanted := self.of(module, called):
                    names = self.parameters_of(module, called)
                    given_here = [*zip(names, node.args, strict=False), *((k.arg, k.value) for k in node.keywords)]
                    for parameter, value in given_here:
                        if parameter in wanted:
                            seeds |= values_in(value)
        return {parts_of.get(name, name) for name in seeds} & set(parameters(function))

    def parameters_of(self, module: str, name: str) -> list[str]:
        function = self.modules[module].functions.get(name)
        return parameters(function) if function else self.parameters_of(*self.modules[module].imports[name])


def drawn_by(function: ast.FunctionDef) -> set[str]:
    """Parameters that `given` draws; Hypothesis counts positional strategies from the right."""
    found: set[str] = set()
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and name_of(decorator.func) == "given":
            found |= {keyword.arg for keyword in decorator.keywords if keyword.arg}
            found |= set(parameters(function)[len(parameters(function)) - len(decorator.args) :])
    return found


def draws_a_seed(function: ast.FunctionDef) -> bool:
    """Whether what ``draw`` or ``data.draw`` returns is a seed at once."""
    seeds = [node for node in ast.walk(function) if isinstance(node, ast.Call) and name_of(node.func) in GENERATORS]
    inside = [part for seed in seeds for argument in seed.args for part in ast.walk(argument)]
    return any(isinstance(part, ast.Call) and name_of(part.func) == "draw" for part in inside)


def seeded_properties(modules: dict[str, Module]) -> set[str]:
    seeds = Seeds(modules)
    return {
        name
        for module, content in modules.items()
        for name, function in content.functions.items()
        if drawn_by(function) & seeds.of(module, name) or draws_a_seed(function)
    }


@pytest.mark.slow
def test_no_property_draws_a_seed() -> None:
    texts = {path.relative_to(ROOT.parent): path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py"))}
    modules = {
        ".".join(path.with_suffix("").parts): Module.of(text)
        for path, text in texts.items()
        if "@given(" in text or any(f"{name}(" in text for name in GENERATORS)
    }
    assert seeded_properties(modules) == set(ALLOWED), "draw `tests.choice.choices()`, which shrink, not a seed"


SEEDED = {
    "the seed itself": "@given(st.integers())\ndef test(seed):\n    random.Random(seed)\n",
    "a sum": "@given(n=st.integers())\ndef test(n):\n    np.random.default_rng([n + 1, 3])\n",
    "a part of a tuple": "@given(cases)\ndef test(case):\n    seed, n = case\n    np.random.default_rng(seed)\n",
    "through a function": "def make(n, s):\n    return Random(s)\n\n\n@given(seeds)\ndef test(s):\n    make(3, s)\n",
    "through a class": "class A:\n    def __init__(self, s):\n        Random(s)\n@given(s=x)\ndef test(s):\n    A(s)\n",
    "through another file": "from tests.other import made\n\n\n@given(seeds)\ndef test(name, s):\n    made(seed=s)\n",
    "drawn in the test": "@given(st.data())\ndef test(data):\n    random.Random(data.draw(st.integers()))\n",
}

SOUND = {
    "choices": "@given(rng=choices())\ndef test(rng):\n    make(rng)\n",
    "a seed drawn of choices": "@given(rng=choices())\ndef test(rng):\n    np.random.default_rng(rng.randrange(9))\n",
    "another parameter": "@given(n=sizes)\ndef test(seed, n):\n    random.Random(seed)\n",
    "no property": "def test(seed):\n    random.Random(seed)\n",
}


@pytest.mark.parametrize("name", [*SEEDED, *SOUND])
def test_seeded_properties_are_found(name: str) -> None:
    other = Module.of("def made(seed):\n    return random.Random(seed)\n")
    here = Module.of({**SEEDED, **SOUND}[name])
    assert bool(seeded_properties({"tests.here": here, "tests.other": other})) == (name in SEEDED)
