"""Printouts of GPU links from public bug reports, retyped; skipped where the folder of public data is absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

HALVES = [[0, 2], [1, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize(
    ("name", "arguments", "want"),
    [
        ("01-glued-columns/topo.txt", ("-k", 1, "--require", 5), {"near_nics": {"mlx5_9": {"5": "PXB"}}}),
        ("02-two-tables-in-one-file/topo-and-p2p.txt", ("-k", 2), {"bottleneck_gb_s": 9.0}),
        ("03-p2p-reads-table/reads-only.txt", ("-k", 2), {"bottleneck_gb_s": 19.8, "suspicious_links": []}),
        ("03-p2p-reads-table/writes-and-reads.txt", ("-k", 2, "--block", "unidirectional-reads"), {"gpus": [3, 5]}),
        ("04-ties-ignore-numa/topo.txt", ("-k", 2, "--free", "3,4,5"), {"gpus": [4, 5]}),
        ("04-ties-ignore-numa/machine.xml", ("-k", 2, "--require", 3), {"gpus": [2, 3]}),
        ("05-old-link-word/topo.txt", ("-k", 4), {"gpus": [2, 3, 4, 5], "bottleneck_gb_s": 12.1}),
        ("06-amd-smi-topology/amd-smi.txt", ("-k", 2), {"ties": [[0, 1], [2, 3], [4, 5], [6, 7]]}),
        ("07-prefixed-or-boxed/boxed.txt", ("-k", 4), {"ties": [[0, 1, 2, 3], [4, 5, 6, 7]]}),
        ("07-prefixed-or-boxed/lost-escape.txt", ("-k", 2), {"ties": HALVES}),
        ("07-prefixed-or-boxed/quoted.txt", ("-k", 2), {"ties": HALVES}),
        ("07-prefixed-or-boxed/srun-label.txt", ("-k", 2), {"ties": HALVES}),
        ("08-near-by-sys/topo.txt", ("-k", 2), {"near_nics": {}, "gpus_without_near_nic": [0, 1]}),
        (
            "08-near-by-sys/v100.txt",
            ("-k", 4),
            {"near_nics": {nic: {"2": "PIX", "3": "PIX"} for nic in ("NIC0", "NIC1")}},
        ),
        ("21-module-pairs/topo.txt", ("-k", 4), {"optimal_sets": 6}),
    ],
)
def test_it_is_answered(
    run: Run, public_data: Path, name: str, arguments: tuple[Any, ...], want: dict[str, Any]
) -> None:
    path = public_data / "from-life-3" / name
    if not path.is_file():
        pytest.skip(f"not among the public data: {name}")
    result = run("gpus", path, *arguments, "-o", "json")
    assert result.status == 0, result.err
    assert {key: result.json[key] for key in want} == want
