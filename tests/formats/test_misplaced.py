"""Files that belong to another option: the refusal names the option."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.load import load

SET, MATRIX = "--set config=FILE", "--matrix PATTERN=FILE, or 'workbench gpus FILE'"

MISPLACED = [
    ("actions: allocate\n", "a scheduler configuration", SET),
    ("tiers: []\n", "a scheduler configuration", SET),
    ("networkTopologyDiscovery: []\n", "a controller configuration", "topology discover --config FILE"),
    ("username: a\npassword: b\n", "credentials", "topology discover ufm|roce --credentials FILE"),
    ("[[0, 1], [1, 0]]", "a bandwidth matrix", MATRIX),
    ("0,1\n1,0\n", "a bandwidth matrix", MATRIX),
    ("0 1\n1 0\n", "a bandwidth matrix", MATRIX),
    ("D\\D  0  1\n  0  650.1  9\n  1  9  650.2\n: [", "a bandwidth matrix", MATRIX),
    ("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV12\t0-31\nGPU1\tNV12\t X \t0-31\n", "a bandwidth matrix", MATRIX),
    (
        "n1: \x1b[4m\tGPU0\tGPU1\tCPU Affinity\x1b[0m\nn1: GPU0\t X \tNV12\t0-31\nn1: GPU1\tNV12\t X \t0-31\n",
        "a bandwidth matrix",
        MATRIX,
    ),
    ("<svg>\n  a: b: c\n</svg>", "a page or a picture", ""),
    ('{"gpus": [0], "bottleneck_gb_s": null}', "the result of 'workbench gpus'", ""),
]


@pytest.mark.parametrize(("text", "what", "taker"), MISPLACED)
def test_a_file_for_another_option_is_refused_with_that_option(tmp_path: Path, text, what, taker):
    file = tmp_path / "given"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load(file)
    assert error.value.source == str(file)
    assert error.value.got == f"what looks like {what}"
    assert error.value.expected == (f"a manifest; this file is for {taker}" if taker else "a manifest")


def test_an_array_of_numpy_is_a_matrix(tmp_path: Path):
    (tmp_path / "m.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00")
    with pytest.raises(InputError, match="looks like a bandwidth matrix"):
        load(tmp_path / "m.npy")


@pytest.mark.parametrize("text", ["hello: world\n", "[1, 2]", "hello", "a: b: c", "a 1 2\nb: c: d 3 4"])
def test_what_looks_like_nothing_is_refused_as_before(tmp_path: Path, text):
    file = tmp_path / "given"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load(file)
    assert "looks like" not in str(error.value)


def test_an_empty_path_is_not_the_folder_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "n.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="an empty path"):
        load("")
    with pytest.raises(InputError, match="an empty path"):
        load(".", matrices={"n": ""})
