"""YAML that every reader takes for what it was."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import InputError
from workbench.formats.write_manifests import to_yaml
from workbench.topology.presets import PRESETS, generate

SMALL = {"use-case-1": {"sizes": "2,2,2,2"}, "use-case-2": {"sizes": "2,2,2"}}

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=12
)


@given(st.lists(st.dictionaries(text, values, max_size=4), max_size=3))
def test_what_is_written_is_read_back(documents):
    assert list(yaml.safe_load_all(to_yaml(documents))) == documents


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
