"""Reading a scheduler configuration: as text, in a ConfigMap, and other files, which are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import workbench
from tests.notices import said
from workbench.errors import InputError
from workbench.formats.scheduler_conf import parse_config, switch_of
from workbench.model.scheduler_config import SWITCHES, PluginOption

TEXT = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
- plugins:
  - name: predicates
    arguments:
      predicate.DynamicResourceAllocationEnable: true
  - name: network-topology-aware
    enabledHyperNodeOrder: false
    arguments:
      weight: 10
configurations:
- name: allocate
  arguments:
    predicateErrorCacheEnable: false
"""


def config_map(text: str) -> str:
    data = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"volcano-scheduler.conf": text}}
    return json.dumps(data)


def test_everything_of_a_configuration_is_read() -> None:
    config = parse_config(TEXT.encode(), "f")
    assert config.actions == ("enqueue", "allocate", "backfill")
    assert config.tiers == (
        (PluginOption("priority"), PluginOption("gang", {"Preemptable": False})),
        (
            PluginOption("predicates", {}, {"predicate.DynamicResourceAllocationEnable": True}),
            PluginOption("network-topology-aware", {"HyperNodeOrder": False}, {"weight": 10}),
        ),
    )
    assert config.action_arguments == {"allocate": {"predicateErrorCacheEnable": False}}
    assert (config.notes, config.source) == ((), "f")


@pytest.mark.parametrize(
    "wrap", [config_map, lambda text: json.dumps({"kind": "List", "items": [json.loads(config_map(text))]})]
)
def test_a_config_map_is_accepted_among_other_objects(wrap) -> None:  # type: ignore[no-untyped-def]
    text = f"kind: Namespace\nmetadata: {{name: x}}\n---\n{wrap(TEXT)}\n"
    assert parse_config(text.encode(), "f") == parse_config(TEXT.encode(), "f")


def test_what_volcano_ignores_is_noted() -> None:
    text = (
        "actions: allocate\nverbose: 1\ntiers:\n- plugins:\n  - name: drf\n    weight: 10\n    enabledJobOrder: false\n"
    )
    config = parse_config(text.encode(), "f")
    assert config.tiers == ((PluginOption("drf"),),)
    assert said(config.notes) == (
        "field verbose is not known to Volcano: ignored",
        "plugin drf: field weight is not known to Volcano: ignored",
        "plugin drf: enabledJobOrder is ignored, because Volcano reads enableJobOrder",
    )


BAD = {
    "an empty file": ("", "f: not one scheduler configuration"),
    "a list": ("- a\n", "found a list of 1"),
    "another kind of object": ("kind: Node\nmetadata: {name: x}\n", "f: the document: no scheduler configuration"),
    "two configurations": (f"{TEXT}---\n{TEXT}", "found 2 of them"),
    "two config maps": (f"{config_map(TEXT)}\n---\n{config_map(TEXT)}", "found 2 of them"),
    "a config map without the key": ("kind: ConfigMap\ndata: {a: b}\n", "f: line 1: a ConfigMap without"),
    "a plugin without a name": ("tiers:\n- plugins:\n  - arguments: {}\n", "f: tiers[0].plugins[0].name: the field"),
    "a switch that is text": (
        'tiers:\n- plugins:\n  - name: gang\n    enableJobOrder: "x"\n',
        "f: tiers[0].plugins[0].enableJobOrder: wrong type or value (found text 'x', expected true or false)",
    ),
    "actions as a list": (
        "actions: [allocate]\n",
        "f: actions: wrong type or value (found a list of 1, expected text)",
    ),
    "a place inside a config map": (config_map("actions: 3\n"), "f: data[volcano-scheduler.conf], actions: wrong type"),
    "two documents inside a config map": (
        config_map("actions: a\n---\nactions: b\n"),
        "f: data[volcano-scheduler.conf]",
    ),
    "truncated": (TEXT[:20], "f: line"),
}


@pytest.mark.parametrize(("text", "want"), BAD.values(), ids=BAD.keys())
def test_bad_input_names_the_place(text: str, want: str) -> None:
    with pytest.raises(InputError) as error:
        parse_config(text.encode(), "f")
    assert want in str(error.value)


def test_load_config_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "volcano-scheduler.conf"
    path.write_text(TEXT)
    assert workbench.load_config(path).actions == ("enqueue", "allocate", "backfill")
    with pytest.raises(InputError, match="missing"):
        workbench.load_config(tmp_path / "missing")


@pytest.mark.parametrize("switch", SWITCHES)
def test_both_spellings_name_a_switch(switch: str) -> None:
    assert switch_of(f"enable{switch}") == switch_of(f"enabled{switch}") == switch == switch_of(SWITCHES[switch])


@pytest.mark.parametrize("key", ["enable", "enabledX", "name", "enable_job_order", "disableJobOrder"])
def test_other_keys_name_none(key: str) -> None:
    assert switch_of(key) is None
