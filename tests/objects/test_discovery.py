"""The configuration of discovery as a value, and the sources that a changed configuration restarts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notices import said
from workbench.errors import InputError
from workbench.objects.discovery import (
    DiscoveryConfig,
    DiscoverySource,
    Reload,
    SecretRef,
    read_discovery_config,
    read_topology_types,
    reload,
)


def config(*sources: dict[str, Any]) -> DiscoveryConfig:
    return read_discovery_config({"networkTopologyDiscovery": list(sources)})


def on(source: str, **more: Any) -> dict[str, Any]:
    return {"source": source, "enabled": True, **more}


def test_every_field_is_read() -> None:
    secret = {"secretRef": {"name": "ufm-credentials", "namespace": "volcano-system"}}
    read = config(on("ufm", interval="10m", credentials=secret, config={"endpoint": "https://u"}), {"source": "roce"})
    assert read.sources == (
        DiscoverySource("ufm", True, 600.0, SecretRef("ufm-credentials", "volcano-system"), {"endpoint": "https://u"}),
        DiscoverySource("roce", False, 3600.0, None, {}),
    )
    assert read.notes == ()


@pytest.mark.parametrize("interval", [None, "0", "0s", "-5m", 0, -1])
def test_an_interval_of_nothing_is_an_hour(interval: object) -> None:
    assert config({"source": "ufm", "interval": interval}).sources[0].interval_s == 3600


def test_a_bare_number_is_nanoseconds() -> None:
    assert config({"source": "ufm", "interval": 90 * 10**9}).sources[0].interval_s == 90


@pytest.mark.parametrize("data", [None, {}, {"networkTopologyDiscovery": None}, {"other": 1}])
def test_nothing_is_no_source(data: object) -> None:
    assert read_discovery_config(data) == DiscoveryConfig()


def test_of_two_enabled_entries_the_first_counts() -> None:
    read = config({"source": "ufm"}, on("ufm", interval="1m"), on("ufm", interval="2m"))
    assert read.enabled["ufm"].interval_s == 60
    assert said(read.notes) == ("source ufm is enabled twice: the first counts",)


def test_an_unknown_field_is_noted() -> None:
    assert said(config(on("ufm", every="1m")).notes) == ("source ufm: field every is not known to Volcano: ignored",)


BAD: dict[str, tuple[Any, str]] = {
    "a list": ([], "the object: wrong type or value (found a list of 0"),
    "sources as a mapping": ({"networkTopologyDiscovery": {}}, "networkTopologyDiscovery: wrong type"),
    "no name": ({"networkTopologyDiscovery": [{"enabled": True}]}, "networkTopologyDiscovery[0].source: the field is"),
    "enabled as text": ({"networkTopologyDiscovery": [{"source": "ufm", "enabled": "yes"}]}, "[0].enabled: wrong"),
    "no duration": (
        {"networkTopologyDiscovery": [{"source": "ufm", "interval": "1 h"}]},
        "[0].interval: not a duration",
    ),
    "a fraction": ({"networkTopologyDiscovery": [{"source": "ufm", "interval": 1.5}]}, "[0].interval: wrong type"),
    "a truth value": ({"networkTopologyDiscovery": [{"source": "ufm", "interval": True}]}, "[0].interval: wrong type"),
}


@pytest.mark.parametrize(("data", "want"), BAD.values(), ids=BAD.keys())
def test_a_wrong_field_is_named(data: Any, want: str) -> None:
    with pytest.raises(InputError) as error:
        read_discovery_config(data)
    assert want in str(error.value)


OLD = config(on("label"), on("ufm", interval="10m"), {"source": "roce"})

RELOADS = {
    "the same: everything is restarted all the same": (OLD, Reload((), ("label", "ufm"), (), ())),
    "one switched off: stopped, its HyperNodes stay": (
        config(on("label"), {"source": "ufm"}),
        Reload(("ufm",), ("label",), (), ()),
    ),
    "one changed: told apart from those that only restart": (
        config(on("ufm", interval="5m"), on("label")),
        Reload((), ("ufm", "label"), (), ("ufm",)),
    ),
    "the ConfigMap is gone: an empty configuration": (None, Reload(("label", "ufm"), (), (), ())),
    "roce is nobody's: what stands behind it waits": (
        config(on("label"), on("roce"), on("ufm")),
        Reload((), ("label",), (), (), failing="roce", waiting=("ufm",)),
    ),
}


@pytest.mark.parametrize(("new", "want"), RELOADS.values(), ids=RELOADS.keys())
def test_what_a_changed_configuration_does(new: DiscoveryConfig | None, want: Reload) -> None:
    assert reload(OLD, new) == want


def test_a_source_that_somebody_can_run_is_started() -> None:
    new = config(on("label"), on("roce"))
    assert reload(OLD, new, known={"label", "ufm", "roce"}) == Reload(("ufm",), ("label",), ("roce",), ())


def test_topology_types_keep_their_order() -> None:
    types = {"a3": [{"nodeLabel": "cluster"}, {"nodeLabel": "rack"}, {"nodeLabel": "host"}], "none": None}
    assert read_topology_types({"networkTopologyTypes": types}) == {"a3": ("cluster", "rack", "host"), "none": ()}


@pytest.mark.parametrize(
    ("types", "want"),
    [
        ([], "config.networkTopologyTypes: wrong type"),
        ({"t": ["rack"]}, "config.networkTopologyTypes.t[0]: wrong type"),
        ({"t": [{"nodeLabel": 5}]}, "config.networkTopologyTypes.t[0].nodeLabel: wrong type"),
        ({"t": [{}]}, "config.networkTopologyTypes.t[0].nodeLabel: the field is missing"),
    ],
)
def test_wrong_topology_types_are_named(types: Any, want: str) -> None:
    with pytest.raises(InputError) as error:
        read_topology_types({"networkTopologyTypes": types})
    assert want in str(error.value)
