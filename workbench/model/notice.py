"""`Notice`: a message with a stable code that accompanies a result: a reason, a warning, or a gap in the input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.model.notice_codes import CODES

__all__ = ["Notice", "texts_of"]


@dataclass(frozen=True)
class Notice:
    """One message to the user: why a pod waits, what a result leaves out, or what the input does not say.

    Programs read `code`, `subject` and `numbers`; `message` is for people and may change in any release.
    ``str(notice)`` is the message.

    Attributes
    ----------
    code : str
        Stable word in kebab case: ``insufficient``, ``topology-not-ready`` ... Those of this package are the keys of
        `workbench.model.notice_codes.CODES`; policies of other packages may have further ones.
    message : str
        A sentence with the numbers in it.
    subject : str
        What the notice is about, as ``kind name``: ``node n1``, ``Job training/llama``, ``queue default``. Empty: the
        gang of the answer that holds the notice, or the input as a whole.
    numbers : mapping of str to int or float
        ``count`` is the number of nodes, HyperNodes or pods concerned; other keys are named after what they count.
    quotes : tuple of Notice
        Notices whose whole sentence is part of this one's, so that nobody needs to be told both. Equality and
        `to_dict` ignore them.

    Examples
    --------
    >>> import workbench as wb
    >>> tree = wb.generate_scenario("three-level-tree")
    >>> refusal = tree.place(wb.gang("wide", pods=99, gpus=8), policy="binpack")
    >>> refusal.reasons[0].code
    'gang-incomplete'
    """

    code: str
    message: str
    subject: str = ""
    numbers: Mapping[str, int | float] = field(default_factory=dict)
    quotes: tuple[Notice, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return self.message

    def __hash__(self) -> int:
        return hash((self.code, self.message, self.subject, frozenset(self.numbers.items())))

    @property
    def meaning(self) -> str:
        """What the notice's code means in general; empty for a code that this package does not define."""
        return CODES.get(self.code, "")

    def to_dict(self) -> dict[str, Any]:
        """The notice as a JSON-ready dict with the keys code, message, subject and numbers."""
        return {"code": self.code, "message": self.message, "subject": self.subject, "numbers": dict(self.numbers)}


def texts_of(notices: Iterable[Notice]) -> list[str]:
    """The message of each notice, in order."""
    return [notice.message for notice in notices]
