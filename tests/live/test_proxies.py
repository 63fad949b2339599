"""Which proxy of the environment a server is reached by."""

from __future__ import annotations

import pytest

from workbench.live.proxies import environment_proxy

CASES = {
    "no variable": ({}, "https://a.example", None),
    "https": ({"HTTPS_PROXY": "http://p:1"}, "https://a.example", "http://p:1"),
    "lower case": ({"https_proxy": "p:1"}, "https://a.example", "http://p:1"),
    "http has its own": ({"HTTPS_PROXY": "http://p:1"}, "http://a.example", None),
    "everything is left out": ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, "https://a.example", None),
    "the host": ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "b, a.example"}, "https://a.example:6443", None),
    "a domain": ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example"}, "https://a.example", None),
    "a domain with a dot": ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example"}, "https://A.Example", None),
    "a dot leaves the domain itself in": (
        {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example"},
        "https://example",
        "http://p:1",
    ),
    "the end of a name is no domain": (
        {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ample"},
        "https://a.example",
        "http://p:1",
    ),
    "an address": ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.1.2.3"}, "https://10.1.2.3:6443", None),
    "a range": ({"HTTPS_PROXY": "http://p:1", "no_proxy": "10.0.0.0/8"}, "https://10.1.2.3", None),
    "another range": ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.2.0.0/16,x/y"}, "https://10.1.2.3", "http://p:1"),
    "a port": ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a.example:6443"}, "https://a.example:6443", None),
    "another port": ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "a.example:1"}, "https://a.example", "http://p:1"),
    "IPv6": ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "[fd00::1]:6443"}, "https://[fd00::1]:6443", None),
    "this machine": ({"HTTPS_PROXY": "http://p:1"}, "https://localhost:6443", None),
    "a loopback address": ({"HTTP_PROXY": "http://p:1"}, "http://127.0.0.2", None),
}


@pytest.mark.parametrize(("variables", "server", "want"), CASES.values(), ids=CASES.keys())
def test_the_rules_of_kubectl_hold(
    variables: dict[str, str], server: str, want: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert environment_proxy(server) == want
