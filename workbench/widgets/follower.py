"""`Follower`: a live cluster as it is now, read in the background for a widget.

`Replay` is a recording in its place, which goes from one of its moments to another.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from workbench.model.scenario import Scenario
from workbench.widgets.messages import one_line

if TYPE_CHECKING:
    from workbench.live import JobRow, LiveView, Recording

__all__ = ["ClusterMoment", "Follower", "Replay"]

#: Seconds from the first of some changes until the page hears of them: changes come in bursts.
_BURST_S = 0.25
#: Seconds between two looks at whether the cluster still answers.
_LOOK_S = 0.5


class ClusterMoment(NamedTuple):
    """What a cluster was like at some time.

    `clock`: when, as hours, minutes and seconds of this machine. `scenario`: the cluster with what runs, and the gangs
    that wait. `jobs`: Jobs with their phases, and why they wait. `step`: its number in a recording; 0 for a cluster
    that is followed.
    """

    clock: str
    scenario: Scenario
    jobs: list[JobRow]
    step: int = 0


class Follower:
    """Follows a cluster in a thread and keeps its newest moment until somebody takes it.

    `view`: closed with the follower. Only the follower's thread uses it after `start`.
    """

    #: A cluster that is followed has its present moment only.
    clocks: tuple[str, ...] = ()

    def __init__(self, view: LiveView) -> None:
        self._view = view
        self.name = view.cluster.context
        self.first = self._look()
        self._newest: ClusterMoment | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        #: Why the cluster does not answer; empty: it does.
        self.trouble = ""
        # A follower that nobody started, because its reading was cancelled, has nobody to close it.
        weakref.finalize(self, view.close)

    def start(self, told: Callable[[], None]) -> None:
        """Begin to follow; `told` is called in the thread when there is a new moment or trouble."""

        from workbench.live.threads import keep_on

        def step() -> None:
            new, trouble = self._view.update(_LOOK_S), self._view.trouble
            if new:
                time.sleep(_BURST_S)
                self._view.update()
                self._newest = self._look()
            tell(new, trouble)

        def tell(new: bool, trouble: str) -> None:
            if (new or trouble != self.trouble) and not self._stopped.is_set():
                self.trouble = one_line(trouble)
                told()

        # A step fails for instance while no snapshot can be made of the objects; the next change may mend them.
        follow = (step, self._stopped, lambda _, text: tell(False, text))
        self._thread = threading.Thread(target=keep_on, args=follow, name=f"follow-{self.name}", daemon=True)
        self._thread.start()

    def take(self) -> ClusterMoment | None:
        """The newest moment, once; None if nothing has changed since the last call."""
        newest, self._newest = self._newest, None
        return newest

    def close(self) -> None:
        """End the thread, the watches and the connection."""
        self._stopped.set()
        self._view.close()

    def _look(self) -> ClusterMoment:
        now = datetime.now().strftime("%H:%M:%S")
        return ClusterMoment(now, self._view.scenario(), self._view.jobs(ask_policy=True))


class Replay:
    """The moments of a recording, with what `Follower` has for a cluster that is followed. `name`: name of the file."""

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
