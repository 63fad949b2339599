"""`load_jobs`: a file of jobs with times, in whichever format it is."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, cast

from workbench.errors import InputError, named_arguments
from workbench.formats.file_bytes import read_bytes
from workbench.formats.job_logs import generators, sacct, swf, table, traces
from workbench.formats.job_logs.base import Read
from workbench.formats.manifests import read_text
from workbench.formats.printouts import known_printout
from workbench.formats.tables import unpacked
from workbench.model.deferred import DeferredModule
from workbench.model.job_log import JobLog

if TYPE_CHECKING:
    import pandas
else:
    pandas = DeferredModule("pandas")

__all__ = ["load_jobs"]

_EXPECTED = (
    f"CSV with {', '.join(table.COLUMNS)} or with {', '.join(traces.PHILLY_COLUMNS)}, a log of Helios, Acme or PAI, "
    f"what {sacct.ASKED_FOR} prints, the Standard Workload Format, "
    "or YAML of Kueue's generator or of Knavigator"
)


@named_arguments
def load_jobs(path: str | Path | pandas.DataFrame, content: bytes | None = None) -> JobLog:
    """Read jobs with the times of their arrival and their work from a file or a DataFrame.

    `path`: a table with the columns of a format that has columns, or a file: the workbench's own table
    (``datasets/job-log``), the reduced list of Philly, the log of a Helios or an Acme cluster, the task table of PAI,
    what ``sacct -P`` prints, the Standard Workload Format, the generator of Kueue's scalability run, or a test of
    Knavigator; also compressed by gzip. The content decides. `content`: content of the file if it has been read,
    because a pipe gives it only once; None: it is read. Raises InputError: not such a file, a value that is none of its
    column or field, two jobs of one name, no job at all; the place is named.

    Examples
    --------
    >>> import workbench as wb
    >>> from pathlib import Path
    >>> _ = Path("jobs.csv").write_text("name,submit_s,duration_s,pods,gpus_per_pod\\na,0,60,2,8\\n")
    >>> log = wb.load_jobs("jobs.csv")
    >>> len(log.jobs), log.jobs[0].duration_s
    (1, 60.0)
    >>> import pandas as pd
    >>> wb.load_jobs(pd.read_csv("jobs.csv")).jobs == log.jobs
    True
    """
    if not isinstance(path, str | Path) and hasattr(path, "to_csv"):
        return load_jobs("DataFrame", path.to_csv(index=False).encode())
    source = str(path)
    packed = read_bytes(cast("Path", path)) if content is None else content
    read, name = _read(unpacked(packed, source), source)
    if not read.jobs:
        raise InputError("no job in it", source=source)
    seen: set[str] = set()
    for job in read.jobs:
        if job.gang.name in seen:
            raise InputError("two jobs of one name", source=source, got=job.gang.name)
        seen.add(job.gang.name)
    jobs = tuple(sorted(read.jobs, key=lambda job: job.submitted_s))
    return JobLog(jobs, name, read.quotas, tuple(read.notes), {Path(source).name: sha256(packed).hexdigest()})


def _read(content: bytes, source: str) -> tuple[Read, str]:
    head = content[:4096].decode("utf-8-sig", "replace").lstrip()
    first = head.split("\n", 1)[0]
    if sacct.is_sacct(first):
        return sacct.read_sacct(content, source), "sacct"
    if swf.is_swf(head):
        return swf.read_swf(content, source), "swf"
    if re.match(r"JobID(?:Raw)?[\s,;]", first):
        raise InputError("columns of sacct without bars", source=source, where="line 1", expected=sacct.ASKED_FOR)
    columns = {name.strip().strip('"') for name in first.split(",")}
    if set(traces.PHILLY_COLUMNS) <= columns:
        return traces.read_philly(content, source), "philly"
    if set(traces.HELIOS_COLUMNS) <= columns:
        return traces.read_helios(content, source), "helios"
    if set(traces.PAI_COLUMNS) <= columns:
        return traces.read_pai(content, source), "pai"
    if set(table.COLUMNS) & columns or Path(source).suffixes[:1] == [".csv"]:
        return table.read_log_table(content, source), "table"
    printout = known_printout(content.decode("utf-8-sig", "replace"))
    if printout is not None:
        got = f"what looks like {printout.what}"
        raise InputError("no log of jobs", source=source, got=got, expected=_EXPECTED)
    documents = read_text(content, source)
    data = documents[0][0]
    if isinstance(data, dict) and "cohorts" in data:
        return generators.read_kueue(data, source), "kueue"
    if isinstance(data, dict) and isinstance(data.get("tasks"), list):
        return generators.read_knavigator(data, source), "knavigator"
    raise InputError("no log of jobs", source=source, expected=_EXPECTED)
