"""Tests of the extras: what says which one is missing, and that what only an extra brings is imported through that."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from workbench.errors import InputError, MissingExtraError
from workbench.optional import optional

ROOT = Path(__file__).resolve().parents[1]

#: The extras of users, in the order of the page *Install*.
EXTRAS = ("live", "study", "png", "plot")

#: An API server of nobody; the packages are missing before it would be asked.
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:9"}}]
users: [{name: u, user: {token: t}}]
"""


def normalized(name: str) -> str:
    return name.lower().replace("_", "-")


@cache
def requirements() -> dict[str, set[str]]:
    """Names of the packages that each extra requires; those of the default install at ``""``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = {"": project["dependencies"], **project["optional-dependencies"]}
    return {extra: {normalized(re.split(r"[<>=!~; \[]", one)[0]) for one in ones} for extra, ones in found.items()}


@cache
def providers() -> dict[str, set[str]]:
    """Names of the packages that bring each module; reading them takes a tenth of a second."""
    found = importlib.metadata.packages_distributions()
    return {top: {normalized(name) for name in names} for top, names in found.items()}


def modules_of(extra: str) -> list[str]:
    """Names by which the packages of an extra are imported."""
    wanted = requirements()[extra]
    return sorted(top for top, names in providers().items() if wanted & names)


def imports(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, str, int]]:
    """Third-party package, extra of the ``with optional`` block around its import, and line; not those of types."""
    for node in ast.iter_child_nodes(tree):
        here = inside
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.With):
            call = node.items[0].context_expr
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "optional":
                here = ast.literal_eval(call.args[0])
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            tops = {name.partition(".")[0] for name in names} - {"", "workbench"}
            yield from ((top, here, node.lineno) for top in tops if top not in sys.stdlib_module_names)
        yield from imports(node, here)


def misplaced(source: str) -> list[str]:
    """Imports of what only an extra brings outside its block, and of what is always there inside one."""
    return [
        f"line {line}: {top} in {extra or 'no block'}"
        for top, extra, line in imports(ast.parse(source))
        if not requirements()[extra] & providers().get(top, {normalized(top)})
    ]


def run(*arguments: str, hide: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line where packages are not installed."""
    code = f"import sys\nsys.modules.update(dict.fromkeys({hide!r}))\nfrom workbench.cli import main\nsys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "KUBECONFIG": "kubeconfig", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "demo").symlink_to(ROOT / "datasets" / "demo")
    (tmp_path / "datasets").symlink_to(ROOT / "datasets")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    (tmp_path / "credentials.yaml").write_text("username: u\npassword: p\n")
    return tmp_path


#: Every command that needs an extra.
COMMANDS = {
    "live": [
        ("live", "snapshot", "--out", "snapshot.yaml"),
        ("live", "compare"),
        ("live", "watch"),
        ("live", "doctor"),
        ("operator", "run"),
        ("operator", "admission"),
        ("kind", "up", "--topology", "demo"),
        ("kind", "down"),
        ("kind", "list"),
        ("topology", "discover", "label", "--type", "fabric=a,b", "--apply", "--dry-run"),
        ("topology", "discover", "ufm", "https://127.0.0.1:9", "--credentials", "credentials.yaml"),
        ("topology", "discover", "roce", "https://127.0.0.1:9", "--credentials", "credentials.yaml"),
    ],
    "study": [
        ("study", "run", "datasets/study/study.yaml", "--results", "results"),
        ("study", "show", "datasets/study/study.yaml", "--results", "results"),
    ],
    "png": [
        ("compare", "demo", "-o", "png", "--out", "x.png"),
        ("topology", "show", "demo", "-o", "png", "--out", "x"),
    ],
}

_SCENARIO = "import workbench as wb; scenario = wb.datasets.load('demo')\n"
_STUDY = "import workbench as wb; study = wb.Study.read('datasets/study/study.yaml')\n"
_JOBS = "jobs = [wb.SimulatedJob(scenario.gangs[0], 0.0, 60.0)]\n"

