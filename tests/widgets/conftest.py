from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ipywidgets import Widget

from workbench.widgets.panel import Panel


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What widgets say to their pages, in order."""
    messages: list[dict[str, Any]] = []
    monkeypatch.setattr(Panel, "send", lambda self, content, buffers=None: messages.append(content))
    return messages


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read within the request however busy the machine is; tests of slow files say otherwise."""
    monkeypatch.setattr("workbench.widgets.loading._PROMPT_S", 60)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """No widget outlives its test: an open comparer hears of every policy that a later test registers."""
    yield
    Widget.close_all()
