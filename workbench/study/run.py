"""`run_study`: do the runs of a study on Dask, and keep each as soon as it is done."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cancel import check
from workbench.cancel.progress import LOG
from workbench.errors import ClusterError, InputError, WorkbenchError
from workbench.evaluate.metric_table import added_simulation_metrics
from workbench.optional import optional
from workbench.simulate import get_discipline
from workbench.study.cluster import check_connection, connected, cores
from workbench.study.digest import package_digest
from workbench.study.plan import Run, StudyPlan
from workbench.study.results import keep_result, prepare_folder, read_result, read_results, write_results
from workbench.study.work import shared_case, simulate_shared

if TYPE_CHECKING:
    import pandas

__all__ = ["run_study"]

#: Cases that are sent beyond one for each thread of the workers, so that no worker waits for the next.
_CASES_AHEAD = 1

Progress = Callable[[int, int, str], None]


def run_study(
    study: StudyPlan, folder: Path, address: str | None, workers: int | None, progress: Progress | None
) -> pandas.DataFrame:
    """Do the missing runs of a study, write all results into one file, and return them.

    `address`, `workers`, `progress`: as in `Study.run`, with its errors.
    """
    check_connection(address, workers)
    with optional("study"):
        import pyarrow  # noqa: F401 - missing, it is to be told before hours of runs, not when they are written
    # Runs of equal content are one.
    wanted = {run.digest: run for run in reversed(study.runs)}
    missing = [run for run in study.runs if wanted[run.digest] is run and read_result(folder, run.digest) is None]
    kept = len(wanted) - len(missing)
    LOG.info("study %s: %d of %d runs are done", study.name, kept, len(wanted))

    def report(done: int, name: str) -> None:
        if progress is not None:
            progress(kept + done, len(wanted), name)

    if address is None:
        prepare_folder(folder)
    report(0, "")
    if missing:
        here = None if address is not None else min(workers or cores(), len(missing))
        with connected(address, here) as client:
            # Only now, so that an address where no scheduler answers leaves no empty folder behind.
            prepare_folder(folder)
            _execute(study, missing, client, folder, report)
    write_results(study, folder)
    return read_results(study, folder)


def _execute(
    study: StudyPlan, runs: Sequence[Run], client: Any, folder: Path, report: Callable[[int, str], None]
) -> None:
    with optional("study"):
        from distributed import as_completed
        from distributed.protocol.pickle import dumps

    pickled: Callable[[Any], bytes] = dumps  # which knows what the user wrote, too
    # A scheduler may remember what another client asked it under the same key.
    call = secrets.token_hex(4)
    package, added = package_digest(), added_simulation_metrics()
    waiting: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        waiting.setdefault((run.topology, run.workload), []).append(run)
    left = {names: len(mine) for names, mine in waiting.items()}
    cases: dict[tuple[str, str], Any] = {}
    asked: dict[Any, Run] = {}
    completed: Any = as_completed([], loop=client.loop)  # type: ignore[no-untyped-call]

    def send_cases() -> None:
        """Send cases with their runs while few are out: all at once, large ones fill the memory, and Dask gives up."""
        most = _CASES_AHEAD + sum(client.nthreads().values())
        while waiting and len(cases) < most:
            names = next(iter(waiting))
            mine = waiting.pop(names)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph")  # a case is sent once, as large as it is
                case = client.submit(
                    shared_case, pickled(study.cases[names]), key=f"case-{call}-{study.case_digests[names]}"
                )
            cases[names] = case
            for run in mine:
                policy = study.policy_of(run.policy, run.workload, run.seed)
                discipline = get_discipline(run.discipline)
                arguments = (case, policy, discipline, run.seed, package, added)
                future = client.submit(simulate_shared, *arguments, key=f"run-{call}-{run.digest}")
                asked[future] = run
                completed.add(future)

    failed: dict[Run, _RunFailed] = {}
    send_cases()
    for done, future in enumerate(completed, 1):
        check()
        run = asked.pop(future)
        try:
            keep_result(folder, run, _outcome(future, run))
        except _RunFailed as error:
            # The others may take hours; they are done and kept before the error is raised.
            failed[run] = error
            LOG.warning("%s: %s", run.title, error)
        future.release()
        names = run.topology, run.workload
        left[names] -= 1
        if not left[names]:
            cases.pop(names).release()
            send_cases()
        LOG.info("study %s: done %s", study.name, run.title)
        report(done, run.title)
    for run in runs:
        if run in failed:
            first = failed[run]
            remark = "" if len(failed) == 1 else f"; {len(failed)} runs failed"
            raise InputError(f"{first}{remark}", source=run.title) from first.__cause__


class _RunFailed(Exception):
    """A run failed because of its input or its policy."""


def _outcome(future: Any, run: Run) -> dict[str, float]:
    """The metrics of a finished run; raises _RunFailed, or ClusterError if no further run can succeed."""
    from concurrent.futures import CancelledError

    with optional("study"):
        from distributed.scheduler import KilledWorker

    try:
        summary: dict[str, float] = future.result()
        return summary
    except KilledWorker as error:
        raise ClusterError(f"{run.title}: workers died while they did it: {error}") from None
    except CancelledError:
        raise ClusterError(f"{run.title}: the connection to the scheduler was lost") from None
    except ClusterError:
        raise
    except WorkbenchError as error:
        raise _RunFailed(str(error)) from error
    except Exception as error:  # of a policy that somebody wrote
        raise _RunFailed(f"the policy failed ({type(error).__name__}: {error})") from error
