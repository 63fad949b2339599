"""What the page and the kernel say to each other: requests with an id, each answered exactly once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.errors import InputError
from workbench.objects.fields import shown

__all__ = ["Request", "answer", "failure", "news", "read_request", "together"]


@dataclass(frozen=True)
class Request:
    """One thing that the page asks for.

    Attributes
    ----------
    id : int
        Chosen by the page, unique in one view; the answer carries it.
    type : str
        Which handler is meant.
    body : dict
        Its arguments, checked by the handler.
    """

    id: int
    type: str
    body: dict[str, Any] = field(default_factory=dict)


def read_request(content: Any) -> Request:
    """A request from what the page sent.

    Raises
    ------
    InputError
        Not an object with a whole number ``id``, a text ``type`` and an object ``body``.
    """
    if not isinstance(content, dict):
        raise InputError("not a request", source="widget", got=shown(content), expected="an object")
    number, kind, body = content.get("id"), content.get("type"), content.get("body", {})
    if type(number) is not int or not isinstance(kind, str) or not isinstance(body, dict):
        raise InputError(
            "not a request",
            source="widget",
            got=shown({"id": number, "type": kind, "body": type(body).__name__}),
            expected="id (a whole number), type (a text), body (an object)",
        )
    return Request(number, kind, body)


def answer(request: Request, body: dict[str, Any]) -> dict[str, Any]:
    """What the page gets back."""
    return {"id": request.id, "type": "answer", "body": body}


def failure(request_id: int, message: str, traceback: str = "") -> dict[str, Any]:
    """What the page gets back when a request could not be met.

    Parameters
    ----------
    request_id : int
        0 where the request had none.
    message : str
        One line for the user.
    traceback : str
        For the author of a policy; empty for bad input.
    """
    return {"id": request_id, "type": "failure", "message": message, "traceback": traceback}


def news(event: str, body: dict[str, Any]) -> dict[str, Any]:
    """What the page hears without having asked."""
    return {"id": 0, "type": event, "body": body}


def together(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Several messages as one, which the page takes apart: each message takes server and page some milliseconds."""
    return messages[0] if len(messages) == 1 else {"id": 0, "type": "several", "body": messages}
