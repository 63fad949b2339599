"""`LiveStrip`: the part of the `Workbench` widget that shows the cluster it follows or replays, with its jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.objects.fields import shown
from workbench.widgets.follower import ClusterMoment, Follower, Replay
from workbench.widgets.panel import STATIC, Panel

if TYPE_CHECKING:
    from workbench.live import JobRow

__all__ = ["LiveStrip"]


class LiveStrip(Panel):
    """Jupyter widget with the state of a cluster that is followed, buttons to pause and end that, and its jobs.

    A recording has a slider over its moments instead.

    `follower`: started and closed by this widget. `show`: shows a moment in the drawing and the placements; called in
    the kernel's thread.
    """

    # The follower tells in its own thread that there is news; the page asks for it (`_moment`), so that everything is
    # shown in the kernel's thread. While paused, the newest moment waits in `_missed`.

    _esm = STATIC / "live.js"
    handlers = {
        "state": "_state",
        "moment": "_moment",
        "pause": "_pause",
        "resume": "_resume",
        "stop": "_stop",
        "seek": "_seek",
    }

    def __init__(self, follower: Follower | Replay, show: Callable[[ClusterMoment], None]) -> None:
        super().__init__()
        self._follower, self._show = follower, show
        self._shown = follower.first
        self._missed: ClusterMoment | None = None
        #: Why nothing is followed at this moment: "paused", "stopped", or empty.
        self._rest = ""
        follower.start(lambda: self.tell("news", {}))

    def pause(self) -> None:
        """Leave drawing and placements as they are, so that they can be changed; the cluster is followed on."""
        if not self._rest:
            self._rest = "paused"
            self._tell_views()

    def close(self) -> None:
        """End following, and remove the widget from the page."""
        self._follower.close()
        super().close()

    def _state(self, body: dict[str, Any]) -> dict[str, Any]:
        moment = self._shown
        return {
            "name": self._follower.name,
            "clock": moment.clock,
            "clocks": list(self._follower.clocks),
            "step": moment.step,
            "rest": self._rest,
            "trouble": "" if self._rest == "stopped" else self._follower.trouble,
            "jobs": [_row(job) for job in moment.jobs],
        }

    def _moment(self, body: dict[str, Any]) -> dict[str, Any]:
        """Show what has changed, unless paused."""
        newest = self._follower.take() or self._missed
        if self._rest:
            self._missed = newest
        elif newest is not None:
            self._missed, self._shown = None, newest
            self._show(newest)
        return self._state({})

    def _pause(self, body: dict[str, Any]) -> dict[str, Any]:
        self.pause()
        return self._state({})

    def _resume(self, body: dict[str, Any]) -> dict[str, Any]:
        """Go back to the cluster as it is now; what was drawn meanwhile is one step to undo."""
        if self._rest == "paused":
            self._rest = ""
            self._missed = self._follower.take() or self._missed or self._shown
        moment = self._moment({})
        self._tell_views()
        return moment

    def _seek(self, body: dict[str, Any]) -> dict[str, Any]:
        """Go to a moment of a recording."""
        step = body.get("step")
        if not isinstance(self._follower, Replay) or type(step) is not int:
            raise InputError("no moment of a recording", source="live", got=shown(step), expected="a whole number")
        self._rest, self._shown = "", self._follower.seek(step)
        self._show(self._shown)
        return self._tell_views()

    def _stop(self, body: dict[str, Any]) -> dict[str, Any]:
        self._rest = "stopped"
        self._follower.close()
        return self._tell_views()

    def _tell_views(self) -> dict[str, Any]:
        """Tell every view, such as one in another tab of the browser, what one of them did; returns the state."""
        state = self._state({})
        self.tell("state", state)
        return state


def _row(job: JobRow) -> dict[str, Any]:
    """A row of the table of jobs."""
    counts = {name: getattr(job, name) for name in ("pending", "running", "succeeded", "failed")}
    return {
        "job": f"{job.namespace}/{job.name}",
        "phase": job.phase,
        "pods": ", ".join(f"{count} {name}" for name, count in counts.items() if count),
        "where": f"{job.hypernode} (tier {job.tier})" if job.hypernode else "",
        "waits": job.waits_for,
        "pending": bool(job.pending),
    }
