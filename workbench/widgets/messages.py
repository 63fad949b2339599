"""Messages between a widget's page and Python: requests with an id, each of which gets exactly one answer.

`page_words` puts messages that name an option of the command line in the words of the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import InputError
from workbench.objects.fields import shown

__all__ = [
    "PageRequest",
    "answer",
    "check_texts",
    "failure",
    "news",
    "one_line",
    "page_words",
    "read_request",
    "text_in",
    "together",
]

#: Characters of a message that a page shows; of a longer one the beginning and the end, where the place and what was
#: expected stand.
_LONGEST = 1_000


@dataclass(frozen=True)
class PageRequest:
    """A request from a widget's page.

    `id`: chosen by the page, unique in one view; the answer carries it. `type`: name of the handler. `body`: arguments,
    checked by the handler.
    """

    id: int
    type: str
    body: dict[str, Any] = field(default_factory=dict)


def read_request(content: Any) -> PageRequest:
    """Check the content of a message and return it as a request.

    Raises InputError: not an object with a whole number ``id``, a text ``type`` and an object ``body``.
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
    return PageRequest(number, kind, body)


def check_texts(value: Any) -> None:
    """Raise an error if a message contains text that UTF-8 cannot encode (unpaired UTF-16 surrogates).

    Raises InputError: a text or a key anywhere in the value cannot be encoded.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                "half of a character",
                source="widget",
                where=f"character {error.start + 1} of a text",
                got=ascii(value[error.start]),
                expected="Unicode text",
            ) from None
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_texts(key)
            check_texts(inner)
    elif isinstance(value, list):
        for inner in value:
            check_texts(inner)


def text_in(body: dict[str, Any], key: str, default: str = "") -> str:
    """Read a text argument of a request.

    `body`: the request's arguments. `key`: name of the argument. `default`: value if the argument is missing. Raises
    InputError: the argument is not a text.
    """
    value = body.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise InputError("not a text", source="widget", where=key, got=shown(value), expected="text")
    return value


def one_line(message: str) -> str:
    """A message in the words of the page, without line breaks and control characters, and shortened if long."""
    message = page_words(message)
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 2 :]}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)


def answer(request: PageRequest, body: dict[str, Any]) -> dict[str, Any]:
    """The message that answers `request` with `body`."""
    return {"id": request.id, "type": "answer", "body": body}


def failure(request_id: int, message: str, traceback: str = "") -> dict[str, Any]:
    """The message that answers a request that failed.

    `request_id`: id of the request; 0 if the request had none. `message`: text for the user, shortened by `one_line`.
    `traceback`: for the author of a policy; empty for bad input.
    """
    return {"id": request_id, "type": "failure", "message": one_line(message), "traceback": traceback}


def news(event: str, body: dict[str, Any]) -> dict[str, Any]:
    """A message that the page has not requested: an event, such as progress, with its data."""
    return {"id": 0, "type": event, "body": body}


def together(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Pack several messages into one, because each message takes some milliseconds in server and page."""
    return messages[0] if len(messages) == 1 else {"id": 0, "type": "several", "body": messages}


#: What messages say of the command line, and what the page says in its place.
_WORDS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"if it is so, --ignore [a-z0-9-]+", "if it is so, leave this finding"),
        (r"by --fix\b", "by the button Fix"),
        (r"\(--fix\)", "(the button Fix)"),
        (r"\(--matrix PATTERN=FILE\)", "(Assign, in “GPU bandwidth”)"),
        (r"name one with --kubeconfig or KUBECONFIG", "name one in the variable KUBECONFIG and start the kernel again"),
        (r" \(--from\)", ""),
        (r", --from FORMAT forces another", ""),
        (r"--matrix PATTERN=FILE, or 'workbench gpus FILE'", "the text of a matrix goes to “GPU bandwidth”"),
        (r"--set config=FILE", "a configuration goes to “Configuration …”"),
        (r"name --matrix again", "assign it again in “GPU bandwidth”"),
        (r"name --any-scheduler again", "use `workbench.load(…, any_scheduler=True)` again"),
        (r"\(--any-scheduler takes them in\)", "(`workbench.load(…, any_scheduler=True)` takes them in)"),
        (r", or its row in a table for --link-speeds", ""),
        (r" \(--block [\w-]+\)", " (choose it as table of the printout)"),
        (r"give --run-seconds, or ", "give "),
        (r": --tier-gb-s \d+=…", ""),
        (r"'workbench simulate --trace FILE' reads the log", "a simulation reads the log"),
        (r"for simulate --trace", "for a simulation"),
        (r"topology discover (?:ufm\|roce )?--(?:config|credentials) FILE", "the command line reads it"),
        (r"'workbench gpus --regret'", "`workbench.regret`"),
    )
)


def page_words(text: str) -> str:
    """A message without options of the command line, which somebody who reads it in the page cannot give.

    `text`: as the rooms below say it to everybody; text of the user's own does not belong here.
    """
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text
