"""Parameters of policies: typed, with a default, a range and the source of the default.

A policy declares them as a frozen dataclass whose fields are made by `parameter`; `read_parameters` converts a user's
values (Python values, or text from ``--set``) to an instance, and refuses unknown or invalid ones. `Parametrised` makes
a policy like another one with other parameters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from workbench.errors import InputError, UnknownNameError
from workbench.kernels.fading import MAX_WEIGHT
from workbench.model.scheduler_config import SchedulerConfig

__all__ = [
    "NoParameters",
    "ParameterInfo",
    "Parametrised",
    "gpu_weight",
    "make_policy",
    "parameter",
    "parameter_infos",
    "read_parameters",
    "weight_parameter",
]

P = TypeVar("P")
M = TypeVar("M")

_LONGEST_SHOWN = 60

#: Files that hold parameters are JSON, and other programs read no longer numbers from it.
_MOST_BITS = 64

_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


@dataclass(frozen=True)
class ParameterInfo:
    """One parameter as shown to users.

    Attributes
    ----------
    name : str
        The name that users type.
    type : {"integer", "number", "flag", "text", "table", "configuration"}
        A table maps names to whole numbers; as text ``name=1,other=2``. A configuration is a `SchedulerConfig`; on the
        command line a file.
    meaning : str
        One line for the user.
    low, high : float, optional
        Smallest and largest value; None: no limit.
    choices : tuple of str
        The only texts allowed; empty: any.
    source : str
        Where the default comes from; empty: our own choice.
    """

    name: str
    type: str
    default: Any
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    source: str = ""

    @property
    def range(self) -> str:
        """The allowed values of the parameter in words."""
        if self.choices:
            return " or ".join(self.choices)
        if self.type == "table":
            return f"name=whole number{self._limits}, ..."
        if self.type == "configuration":
            return "a SchedulerConfig, as workbench.load_config(path) reads it"
        return f"{self.type}{self._limits}"

    @property
    def _limits(self) -> str:
        if self.low is not None and self.high is not None:
            return f" from {self.low:.15g} to {self.high:.15g}"
        low = "" if self.low is None else f" >= {self.low:.15g}"
        high = "" if self.high is None else f" <= {self.high:.15g}"
        return f"{low}{high}"

    def read(self, value: object, owner: str) -> Any:
        """Check a value and return it as the parameter's type; text is parsed.

        Raises InputError: wrong type or outside the range; names the policy and the parameter.
        """
        expected = self.range
        try:
            read = _READERS[self.type](value)
        except (TypeError, ValueError):
            read = None
        except OverflowError:
            read, expected = None, f"{self.range}, that fits 64 bits"
        numbers: list[Any] = list(read.values()) if isinstance(read, Mapping) else [read]
        if (
            read is None
            or (self.choices and read not in self.choices)
            or (self.low is not None and any(x < self.low for x in numbers))
            or (self.high is not None and any(x > self.high for x in numbers))
        ):
            # Python refuses to write very long numbers in decimal.
            bits = value.bit_length() if isinstance(value, int) else 0
            got = f"a number of {bits:,} bits" if bits > _MOST_BITS else repr(value)
            got = got if len(got) <= _LONGEST_SHOWN else f"{got[:_LONGEST_SHOWN]}..."
            raise InputError("not a value for it", source=owner, where=self.name, got=got, expected=expected)
        return read


def parameter(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    source: str = "",
) -> Any:
    """Declare a dataclass field that is a parameter of a policy; its type is that of the default.

    Parameters
    ----------
    default : Any
        A dict is copied for each instance.
    meaning : str
        One line for the user.
    low, high : float, optional
        Smallest and largest number allowed; None: no limit.
    choices : tuple of str
        Texts allowed; empty: any.
    source : str
        Where the upstream scheduler documents the parameter.
    """
    metadata = {"meaning": meaning, "low": low, "high": high, "choices": choices, "source": source}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def weight_parameter(default: Any, meaning: str, *, source: str = "") -> Any:
    """A policy parameter that weighs a part of a score: a number from 0 to the largest weight of the kernels.

    `default`, `meaning`, `source`: as in `parameter`.
    """
    return parameter(default, meaning, low=0, high=MAX_WEIGHT, source=source)


def gpu_weight() -> Any:
    """The parameter for the weight of the GPU policy's score of a node."""
    return weight_parameter(0.0, "weight of the GPU policy's score (0 to 100 per node) in the node score; 0: not asked")


@dataclass(frozen=True)
class NoParameters:
    """Parameters of a policy that has none."""


def parameter_infos(parameters: type) -> tuple[ParameterInfo, ...]:
    """Describe the parameters that a dataclass declares with `parameter`, in the order of its fields."""
    infos = []
    for f in dataclasses.fields(parameters):
        default = f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        infos.append(ParameterInfo(f.name, type_name(default), default, **f.metadata))
    return tuple(infos)


