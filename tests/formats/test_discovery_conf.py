"""Reading volcano-controller.conf: as text, in a ConfigMap, and other files, which are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.discovery_conf import discovery_config_of, load_discovery_config, parse_discovery_config
from workbench.objects.discovery import DiscoverySource, SecretRef

# The example of the article, with its indentation restored.
TEXT = """\
networkTopologyDiscovery:
- source: ufm
  enabled: true
  interval: 10m
  credentials:
    secretRef:
      name: ufm-credentials
      namespace: volcano-system
  config:
    endpoint: https://ufm-server:8080
    insecureSkipVerify: true
- source: roce
  enabled: false
  interval: 15m
  config:
    endpoint: https://roce-server:9090
- source: label
  enabled: true
  config:
    networkTopologyTypes:
      topologyA2:
      - nodeLabel: "volcano.sh/tor"
      - nodeLabel: "kubernetes.io/hostname"
"""


def config_map(text: object) -> str:
    return json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "data": {"volcano-controller.conf": text}})


def test_the_example_of_the_article() -> None:
    config = parse_discovery_config(TEXT.encode(), "f")
    ufm, roce, label = config.sources
    settings = {"endpoint": "https://ufm-server:8080", "insecureSkipVerify": True}
    assert ufm == DiscoverySource("ufm", True, 600.0, SecretRef("ufm-credentials", "volcano-system"), settings)
    assert (roce.enabled, roce.interval_s, label.interval_s) == (False, 900.0, 3600.0)
    assert list(config.enabled) == ["ufm", "label"]


def test_a_config_map_among_other_objects_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(f"kind: Namespace\nmetadata: {{name: x}}\n---\n{config_map(TEXT)}\n", encoding="utf-8")
    assert load_discovery_config(path) == parse_discovery_config(TEXT.encode(), "f")


def test_an_empty_text_in_a_config_map_is_no_source() -> None:
    assert discovery_config_of({"volcano-controller.conf": ""}).sources == ()
    assert discovery_config_of({"volcano-controller.conf": "other: 1"}).sources == ()


BAD = {
    "an empty file": ("", "f: not one discovery configuration"),
    "another kind of object": (
        "kind: Node\nmetadata: {name: x}\n",
        "f: the document: no discovery configuration (found",
    ),
    "two of them": (f"{TEXT}---\n{TEXT}", "found 2 of them"),
    "a config map without the key": ("kind: ConfigMap\ndata: {a: b}\n", "f: line 1: a ConfigMap without a discovery"),
    "a place inside a config map": (
        config_map("networkTopologyDiscovery: 3\n"),
        "f: data[volcano-controller.conf], networkTopologyDiscovery: wrong type",
    ),
    "truncated": (TEXT[: TEXT.index("secretRef") + 5], "f: networkTopologyDiscovery[0].credentials: wrong type"),
}


@pytest.mark.parametrize(("text", "want"), BAD.values(), ids=BAD.keys())
def test_bad_input_names_the_place(text: str, want: str) -> None:
    with pytest.raises(InputError) as error:
        parse_discovery_config(text.encode(), "f")
    assert want in str(error.value)


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (None, "ConfigMap: ConfigMap not found"),
        ({}, "config key not found in ConfigMap: volcano-controller.conf"),
        ({"volcano-controller.conf": "a: b: c"}, "ConfigMap: line 1, column 5: failed to parse config: not YAML"),
        ({"volcano-controller.conf": "a: 1\n---\na: 2\n"}, "failed to parse config"),
        ({"volcano-controller.conf": 3}, "failed to parse config"),
    ],
)
def test_a_config_map_that_cannot_be_read_says_so_in_volcanos_words(data: dict[str, object] | None, want: str) -> None:
    with pytest.raises(InputError) as error:
        discovery_config_of(data)
    assert want in str(error.value)
