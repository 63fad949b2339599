"""Arguments as Go's package flag reads them."""

from __future__ import annotations

import pytest

from workbench.objects.flags import Flag, parse_arguments

FLAGS = (Flag("name", "", ""), Flag("port", 7, ""), Flag("quiet", False, ""), Flag("loud", True, ""))
LARGEST = (1 << 63) - 1


def values(*given: str) -> dict[str, object]:
    return dict(parse_arguments(FLAGS, given).values)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (["--name=a"], {"name": "a"}),
        (["-name=a"], {"name": "a"}),
        (["--name", "a"], {"name": "a"}),
        (["--name", "--port=1"], {"name": "--port=1"}),
        (["--name="], {"name": ""}),
        (["--name=a=b"], {"name": "a=b"}),
        (["--name=a b\\n"], {"name": "a b\\n"}),
        (["--name=a", "--name=b"], {"name": "b"}),
        (["--quiet"], {"quiet": True}),
        (["--loud=F"], {"loud": False}),
        (["--quiet", "--port=1"], {"quiet": True, "port": 1}),
    ],
)
def test_forms_of_a_flag(given: list[str], want: dict[str, object]) -> None:
    found = parse_arguments(FLAGS, given)
    assert found.values == {"name": "", "port": 7, "quiet": False, "loud": True} | want
    assert (found.error, found.stopped_at) == ("", len(given))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", 0),
        ("+5", 5),
        ("-5", -5),
        ("017", 15),
        ("0o17", 15),
        ("0X1f", 31),
        ("0b101", 5),
        ("1_000", 1000),
        ("0_7", 7),
        ("0x_f", 15),
        (str(LARGEST), LARGEST),
    ],
)
def test_numbers(text: str, want: int) -> None:
    found = parse_arguments(FLAGS, [f"--port={text}"])
    assert (found.values["port"], found.error) == (want, "")


@pytest.mark.parametrize(
    ("given", "stored", "error"),
    [
        (["--port=abc"], {"port": 0}, "parse error"),
        (["--port="], {"port": 0}, "parse error"),
        (["--port=08"], {"port": 0}, "parse error"),
        (["--port=1__0"], {"port": 0}, "parse error"),
        (["--port=_1"], {"port": 0}, "parse error"),
        (["--port=1_"], {"port": 0}, "parse error"),
        (["--port=0x"], {"port": 0}, "parse error"),
        (["--port= 1"], {"port": 0}, "parse error"),
        (["--port=1.5"], {"port": 0}, "parse error"),
        (["--port=٣"], {"port": 0}, "parse error"),
        ([f"--port={LARGEST + 1}"], {"port": LARGEST}, "out of range"),
        (["--port=-99999999999999999999"], {"port": -LARGEST - 1}, "out of range"),
        (["--port=" + "9" * 10_000], {"port": LARGEST}, "out of range"),
        (["--loud=maybe"], {"loud": False}, "boolean"),
        (["--quiet="], {}, "boolean"),
        (["--port"], {}, "needs an argument"),
        (["--other=1"], {}, "not defined: -other"),
        (["-h"], {}, "help"),
        (["---name=a"], {}, "bad flag syntax"),
        (["--=a"], {}, "bad flag syntax"),
    ],
)
def test_an_error_keeps_what_was_read_before_and_ends_the_parsing(
    given: list[str], stored: dict[str, object], error: str
) -> None:
    found = parse_arguments(FLAGS, ["--name=before", *given, "--name=after"] if given != ["--port"] else given)
    before = {} if given == ["--port"] else {"name": "before"}
    assert found.values == {"name": "", "port": 7, "quiet": False, "loud": True} | before | stored
    assert error in found.error
    assert found.stopped_at == (0 if given == ["--port"] else 1)


@pytest.mark.parametrize(
    ("given", "stopped_at"),
    [
        (["a", "--port=1"], 0),
        (["-", "--port=1"], 0),
        (["", "--port=1"], 0),
        (["--", "--port=1"], 1),
        (["--quiet", "false", "--port=1"], 1),
    ],
)
def test_what_is_no_flag_ends_the_parsing_without_an_error(given: list[str], stopped_at: int) -> None:
    found = parse_arguments(FLAGS, given)
    assert (found.values["port"], found.error, found.stopped_at) == (7, "", stopped_at)


def test_defaults_alone() -> None:
    assert values() == {"name": "", "port": 7, "quiet": False, "loud": True}