def read_parameters(owner: str, parameters: type[P], given: Mapping[str, object]) -> P:
    """Check the parameters that a user gave and return them as an instance of the policy's dataclass.

    Raises UnknownNameError: a name that the policy does not know; close ones are offered. Raises InputError: wrong type
    or out of range.

    `owner`: the policy's name, for errors. `parameters`: dataclass whose fields are made by `parameter`. `given`:
    values by name; others keep their default.
    """
    return parameters(**_read_values(owner, parameters, given))


def _read_values(owner: str, parameters: type, given: Mapping[str, object]) -> dict[str, Any]:
    infos = {info.name: info for info in parameter_infos(parameters)}
    for name in given:
        if name not in infos:
            raise UnknownNameError(f"parameter of {owner}", name, infos)
    return {name: infos[name].read(value, owner) for name, value in given.items()}


class Parametrised:
    """Base class of whole, node and GPU policies: a policy with other parameters is made from the policy itself.

    The registry is not asked for the name of the policy: another policy may have that name by now, such as the next
    version of a notebook's cell, or none.

    `name`: the name that users type.
    """

    name: str

    _parameters: Any = NoParameters()
    #: Function of the parameters that made the policy, and these parameters; None: the constructor was called directly.
    _maker: tuple[Callable[[Any], Any], Any] | None = None

    def __init__(self, parameters: Any = NoParameters()) -> None:
        self._parameters = parameters

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every parameter with its value; in a whole policy, those of the GPU part begin with ``gpu.``."""
        return dataclasses.asdict(self._parameters)

    def with_parameters(self, **values: object) -> Self:
        """Make a policy like this one with other values of some parameters; this one stays as it is.

        The default repeats what `get_policy` did, with the new values. A class whose constructor users call directly
        overrides this method if it has parameters that can be changed.

        Raises UnknownNameError: a name that the policy does not know; close ones are offered. Raises InputError: wrong
        type or out of range; or the policy was not made by `get_policy` and its class does not override this method.

        Parameters
        ----------
        **values
            Values by the names of ``parameters``; the other parameters keep theirs.
        """
        if not values:
            return self
        if self._maker is None:
            raise InputError(
                "its parameters cannot be changed",
                source=self.name,
                where=", ".join(values),
                got=f"an object of {type(self).__qualname__} that get_policy did not make",
                expected=f"a method {type(self).__qualname__}.with_parameters(**values)",
            )
        make, given = self._maker
        changed: Self = make_policy(make, dataclasses.replace(given, **_read_values(self.name, type(given), values)))
        return changed

    def _remember(self, make: Callable[[Any], Any], parameters: Any) -> None:
        """Keep what made the policy; ``make`` and ``parameters`` as of `make_policy`."""
        # The class may be a frozen dataclass.
        object.__setattr__(self, "_maker", (make, parameters))


def make_policy(make: Callable[[P], M], parameters: P) -> M:
    """Call a function that makes a policy of its parameters, so that `Parametrised.with_parameters` can call it again.

    `make`: as ``make`` of a registry's `Entry`. `parameters`: instance of the dataclass of the policy's parameters.
    """
    made = make(parameters)
    if isinstance(made, Parametrised):
        made._remember(make, parameters)
    return made


def type_name(default: object) -> str:
    """Parameter type of a default value: "integer", "number", "flag", "text", "table" or "configuration"."""
    if isinstance(default, bool):
        return "flag"
    if isinstance(default, int):
        return "integer"
    if isinstance(default, float):
        return "number"
    if default is None:
        return "configuration"
    return "table" if isinstance(default, Mapping) else "text"


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError
    number = int(_plain(value))
    if number.bit_length() >= _MOST_BITS:
        raise OverflowError
    return number


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    try:
        number = float(_plain(value))
    except OverflowError:
        raise ValueError from None
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError
    return number


def _plain(value: Any) -> Any:
    """A parameter's value; ValueError for a text that Python would take for a number (non-ASCII, underscores)."""
    if isinstance(value, str) and (not value.isascii() or "_" in value):
        raise ValueError
    return value


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in _TRUE | _FALSE:
        raise ValueError
    return text in _TRUE


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _table(value: object) -> dict[str, int]:
    if isinstance(value, str):
        pairs = [part.split("=", 1) for part in value.split(",") if part.strip()]
        return {name.strip(): _integer(amount) for name, amount in pairs}
    if not isinstance(value, Mapping):
        raise TypeError
    return {_text(name): _integer(amount) for name, amount in value.items()}


def _configuration(value: object) -> SchedulerConfig:
    if not isinstance(value, SchedulerConfig):
        raise TypeError
    return value


_READERS = {
    "configuration": _configuration,
    "integer": _integer,
    "number": _number,
    "flag": _flag,
    "text": _text,
    "table": _table,
}
