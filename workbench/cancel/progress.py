"""Progress of long work: `reported` shows it, as a bar or to a function; `LOG` is the logger ``workbench``.

Live clusters, the operator and studies report to the logger. It is silent until somebody configures logging, such as
``logging.basicConfig(level=logging.INFO)``. The command line has lines of its own (`workbench.cli.output`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["LOG", "Progress", "ProgressOption", "reported"]

LOG = logging.getLogger("workbench")
# Otherwise Python itself prints warnings that nobody asked for.
LOG.addHandler(logging.NullHandler())

#: (steps done, steps in all, name of the step).
Progress = Callable[[int, int, str], None]
#: What long calls take as ``progress``: True for a bar, a function, or None (False) for nothing.
ProgressOption = bool | Progress | None


@contextmanager
def reported(progress: ProgressOption) -> Iterator[Progress | None]:
    """Show a bar if one was asked for, until the block ends.

    `progress`, if True: a bar of tqdm where it is installed, else of rich; both show themselves in a notebook, too. A
    function is handed on as it is.

    Yields: to be called with each step; None: nobody wants to know.
    """
    if progress is not True:
        yield progress or None
    elif find_spec("tqdm") is not None:
        with import_module("tqdm.auto").tqdm() as bar:
            yield _steps_of_tqdm(bar)
    else:
        from rich.progress import Progress as Bar

        with Bar(transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total, name: bar.update(task, completed=done, total=total, description=name)


def _steps_of_tqdm(bar: Any) -> Progress:
    def step(done: int, total: int, name: str) -> None:
        bar.total = total
        bar.set_description_str(name, refresh=False)
        bar.update(done - bar.n)

    return step
