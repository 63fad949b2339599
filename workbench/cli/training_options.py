"""Options that tell how jobs train: machine, parallel shapes, model, and the calibration that prices them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.arguments import finite_number, key_values, tier_speeds
from workbench.errors import InputError, close_names
from workbench.model.number_text import whole_number

if TYPE_CHECKING:
    from workbench.evaluate.cost.calibration import Calibration
    from workbench.evaluate.cost.parallel_shape import TrainingModel
    from workbench.evaluate.cost.plan import CommunicationPlan
    from workbench.model.gang import Gang

__all__ = [
    "CalibrationFile",
    "Machine",
    "ModelKeys",
    "Shapes",
    "calibration_with",
    "communication_plan",
    "training_model",
]

Machine = Annotated[str, typer.Option("--machine", metavar="NAME", help="Measured machine that all nodes count as.")]
ModelKeys = Annotated[
    list[str],
    typer.Option(
        "--model",
        metavar="NAME or KEY=VALUE",
        help="Name of a model of datasets/model-sizes; parameters, layers, hidden, sequence, and what docs/cost.md "
        "names. Repeatable.",
    ),
]
Shapes = Annotated[
    list[str],
    typer.Option(
        "--shape",
        metavar="JOB=DPxTPxPPxCPxEP",
        help="With --machine: degrees of parallelism of a job whose communication is priced. Repeatable.",
    ),
]
CalibrationFile = Annotated[
    Path | None, typer.Option("--calibration", metavar="FILE", help="JSON of 'workbench calibrate'.")
]

#: Field of `TrainingModel`, parser of the text (None: not such a value), and what is expected.
Reader = tuple[str, Callable[[str], Any], str]

#: Keys of --model that must be given.
_NEEDED = ("parameters", "layers", "hidden", "sequence")


def calibration_with(path: Path | None, machine: str) -> Calibration:
    """The calibration of a file, or the one that comes with the package; it must know a machine."""
    from workbench.evaluate.cost.calibration import Calibration
    from workbench.formats.collectives import read_calibration_record

    fitted = Calibration.from_record(*read_calibration_record(path))
    if machine not in fitted.machines:
        expected = close_names(machine, list(fitted.machines))
        missing = "no measured machine of this name" if machine else "the option is needed to count a job's time"
        raise InputError(missing, source="--machine", got=repr(machine) if machine else "nothing", expected=expected)
    return fitted


def communication_plan(
    gangs: Sequence[Gang],
    machine: str,
    shapes: Sequence[str],
    model: Sequence[str],
    tier_gb_s: Sequence[str],
    calibration: Path | None,
) -> CommunicationPlan | None:
    """The plan by which a comparison prices the communication of jobs; None if no `machine` is named.

    `shapes`, `model`, `tier_gb_s`, `calibration`: values of the options of these names.
    """
    from workbench.evaluate.cost.parallel_shape import ParallelShape
    from workbench.evaluate.cost.plan import CommunicationPlan

    if not machine:
        options = {"--shape": shapes, "--model": model, "--tier-gb-s": tier_gb_s, "--calibration": calibration}
        for option, given in options.items():
            if given:
                raise InputError("an option of the communication", source=option, expected="--machine beside it")
        return None
    fitted, trained = calibration_with(calibration, machine), training_model(model)
    stated = {}
    for job, text in key_values("--shape", shapes, f"JOB={ParallelShape.FORM}", once=True).items():
        found = [gang.key for gang in gangs if job in (gang.key, gang.name)]
        if len(found) != 1:
            names = ", ".join(gang.key for gang in gangs)
            message = "several jobs" if found else "no such job"
            raise InputError(message, source="--shape", got=repr(job), expected=f"one of {names}")
        if found[0] in stated:
            raise InputError("given twice", source="--shape", got=repr(job), expected=f"one shape for {found[0]}")
        stated[found[0]] = ParallelShape.parse(text, f"--shape {job}"), trained
    if not stated:
        raise InputError("no job to price", source="--shape", expected=f"JOB={ParallelShape.FORM}, such as train=4x8")
    return CommunicationPlan(fitted, machine, stated, tier_speeds(tier_gb_s))


def training_model(given: Sequence[str]) -> TrainingModel:
    """The model of ``--model KEY=VALUE``; ``forward_ms`` and ``backward_ms`` are in milliseconds."""
    from workbench.evaluate.cost.parallel_shape import TrainingModel

    def amounts(*names: str) -> dict[str, Reader]:
        return {name: (name, finite_number, "a number") for name in names}

    def counts(*names: str) -> dict[str, Reader]:
        return {name: (name, whole_number, "a whole number") for name in names}

    readers: dict[str, Reader] = {
        **amounts("parameters", "expert_parameters"),
        **counts("layers", "hidden", "sequence", "micro_batch", "microbatches"),
        **amounts("bytes_per_element", "gradient_bytes"),
        **counts("moe_layers", "top_k", "kv_hidden", "interleave"),
        "sharded": ("sharded", {"true": True, "false": False}.get, "true or false"),
        "forward_ms": ("forward_s", lambda text: _scaled(text, 1e-3), "a number"),
        "backward_ms": ("backward_s", lambda text: _scaled(text, 1e-3), "a number"),
    }
    names = [text for text in given if "=" not in text]
    values = key_values("--model", [text for text in given if "=" in text], "NAME or KEY=VALUE", once=True)
    found = _size_by_name(names)
    for key, text in values.items():
        if key not in readers:
            raise InputError("no such key", source="--model", got=repr(key), expected=close_names(key, list(readers)))
        name, read, expected = readers[key]
        found[name] = read(text)
        if found[name] is None:
            raise InputError("wrong value", source=f"--model {key}", got=repr(text), expected=expected)
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise InputError("the model is not told", source="--model", expected=", ".join(f"{key}=" for key in missing))
    try:
        return TrainingModel(**found)
    except InputError as error:
        raise error.of(f"--model {error.source}") from None


def _size_by_name(names: Sequence[str]) -> dict[str, Any]:
    """Fields of `TrainingModel` that the name of a model with a known size gives; empty without a name."""
    if not names:
        return {}
    if len(names) > 1:
        raise InputError("more than one model is named", source="--model", got=", ".join(names), expected="one name")
    from workbench.formats.job_shapes import read_model_sizes

    sizes = read_model_sizes()
    size = sizes.get(names[0].strip())
    if size is None:
        expected = f"KEY=VALUE, or a model of known size: {close_names(names[0].strip(), list(sizes))}"
        raise InputError("no model of this name", source="--model", got=repr(names[0]), expected=expected)
    return {
        **{key: getattr(size, key) for key in ("parameters", "layers", "hidden", "kv_hidden", "moe_layers", "top_k")},
        "expert_parameters": size.parameters - size.active,
    }


def _scaled(text: str, factor: float) -> float | None:
    number = finite_number(text)
    return None if number is None else number * factor
