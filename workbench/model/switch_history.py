"""`SwitchHistory`: the states of a cluster's leaf switches after each step of a simulated timeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.model.counted import counted
from workbench.model.display import Displayed
from workbench.model.placement import Decision
from workbench.model.switches import SwitchStates

__all__ = ["Moment", "SwitchHistory"]


@dataclass(frozen=True, eq=False)
class Moment:
    """The jobs and switches of a cluster after one step of a timeline.

    Attributes
    ----------
    step : str
        ``submit A``, ``end A``, ``fault node3`` ...
    states : SwitchStates, optional
        States of the leaf switches; None if the snapshot has no switches.
    jobs : mapping of str to mapping of int to int
        Number of pods under each switch (-1: under no switch) of each running job, by ``namespace/name``.
    pending : tuple of str
        Jobs that wait for nodes, in byte order.
    decisions : tuple of Decision
        The policy's decisions in this step.
    """

    step: str
    states: SwitchStates | None
    jobs: Mapping[str, Mapping[int, int]]
    pending: tuple[str, ...]
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class SwitchHistory(Displayed):
    """Jobs and switch states after each step of a timeline; the first entry is the initial state.

    `names`: switches in configuration order.
    """

    names: tuple[str, ...]
    moments: tuple[Moment, ...]
    policy: str = ""

    def __repr__(self) -> str:
        return (
            f"SwitchHistory({counted(len(self.names), 'switch', 'switches')}, "
            f"{counted(len(self.moments) - 1, 'step')} by {self.policy})"
        )

    @property
    def jobs(self) -> tuple[str, ...]:
        """Every job that ran at some moment, in the order in which the jobs first appeared."""
        return tuple(dict.fromkeys(name for moment in self.moments for name in moment.jobs))
