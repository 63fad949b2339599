"""Checks of object names and label values by the rules of Kubernetes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

__all__ = [
    "LONGEST",
    "SUBDOMAIN",
    "as_subdomain",
    "is_label_value",
    "is_name",
    "is_subdomain",
    "label_errors",
    "name_error",
    "qualified_name_errors",
]

#: Most bytes in the name of an object.
LONGEST = 253

#: A DNS-1123 subdomain, as schemas write it.
SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"

_SUBDOMAIN = re.compile(SUBDOMAIN.removeprefix("^").removesuffix("$"), re.ASCII)
_NAME_PART = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME = re.compile(_NAME_PART, re.ASCII)
_LONGEST_NAME, _LONGEST_PREFIX = 63, LONGEST

_ALPHABET = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_EXAMPLES = f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME_PART}')"

_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_NAME_PART})?')"
)


def is_subdomain(name: str) -> bool:
    """Whether a name has the form of a DNS subdomain; its length is not checked."""
    return _SUBDOMAIN.fullmatch(name) is not None


def is_name(name: str) -> bool:
    """Whether Kubernetes accepts a name for a Node or HyperNode: a DNS subdomain that is not too long."""
    return len(name) <= LONGEST and is_subdomain(name)


def name_error(name: str) -> str:
    """What the API server says of metadata.name if it is no DNS subdomain or too long; empty if the name is valid."""
    if len(name) > LONGEST:
        return f"must be no more than {LONGEST} bytes"
    if is_subdomain(name):
        return ""
    return (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        f"'{_SUBDOMAIN.pattern}')"
    )


def label_errors(labels: Mapping[str, str], path: str) -> list[tuple[str, str]]:
    """The path, and what the API server says, of each label whose key or value is not valid.

    `path`: path of the labels, such as ``metadata.labels``.
    """
    found = []
    for key, value in labels.items():
        errors = [(key, each) for each in qualified_name_errors(key)]
        if len(value) > _LONGEST_NAME:
            errors.append((value, f"must be no more than {_LONGEST_NAME} bytes"))
        elif not is_label_value(value):
            errors.append((value, _LABEL_VALUE))
        found += [
            (path, f"{path}: Invalid value: {json.dumps(wrong, ensure_ascii=False)}: {error}")
            for wrong, error in errors
        ]
    return found


def is_label_value(value: str) -> bool:
    """Whether Kubernetes accepts a text as the value of a label; the empty text is accepted."""
    return not value or (len(value) <= _LONGEST_NAME and _NAME.fullmatch(value) is not None)


def as_subdomain(name: str, longest: int = LONGEST) -> str:
    """Turn any text into lower-case letters, digits and single dashes, cut to `longest` characters.

    The result may be empty, and two texts may give the same result.
    """
    return re.sub("[^a-z0-9]+", "-", name.lower())[:longest].strip("-")


def qualified_name_errors(name: str) -> list[str]:
    """Errors in a qualified name, ``[prefix/]name``, such as a label key; empty if the name is valid.

    The texts are those of Kubernetes' ``IsQualifiedName``.
    """
    prefix, slash, part = name.rpartition("/")
    if "/" in prefix:
        prefixed = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a qualified name {_ALPHABET} {_EXAMPLES} {prefixed}"]
    errors = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash and len(prefix) > _LONGEST_PREFIX:
        errors.append(f"prefix part must be no more than {_LONGEST_PREFIX} characters")
    elif slash and not is_subdomain(prefix):
        errors.append(
            "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
        )
    if not part:
        errors.append("name part must be non-empty")
    elif len(part) > _LONGEST_NAME:
        errors.append(f"name part must be no more than {_LONGEST_NAME} characters")
    if part and _NAME.fullmatch(part) is None:
        errors.append(f"name part {_ALPHABET} {_EXAMPLES}")
    return errors
