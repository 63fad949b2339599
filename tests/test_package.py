"""The package as a whole: its version, how fast it opens, and what a missing kernel says."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).resolve().parents[1]


def python(code: str, *, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_version_is_that_of_the_project_file():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert workbench.__version__ == importlib.metadata.version("topology-workbench") == project["version"]


HEAVY = ("pandas", "pyvis", "networkx", "matplotlib", "IPython", "ipywidgets", "jupyterlab", "kubernetes", "jinja2")


@pytest.mark.parametrize("module", ["workbench", "workbench.cli"])
def test_opening_it_loads_nothing_heavy(module):
    """A notebook's first cell and `workbench --help` wait for every module that is loaded here."""
    done = python(f"import sys, {module}; print(sorted({{n.split('.')[0] for n in sys.modules}} & set({HEAVY!r})))")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_a_missing_kernel_says_how_to_build():
    done = python("import sys; sys.modules['workbench._core.tiers'] = None; import workbench._core")
    assert done.returncode == 1
    assert "the compiled kernels of Topology Workbench are missing or out of date" in done.stderr
    assert "make build" in done.stderr


def test_a_second_copy_of_the_kernels_is_refused_and_nothing_of_it_stays():
    code = "import sys\ntry:\n    import _core.tiers\nexcept ImportError as error:\n    print(error)\n"
    done = python(code + "print([name for name in sys.modules if name.startswith('_core')])")
    assert "import workbench._core, not _core" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_placing_loads_neither_prices_nor_tables_nor_remedies():
    """Each waits for a job that is priced, a form that is a table, or a job that is pending."""
    code = (
        "import sys; from workbench.cli import main; main(['place', 'datasets/demo'])\n"
        "late = ('workbench.evaluate.cost', 'workbench.evaluate.whatif.fix', 'pandas', 'xml', 'http', 'jinja2')\n"
        "print([name for name in late if name in sys.modules], file=sys.stderr)"
    )
    done = python(code)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


@pytest.mark.slow
def test_the_data_of_the_examples_are_found_in_any_folder(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "topology", "show", "datasets/demo", "-o", "json"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "datasets" / "demo").mkdir(parents=True)  # one's own folder of this name comes first
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "topology", "show", "datasets/demo"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "datasets/demo: no manifest in the folder" in done.stderr
