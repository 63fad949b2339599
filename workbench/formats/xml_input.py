"""Reader of untrusted XML: size is limited, declarations are refused, and errors name the place."""

from __future__ import annotations

from typing import Any

from workbench.errors import InputError

__all__ = ["parse_xml", "xml_root"]

_MOST_CHARACTERS = 16 << 20


def parse_xml(text: str, source: str, root: str, what: str) -> Any:
    """Parse an XML text and return its root element.

    `text`, `source`: the text, and the name of the file in errors. `root`, `what`: tag that the root element must have;
    name of the format in errors. Raises InputError: no XML, declarations of entities or a document type, too large,
    another root; line and column where XML knows them.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError

    if len(text) > _MOST_CHARACTERS:
        got = f"{len(text)} characters"
        raise InputError("the file is too large", source=source, got=got, expected=f"at most {_MOST_CHARACTERS}")
    try:
        element = xml_root(text)
    except ParseError as error:
        line, column = error.position
        where = f"line {line}, column {column + 1}"
        message = str(error).split(":", 1)[0]
        raise InputError(f"not XML: {message}", source=source, where=where, expected=what) from None
    except DefusedXmlException as error:
        name = type(error).__name__
        raise InputError("XML with declarations", source=source, got=name, expected="plain elements") from None
    except ValueError as error:
        raise InputError(f"not XML: {error}", source=source, expected=what) from None
    if element.tag != root:
        raise InputError(
            f"no {what.split(' ', 1)[-1]}", source=source, got=f"<{element.tag[:40]}>", expected=f"<{root}>"
        )
    return element


def xml_root(text: str) -> Any:
    """Parse an XML text whatever its root; raises the errors of `defusedxml.ElementTree.fromstring`.

    Entities are declared in a document type only, which begins with ``<!DOCTYPE``. A text without it has nothing that
    defusedxml, whose parser is in Python, would refuse: the parser in C reads it in half the time.
    """
    if "<!DOCTYPE" not in text:
        from xml.etree import ElementTree

        return ElementTree.fromstring(text)
    from defusedxml.ElementTree import fromstring

    return fromstring(text, forbid_dtd=True)
