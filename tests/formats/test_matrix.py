from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workbench.errors import InputError
from workbench.formats import matrix as matrix_module
from workbench.formats.matrix import load_matrix, parse_matrix
from workbench.model.bandwidth import BandwidthMatrix

ROWS = [[750.48, 48.39, 5.0], [48.38, 753.38, 96.46], [4.64, 96.25, 751.92]]

TABLE = """Bandwidth Matrix:
       gpu_0   gpu_1   gpu_2
gpu_0  750.48  48.39   5.00
gpu_1  48.38   753.38  96.46
gpu_2  4.64    96.25   751.92
"""

DEVICE = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "Device",
    "metadata": {"name": "host04"},
    "spec": {
        "topologies": {"gpu": [{"name": "bandwidth", "topology": json.dumps(ROWS)}]},
        "devices": [{"type": "gpu", "minor": i, "health": True} for i in range(3)],
    },
}


def npy(array: object, **options: bool) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array), **options)
    return buffer.getvalue()


def device_yaml(topology: str = json.dumps(ROWS), n: int = 3) -> str:
    devices = "".join(f"  - {{type: gpu, minor: {i}, health: true}}\n" for i in range(n))
    return (
        "apiVersion: scheduling.koordinator.sh/v1alpha1\nkind: Device\nmetadata: {name: host04}\nspec:\n"
        f"  topologies:\n    gpu:\n    - name: bandwidth\n      topology: '{topology}'\n  devices:\n{devices}"
    )


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        pytest.param(TABLE.encode(), ("gpu_0", "gpu_1", "gpu_2"), id="as the Koordinator document prints it"),
        pytest.param(TABLE.encode().replace(b"Bandwidth Matrix:\n", b""), None, id="without the title"),
        pytest.param(b"\n".join(TABLE.encode().splitlines()[2:]), None, id="names of rows only"),
        pytest.param(b"\n".join(b" ".join(b"%g" % x for x in row) for row in ROWS), None, id="numbers only"),
        pytest.param(b"# GB/s\n\n750.48 48.39 5\n48.38 753.38 96.46\n4.64 96.25 -\n", None, id="comments and a dash"),
        pytest.param(b"750.48,48.39,5\n48.38,753.38,96.46\n4.64,96.25,751.92\n", None, id="CSV"),
        pytest.param(
            b'GPU,"a","b","c"\na,750.48,48.39,5\nb,48.38,753.38,96.46\nc,4.64,96.25,751.92\n',
            ("a", "b", "c"),
            id="CSV with names",
        ),
        pytest.param(b"\xef\xbb\xbfa,b,c\r\n1,48.39,5\r\n48.38,1,96.46\r\n4.64,96.25,1\r\n", ("a", "b", "c"), id="BOM"),
        pytest.param(json.dumps(ROWS).encode(), None, id="JSON"),
        pytest.param(npy(ROWS), None, id="npy"),
        pytest.param(npy(np.array(ROWS, dtype=np.float32).round(2).astype(np.float64)), None, id="npy of float"),
        pytest.param(device_yaml().encode(), None, id="Device in YAML"),
        pytest.param(json.dumps(DEVICE).encode(), None, id="Device in JSON"),
    ],
)
def test_every_format_gives_the_same_numbers(tmp_path: Path, content: bytes, labels: tuple[str, ...] | None) -> None:
    path = tmp_path / "matrix"
    path.write_bytes(content)
    matrix = load_matrix(path)
    off_diagonal = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(matrix.gb_s[off_diagonal], np.array(ROWS)[off_diagonal], rtol=1e-6)
    assert matrix.labels == (labels or ("gpu_0", "gpu_1", "gpu_2"))
    assert matrix.source == str(path)


