"""`Provenance`: what a result was computed from: package version, policies, inputs, and the snapshot's time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command line asks for the version alone, and must not load numpy for it
    from workbench.model.snapshot import ClusterSnapshot

__all__ = ["Provenance", "Versions", "record_provenance", "show_versions", "version"]


#: Packages whose version can matter to a fault, those of extras among them.
_REQUIRED = (
    *("numpy", "pandas", "networkx", "jupyterlab", "ipywidgets", "anywidget", "google-re2", "PyYAML", "ruamel.yaml"),
    *("orjson", "pyvis", "typer", "rich", "kubernetes", "httpx", "cryptography", "prometheus-client"),
    *("dask", "distributed", "pyarrow", "resvg-py", "matplotlib"),
)


@cache
def version() -> str:
    """Version of the installed package; ``unknown`` if it runs from a source tree that is not installed."""
    try:
        return metadata.version("topology-workbench")
    except metadata.PackageNotFoundError:
        return "unknown"


class Versions(dict[str, str]):
    """Names of software with their versions; shown a line each."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {version}" for name, version in self.items())


def show_versions() -> Versions:
    """Versions of this package, Python, the system and what this package requires, for the report of a fault.

    Returns a dict by name; ``not installed`` for a package of an extra that was left out.

    Examples
    --------
    >>> import workbench as wb
    >>> "numpy" in wb.show_versions()
    True
    """
    import platform

    found = Versions({"topology-workbench": version(), "python": platform.python_version()})
    found["system"] = f"{platform.system()} {platform.machine()}"
    for name in _REQUIRED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


@dataclass(frozen=True)
class Provenance:
    """What a result was computed from, so that it can be reproduced.

    Attributes
    ----------
    policies : tuple of (str, mapping)
        Name and parameters of each policy.
    inputs : mapping of str to str
        SHA-256 of each input file's content, by file name.
    matrices : tuple of (str, str)
        Source and SHA-256 of each bandwidth matrix.
    source, taken_at : str
        Source and time of the snapshot.
    communication : mapping, optional
        What prices of communication rest on: machine, calibration with its sources, speeds of the tiers, shapes and
        models of the jobs, and what the prices leave out. None: nothing was priced, and `to_dict` has no such key.
    """

    version: str = ""
    policies: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    matrices: tuple[tuple[str, str], ...] = ()
    source: str = ""
    taken_at: str = ""
    communication: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "policies": [{"policy": name, "parameters": dict(parameters)} for name, parameters in self.policies],
            "inputs": dict(self.inputs),
            "matrices": [{"source": source, "sha256": checksum} for source, checksum in self.matrices],
            "snapshot": {"source": self.source, "taken_at": self.taken_at},
            **({} if self.communication is None else {"communication": dict(self.communication)}),
        }


def record_provenance(
    snapshot: ClusterSnapshot,
    policies: Sequence[tuple[str, Mapping[str, Any]]],
    inputs: Mapping[str, str],
    communication: Mapping[str, Any] | None = None,
) -> Provenance:
    """Collect the provenance of a result; the current time is not part of it, so that equal runs have equal provenance.

    `policies`: name and parameters of each policy. `inputs`: file name to SHA-256 of its content. `communication`: as
    of `Provenance`.
    """
    return Provenance(
        version=version(),
        policies=tuple(policies),
        inputs=dict(inputs),
        matrices=tuple((m.source, m.checksum) for m in snapshot.matrices),
        source=snapshot.source,
        taken_at=snapshot.taken_at,
        communication=communication,
    )
