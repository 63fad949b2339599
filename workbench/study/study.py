"""`Study`: a plan that is read from a file and run, and whose results are kept in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cancel import ProgressOption, reported
from workbench.model.deferred import DeferredModule
from workbench.model.display import handed_in
from workbench.study.plan import StudyPlan
from workbench.study.read import read_study
from workbench.study.results import read_results
from workbench.study.run import run_study
from workbench.study.statistics import compare_in_pairs

if TYPE_CHECKING:
    import pandas
else:
    pandas = DeferredModule("pandas")

__all__ = ["Study"]


class Study(StudyPlan):
    """Simulations of every policy on every topology, workload and discipline, with several seeds.

    Parameters and attributes are those of `StudyPlan`.

    Examples
    --------
    >>> import workbench as wb
    >>> from pathlib import Path
    >>> _ = Path("jobs.csv").write_text("name,submit_s,duration_s,pods,gpus_per_pod\\na,0,60,2,8\\n")
    >>> from workbench.study import StudyWorkload
    >>> study = wb.Study(
    ...     "first",
    ...     topologies={"tree": wb.generate_scenario("three-level-tree").snapshot},
    ...     workloads={"one job": StudyWorkload(wb.load_jobs("jobs.csv"))},
    ...     policies={name: wb.get_policy(name) for name in ("binpack", "spread")},
    ... )
    >>> [run.policy for run in study.runs]
    ['binpack', 'spread']
    """

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Read a study from a YAML file (docs/studies.md).

        Raises InputError, UnknownNameError: a key that is not known, a wrong type, a file that is missing; file and
        place are named.
        """
        return read_study(path, cls)

    def run(
        self,
        folder: str | Path,
        address: str | None = None,
        *,
        workers: int | None = None,
        progress: ProgressOption = None,
    ) -> pandas.DataFrame:
        """Do the runs whose results the folder has not, on Dask, and return the results of all.

        Returns: the table of `results`. Raises InputError: the folder cannot be written; `workers` together with an
        address; a policy raised an error, which is told after all other runs are done. Raises ClusterError: no
        scheduler answers, a worker runs another version, or workers die.

        Parameters
        ----------
        folder : path
            Where results are kept, a file per run, and all together as ``results.parquet``. It is made if it is not
            there. A run whose content has not changed is not done again.
        address : str, optional
            Scheduler of a Dask cluster, such as ``tcp://10.0.0.1:8786``, whose workers have the same version of this
            package. None: worker processes on this machine, which end with the call.
        workers : int, optional
            Worker processes on this machine, of one thread each; None: as many as there are cores for this process.
        progress : bool or callable, optional
            True: show a bar. A function is called with (runs done, runs, the last one in words).
        """
        with reported(progress) as step:
            return run_study(self, Path(folder), address, workers, step)

    def compare(self, results: pandas.DataFrame) -> pandas.DataFrame:
        """Compare every policy of the results with the baseline, in pairs of equal topology, workload and seed.

        `results`: as `run` and `results` return it. Returns a row per outcome and policy with the difference, its
        interval and a sign test (`workbench.study.statistics.compare_in_pairs`).
        """
        return compare_in_pairs(results, self.compared_with)

    def plot(self, results: pandas.DataFrame, ax: Any = None, kind: str | None = None, **options: Any) -> Any:
        """Draw results on axes of matplotlib: `workbench.report.plots.plot_runs` lists kinds and options.

        `results`: as `run` and `results` return it. `ax`: None: new axes. `kind` ({"box", "differences"}): a metric by
        policy, or its difference from the baseline with intervals. `options`: ``metric``: key of the metric, by default
        the mean waiting time.
        """
        return handed_in("plot_runs")(results, lambda: self.compare(results), ax, kind, **options)

    def results(self, folder: str | Path) -> pandas.DataFrame:
        """Results of the runs in a folder: a row per run, in the order of `runs`; runs not done yet are left out.

        Columns: topology, workload, discipline, policy, parameters, seed, run (its digest), and the numbers of
        `SimulationResult.summary`; NaN where there is none.
        """
        return read_results(self, Path(folder))
