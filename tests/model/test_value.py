"""Hashes of values: equal for equal values, and different where a look-up would else compare value by value."""

from __future__ import annotations

from workbench.policies.kube.shape import PodShape


def test_pods_that_ask_for_other_amounts_have_hashes_of_their_own() -> None:
    shapes = [PodShape("ns", {"job": f"j{i % 10}"}, {"cpu": 100 * i, "memory": 1 << 30}) for i in range(200)]
    assert len(set(map(hash, shapes))) == 200


def test_the_order_and_the_kind_of_numbers_change_no_hash() -> None:
    one = PodShape("ns", {"a": "1", "b": "2"}, {"cpu": 1})
    other = PodShape("ns", {"b": "2", "a": "1"}, {"cpu": 1.0})  # type: ignore[dict-item]
    assert one == other and hash(one) == hash(other)


def test_of_a_large_mapping_the_size_goes_into_the_hash() -> None:
    many = {f"label-{i}": "x" for i in range(1000)}
    assert hash(PodShape("ns", many)) == hash(PodShape("ns", {**many, "label-0": "y"}))
