from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from tests.fabrics import document_tree
from workbench.errors import InputError, UnknownNameError
from workbench.formats.scheduler_conf import parse_config
from workbench.model.gang import Gang, Role
from workbench.policies import get_policy, list_policies, policy, registry
from workbench.policies.composed import Composed
from workbench.policies.parameters import NoParameters, parameter
from workbench.policies.registry import Entry

JOB = Gang("d", "j", (Role("w", 2, {"nvidia.com/gpu": 8}, (8,)),), 2)


@pytest.fixture(autouse=True)
def _registry_as_it_was(monkeypatch):
    monkeypatch.setattr(registry, "_registered", dict(registry._entries()))


def test_names_of_both_parts_make_the_name():
    assert get_policy("allocate").name == "allocate"
    assert get_policy(" allocate + gpu-lowest-index ").name == "allocate+gpu-lowest-index"


def test_volcano_is_the_newest_registered():
    assert get_policy("volcano").name == "volcano-1.15"
    assert get_policy("volcano+gpu-bottleneck").name == "volcano-1.15+gpu-bottleneck"


def test_parameters_of_the_gpu_part_are_given_by_mapping_or_prefix():
    assert get_policy("gang+gpu-bottleneck", gpu={"symmetric": "max"}).parameters == {"gpu.symmetric": "max"}
    assert get_policy("gang", **{"gpu.symmetric": "mean"}).parameters == {"gpu.symmetric": "mean"}


def test_parameters_have_defaults_and_may_be_texts():
    assert get_policy("volcano").parameters["weight"] == 10
    assert get_policy("volcano", weight="3", binpack_resources="nvidia.com/gpu=2").parameters["weight"] == 3


UNKNOWN = {
    "a policy": ("alocate", {}, "unknown policy 'alocate'; did you mean allocate"),
    "a GPU policy": ("gang+gpu-botleneck", {}, "unknown GPU policy 'gpu-botleneck'; did you mean gpu-bottleneck"),
    "an alias": ("volcan", {}, "unknown policy 'volcan'; did you mean volcano or volcano-1.15"),
    "a parameter": ("volcano", {"wieght": 1}, "unknown parameter of volcano-1.15 'wieght'; did you mean weight"),
    "a GPU parameter": (
        "gang",
        {"gpu.symetric": "min"},
        "unknown parameter of gpu-bottleneck 'symetric'; did you mean symmetric",
    ),
}


@pytest.mark.parametrize(("spec", "parameters", "want"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_unknown_names_offer_close_ones(spec, parameters, want):
    with pytest.raises(UnknownNameError) as error:
        get_policy(spec, **parameters)
    assert str(error.value).startswith(want)


@pytest.mark.parametrize("spec", ["gpu-bottleneck", "gang+allocate", "gpu-bottleneck+gang"])
def test_a_part_of_the_wrong_kind_is_refused(spec):
    with pytest.raises(InputError, match="policy"):
        get_policy(spec)


def test_a_value_out_of_range_is_refused():
    with pytest.raises(
        InputError, match=r"volcano-1.15: weight: not a value for it \(found -1, expected integer from 0 to 1000000\)"
    ):
        get_policy("volcano", weight=-1)


def test_the_list_has_kinds_parameters_and_sources():
    infos = {info.name: info for info in list_policies()}
    assert {"allocate", "gang", "volcano-1.13", "binpack", "spread", "random"} <= set(infos)
    assert infos["gpu-bottleneck"].kind == "gpu"
    assert all(info.source and info.meaning for info in infos.values())
    symmetric = infos["gpu-bottleneck"].parameters[0]
    assert (symmetric.name, symmetric.type, symmetric.default) == ("symmetric", "text", "min")
    weight = next(p for p in infos["volcano-1.13"].parameters if p.name == "weight")
    assert weight.meaning and weight.source


def test_a_function_becomes_a_policy_and_is_replaced_by_the_next():
    @policy("mine")
    def mine(gang, ledger):
        """Everything on node0 and node1."""
        return ["node0", "node1"]

    assert get_policy("mine").place(JOB, document_tree().ledger()).node.tolist() == [0, 1]
    assert next(i for i in list_policies() if i.name == "mine").meaning == "Everything on node0 and node1."

    @policy("mine")
    def again(gang, ledger, first=3):
        return [first, first + 1]

    assert get_policy("mine").place(JOB, document_tree().ledger()).node.tolist() == [3, 4]
    assert get_policy("mine+gpu-lowest-index", first="5").place(JOB, document_tree().ledger()).node.tolist() == [5, 6]


@pytest.mark.parametrize("name", ["gang", "volcano", "a+b", ""])
def test_names_that_cannot_be_registered(name):
    with pytest.raises(InputError):
        policy(name)(lambda gang, ledger: None)


def test_other_packages_register_by_entry_point(monkeypatch):
    class Found:
        def __init__(self, name, value):
            self.name, self._value = name, value

        def load(self):
            return self._value

    def outside(gang, ledger):
        return [6, 7]

    entry = Entry(
        "whole-entry", "node", lambda _: get_policy("gang").node, NoParameters, "first fit again", "a package"
    )
    monkeypatch.setattr(registry, "_packages_read", False)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Found("outside", outside), Found("x", entry)])
    assert get_policy("outside").place(JOB, document_tree().ledger()).node.tolist() == [6, 7]
    assert get_policy("whole-entry").place(JOB, document_tree().ledger()).node.tolist() == [0, 1]


