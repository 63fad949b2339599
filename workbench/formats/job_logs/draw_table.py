"""`day_of_jobs`: gangs as a job log in the workbench's own table, with drawn times, for `workbench simulate`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.formats.job_logs.table import COLUMNS
from workbench.model.gang import Gang
from workbench.model.resources import CPU, MEMORY, is_gpu_resource

__all__ = ["day_of_jobs"]

DAY_S = 86_400
#: Median of the seconds of work, and the standard deviation of their logarithm.
MEDIAN_S, SPREAD = 3_000.0, 1.0

_FURTHER = ("cpu_milli", "memory_mib", "queue", "mode", "tier")


def day_of_jobs(gangs: Sequence[Gang], seed: int) -> str:
    """Gangs as CSV with a line per job: they arrive evenly at random within a day, in the order of the gangs.

    The seconds of work are log-normal with a median of 50 minutes; both are made up. Gangs have one role, as those of
    `workbench.topology.presets` do.

    `seed`: the same seed gives the same times.
    """
    rng = np.random.default_rng(seed)
    arrivals = np.sort(rng.integers(DAY_S, size=len(gangs))).tolist()
    work = np.ceil(MEDIAN_S * np.exp(SPREAD * rng.standard_normal(len(gangs)))).astype(np.int64).tolist()
    lines = [",".join((*COLUMNS, *_FURTHER))]
    for gang, submitted, seconds in zip(gangs, arrivals, work, strict=True):
        (role,) = gang.roles
        gpus = sum(amount for name, amount in role.requests.items() if is_gpu_resource(name))
        limit = gang.constraint
        tier = "" if limit is None or limit.highest_tier is None else limit.highest_tier
        cells = [gang.name, submitted, seconds, role.count, gpus, role.requests.get(CPU, 0)]
        cells += [role.requests.get(MEMORY, 0) >> 20, gang.queue, limit.mode if limit else "", tier]
        lines.append(",".join(map(str, cells)))
    return "\n".join(lines) + "\n"
