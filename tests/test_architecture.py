"""The rules that the sources themselves must keep; and, for each rule, that a planted violation is caught."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from tests.architecture import (
    checks_nothing,
    empty_packages,
    forbidden_imports,
    machine_text,
    missing_docstrings,
    module_of,
    silent_names,
    terminal_writes,
    third_party_imports,
    wall_clock_asserts,
    yaml_writes,
)
from workbench import _core

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "workbench"

# workbench/_core is the compiled room seen through its link; its own rule is in tests/test_package.py.
SOURCES = [p for p in sorted(PACKAGE.rglob("*.py")) if p.relative_to(PACKAGE).parts[0] != "_core"]

# Data from elsewhere, kept as it is: upstream's own paths occur in it.
FOREIGN = ("tests/conformance/cases/", "requirements")


def tracked_files() -> list[Path]:
    """Files under version control; in an unpacked sdist, what the package and the tests consist of."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
        files = [ROOT / name for name in listed.split("\0") if name]
    else:
        files = [p for folder in ("workbench", "_core", "tests") for p in sorted((ROOT / folder).rglob("*"))]
    return [p for p in files if p.is_file() and not p.is_symlink() and p.suffix not in (".so", ".pyc")]


def is_package(path: Path) -> bool:
    return path.name == "__init__.py"


@pytest.fixture(scope="module")
def judged():
    """What each rule says of all modules; a module is parsed once for all rules."""
    found = {"imports": [], "docstrings": [], "writes": [], "yaml": [], "third party": set()}
    for path in SOURCES:
        source, module = path.read_text("utf-8"), module_of(path, ROOT)
        found["imports"] += forbidden_imports(source, module, is_package(path))
        found["docstrings"] += missing_docstrings(source, module)
        found["writes"] += terminal_writes(source, module)
        found["yaml"] += yaml_writes(source, module)
        found["third party"] |= third_party_imports(source)
    return found


