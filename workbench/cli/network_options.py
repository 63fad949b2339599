"""Options of `workbench simulate` that describe the network, and the `Network` that they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.arguments import finite_number, key_values, tier_speeds
from workbench.cli.option_values import one_of, whole
from workbench.cli.options import Phases, Routes, TierSpeeds
from workbench.errors import InputError
from workbench.model.number_text import whole_number

if TYPE_CHECKING:
    from workbench.evaluate.contention import Network, TrainingStep
    from workbench.model.snapshot import ClusterSnapshot

__all__ = ["NetworkOptions"]

_STEP = ("compute_s", "data_gb")


@dataclass(frozen=True)
class NetworkOptions:
    """The options that describe the network, as given."""

    card_gb_s: Annotated[
        str,
        typer.Option(
            "--card-gb-s",
            metavar="GB/S",
            help="Let jobs share a network: speed per GPU of a node's network cards, one direction.",
        ),
    ] = ""
    tier_gb_s: TierSpeeds = field(default_factory=list)
    cables: Annotated[
        list[str],
        typer.Option("--cables", metavar="TIER=N", help="Equal cables above each HyperNode of a tier. Repeatable."),
    ] = field(default_factory=list)
    rails: Annotated[
        int,
        whole("--rails", least=1, most=64, metavar="N", help="Rails: networks to which a node's GPUs are dealt out."),
    ] = 1
    routes: Annotated[Routes, one_of(Routes, "--routes", help="How flows find their cable among equal ones.")] = (
        Routes.hashed
    )
    phases: Annotated[
        Phases, one_of(Phases, "--phases", help="Whether jobs send at the same time, or while others compute.")
    ] = Phases.together
    step: Annotated[
        list[str],
        typer.Option(
            "--step",
            metavar="KEY=VALUE",
            help="compute_s and data_gb of a training step, for jobs without one in the trace. Repeatable.",
        ),
    ] = field(default_factory=list)

    def check(self) -> None:
        """Refuse options of a network that is not asked for."""
        given = (
            ("--tier-gb-s", self.tier_gb_s),
            ("--cables", self.cables),
            ("--rails", self.rails != 1),
            ("--routes", self.routes is not Routes.hashed),
            ("--phases", self.phases is not Phases.together),
            ("--step", self.step),
        )
        named = [name for name, value in given if value]
        if named and not self.card_gb_s:
            raise InputError("an option of a network", source=named[0], expected="--card-gb-s beside it")

    def network(self, snapshot: ClusterSnapshot, seed: int) -> Network | None:
        """The network of a cluster; None: the jobs share none. `seed`: seed of the hash of routes."""
        from workbench.evaluate.contention import Network, RoutedFabric, TierLinks

        if not self.card_gb_s:
            return None
        card = finite_number(self.card_gb_s)
        if card is None or card <= 0:
            raise InputError(
                "no speed", source="--card-gb-s", got=repr(self.card_gb_s), expected="a number above 0, such as 50"
            )
        speeds, cables = tier_speeds(self.tier_gb_s), self._cables()
        unknown = sorted(set(cables) - set(speeds))
        if unknown:
            expected = f"--tier-gb-s {unknown[0]}=…"
            raise InputError(
                "cables of a tier without a speed", source="--cables", got=str(unknown[0]), expected=expected
            )
        tiers = {tier: TierLinks(gb_s, cables.get(tier, 1)) for tier, gb_s in speeds.items()}
        fabric = RoutedFabric.of(snapshot, card, tiers, rails=self.rails, routes=self.routes.value, seed=seed)
        return Network(fabric, self.phases.value)

    def _cables(self) -> dict[int, int]:
        found = {}
        for tier, text in key_values("--cables", self.cables, "TIER=N", once=True).items():
            number, count = whole_number(tier), whole_number(text)
            if number is None or not count or count > 1024:
                raise InputError("no cables of a tier", source="--cables", got=repr(f"{tier}={text}"), expected="1=8")
            found[number] = count
        return found

    def common_step(self) -> TrainingStep | None:
        """The training step of ``--step KEY=VALUE``; None without it."""
        from workbench.evaluate.contention import TrainingStep

        values = key_values("--step", self.step, once=True)
        if not values:
            return None
        numbers = {key: finite_number(text) for key, text in values.items()}
        if set(values) != set(_STEP) or any(number is None or number < 0 for number in numbers.values()):
            got = ", ".join(f"{key}={text}" for key, text in values.items())
            raise InputError("no training step", source="--step", got=repr(got), expected="compute_s=1 and data_gb=10")
        return TrainingStep(numbers["compute_s"] or 0.0, {"data": numbers["data_gb"] or 0.0})
