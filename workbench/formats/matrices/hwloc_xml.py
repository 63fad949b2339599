"""Reader of hwloc's XML: its distance matrices NVLinkBandwidth and XGMIBandwidth between GPUs, in MB/s.

``hwloc-distances`` prints the same matrix as text, which `workbench.formats.matrices.own_table` reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.formats.matrices.base import MatrixFormat, MatrixReading, no_direct_link
from workbench.formats.matrices.hwloc_parts import hwloc_parts
from workbench.formats.matrices.link_speeds import LinkSpeeds
from workbench.formats.xml_input import parse_xml
from workbench.model.bandwidth import MAX_GPUS, BandwidthMatrix
from workbench.model.counted import counted
from workbench.model.notice import Notice
from workbench.objects.fields import shown

__all__ = ["HWLOC_XML", "gpus_of"]

_START = re.compile(
    r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!DOCTYPE topology[^>\[]*>\s*)?(?:<!--.*?-->\s*)*<topology\b", re.DOTALL
)
_DOCTYPE = re.compile(r"<!DOCTYPE topology[^>\[]*>")
_NAMES = ("NVLinkBandwidth", "XGMIBandwidth")


def gpus_of(
    objects: Sequence[str], mb_s: npt.NDArray[np.float64], source: str
) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Reduce a matrix of hwloc objects to the GPUs (``OSDev`` objects) and convert it from MB/s to GB/s.

    `objects`: names of the n objects. `mb_s` (ndarray of shape (n, n), float64): bandwidths between the objects in
    MB/s. `source`: name of the file in errors. Raises InputError: no object is a GPU.

    Returns
    -------
    matrix : ndarray of shape (g, g), float64
        Bandwidths in GB/s between the g objects that are GPUs.
    names : tuple of str
        Names of these objects, in the order of the rows.
    """
    gpus = [i for i, name in enumerate(objects) if name.startswith("OSDev") or ":" not in name]
    if not gpus:
        raise InputError("no GPU among the objects", source=source, got=shown(" ".join(objects)), expected="OSDev:…")
    return mb_s[np.ix_(gpus, gpus)] / 1000.0, tuple(objects[i] for i in gpus)


def _read(text: str, source: str, speeds: LinkSpeeds, block: str | None) -> MatrixReading:
    # hwloc names its own document type, which declares nothing; any other declaration is refused below.
    root = parse_xml(_DOCTYPE.sub("", text, count=1), source, "topology", "an hwloc topology")
    found = [e for e in root if e.tag in ("distances2", "distances2hetero") and e.get("name") in _NAMES]
    if not found:
        there = ", ".join(str(e.get("name")) for e in root if e.tag.startswith("distances2")) or "no distances"
        raise InputError("no links between GPUs", source=source, got=shown(there), expected=" or ".join(_NAMES))
    element = found[0]
    where = f"{element.tag} {element.get('name')}"
    objects, values = _words(element, "indexes"), _words(element, "u64values")
    n = len(objects)
    if n > MAX_GPUS:
        raise InputError("too many objects", source=source, where=where, got=str(n), expected=f"at most {MAX_GPUS}")
    if str(n) != element.get("nbobjs", str(n)) or len(values) != n * n:
        got = f"{n} objects and {len(values)} values"
        expected = f"{element.get('nbobjs', n)} objects and the square of values"
        raise InputError("the matrix is cut off", source=source, where=where, got=got, expected=expected)
    for value in values:
        if not (value.isascii() and value.isdigit() and len(value) < 16):
            raise InputError("not a bandwidth", source=source, where=where, got=shown(value), expected="MB/s")
    gb_s, labels = gpus_of(objects, np.array(values, dtype=np.float64).reshape(n, n), source)
    matrix = replace(no_direct_link(BandwidthMatrix(gb_s, labels, source), speeds), parts=hwloc_parts(root, labels))
    left = n - len(labels)
    notes = (
        (
            Notice(
                "left-aside",
                f"left aside: {counted(left, 'object that is no GPU', 'objects that are no GPUs')}",
                numbers={"count": left},
            ),
        )
        if left
        else ()
    )
    return MatrixReading(matrix, HWLOC_XML.name, "nominal", notes=notes)


def _words(element: Any, tag: str) -> list[str]:
    return [word for part in element.findall(tag) for word in (part.text or "").split()]


def _detect(text: str) -> bool:
    return _START.match(text) is not None


HWLOC_XML = MatrixFormat("hwloc", "hwloc topology with NVLinkBandwidth (XML)", _detect, _read)
