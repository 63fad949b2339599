"""`Loop`: reconcilers at work on a live cluster until they are stopped; `WallClock`: their clock."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime

from workbench.cancel.progress import LOG
from workbench.control.event_log import EventLog, LogLine
from workbench.control.kinds import Ref
from workbench.control.manager import Manager
from workbench.control.reconciler import Reconciler
from workbench.errors import ClusterError
from workbench.live.kubernetes.api_store import ApiStore

__all__ = ["KINDS", "Loop", "Tell", "WallClock"]

#: Kinds that controllers mirror. Owners come before what they own, so that at the start no owner seems to be gone.
KINDS = (
    "Namespace",
    "PriorityClass",
    "Queue",
    "HyperNode",
    "Node",
    "Device",
    "HyperJob",
    "Job",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "Pod",
    "PodGroup",
    "Command",
    "ConfigMap",
    "PersistentVolumeClaim",
)

#: Seconds that an idle operator sleeps at most before it looks at its clock again.
_LONGEST_NAP_S = 1.0

#: Receives the lines of the operator's log.
Tell = Callable[[LogLine], object]


class Loop:
    """Reconcilers on a store that is an API server, called whenever a watch has news or a time has come."""

    def __init__(self, store: ApiStore, tell: Tell | None) -> None:
        self.store = store
        self.clock = WallClock()
        self.log = EventLog()
        self._tell = tell
        self.stopped = threading.Event()
        #: Lines of the log so far, by reason.
        self.events: Counter[str] = Counter()
        self.manager: Manager | None = None

    @property
    def started(self) -> bool:
        """Whether the controllers are at work."""
        return self.manager is not None

    def _stages(self) -> Sequence[Sequence[Reconciler]]:
        raise NotImplementedError

    def start(self) -> None:
        """Read the cluster, and start the controllers on what is there.

        Raises ClusterError: the API server does not answer.
        """
        self.store.start()
        self.manager = Manager(self.store, self.clock, self._stages(), failed=self._failed)

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Work until `stop` is called, or until `until` returns true; it is asked whenever nothing is left to do."""
        assert self.manager is not None
        while not self.stopped.is_set():
            while self.manager.step() and not self.stopped.is_set():
                self._report()
            self._report()
            self.store.forget(self.manager.seen)
            if until():
                return
            timer = self.manager.next_timer
            nap = _LONGEST_NAP_S if timer is None else min(max(timer - self.clock.now, 0.0), _LONGEST_NAP_S)
            self.store.wait(nap)

    def stop(self) -> None:
        """Let `run` return after the present step; may be called from a signal handler or another thread."""
        self.stopped.set()

    def close(self) -> None:
        """End all requests and watches."""
        self.store.close()

    def _failed(self, key: Hashable, error: ClusterError) -> None:
        ref = key if isinstance(key, Ref) else Ref(str(key), "", "")
        self.log.say(self.clock.now, ref, "Retry", str(error), warning=True)

    def _report(self) -> None:
        for line in self.log.lines:
            self.events[line.reason] += 1
            LOG.log(logging.WARNING if line.warning else logging.INFO, "%s %s: %s", line.reason, line.key, line.message)
            if self._tell is not None:
                self._tell(line)
        # A live operator runs for months: what was told is dropped.
        self.log.lines.clear()


_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class WallClock:
    """The real time, as `workbench.model.clock.Clock` describes a clock.

    The seconds are those of a clock that nobody can set: what is due in ten seconds stays due in ten seconds while the
    machine's time is corrected. A written time is placed by how long ago it was, by the machine's time of the moment.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self._started

    @property
    def stamp(self) -> str:
        """The present time as Kubernetes writes it, in whole seconds."""
        return datetime.fromtimestamp(time.time(), UTC).strftime(_FORMAT)

    def seconds_of(self, stamp: str) -> float | None:
        """Seconds from the making of the clock to a written time, negative before it; None if it is no such time."""
        try:
            moment = datetime.strptime(stamp, _FORMAT).replace(tzinfo=UTC)
        except ValueError:
            return None
        return self.now - (time.time() - moment.timestamp())
