from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.manifests import read_manifests

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}}


def names(*paths: Path | str, stdin: str | None = None) -> list[str]:
    return [document.data["metadata"]["name"] for document in read_manifests(paths, stdin).documents]


def test_yaml_documents_json_and_lists(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(
        "kind: Node\nmetadata: {name: a}\n---\n---\nkind: List\nitems:\n- {kind: Pod, metadata: {name: b}}\n"
    )
    (tmp_path / "a.json").write_text(json.dumps({"kind": "List", "items": [NODE, NODE | {"metadata": {"name": "n1"}}]}))
    (tmp_path / "c.yml").write_text(
        '{"kind": "Node", "metadata": {"name": "c"}}\n---\n{kind: Node, metadata: {name: d}}\n'
    )
    (tmp_path / "notes.txt").write_text("not read")
    (tmp_path / "sub.yaml").mkdir()
    assert names(tmp_path) == ["n0", "n1", "a", "b", "c", "d"]
    places = [document.where for document in read_manifests([tmp_path]).documents]
    assert places == [
        "document 1, items[0]",
        "document 1, items[1]",
        "document 1 (line 1)",
        "document 2 (line 5), items[0]",
        "document 1 (line 1)",
        "document 2 (line 3)",
    ]


def test_typed_lists_of_the_api_lend_their_kind_to_the_items(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n0"}}]}))
    (document,) = read_manifests([path]).documents
    assert document.data == NODE


@pytest.mark.parametrize("kind", ["List", "NodeList"])
def test_items_that_are_no_list_are_refused_and_null_is_an_empty_list(kind: str) -> None:
    for items, found in (
        ("{}", "a mapping of 0"),
        ("{a: 1}", "a mapping of 1"),
        ("x", "text 'x'"),
        ("0", "a number 0"),
    ):
        with pytest.raises(InputError) as error:
            names("-", stdin=f"apiVersion: v1\nkind: {kind}\nitems: {items}\n")
        assert str(error.value) == (
            f"stdin: document 1 (line 1), items: wrong type or value (found {found}, expected a list of objects)"
        )
    assert names("-", stdin=f"apiVersion: v1\nkind: {kind}\nitems: null\n") == []


def test_the_text_handed_in_stands_for_the_dash() -> None:
    assert names("-", stdin="kind: Node\nmetadata: {name: x}") == ["x"]
    with pytest.raises(InputError, match="no text was handed in"):
        read_manifests(["-"])


def test_inputs_carry_their_checksum(tmp_path: Path) -> None:
    path = tmp_path / "n.yaml"
    path.write_text("kind: Node\nmetadata: {name: x}\n")
    assert read_manifests([path]).inputs == {str(path): hashlib.sha256(path.read_bytes()).hexdigest()}


def test_other_documents_of_a_folder_are_counted_but_an_own_file_must_be_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "matrix.json").write_text("[[0, 1], [1, 0]]")
    (tmp_path / "values.yaml").write_text("replicas: 3\n")
    (tmp_path / "node.yaml").write_text("kind: Node\nmetadata: {name: x}\n")
    assert read_manifests([tmp_path]).ignored == {"(no kind)": 2}
    with pytest.raises(InputError, match=r"no Kubernetes object \(found what looks like a bandwidth matrix, expected"):
        read_manifests([tmp_path / "matrix.json"])
    (tmp_path / "hosts.csv").write_text("ip;DSW;PSW;ASW\n")
    with pytest.raises(InputError, match=r"expected a mapping, or a fabric of a known format \(--from\)"):
        read_manifests([tmp_path / "hosts.csv"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "the file is empty", id="empty"),
        pytest.param(b" \n\t\n", "the file is empty", id="blank"),
        pytest.param(b"# nothing\n---\n", "no document in it", id="comments only"),
        pytest.param(b"\x7fELF\x00\x01\x02", "binary data", id="binary"),
        pytest.param(b"\x80\x81\x82\xff", "not YAML|not text", id="not UTF-8"),
        pytest.param(b'{"kind": "Node", ', "line 1, column .*not JSON|not JSON", id="cut JSON"),
        pytest.param(b'{"a": ' * 2000, "not JSON", id="deep JSON"),
        pytest.param(b"just words", "no Kubernetes object", id="words"),
        pytest.param(b"kind: List\nitems: [1]\n", r"items\[0\]: no Kubernetes object", id="a list of numbers"),
        pytest.param(b"a: &x [*x]\n", "an alias in YAML", id="alias"),
    ],
)
def test_bad_files_are_refused_with_their_name(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_manifests([path])
    assert caught.value.source == str(path)
    assert caught.value.expected
    assert "\n" not in str(caught.value)


def test_missing_files_and_empty_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        read_manifests([tmp_path / "none.yaml"])
    with pytest.raises(InputError, match=r"no manifest in the folder \(found 0 files"):
        read_manifests([tmp_path])
    (tmp_path / "values.yaml").write_text("a: 1\n")
    with pytest.raises(InputError, match=r"no manifest in the folder \(found 1 file "):
        read_manifests([tmp_path])
    with pytest.raises(InputError, match="nothing to read"):
        read_manifests([])
    with pytest.raises(InputError, match="cannot be read"):
        read_manifests(["a\0b"])


def test_a_list_without_items_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text("apiVersion: v1\nkind: List\nitems: null\n")
    assert read_manifests([tmp_path / "list.yaml"]).documents == []


def test_a_text_that_is_not_utf_8_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "n.yaml").write_bytes("# Zürich\nkind: Node\n".encode("latin-1"))
    with pytest.raises(InputError, match="byte 3: not YAML: "):
        read_manifests([tmp_path / "n.yaml"])


@pytest.mark.parametrize(
    "text", ['{"kind": "Node", "kind": "Pod"}', '{"kind": "Node", "a": [{"b": 1, "c": {}, "b" : 2}]}']
)
def test_a_key_twice_is_refused_in_json_as_in_yaml(tmp_path: Path, text: str) -> None:
    (tmp_path / "n.json").write_text(text)
    with pytest.raises(InputError, match=r"n.json: document 1: the same key twice in JSON \(found '(kind|b)'"):
        read_manifests([tmp_path / "n.json"])


def test_texts_with_quotes_and_colons_are_no_keys(tmp_path: Path) -> None:
    text = '\ufeff{"kind": ":", "a\\"": "x\\":y", "b": [{"a": ": "}, {"a": "\\": "}], "": "::"}'
    (tmp_path / "n.json").write_text(text, encoding="utf-8")
    assert read_manifests([tmp_path / "n.json"]).documents[0].data["b"] == [{"a": ": "}, {"a": '": '}]


def test_a_deep_json_with_a_key_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text('{"a": 1, "a": ' + "[" * 1000 + "]" * 1000 + "}")
    with pytest.raises(InputError, match=r"n\.json: "):
        read_manifests([tmp_path / "n.json"])
