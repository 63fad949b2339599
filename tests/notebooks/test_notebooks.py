"""Each notebook is committed clean and runs from top to bottom.

Importing nbformat takes two seconds: only the tests that run a notebook do it.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks import outputs

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))

#: Where `make docs` leaves the notebooks that it ran.
OF_THE_SITE = ROOT / "build" / "jupyter_execute" / "notebooks"
#: Folders of what a notebook runs and reads.
USED = ("workbench", "_core", "datasets")

#: Per notebook: cell id and what its output must show. These are the answers the text around them speaks of.
KEY_CELLS = {
    "00_tour.ipynb": {
        "topology": "<svg",
        "network": "<iframe srcdoc=",
        "graph": "DiGraph",
        "gang": "topology hard, tier 2",
        "place": "Placement(default/hard-tier-2",
        "explain": "s4",
        "refuse": "Refusal(default/hard-tier-1",
        "gpus": "(4, 5, 6, 7) 48.33 GB/s",
        "compare": "<svg",
        "table": "volcano-1.13+gpu-lowest-index",
        "editor": "TopologyEditor",
        "comparer": "PlacementComparer",
    },
    "01_gpu_subsets.ipynb": {
        "every-k": "48.33",
        "curve": "tw-lines",
        "document": "15.52",
        "ties": "chosen (0, 1, 2, 3) of ((0, 1, 2, 3), (4, 5, 6, 7))",
        "loader": "MatrixLoader",
        "slow-b": "6.02",
        "regret-b": "88%",
        "half": "<svg",
    },
    "02_volcano_topology.ipynb": {
        "hard": "hard, tier 1 volcano-1.13   pending",
        "pending": "best s0 (tier 1) holds 2 of 3",
        "soft": "node3 node4",
        "soft-explain": "all are equally close to the first pod",
        "fault": "one pod lost, without         volcano-1.13        s2     1  node4",
        "restart": "hard, tier 2, record s4      volcano-1.13   pending",
        "restart-explain": "meets the recorded s4 only at tier 3, 2 is allowed",
        "upgrade": "nvlink-network2",
        "elastic": "nvidia.com/gpu: 32 asked, 16 idle",
        "elastic-out": "node0 node1 node2 node3",
        "packing": "41.02",
        "trees": "6 pods, hard, tier 2 volcano-1.13                  pending",
        "summary": "pending",
        "pictures": "volcano-1.13</text>",
    },
    "03_topologies_from_anywhere.ipynb": {
        "load": "topology.conf      Topology(12 nodes, 7 HyperNodes (4 of tier 1, 2 of tier 2, 1 of tier 3))",
        "draw": "<svg",
        "editor": "TopologyEditor",
        "same": "leaf-4 → leaf-4a-group",
        "aside": "storage ports, not nodes: nas-1 (1 port)",
        "recable": "gpu-06",
        "cut": "(1200, ['core → pod-2'])",
        "cut-leaf": "(800, ['leaf-1 → pod-1'])",
        "wrong": "only gpu-05 joins leaf-2a/leaf-2b and leaf-3a/leaf-3b",
        "wrong-lint": "LintReport(",
    },
    "04_gpu_topology.ipynb": {
        "healthy": "best-effort, k=3: 152 of 219 states optimal",
        "degraded": "worst 0.144 with free 2,3,5,6: takes 2,3",
        "worst": "gpu-best-effort",
        "measured": "<td>141</td>",
        "sixteen": "Regret on MAPA cubeMesh-16",
        "sixteen-table": "65,535 states",
        "large": "link-class",
        "large-regret": "a sample of states",
        "group": "(4, 5, 6, 7): 48.33",
        "threes": "17.47",
        "union": "16.95",
        "steps": "2 pods, 1 GPU left over",
        "plan": "planned: llm-0 on node2, GPU mask 11110000",
        "restart": "<td>(1, 2)</td>",
        "apart": "<td>48.33</td>",
    },
    "05_switch_affinity.ipynb": {
        "kinds": "leaf2 after submit b-foundation: shared/healthy; default/a-foundation: 1 pod",
        "explain": "shared rule: 3 pods to leaf2 (shared/healthy, 3 free), closest to 3",
        "fallback": "leaf3 after submit common-4: shared/unhealthy",
        "fault": "leaf0 after end a: idle",
        "fault-moves": "a-worker-0     0  node07",
        "limit": "leaf5 4, leaf1 2, leaf3 1",
        "rest": "volcano-1.15               1",
        "used": "volcano-1.15               0                  1                3",
        "used-picture": "Switches by the number of cross-switch jobs",
        "nine": "switch-affinity        1",
    },
    "06_write_your_own_policy.ipynb": {
        "compare-empty": "PlacementComparer",
        "choose": "<svg",
        "table": "tightest",
        "explain": "no HyperNode of the lowest 1 tiers has room for all 4 pods",
        "exception": "IndexError",
    },
    "07_jobs_and_hyperjobs.ipynb": {
        "submit": "Running",
        "variables": "train-master-0.train",
        "fail": "{'with the failure': 660.0, 'without it': 600.0}",
        "place": "8 pods on 8 nodes inside s6 (tier 3)",
        "exclusive": "'default/small/small-trainer-0': 's0'",
        "run": "small-trainer-3",
    },
    "08_live_cluster.ipynb": {
        "read": "nodes: 8, running pods: 14, gangs that wait: 2",
        "picture": "<svg",
        "running": "s4",
        "waits": "<svg",
        "why": "best s3 (tier 1) holds 4 of 6",
        "own": "6 pods on 4 nodes",
    },
    "09_exclusivity_or_packing.ipynb": {
        "waste": "354.5",
        "waste-paired": "17.0 (11.9 … 22.8)",
        "waste-picture": "image/png",
        "network": "146.0",
        "company": "213.1",
        "company-paired": "-7.3 (-16.7 … -1.7)",
        "company-picture": "ylabel='ms per step'",
        "feedback": "263.6",
        "feedback-paired": "-32.0 (-42.5 … -22.9)",
        "feedback-soft": "-6.8 (-12.6 … -1.1)",
    },
    "10_when_hard_tiers_hurt.ipynb": {
        "step": "79,091",
        "measure": "42.3 (6.3 … 80.8)",
        "verdict": "hurts",
        "crowd": "0.29",
        "threshold": "ylabel='% of the time of running'",
    },
    "11_how_much_shorter.ipynb": {
        "places": "7.7",
        "steps": "1033.9",
        "shorter": "22 (22 … 22)",
        "others": "13 (6 … 19)",
        "assumptions": "45.0",
        "band": "40.73",
    },
    "12_sampling_and_bounds.ipynb": {
        "decisions": "0.200    0.375",
        "decisions-picture": "Refused although they fit",
        "exact": "200 of 200 equal; candidates tried: 40 against 6.6",
        "weeks": "28.7",
        "weeks-paired": "23.5 (17.4 … 32.6)",
    },
    "13_nvl72_segments_and_spares.ipynb": {
        "sizes": "NaN",
        "goodput": "87.98",
        "goodput-picture": "Goodput",
        "paired": "4.3 (3.4 … 5.1)",
        "cost": "0.74",
        "both": "0.778",
    },
    "14_which_scheduler.ipynb": {
        "wish": "kube-scheduler knows no soft topology",
        "run": "80",
        "measure": "28.35 (18.71 … 39.07)",
        "paired": "50.08 (35.76 … 67.47)",
        "picture": "running",
    },
    "15_share_of_racks.ipynb": {
        "deciding": "bounds",
        "tried": "three kinds",
        "study": "all racks",
        "full": "-15.85 (-17.15",
    },
    "workbench.ipynb": {"workbench": "Workbench"},
}

#: Lines of code that still fit a screen.
SCREEN = 40


def read(path: Path) -> dict[str, Any]:
    """The file's JSON, each source as one string."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


