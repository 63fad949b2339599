from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.formats.yaml_events import MAX_DEPTH, read_yaml


def read(text: str | bytes) -> list[Any]:
    content = text.encode() if isinstance(text, str) else text
    return [document.data for document in read_yaml(content, "file.yaml")]


keys = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | keys
    | st.sampled_from(
        ["on", "yes", "0644", "1e3", "4Gi", "500m", "~", "null", "1:30", "2026-01-01", "=", "<<", "*a", "&a"]
    )
)
manifests = st.dictionaries(
    keys, st.recursive(scalars, lambda x: st.lists(x, max_size=4) | st.dictionaries(keys, x, max_size=4)), max_size=5
)


@given(st.lists(manifests, min_size=1, max_size=3), st.booleans())
def test_what_safe_load_reads_is_read_the_same(documents: list[dict[str, Any]], flow: bool) -> None:
    text = yaml.safe_dump_all(documents, default_flow_style=flow, allow_unicode=True)
    assert read(text) == list(yaml.safe_load_all(text)) == documents


@pytest.mark.parametrize(
    ("scalar", "want"),
    [
        ("on", True), ("No", False), ("y", "y"), ("0644", 420), ("0o17", "0o17"), ("0x1F", 31), ("1_000", 1000),
        ("1e3", "1e3"), ("1.5e+3", 1500.0), ("-1", -1), ("+1", 1), (".inf", float("inf")), ("~", None), ("null", None),
        ("", None), ("500m", "500m"), ("4Gi", "4Gi"), ("2026-01-01", "2026-01-01"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), ("12:30:45", "12:30:45"), ("1:20.5", "1:20.5"), ("=", "="),
        ("'on'", "on"), ('"1"', "1"), ("|-\n  1", "1"),
    ],
)  # fmt: skip
def test_plain_scalars_are_yaml_1_1_but_dates_and_base_60_stay_text(scalar: str, want: object) -> None:
    (document,) = read(f"a: {scalar}\n")
    assert document == {"a": want}
    assert type(document["a"]) is type(want)


def test_keys_are_text() -> None:
    assert read("on: yes\n1: 2\nnull: x\n") == [{"on": True, "1": 2, "null": "x"}]


def test_documents_and_their_lines() -> None:
    text = b"# nothing\n---\n---\na: 1\n---\n\n# b\nb: 2\n...\n---\n- 3\n"
    assert [(d.data, d.line) for d in read_yaml(text, "x")] == [({"a": 1}, 4), ({"b": 2}, 8), ([3], 11)]


@pytest.mark.parametrize("text", ["", "# only\n", "---\n", "---\n---\n...\n"])
def test_empty_streams_have_no_document(text: str) -> None:
    assert read(text) == []


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        pytest.param(bomb(9), 5, "an alias too many", id="alias bomb"),
        pytest.param("a: &x\n  b: *x\n", 2, "an alias", id="recursive alias"),
        pytest.param("a: &x [1]\n*x : 2\n", 2, "an alias", id="alias as a key"),
        pytest.param("b: 1\na: *x\n", 2, "an alias", id="alias of nothing"),
        pytest.param("a: &x 1\n---\nb: *x\n", 3, "an alias", id="alias into another document"),
        pytest.param(
            f"a: &x {'[' * 60}{']' * 60}\nb: {'[' * 60}*x{']' * 60}\n", 2, "nested too deeply", id="deep alias"
        ),
        pytest.param("a: 1\nb: 2\na: 3\n", 3, "the same key twice", id="duplicate key"),
        pytest.param("a: 1\nb: !!python/object/apply:os.system [ls]\n", 2, "a tag", id="python tag"),
        pytest.param("a: !!str 1\n", 1, "a tag", id="any tag"),
        pytest.param("a: !x {}\n", 1, "a tag", id="tagged mapping"),
        pytest.param("a:\n  <<: {b: 1}\n", 2, "a merge key", id="merge key"),
        pytest.param("? [a]\n: b\n", 1, "a key that is no text", id="complex key"),
        pytest.param("[" * (MAX_DEPTH + 1), 1, "nested too deeply", id="deep lists"),
        pytest.param("{a: " * (MAX_DEPTH + 1), 1, "nested too deeply", id="deep mappings"),
        pytest.param("a: [1\nb: 2\n", 2, "not YAML", id="syntax"),
        pytest.param("a: b: c\n", 1, "not YAML", id="syntax in a scalar"),
        pytest.param("\ta: 1\n", 1, "not YAML", id="tab"),
        pytest.param("a: 1\n%\n", 2, "not YAML", id="directive"),
        pytest.param("a: " + "9" * 5000, 1, "a number out of range", id="a huge number"),
    ],
)
def test_what_is_refused_is_named_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError) as caught:
        read(text)
    assert what in caught.value.message
    assert caught.value.source == "file.yaml"
    assert (caught.value.where or "").startswith(f"line {line},")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_an_alias_gives_a_copy_of_its_own() -> None:
    (data,) = read("a: &x {env: [{name: N, value: &v 1}]}\nb: *x\nc: [*x, *v]\nd: &x 2\ne: *x\n")
    want = {"env": [{"name": "N", "value": 1}]}
    assert data == {"a": want, "b": want, "c": [want, 1], "d": 2, "e": 2}
    data["a"]["env"].append(1)
    assert data["b"] == data["c"][0] == want


def test_the_deepest_accepted_document() -> None:
    (data,) = read("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    depth = 0
    while data != []:
        (data,) = data
        depth += 1
    assert depth == MAX_DEPTH - 1


@pytest.mark.parametrize("content", [b"a: \xff\xfe\n", b"\x00\x01\x02", b'a: "\\ud800"\n', b"a: \x07\n"])
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(InputError):
        read(content)


@given(st.binary(max_size=60) | st.text(alphabet="[]{}:,-*&!|>'\"#%@ \nab1?<", max_size=60).map(str.encode))
def test_any_bytes_give_data_or_one_error_line(content: bytes) -> None:
    try:
        read(content)
    except InputError as error:
        assert "\n" not in str(error)