#: Every use of an extra from Python.
CALLS = {
    "live": ["import workbench as wb\nwb.live.take_snapshot()", "import workbench as wb\nwb.live.contexts()"],
    "study": [_STUDY + "study.run('results')"],
    "plot": [
        _SCENARIO + "scenario.compare(['gang']).plot()",
        _SCENARIO + "wb.machine('dgx1-v100').plot()",
        _SCENARIO + _JOBS + "wb.Simulation(scenario.snapshot, 'gang', jobs).run().result().plot()",
        _STUDY + "import pandas\nstudy.plot(pandas.DataFrame())",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize(("extra", "command"), [(e, c) for e, commands in COMMANDS.items() for c in commands])
def test_a_command_names_the_extra_that_it_needs(extra: str, command: tuple[str, ...], here: Path) -> None:
    done = run(*command, hide=modules_of(extra), cwd=here)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    said = done.stderr.splitlines()[-1]  # `study run` notes gaps of its clusters first
    assert re.fullmatch(rf'workbench: \w+ is not installed: pip install "topology-workbench\[{extra}\]"', said)


@pytest.mark.slow
@pytest.mark.parametrize(("extra", "code"), [(e, c) for e, codes in CALLS.items() for c in codes])
def test_a_call_names_the_extra_that_it_needs(extra: str, code: str, here: Path) -> None:
    hidden = modules_of(extra) or ["matplotlib"]
    asked = f"import sys\nsys.modules.update(dict.fromkeys({hidden!r}))\n{code}"
    done = subprocess.run([sys.executable, "-c", asked], cwd=here, capture_output=True, text=True)
    said = done.stderr.splitlines()[-1]
    assert re.fullmatch(rf'workbench\.errors\.MissingExtraError: \w+ is not installed: .*\[{extra}\]".*', said), said


@pytest.mark.slow
def test_without_any_extra_the_other_commands_work(here: Path) -> None:
    hidden = sorted({module for extra in EXTRAS for module in modules_of(extra)})
    assert set(hidden) >= {"kubernetes", "httpx", "cryptography", "prometheus_client", "dask", "pyarrow", "resvg_py"}
    for command in (
        ("place", "demo", "-o", "csv"),
        ("compare", "demo", "-o", "html", "--out", "report.html"),
        ("topology", "show", "demo", "-o", "svg"),
        ("run", "demo", "--until", "20"),
        ("policies",),
    ):
        done = run(*command, hide=hidden, cwd=here)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_what_is_required_by_all_and_missing_is_no_internal_error(here: Path) -> None:
    done = run("place", "demo", hide=["orjson"], cwd=here)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "workbench: orjson is not installed: pip install topology-workbench\n"


def test_the_missing_package_and_its_extra_are_in_the_error() -> None:
    with (
        pytest.raises(MissingExtraError, match=r'pip install "topology-workbench\[live\]"') as caught,
        optional("live"),
    ):
        import no_such_package.inside  # noqa: F401
    assert (caught.value.package, caught.value.extra) == ("no_such_package", "live")
    assert isinstance(caught.value, ImportError)


def test_another_error_inside_the_block_stays_as_it_is() -> None:
    with pytest.raises(InputError), optional("live"):
        raise InputError("x")


@pytest.mark.slow
def test_every_package_that_only_an_extra_brings_is_imported_through_one_function() -> None:
    sources = [p for p in sorted((ROOT / "workbench").rglob("*.py")) if "_core" not in p.parts]
    assert len(sources) > 300
    assert {p.name: found for p in sources if (found := misplaced(p.read_text("utf-8")))} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("import httpx\n", ["line 1: httpx in no block"]),
        ("def f():\n    from kubernetes.client import x\n", ["line 2: kubernetes in no block"]),
        ('with optional("study"):\n    import httpx\n', ["line 2: httpx in study"]),
        ('with optional("live"):\n    import httpx\n', []),
        ("if TYPE_CHECKING:\n    import pyarrow\n", []),
        ("import numpy, os\nfrom workbench import x\n", []),
    ],
)
def test_an_import_in_the_wrong_place_is_found(source: str, want: list[str]) -> None:
    assert misplaced(source) == want


def test_all_brings_every_extra_of_users() -> None:
    given = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert given["all"] == [f"topology-workbench[{','.join(EXTRAS)}]"]
    assert set(given) == {*EXTRAS, "all", "dev", "docs"}


def test_what_the_operator_s_image_holds_has_the_same_bounds_as_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    declared = {*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["live"]}
    assert set(project["dependency-groups"]["operator"]) <= declared
    assert set(project["dependency-groups"]["build"]) == set(project["build-system"]["requires"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("operator", "run"), 3),
        (("operator", "admission"), 3),
        (("operator", "manifests", "--image", "x", "--admission"), 0),
    ],
)
def test_the_operator_needs_only_what_its_image_holds(command: tuple[str, ...], status: int, here: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    held = {normalized(re.split(r"[<>=]", one)[0]) for one in project["dependency-groups"]["operator"]}
    left_out = (requirements()[""] | requirements()["study"] | requirements()["png"]) - held
    hidden = [top for top, names in providers().items() if left_out & names]
    assert {"pandas", "networkx", "jinja2", "jupyterlab"} <= set(hidden)
    done = run(*command, hide=hidden, cwd=here)
    assert done.returncode == status, done.stderr
    assert "is not installed" not in done.stderr


LOCKED = re.compile(r"^([A-Za-z0-9_.-]+)==(\S+)", re.MULTILINE)


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-operator.lock"])
def test_a_lock_of_users_is_part_of_the_developers_lock(lock: str) -> None:
    whole, part = ((ROOT / name).read_text("utf-8") for name in ("requirements-dev.lock", lock))
    assert LOCKED.findall(part) and set(LOCKED.findall(part)) <= set(LOCKED.findall(whole))
    assert "pyarrow" not in part and "playwright" not in part
