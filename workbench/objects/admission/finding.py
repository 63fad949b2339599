"""`Fault`: one violation that admission finds in an object, with the path of the field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Fault", "refusal_text"]


@dataclass(frozen=True)
class Fault:
    """One violation that admission finds in an object.

    Attributes
    ----------
    path : str
        Path of the field; empty: the object as a whole.
    text : str
        The error text as the cluster words it, with the separators that a webhook puts between findings.
    by_schema : bool
        Whether the API server's schema refuses the field, which happens before any webhook is called.
    """

    path: str
    text: str
    by_schema: bool = False

    @property
    def said(self) -> str:
        """The error text without the webhook's separators, after the path of the field unless it begins with that."""
        text = self.text.strip().rstrip(";,")
        return text if not self.path or text.startswith(self.path) else f"{self.path}: {text}"


def refusal_text(findings: Iterable[Fault]) -> str:
    """Join the texts of violations into one refusal, those of the API server's schema first.

    Empty if there are none.
    """
    findings = list(findings)
    webhook = "".join(one.text for one in findings if not one.by_schema).strip()
    return "; ".join([*(one.text for one in findings if one.by_schema), *([webhook] if webhook else [])])
