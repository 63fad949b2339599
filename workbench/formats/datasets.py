"""Clusters and jobs that come with the package, by name, as `workbench.datasets`.

Examples
--------
>>> import workbench as wb
>>> [gang.name for gang in wb.datasets.load("demo").gangs]
['hard-tier-2', 'nccl-pair', 'pytorch-job', 'soft-six']
"""

from __future__ import annotations

from workbench.errors import UnknownNameError
from workbench.formats.file_bytes import DATA
from workbench.formats.load import load as load_paths
from workbench.model.scenario import Scenario

__all__ = ["load"]


def load(name: str) -> Scenario:
    """Read a cluster that comes with the package, with its jobs.

    `name`: a folder of the data, such as ``demo``: eight nodes in three tiers with four jobs. Its files are those that
    the path ``datasets/NAME`` means in commands and in `workbench.load`. Raises UnknownNameError: no such folder;
    InputError: the folder holds no cluster, but a table.

    Examples
    --------
    >>> import workbench
    >>> workbench.datasets.load("demo").snapshot.topology
    Topology(8 nodes, 7 HyperNodes (4 of tier 1, 2 of tier 2, 1 of tier 3))
    """
    known = sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())
    if name not in known:
        raise UnknownNameError("dataset", name, known)
    return load_paths(DATA / name)
