"""`TypicalShapes`: the pods that a cluster usually gets, by CPU, GPU thousandths and GPU model, with their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workbench.errors import InputError
from workbench.model.gpu_shares import WHOLE_GPU
from workbench.model.value import Value

__all__ = ["TypicalShape", "TypicalShapes"]


@dataclass(frozen=True, order=True)
class TypicalShape(Value):
    """CPU and GPUs that a typical pod requests.

    Raises InputError: neither whole GPUs nor a share of one.

    `cpu_milli`: thousandths of a CPU. `gpu_milli`: thousandths of each GPU, 1000 for whole GPUs; 0 without GPUs.
    `gpus`: number of GPUs. `models`: GPU models that the pods accept, as written; empty: any.
    """

    cpu_milli: int
    gpu_milli: int
    gpus: int
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sound = self.cpu_milli >= 0 and self.gpus >= 0 and 0 <= self.gpu_milli <= WHOLE_GPU
        if not sound or (self.gpus > 1 and self.gpu_milli != WHOLE_GPU) or (self.gpus > 0) != (self.gpu_milli > 0):
            raise InputError(
                "no shape of a pod",
                source="typical shapes",
                got=str(self),
                expected="CPU milli:GPU milli:GPUs, with whole GPUs (1000) or a share of one",
            )

    def __str__(self) -> str:
        text = f"{self.cpu_milli}:{self.gpu_milli}:{self.gpus}"
        return f"{text}:{'|'.join(self.models)}" if self.models else text

    @classmethod
    def parse(cls, text: str) -> TypicalShape:
        """Read a shape as `str` writes it: ``CPU milli:GPU milli:GPUs`` and ``:MODEL|MODEL`` where models are named.

        Raises InputError: not of this form.
        """
        cpu, _, rest = text.partition(":")
        milli, _, rest = rest.partition(":")
        gpus, _, models = rest.partition(":")
        if not (cpu.isdecimal() and milli.isdecimal() and gpus.isdecimal()):
            expected = "CPU milli:GPU milli:GPUs[:MODEL|MODEL]"
            raise InputError("no shape of a pod", source="typical shapes", got=text, expected=expected)
        return cls(int(cpu), int(milli), int(gpus), tuple(models.split("|")) if models else ())


@dataclass(frozen=True)
class TypicalShapes(Value):
    """Shapes of pods with the number of pods of each: all shapes that were seen."""

    counts: Mapping[TypicalShape, int]

    @classmethod
    def of(cls, shapes: Iterable[TypicalShape]) -> TypicalShapes:
        """Count the shapes of pods, one entry per pod."""
        return cls(dict(Counter(shapes)))

    @classmethod
    def from_table(cls, table: Mapping[str, int]) -> TypicalShapes:
        """Read the counts of shapes by their texts, as `table` writes them."""
        return cls({TypicalShape.parse(text): count for text, count in table.items()})

    @property
    def table(self) -> dict[str, int]:
        """Counts by the texts of the shapes, for a policy's parameter ``typical``; the most frequent first."""
        return {str(shape): count for shape, count in self._ranked()}

    def frequencies(self, share: float) -> list[tuple[TypicalShape, float]]:
        """The most frequent shapes that together make up `share` of the pods, and their frequencies among these.

        `share`: above 0, at most 1. The shape that crosses it is included.

        Returns list of (TypicalShape, float): the most frequent first; of equal counts the shape with more CPU, then
        with more GPU thousandths, more GPUs, the later text of models. The frequencies add up to 1 but for rounding.
        Source: the study of fragmentation gradient descent (USENIX ATC'23), docs/reference/gpu-sharing.md. A frequency
        is computed as (count / pods) / (pods of the chosen shapes / pods): the rounding decides ties of the scores.
        """
        pods = sum(self.counts.values())
        chosen: list[tuple[TypicalShape, int]] = []
        covered = 0
        for shape, count in self._ranked():
            if covered >= share * pods:
                break
            chosen.append((shape, count))
            covered += count
        return [(shape, count / pods / (covered / pods)) for shape, count in chosen]

    def _ranked(self) -> list[tuple[TypicalShape, int]]:
        def key(item: tuple[TypicalShape, int]) -> tuple[int, int, int, int, str]:
            shape, count = item
            return count, shape.cpu_milli, shape.gpu_milli, shape.gpus, "|".join(shape.models)

        return sorted(self.counts.items(), key=key, reverse=True)
