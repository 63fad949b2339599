from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.objects.node import read_node
from workbench.objects.pod import read_pod_spec
from workbench.objects.quantity import parse_quantity, read_resources, to_base_units

# Decimal is the third judge: 28 digits hold every value that is generated here exactly.
FACTORS = {
    **{s: Decimal(1000) ** p for p, s in enumerate(["n", "u", "m", "", "k", "M", "G", "T", "P", "E"], -3)},
    **{f"{s}i": Decimal(1024) ** p for p, s in enumerate("KMGT", 1)},
    **{f"e{p}": Decimal(10) ** p for p in range(-9, 10)},
    **{f"E{p}": Decimal(10) ** p for p in range(10)},
}

numbers = st.decimals(min_value=0, max_value=10**6, places=4)


@given(numbers, st.sampled_from(sorted(FACTORS)), st.sampled_from(["", "+", "-"]))
def test_a_quantity_is_its_number_times_its_suffix(number: Decimal, suffix: str, sign: str) -> None:
    want = number * FACTORS[suffix] * (-1 if sign == "-" else 1)
    value = parse_quantity(f"{sign}{number:f}{suffix}")
    assert value.numerator == want * value.denominator


@given(numbers, st.sampled_from(sorted(FACTORS)))
def test_base_units_round_up(number: Decimal, suffix: str) -> None:
    exact = number * FACTORS[suffix]
    text = f"{number:f}{suffix}"
    if exact <= 10**15:
        assert to_base_units("memory", text) == math.ceil(exact)
        assert to_base_units("cpu", text) == math.ceil(exact * 1000)


@pytest.mark.parametrize(
    ("resource", "text", "want"),
    [
        ("cpu", "500m", 500),
        ("cpu", "0.5", 500),
        ("cpu", ".5", 500),
        ("cpu", "2.", 2000),
        ("cpu", "1m", 1),
        ("cpu", "1u", 1),
        ("cpu", 4, 4000),
        ("cpu", 0.25, 250),
        ("memory", "4Gi", 4 << 30),
        ("memory", "1e3", 1000),
        ("memory", "1E", 10**18),
        ("memory", "1E3", 1000),
        ("memory", "128974848", 128974848),
        ("memory", "129M", 129_000_000),
        ("memory", "123Mi", 123 << 20),
        ("nvidia.com/gpu", "8", 8),
        ("nvidia.com/gpu", "500m", 1),
        ("memory", "0", 0),
    ],
)
def test_amounts_as_manifests_write_them(resource: str, text: object, want: int) -> None:
    assert to_base_units(resource, text) == want


@pytest.mark.parametrize(
    "value",
    ["", "4 Gi", "4gi", "Gi", "1e", "1.2.3", "0x10", "٣", "1_000", "m", "-", "1ki", "1e9999", "9" * 80, True, [1]],
)
def test_what_is_no_quantity_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="expected a Kubernetes quantity"):
        to_base_units("memory", value)


def test_a_negative_amount_is_refused() -> None:
    with pytest.raises(InputError, match="negative"):
        to_base_units("cpu", "-1")


def test_an_amount_that_int64_arrays_cannot_add_up_is_refused() -> None:
    assert to_base_units("memory", "4E") == 4 * 10**18
    with pytest.raises(InputError, match="2\\^62"):
        to_base_units("memory", "8Ei")


def test_no_node_and_no_pod_has_more_than_the_kernels_count_exactly() -> None:
    status = {"allocatable": {"memory": "8Pi"}}
    assert read_node({"metadata": {"name": "n"}, "status": status}).allocatable == {"memory": 2**53}
    with pytest.raises(InputError, match=r"status.allocatable\['memory'\].*2\^53"):
        read_node({"metadata": {"name": "n"}, "status": {"allocatable": {"memory": "9Pi"}}})
    container = {"name": "c", "resources": {"requests": {"memory": "5Pi"}}}
    assert read_pod_spec({"containers": [container]}, "spec").requests == {"memory": 5 * 2**50}
    with pytest.raises(InputError, match=r"spec.containers\['memory'\].*found 11258999068426240.*2\^53"):
        read_pod_spec({"containers": [container, container]}, "spec")


def test_the_error_of_a_resource_list_names_the_resource() -> None:
    with pytest.raises(InputError) as caught:
        read_resources({"limits": {"memory": "lots"}}, "limits", "spec.containers[0].resources")
    assert caught.value.where == "spec.containers[0].resources.limits['memory']"
    assert caught.value.got == "text 'lots'"


def test_a_truth_value_is_not_taken_for_the_number_one() -> None:
    assert to_base_units("pods", 1) == 1
    with pytest.raises(InputError):
        to_base_units("pods", True)