def test_every_notebook_has_its_key_cells():
    assert [path.name for path in PATHS] == sorted(KEY_CELLS)


def below_the_second_level(source: str) -> list[str]:
    """Modules that a notebook imports and that are no public package: ``workbench`` or ``workbench.ROOM``."""
    lines = [line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))]
    named = []
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            named.append(node.module or "")
    return [name for name in named if name.split(".")[0] == "workbench" and name.count(".") > 1]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_it_imports_nothing_below_the_second_level(path: Path) -> None:
    assert [
        name
        for cell in read(path)["cells"]
        if cell["cell_type"] == "code"
        for name in below_the_second_level("".join(cell["source"]))
    ] == []


def test_a_deep_import_is_found() -> None:
    deep = "import workbench as wb\nfrom workbench import live\nfrom workbench.report.lines import draw_lines\n"
    assert below_the_second_level(deep) == ["workbench.report.lines"]


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.name)
def test_notebook_is_committed_clean(path):
    notebook = read(path)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code
    assert [cell["id"] for cell in code if cell["execution_count"] is not None] == []
    assert "widgets" not in notebook["metadata"]
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert [cell["id"] for cell in code if cell["source"].count("\n") >= SCREEN] == []
    assert re.findall(r"(?<![\w.])/(?:work|tmp|root|home|Users)/\S*", path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.name)