@pytest.mark.slow
class TestTheSources:
    def test_a_module_uses_only_what_its_room_may(self, judged):
        assert judged["imports"] == []

    def test_public_names_say_what_they_do(self, judged):
        assert judged["docstrings"] == []

    def test_the_walk_saw_the_rooms(self):
        assert {module_of(p, ROOT).split(".")[1] for p in SOURCES if p.parent != PACKAGE} >= {"model", "kernels"}

    def test_every_compiled_function_says_what_it_does(self):
        kernels = [importlib.import_module(f"workbench._core.{name}") for name in _core.__all__]
        assert [name for kernel in kernels for name in silent_names(kernel)] == []

    def test_every_test_can_fail(self):
        files = sorted((ROOT / "tests").rglob("*.py"))
        assert checks_nothing({p.relative_to(ROOT).as_posix(): p.read_text("utf-8") for p in files}) == []

    def test_one_module_writes_to_the_terminal(self, judged):
        assert judged["writes"] == []

    def test_one_module_writes_yaml(self, judged):
        assert judged["yaml"] == []

    def test_what_is_imported_is_declared(self, judged):
        """A package that only came along with another may be gone with its next release."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        declared = sum(project["optional-dependencies"].values(), project["dependencies"])
        names = {re.split(r"[<>=!~; \[]", text)[0].lower().replace("_", "-") for text in declared}
        providers = importlib.metadata.packages_distributions()
        imported = judged["third party"]
        assert imported
        undeclared = {
            top for top in imported if not names & {one.lower().replace("_", "-") for one in providers.get(top, [top])}
        }
        assert undeclared == set()

    def test_no_package_is_empty(self):
        assert empty_packages(PACKAGE) == []

    def test_no_file_names_a_machine_or_a_registry(self):
        found = []
        for path in tracked_files():
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(FOREIGN):
                try:
                    found += machine_text(path.read_text("utf-8"), name)
                except UnicodeDecodeError:
                    continue
        assert found == []

    def test_no_test_asserts_on_a_clock(self):
        found = []
        for path in sorted((ROOT / "tests").rglob("*.py")):
            found += wall_clock_asserts(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())
        assert found == []

    def test_the_root_folder_of_the_kernels_cannot_be_imported_by_its_own_name(self):
        done = subprocess.run(
            [sys.executable, "-c", "import _core"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode != 0
        assert "import workbench._core, not _core" in done.stderr


class TestAPlantedViolationIsCaught:
    @pytest.mark.parametrize(
        ("module", "source", "want"),
        [
            (
                "workbench.model.x",
                "import importlib\nimportlib.import_module('workbench.cli')\n",
                "by a call, which hides the arrow",
            ),
            ("workbench.kernels.x", "import _core.tiers\n", "a second copy"),
            ("workbench.policies.x", "import time\n", "a clock"),
            ("workbench.policies.x", "import pandas\n", "the library pandas"),
            ("workbench.topology.x", "from pathlib import Path\n", "touches files"),
            ("workbench.evaluate.x", "from io import BytesIO, FileIO\n", "io.FileIO, which touches files"),
            ("workbench.jobs.x", "text = open('x').read()\n", "opens a file"),
            ("workbench.formats.x", "import urllib.request\n", "opens sockets"),
            ("workbench.widgets.x", "from kubernetes import client\n", "opens sockets"),
            ("workbench.simulate.x", "from distributed import Client\n", "opens sockets"),
            ("workbench.cli", "import pandas as pd\n", "not when it is used"),
        ],
    )
    def test_a_forbidden_import(self, module, source, want):
        found = forbidden_imports(source, module)
        assert len(found) == 1
        assert want in found[0]

    @pytest.mark.parametrize(
        ("module", "source"),
        [
            ("workbench.model.x", "import numpy as np\nfrom workbench.errors import InputError\nimport math\n"),
            ("workbench.kernels.x", "from workbench._core import tiers\n"),
            ("workbench.formats.x", "from pathlib import Path\nfrom urllib.parse import quote\n"),
            ("workbench.cli", "def f():\n    import pandas\n    from workbench import live\n"),
        ],
    )
    def test_a_permitted_import_is_not_accused(self, module, source):
        assert forbidden_imports(source, module) == []

    @pytest.mark.parametrize(
        "source",
        [
            "print('x')\n",
            "import sys\nsys.stdout.write('x')\n",
            "from rich.live import Live\nLive()\n",
            "import sys\nprint_to(file=sys.stderr)\n",
            "import sys\nstream = sys.stdout if ok else None\n",
            "import sys\nsys.stdout.buffer.write(b'x')\n",
            "from sys import stderr\n",
            "import typer\ntyper.echo('x')\n",
            "from click import echo\n",
            "def f():\n    from rich.console import Console\n    Console(stderr=True)\n",
            "import rich.console\nrich.console.Console()\n",
            "def f(console):\n    console.print('x')\n",
            "import os\nos.write(1, b'x')\n",
            "import traceback\ntraceback.print_exc()\n",
        ],
    )
    def test_a_write_to_the_terminal(self, source):
        assert len(terminal_writes(source, "workbench.cli.x")) == 1
        assert terminal_writes(source, "workbench.cli.output") == []

    def test_asking_a_stream_is_not_accused(self):
        source = "import sys\nsys.stdout.flush()\nif sys.stderr is None or sys.stdin.isatty():\n    sys.stderr = x\n"
        assert terminal_writes(source, "workbench.cli.x") == []

    @pytest.mark.parametrize(
        "source",
        [
            "import yaml\nyaml.dump(x)\n",
            "import yaml\nwrite = yaml.safe_dump_all\n",
            "from yaml import load, dump\n",
            "from ruamel.yaml import YAML\n",
        ],
    )
    def test_a_second_writer_of_yaml(self, source):
        assert len(yaml_writes(source, "workbench.cli.x")) == 1

    def test_reading_yaml_is_not_accused(self):
        assert yaml_writes("import yaml\nyaml.load(x)\njson.dump(x)\n", "workbench.cli.x") == []
        assert yaml_writes("from ruamel.yaml import YAML\n", "workbench.formats.manifest_text") == []

    def test_imports_from_elsewhere(self):
        source = "import os, numpy.linalg\nfrom rich.text import Text\nfrom workbench import x\nfrom . import y\n"
        assert third_party_imports(source) == {"numpy", "rich"}

    def test_a_silent_public_function(self):
        assert missing_docstrings("def place():\n    return 1\n", "m") == [
            "m: the module says nothing about what it owns",
            "m:1: place has no docstring",
        ]
        assert missing_docstrings('"""Owns x."""\ndef _helper():\n    return 1\n', "m") == []

    def test_a_silent_compiled_function(self):
        module = ModuleType("workbench._core.x")
        for name, text in (
            ("said", "said(a: int)\n\nAdd one."),
            ("plain", "Add one."),
            ("signature", "signature(a: int)\n\n"),
            ("nothing", None),
            ("_hidden", None),
        ):
            function = FunctionType((lambda: None).__code__, {}, name)
            function.__doc__, function.__module__ = text, module.__name__
            setattr(module, name, function)
        module.Kind = type("Kind", (), {"__doc__": "A kind.", "__module__": module.__name__, "method": module.nothing})
        assert silent_names(module) == [f"workbench._core.x.{name}" for name in ("signature", "nothing", "Kind.method")]

    @pytest.mark.parametrize(
        ("source", "accused"),
        [
            ("def test_x():\n    place()\n", True),
            ("def test_x():\n    assert True\n", True),
            ("def test_x():\n    assert (1, 'always true')\n", True),
            ("def helper():\n    place()\ndef test_x():\n    helper()\n", True),
            ("def test_x():\n    assert place()\n", False),
            ("def test_x():\n    with pytest.raises(E):\n        place()\n", False),
            ("def test_x():\n    np.testing.assert_equal(a, b)\n", False),
            ("def test_x():\n    middle()\ndef middle():\n    inner()\ndef inner():\n    assert place()\n", False),
        ],
    )
    def test_a_test_that_cannot_fail(self, source, accused):
        found = checks_nothing({"t.py": source})
        assert [text.partition(": ")[2] for text in found] == (["test_x asserts nothing"] if accused else [])

    @pytest.mark.parametrize(
        "source",
        [
            "def test_x():\n    assert time.perf_counter() < 5\n",
            "def test_x():\n    a = time.time()\n    work()\n    b = time.time() - a\n    assert b < 1\n",
            "def test_x():\n    start = perf_counter()\n    work()\n    assert perf_counter() - start < 1\n",
        ],
    )
    def test_an_assertion_on_a_clock(self, source):
        assert len(wall_clock_asserts(source, "t")) == 1

    def test_a_test_that_only_mentions_time_is_not_accused(self):
        assert wall_clock_asserts("def test_x():\n    time = place().time\n    assert time == 3\n", "t") == []

    @pytest.mark.parametrize(
        "parts", [("see /wo", "rk/main"), ("in /tm", "p/x"), ("/ro", "ot/.cache"), ("https://pypi", ".org/simple")]
    )
    def test_a_machine_path_or_registry(self, parts):
        assert len(machine_text("".join(parts), "f")) == 1

    @pytest.mark.parametrize("text", ["the net/work/x path", "a tmp/ folder", "framework/plugins"])
    def test_an_innocent_path_is_not_accused(self, text):
        assert machine_text(text, "f") == []

    def test_an_empty_package(self, tmp_path):
        (tmp_path / "later").mkdir()
        (tmp_path / "later" / "__init__.py").write_text('"""To come."""\n')
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "__init__.py").write_text("x = 1\n")
        assert empty_packages(tmp_path) == [str(tmp_path / "later")]
