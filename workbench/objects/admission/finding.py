"""One thing that admission does not accept, with its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Fault", "refusal_text"]


@dataclass(frozen=True)
class Fault:
    """A finding of admission.

    Attributes
    ----------
    path : str
        Empty: the object as a whole.
    text : str
        In the words of the cluster, with the separators that a webhook puts between findings.
    by_schema : bool
        The API server says it, before it asks a webhook.
    """

    path: str
    text: str
    by_schema: bool = False


def refusal_text(findings: Iterable[Fault]) -> str:
    """The findings as one text, those of the API server first; empty: there are none."""
    findings = list(findings)
    webhook = "".join(one.text for one in findings if not one.by_schema).strip()
    return "; ".join([*(one.text for one in findings if one.by_schema), *([webhook] if webhook else [])])