def test_a_notebook_keeps_small_outputs_of_its_own_cells(path):
    """Where this fails, keep them anew: ``PYTHONPATH=. python -m tests.notebooks.outputs NAME``."""
    notebook = read(path)
    kept = [output for cell in notebook["cells"] if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert outputs.kept_size(notebook) <= outputs.MOST_BYTES + 1000
    assert {output["output_type"] for output in kept} <= {"stream", "display_data"}
    kinds = {kind for output in kept for kind in output.get("data", {})}
    assert kinds <= {"image/png", "text/plain"}
    assert notebook["metadata"]["kept_outputs"] == outputs.digest(notebook)
    assert path.name in ("workbench.ipynb", "08_live_cluster.ipynb") or kept


def test_most_notebooks_show_pictures_where_the_repository_is_browsed():
    shown = [path.name for path in PATHS if '"image/png"' in path.read_text(encoding="utf-8")]
    assert len(shown) >= 10


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.name)
def test_first_cell_states_question_data_and_time(path):
    first = read(path)["cells"][0]
    assert first["cell_type"] == "markdown"
    for word in ("**Question.**", "**Data.**", "**Expected time.**"):
        assert word in first["source"]


@cache
def last_change() -> float:
    """When a file was changed that a notebook could run or read."""
    files = (path for folder in USED for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts)
    return max(path.stat().st_mtime for path in files if path.is_file())


def executed(path: Path) -> Any:
    """A notebook with the outputs of a run from top to bottom."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(NOTEBOOKS)}}
    NotebookClient(notebook, timeout=600, store_widget_state=False, resources=resources).execute()
    return notebook


@pytest.mark.notebook
@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.name)
def test_notebook_runs_from_top_to_bottom(path, monkeypatch):
    import nbformat

    nbformat.validate(nbformat.read(path, as_version=4))
    kept = OF_THE_SITE / path.name
    if kept.is_file() and kept.stat().st_mtime > max(last_change(), path.stat().st_mtime):
        notebook = nbformat.read(kept, as_version=4)
    else:
        # The kernel is a process of its own: it must import the package that is under test.
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        notebook = executed(path)
    assert [cell.source for cell in notebook.cells] == [cell["source"] for cell in read(path)["cells"]]
    shown = {cell.id: _shown(cell) for cell in notebook.cells if cell.cell_type == "code"}
    for cell_id, want in KEY_CELLS[path.name].items():
        assert want in shown[cell_id], f"cell {cell_id} shows: {shown[cell_id][:500]}"


def _shown(cell: Any) -> str:
    """Everything a cell shows, in every form it offers."""
    parts = []
    for output in cell.outputs:
        parts.append(output.get("text", ""))
        for kind, data in output.get("data", {}).items():
            parts += [kind, str(data)]
    return "\n".join(parts)
