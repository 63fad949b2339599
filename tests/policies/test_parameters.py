from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.policies.parameters import ParameterInfo

INTEGER = ParameterInfo("n", "integer", 1, "", low=0, high=5)
NUMBER = ParameterInfo("x", "number", 1.0, "", low=0, high=1_000_000)
FLAG = ParameterInfo("f", "flag", False, "")
TEXT = ParameterInfo("t", "text", "min", "", choices=("min", "max"))
TABLE = ParameterInfo("m", "table", {}, "", low=0)

READ = [
    (INTEGER, 3, 3),
    (INTEGER, "3", 3),
    (NUMBER, 2, 2.0),
    (NUMBER, "2.5", 2.5),
    (FLAG, "yes", True),
    (FLAG, False, False),
    (TEXT, "max", "max"),
    (TABLE, "nvidia.com/gpu=2, cpu=0", {"nvidia.com/gpu": 2, "cpu": 0}),
    (TABLE, {"cpu": 1}, {"cpu": 1}),
    (TABLE, "", {}),
]


@pytest.mark.parametrize(("info", "given", "want"), READ)
def test_values_and_texts_are_read_as_the_type(info, given, want):
    read = info.read(given, "a-policy")
    assert read == want
    assert type(read) is type(want)


REFUSED = [
    (INTEGER, 2.0),
    (INTEGER, True),
    (INTEGER, "2.0"),
    (INTEGER, -1),
    (INTEGER, 6),
    (INTEGER, "0_1"),
    (INTEGER, "\uff11"),
    (INTEGER, "9" * 5000),
    (NUMBER, "1_0"),
    (NUMBER, "1e300"),
    (NUMBER, "nan"),
    (NUMBER, "inf"),
    (NUMBER, None),
    (NUMBER, -0.5),
    (FLAG, "maybe"),
    (TEXT, "mean"),
    (TEXT, 3),
    (TABLE, "cpu"),
    (TABLE, "cpu=x"),
    (TABLE, {"cpu": -1}),
    (TABLE, 3),
]


@pytest.mark.parametrize(("info", "given"), REFUSED)
def test_a_wrong_type_or_range_names_policy_and_parameter(info, given):
    with pytest.raises(InputError) as error:
        info.read(given, "a-policy")
    assert error.value.source == "a-policy"
    assert error.value.where == info.name
    assert error.value.expected == info.range
    assert len(error.value.got) < 70


@pytest.mark.parametrize(
    "given", [2**63, -(2**63), 10**400, 10**5000, "9" * 30], ids=["64 bits", "-64 bits", "400", "5000", "text"]
)
def test_a_whole_number_fits_64_bits(given):
    """Saved scenarios and reports are JSON: other programs read no longer number from it."""
    with pytest.raises(InputError, match=r"random: seed: .*that fits 64 bits") as caught:
        ParameterInfo("seed", "integer", 0, "").read(given, "random")
    assert len(str(caught.value)) < 200
    assert ParameterInfo("seed", "integer", 0, "").read(2**63 - 1, "random") == 2**63 - 1


def test_a_number_beyond_every_float_is_none():
    with pytest.raises(InputError, match="found a number of 1,130 bits, expected number"):
        ParameterInfo("share", "number", 0.0, "").read(10**40 * 10**300, "random")


def test_the_range_is_said_in_plain_numbers():
    assert [info.range for info in (INTEGER, NUMBER, TEXT, TABLE)] == [
        "integer from 0 to 5",
        "number from 0 to 1000000",
        "min or max",
        "name=whole number >= 0, ...",
    ]
    assert ParameterInfo("n", "integer", 1, "", high=5).range == "integer <= 5"
