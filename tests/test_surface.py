"""Tests of the names that notebooks use."""

from __future__ import annotations

import subprocess
import sys

import pytest

import workbench
from tests.hand_made import dgx_like, document_tree, gang_of, snapshot_of
from workbench.errors import InputError, UnknownNameError

SNAPSHOT = snapshot_of(document_tree())


def test_every_public_name_is_there() -> None:
    missing = [name for name in workbench.__all__ if getattr(workbench, name, None) is None]
    assert missing == []
    assert set(workbench.__all__) <= set(dir(workbench))
    assert isinstance(workbench.__version__, str)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        workbench.nonsense  # noqa: B018


def test_place_is_a_session_of_one() -> None:
    gang = gang_of("a", 2)
    placement = workbench.place(gang, SNAPSHOT)
    assert isinstance(placement, workbench.Placement) and placement.policy == "volcano-1.15"
    decision = workbench.schedule([gang], SNAPSHOT)[0]
    assert decision.result.node.tolist() == placement.node.tolist()


def test_parameters_of_both_parts_reach_the_policy() -> None:
    placement = workbench.place(gang_of("a", 1), SNAPSHOT, "random+gpu-bottleneck", seed=5, gpu={"symmetric": "max"})
    assert placement.parameters["seed"] == 5 and placement.parameters["gpu.symmetric"] == "max"


def test_a_policy_object_is_taken_as_it_is_and_has_its_parameters_already() -> None:
    policy = workbench.get_policy("random", seed=5)
    assert workbench.place(gang_of("a", 1), SNAPSHOT, policy).parameters["seed"] == 5
    with pytest.raises(InputError, match="parameters already"):
        workbench.place(gang_of("a", 1), SNAPSHOT, policy, seed=6)


def test_what_does_not_fit_is_a_refusal() -> None:
    assert isinstance(workbench.place(gang_of("a", 9), SNAPSHOT), workbench.Refusal)


def test_explain_answers_as_place_does() -> None:
    explanation = workbench.explain(gang_of("a", 2), SNAPSHOT)
    assert explanation.decision.placed and explanation.candidates


def test_compare_and_best_gpus_take_what_a_notebook_has() -> None:
    comparison = workbench.compare([gang_of("a", 2)], SNAPSHOT, policies=["gang", workbench.get_policy("spread")])
    assert [row.policy for row in comparison.rows] == ["gang", "spread"]
    assert "tw-comparison" in comparison.to_html()
    assert workbench.best_gpus(dgx_like().gb_s, 4).to_dict()["bottleneck_gb_s"] == 48.0


def test_an_unknown_policy_offers_close_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean volcano"):
        workbench.place(gang_of("a", 1), SNAPSHOT, "volcanoo")


@pytest.mark.slow
def test_importing_it_is_cheap_and_values_still_get_their_pictures() -> None:
    code = (
        "import sys, workbench\n"
<<<<<<< HEAD
        "assert not {'numpy', 'pandas', 'jinja2', 'rich', 'inspect', 'logging'} & set(sys.modules), 'import workbench is heavy'\n"
=======
        "heavy = {'numpy', 'pandas', 'jinja2', 'rich', 'inspect', 'logging'} & set(sys.modules)\n"
        "assert not heavy, f'import workbench is heavy: {heavy}'\n"
>>>>>>> surface
        "matrix = workbench.BandwidthMatrix([[0.0, 1.0], [1.0, 0.0]])\n"
        "assert 'jinja2' not in sys.modules and 'workbench.report' not in sys.modules\n"
        "print(matrix._repr_html_()[:4])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("<svg\n", "")


@pytest.mark.slow
def test_a_value_imported_from_its_own_module_gets_its_picture_too() -> None:
    code = "from workbench.model.topology import Topology\nprint(Topology.build(['a'], [])._repr_html_()[:4])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("<svg\n", "")


@pytest.mark.parametrize(
    ("gang", "snapshot", "policy", "message"),
    [
        ("x", SNAPSHOT, "gang", "gang: not a gang"),
        (gang_of("a", 1), None, "gang", "snapshot: not a snapshot"),
        (gang_of("a", 1), SNAPSHOT, 3, "policy: not a policy"),
    ],
)
def test_values_of_the_wrong_kind_are_named_by_argument(gang, snapshot, policy, message) -> None:
    with pytest.raises(InputError, match=message):
        workbench.place(gang, snapshot, policy)


def test_a_text_is_no_list_of_gpus() -> None:
    with pytest.raises(InputError, match="free: no such GPU"):
        workbench.best_gpus([[0, 1], [1, 0]], 1, free="01")
