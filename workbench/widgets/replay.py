"""`Replay`: a recording of a live cluster for a widget, which goes from one of its moments to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.widgets.follower import ClusterMoment

if TYPE_CHECKING:
    from workbench.live import Recording

__all__ = ["Replay"]


class Replay:
    """The moments of a recording, with what `Follower` has for a cluster that is followed.

    Parameters
    ----------
    recording : Recording
    name : str
        Name of the file.
    """

    trouble = ""

    def __init__(self, recording: Recording, name: str) -> None:
        self._recording = recording
        self.name = name
        #: When each moment was.
        self.clocks = recording.clocks
        self.first = self.seek(0)

    def start(self, told: Callable[[], None]) -> None:
        """Do nothing: a recording does not change by itself."""

    def take(self) -> None:
        """Return None: there is never a newer moment."""

    def seek(self, step: int) -> ClusterMoment:
        """The moment with a number, from 0; an `InputError` if there is none."""
        self._recording.seek(step)
        recording = self._recording
        return ClusterMoment(self.clocks[step], recording.scenario(), recording.jobs(ask_policy=True), step)

    def close(self) -> None:
        """Do nothing: no connection is open."""
