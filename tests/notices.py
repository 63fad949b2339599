"""Helpers of tests about notices: their codes and their texts."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.model.notice import Notice, texts_of

__all__ = ["codes", "said"]


def codes(notices: Iterable[Notice]) -> tuple[str, ...]:
    """The codes, in order."""
    return tuple(notice.code for notice in notices)


def said(notices: Iterable[Notice]) -> tuple[str, ...]:
    """The messages, in order: for tests of the wording."""
    return tuple(texts_of(notices))
