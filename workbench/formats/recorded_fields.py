"""Shapes of the fields of a recording: each is checked once, when its record is read.

A shape is a function of a value and its path that raises InputError, with the path as place, for a value of another
form. What a session does with a checked record needs no further look at types.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from workbench.errors import InputError
from workbench.objects.fields import MOST_PODS, child, wrong
from workbench.objects.quantity import to_base_units

__all__ = [
    "AMOUNTS",
    "CONTAINER",
    "COUNT",
    "FLAG",
    "MAPPING",
    "NAME",
    "NUMBER",
    "QUANTITY",
    "SECOND",
    "TEXT",
    "TEXTS",
    "Shape",
    "by_name",
    "either",
    "fields",
    "items",
    "or_null",
    "whole",
]

Shape = Callable[[Any, str], None]

#: Latest second after the begin of a recording; later ones would be beyond the year 2300.
_LATEST = 10**10


def whole(least: int, most: int, what: str = "a whole number") -> Shape:
    """The shape of a whole number from `least` to `most`, which errors call `what`."""

    def check(value: Any, where: str) -> None:
        if type(value) is not int or not least <= value <= most:
            raise wrong(where, value, f"{what} from {least} to {most}")

    return check


def either(*values: str) -> Shape:
    """The shape of one of some texts."""

    def check(value: Any, where: str) -> None:
        if type(value) is not str or value not in values:
            raise wrong(where, value, " or ".join(values))

    return check


def or_null(shape: Shape) -> Shape:
    """The shape of a value that may be null."""

    def check(value: Any, where: str) -> None:
        if value is not None:
            shape(value, where)

    return check


def items(shape: Shape, least: int = 0) -> Shape:
    """The shape of a list of at least so many values of one shape."""

    def check(value: Any, where: str) -> None:
        if type(value) is not list or len(value) < least:
            raise wrong(where, value, "a list that is not empty" if least else "a list")
        for number, each in enumerate(value):
            shape(each, f"{where}[{number}]")

    return check


def by_name(shape: Shape) -> Shape:
    """The shape of a mapping with values of one shape; its keys are names."""

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            raise wrong(where, value, "a mapping")
        for name, each in value.items():
            shape(each, f"{where}[{name!r}]")

    return check


def fields(optional: Collection[str] = (), /, **shapes: Shape) -> Shape:
    """The shape of a mapping with fields of their own shapes; those in `optional` may be absent or null.

    Further fields are left alone: a recording tells more than is compared.
    """

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            raise wrong(where, value, "a mapping")
        for name, shape in shapes.items():
            found = value.get(name)
            if found is not None or name not in optional:
                shape(found, child(where, name))

    return check


def _text(value: Any, where: str) -> None:
    if type(value) is not str:
        raise wrong(where, value, "text")


def _name(value: Any, where: str) -> None:
    if type(value) is not str or not value:
        raise wrong(where, value, "a name")


def _flag(value: Any, where: str) -> None:
    if type(value) is not bool:
        raise wrong(where, value, "true or false")


def _amount(resource: str, value: Any, where: str) -> None:
    if value is None:
        raise wrong(where, value, "a Kubernetes quantity")
    try:
        to_base_units(resource, value)
    except InputError as error:
        raise error.at(where=where) from None


def _quantity(value: Any, where: str) -> None:
    _amount("", value, where)


def _amounts(value: Any, where: str) -> None:
    if type(value) is not dict:
        raise wrong(where, value, "a mapping of resource to quantity")
    for name, amount in value.items():
        _amount(name, amount, f"{where}[{name!r}]")


def _container(value: Any, where: str) -> None:
    policy: Mapping[str, Any] = value if type(value) is dict else {}
    if "restartPolicy" in policy:
        _text(policy["restartPolicy"], child(where, "restartPolicy"))
        value = {name: amount for name, amount in policy.items() if name != "restartPolicy"}
    _amounts(value, where)


def _mapping(value: Any, where: str) -> None:
    if type(value) is not dict:
        raise wrong(where, value, "a mapping")


TEXT: Shape = _text
NAME: Shape = _name
FLAG: Shape = _flag
QUANTITY: Shape = _quantity
AMOUNTS: Shape = _amounts
#: A container as the resources that it requests, with its restartPolicy if it has one.
CONTAINER: Shape = _container
#: What is written as in a manifest, and checked as one.
MAPPING: Shape = _mapping
TEXTS: Shape = by_name(_text)
#: A number of pods.
COUNT: Shape = whole(0, MOST_PODS)
NUMBER: Shape = whole(-(2**31), 2**31 - 1)
SECOND: Shape = whole(0, _LATEST, "a whole number of seconds")
