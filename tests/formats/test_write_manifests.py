"""Tests that every YAML reader reads written manifests back unchanged."""

from __future__ import annotations

from types import MappingProxyType

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from workbench.errors import InputError
from workbench.formats.write_manifests import to_yaml, to_yaml_value
from workbench.formats.yaml_events import read_yaml
from workbench.topology.presets import PRESETS, generate

SMALL = {
    "use-case-1": {"sizes": "2,2,2,2"},
    "use-case-2": {"sizes": "2,2,2"},
    "fleet": {"sizes": "4,4,4,2", "pending": "12"},
}

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=12
)


def yaml_1_1(written):
    return list(yaml.safe_load_all(written))


def yaml_1_2(written):
    return list(YAML(typ="safe", pure=True).load_all(written))


def our_own(written):
    return [document.data for document in read_yaml(written.encode(), "written")]


@pytest.mark.parametrize("reader", [yaml_1_1, yaml_1_2, our_own])
@given(st.lists(st.dictionaries(text, values, max_size=4), max_size=3))
def test_what_is_written_is_read_back(reader, documents):
    assert reader(to_yaml(documents)) == documents


@pytest.mark.parametrize("reader", [yaml_1_1, yaml_1_2, our_own])
@pytest.mark.parametrize("length", [1000, 1001, 1022, 1023, 1024, 1025, 3000])
@pytest.mark.parametrize("letter", ["k", " ", "\x85"])
def test_a_key_longer_than_readers_look_ahead_is_read_back(reader, length, letter):
    key = letter * length
    document = {"lists": [{key: "a", key + "1": {key: {"b": []}}, key + "2": [1, [2]]}], key: {}}
    assert reader(to_yaml([document])) == [document]


@given(st.lists(values, min_size=1, max_size=4) | st.dictionaries(text, values, min_size=1, max_size=4))
def test_a_value_is_written_as_in_a_document(value):
    assert yaml_1_1(to_yaml_value(value)) == [value]


@pytest.mark.parametrize("kind", PRESETS)
def test_presets_are_read_back(kind):
    manifests = generate(kind, **SMALL.get(kind, {}))
    assert list(yaml.safe_load_all(to_yaml(manifests))) == manifests


@pytest.mark.parametrize(
    "word", ["yes", "NO", "on", "y", "null", "1e3", "0o17", "12:30", "2024-01-01", "~", "", "-", "a: b", "x #y", "1_0"]
)
def test_what_some_reader_mistakes_is_quoted(word):
    assert to_yaml([{"k": word}]) == f'---\nk: "{word}"\n'


def test_layout_is_block_style_in_the_order_given():
    got = to_yaml([{"kind": "Job", "spec": {"tasks": [{"name": "a", "args": ["x"]}, {}], "n": 1, "none": []}}])
    assert got == (
        '---\nkind: Job\nspec:\n  tasks:\n  - name: a\n    args:\n    - x\n  - {}\n  "n": 1\n  none: []\n'.replace(
            "  none:", '  "none":'
        )
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), b"x"])
def test_what_no_object_holds_is_refused(value):
    with pytest.raises(InputError):
        to_yaml([{"k": value}])


def test_keys_must_be_text():
    with pytest.raises(InputError, match="keys of an object"):
        to_yaml([{1: "x"}])


def test_a_mapping_of_another_class_is_written_as_a_dict():
    written = to_yaml([MappingProxyType({"a": MappingProxyType({"b": (1, MappingProxyType({}))})})])
    assert written == "---\na:\n  b:\n  - 1\n  - {}\n"