@pytest.mark.parametrize(
    ("content", "where", "message"),
    [
        pytest.param("0 1\n1 0\n2 2\n", "line 1, row 0", "not square", id="more rows than columns"),
        pytest.param("gpu_0 0 1\ngpu_1 1\n", "line 2, row gpu_1", "found 1 numbers, expected 2", id="a missing entry"),
        pytest.param("0,1\n,0\n", "line 2, row 1", "found 1 numbers, expected 2", id="an empty cell first"),
        pytest.param("a,0,1\nb,,0\n", "line 2, row b, column 0", "a missing entry", id="an empty cell"),
        pytest.param("# GB/s\n0 1\n-3 0\n", "line 3, row 1, column 0", "not a bandwidth", id="negative"),
        pytest.param("0 nan\n1 0\n", "line 1, row 0, column 1", "not a bandwidth", id="NaN"),
        pytest.param("0 inf\n1 0\n", "line 1, row 0, column 1", "not a bandwidth", id="infinite"),
        pytest.param("0 1\n1_0 0\n", "line 2, row 1_0", "found 1 numbers", id="underscore"),
        pytest.param("0 NV12\n1 0\n", "line 1, row 0, column 1", "found text 'NV12'", id="a link type"),
        pytest.param("0 -\n1 0\n", "line 1, row 0, column 1", "not a bandwidth", id="a dash off the diagonal"),
        pytest.param("[[0, 1], [1]]", "row 1", "not square", id="JSON rows of unequal length"),
        pytest.param("[[0, -1], [1, 0]]", "row 0, column 1", "not a bandwidth", id="JSON negative"),
        pytest.param("[[0, null], [1, 0]]", "row 0, column 1", "missing", id="JSON null"),
        pytest.param('[[0, "1"], [1, 0]]', "row 0, column 1", "wrong entry", id="JSON text"),
        pytest.param("[[0, NaN], [1, 0]]", "line 1", "not JSON", id="JSON NaN"),
        pytest.param("[1, 2]", "row 0", "not square", id="JSON list of numbers"),
        pytest.param("[]", None, "no list of rows", id="JSON nothing"),
        pytest.param("a b\nb c\n", "line 2", "no bandwidth matrix", id="words"),
        pytest.param("# A page\n\nA title\nof words.\n3, 4, 5\n", "line 4", "no bandwidth matrix", id="a page of text"),
        pytest.param("0 1 x\n1 0 2\n3 2 0\n", "line 1, row 0, column 2", "not a bandwidth", id="a word"),
        pytest.param("", None, "no row of numbers", id="nothing"),
        pytest.param("x y\na 0 1\nb 1 0\n", None, "different names", id="rows and columns named differently"),
        pytest.param(
            device_yaml(n=2), "document 1 (line 1), spec.topologies.gpu[0].topology", "3 rows", id="more GPUs"
        ),
        pytest.param(device_yaml("[[0,1],[1]]", 2), "document 1 (line 1), spec.topologies", "not square", id="Device"),
        pytest.param("kind: Node\n", "document 1 (line 1)", "expected kind Device", id="another kind"),
        pytest.param('{"kind": "Device"}', "document 1", "metadata.name|missing", id="half a Device"),
    ],
)
def test_what_is_no_matrix_is_refused_with_its_place(content: str, where: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        parse_matrix(content.encode(), "m.txt")
    assert caught.value.source == "m.txt"
    if where is not None:
        assert (caught.value.where or "").startswith(where)


@pytest.mark.parametrize(
    "content",
    [
        npy(np.array([object()]), allow_pickle=True),
        npy(["a"]),
        npy([[1 + 1j]]),
        npy([[np.nan, np.nan], [0, 0]]),
        npy(np.zeros((2, 3))),
        npy(ROWS)[:100],
        b"\x93NUMPY",
        b"\x00\xff\x80garbage",
    ],
)
def test_npy_and_binary_that_is_no_matrix_is_refused(content: bytes) -> None:
    with pytest.raises(InputError) as caught:
        parse_matrix(content, "m.npy")
    assert caught.value.source == "m.npy"


@given(
    st.integers(1, 5).flatmap(lambda n: arrays(np.float64, (n, n), elements=st.floats(0, 1e9, allow_subnormal=False)))
)
def test_a_printed_table_reads_back(numbers: np.ndarray) -> None:
    matrix = BandwidthMatrix(numbers)
    rows = [["", *matrix.labels], *([label, *map(repr, row)] for label, row in zip(matrix.labels, numbers.tolist()))]
    printed = "\n".join(["Bandwidth Matrix:", *("  ".join(cell.ljust(24) for cell in row) for row in rows), ""])
    assert parse_matrix(printed.encode(), "x") == matrix


@given(st.binary(max_size=40) | st.text(alphabet="0123456789.,- \nae[]{}\"':#", max_size=40).map(str.encode))
def test_any_bytes_give_a_matrix_or_an_error(content: bytes) -> None:
    try:
        parse_matrix(content, "x")
    except InputError as error:
        assert error.source == "x"


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(("1 " * 1100 + "\n") * 2, r"line 1: too many GPUs .*found 1100 columns", id="columns"),
        pytest.param("1 2\n" * 1100, r"line 1025: too many GPUs .*more than 1024 rows", id="rows"),
        pytest.param("1 " * 200_000, r"line 1: the line is too long for a row of a matrix", id="a line of numbers"),
        pytest.param("a" * 300_000 + "\n1 2\n3 4\n", r"line 1: the line is too long", id="a long word"),
    ],
)
def test_too_many_rows_or_columns_are_refused_where_they_begin(content: str, want: str) -> None:
    with pytest.raises(InputError, match=want):
        parse_matrix(content.encode(), "m.txt")


@pytest.mark.slow
def test_the_largest_matrix_is_read_from_a_table() -> None:
    header = " ".join(f"gpu_{i}" for i in range(1024))
    rows = (f"gpu_{i}{' 123.456' * 1024}" for i in range(1024))
    text = "\n".join(("Bandwidth Matrix:", header, *rows))
    assert len(parse_matrix(text.encode(), "m.txt")) == 1024


def test_a_file_too_large_for_a_matrix_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_module, "MAX_BYTES", 100)
    path = tmp_path / "m.txt"
    path.write_text("1 2\n3 4\n" * 100)
    with pytest.raises(InputError, match="the file is too large"):
        load_matrix(path)
    with pytest.raises(InputError, match="the file is too large for a matrix"):
        parse_matrix(path.read_bytes(), "m.txt")