def test_an_entry_that_makes_another_kind_is_refused(monkeypatch):
    odd = Entry("odd", "gpu", lambda _: get_policy("gang").node, NoParameters, "", "")
    monkeypatch.setitem(registry._registered, "odd", odd)
    with pytest.raises(InputError, match="makes something else"):
        get_policy("gang+odd")


def test_a_whole_policy_takes_no_gpu_part(monkeypatch):
    whole = Entry("whole", "whole", lambda _: get_policy("gang"), NoParameters, "", "")
    monkeypatch.setitem(registry._registered, "whole", whole)
    assert get_policy("whole").place(JOB, document_tree().ledger()).n_placed == 2
    with pytest.raises(InputError, match="chooses the GPUs itself"):
        get_policy("whole+gpu-bottleneck")
    with pytest.raises(UnknownNameError, match=r"gpu\.symmetric"):
        get_policy("whole", gpu={"symmetric": "min"})
    with pytest.raises(UnknownNameError, match=r"'gpu\.symmetric'; did you mean symmetric"):
        get_policy("koordinator-gpu", gpu={"symmetric": "min"})


def test_a_parameter_dataclass_keeps_its_tables_apart():
    first, second = parameter({}, "a table").default_factory(), parameter({}, "a table").default_factory()
    first["cpu"] = 1
    assert second == {}


NAMED = [
    *(info.name for info in list_policies() if info.kind != "gpu"),
    *(f"random+{info.name}" for info in list_policies() if info.kind == "gpu"),
]


def another(parameter, name):
    """A value of a policy's parameter that is not its default; None if it is neither number, flag nor choice."""
    parts = [info for info in list_policies() if info.name in name.split("+") or info.name == "gpu-bottleneck"]
    prefixed = [("gpu." if part.kind == "gpu" else "", each) for part in parts for each in part.parameters]
    info = next(each for prefix, each in prefixed if f"{prefix}{each.name}" == parameter)
    if info.type == "flag":
        return not info.default
    if info.choices:
        return next(choice for choice in info.choices if choice != info.default)
    if info.type in ("integer", "number"):
        return info.default + 1 if info.high is None or info.default + 1 <= info.high else info.low
    return None


@pytest.mark.parametrize("name", NAMED)
def test_a_policy_with_other_parameters_is_the_one_that_the_registry_makes(name, monkeypatch):
    first = get_policy(name)
    others = {key: value for key in first.parameters if (value := another(key, name)) is not None}
    want = get_policy(name, **others)
    before = first.parameters
    monkeypatch.setattr(registry, "_registered", {})
    for policy_ in (first, pickle.loads(pickle.dumps(first))):
        made = policy_.with_parameters(**others)
        assert type(made) is type(want) and made.name == want.name
        assert made.parameters == want.parameters == {**before, **others}
    assert first.parameters == before
    assert first.with_parameters().parameters == before


def test_weights_of_a_configuration_do_not_keep_a_parameter_from_being_changed():
    text = b"actions: allocate\ntiers:\n- plugins:\n  - name: network-topology-aware\n    arguments: {weight: 7}\n"
    policy_ = get_policy("volcano-1.13", config=parse_config(text, "conf"))
    made = policy_.with_parameters(gpu_weight=2)
    assert (made.parameters["weight"], made.parameters["gpu_weight"]) == (7, 2)


def test_parameters_of_the_gpu_part_are_changed_and_kept():
    first = get_policy("random+gpu-mapa", seed=1, gpu={"pattern": "ring"})
    assert first.with_parameters(seed=2).parameters == {**first.parameters, "seed": 2}
    changed = {"gpu.bandwidth_sensitive": not first.parameters["gpu.bandwidth_sensitive"]}
    assert first.with_parameters(**changed).parameters == {**first.parameters, **changed}


@pytest.mark.parametrize(
    ("values", "want"),
    [
        ({"sed": 1}, "did you mean seed"),
        ({"seed": -1}, "random: seed: not a value for it"),
        ({"gpu.symetric": "min"}, "did you mean symmetric"),
    ],
)
def test_parameters_that_cannot_be_changed_so(values, want):
    with pytest.raises((InputError, UnknownNameError), match=want):
        get_policy("random").with_parameters(**values)


def test_a_policy_of_another_package_is_made_again_by_its_entry(monkeypatch):
    @dataclass(frozen=True)
    class Given:
        seed: int = parameter(0, "seed")

    @dataclass(frozen=True, eq=False)
    class Outside(type(get_policy("gang").node)):
        given: Given
        table: tuple

        @property
        def parameters(self):
            return {"seed": self.given.seed}

    entry = Entry("outside", "node", lambda given: Outside(given, ("x",)), Given, "", "a package")
    monkeypatch.setitem(registry._registered, "outside", entry)
    made = get_policy("outside", seed=1).with_parameters(seed=2)
    assert made.parameters["seed"] == 2 and made.node.table == ("x",)
    by_hand = Composed("outside", Outside(Given(1), ("y",)), made.gpu)
    with pytest.raises(InputError, match=r"seed: its parameters cannot be changed"):
        by_hand.with_parameters(seed=2)


def test_the_decorator_needs_a_name() -> None:
    with pytest.raises(InputError, match="a policy needs a name"):
        policy(lambda gang, ledger: None)  # type: ignore[arg-type]
