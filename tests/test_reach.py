"""Tests of `tests.reach` on small packages, with names that are reached and names that are not; then on our package."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.test_shipped_code import NOT_SHIPPED_YET
from tests.reach import Reach, names_imported, reach_of, user_roots

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("root", "source"),
    [
        pytest.param("f", "from workbench.b import used\ndef f():\n    return used()\n", id="a call"),
        pytest.param("f", "def f():\n    from workbench.b import used\n    return used()\n", id="imported when called"),
        pytest.param("f", "from workbench import b\ndef f():\n    return b.used()\n", id="an attribute of a module"),
        pytest.param("f", "import workbench.b\ndef f():\n    return workbench.b.used()\n", id="a dotted name"),
        pytest.param("f", "import workbench.b as c\ndef f():\n    return c.used()\n", id="a module renamed"),
        pytest.param("f", "from .b import used as u\ndef f():\n    return u()\n", id="a relative import"),
        pytest.param("C", "from workbench.b import used\nclass C:\n    def m(self):\n        used()\n", id="a method"),
        pytest.param("T", "from workbench.b import used\nT = {1: used}\n", id="a table"),
        pytest.param("f", "from workbench.b import used\ng = used\ndef f():\n    return g\n", id="by another name"),
        pytest.param("f", "from workbench.b import used\nused()\ndef f(): ...\n", id="called on import"),
        pytest.param(
            "f", "from workbench.b import r\n@r\ndef used_here(): ...\ndef f(): ...\n", id="entered by a decorator"
        ),
    ],
)
def test_what_a_definition_names_is_reached(root, source):
    reach = Reach({"workbench.a": source, "workbench.b": "def used(): ...\ndef r(f): ...\ndef unused(): ...\n"})
    reached = reach.reached([f"workbench.a:{root}"])
    assert reached & {"workbench.b:used", "workbench.a:used_here"}
    assert "workbench.b:unused" not in reached


def test_an_import_alone_reaches_no_definition_but_runs_the_module():
    reach = Reach(
        {
            "workbench.a": "from workbench.b import f\ndef g(): ...\n",
            "workbench.b": "def f(): ...\ndef h(): ...\nh()\n",
        }
    )
    assert reach.reached(["workbench.a:g"]) >= {"workbench.b:h"}
    assert "workbench.b:f" not in reach.reached(["workbench.a:g"])


def test_a_name_handed_on_by_a_package_is_followed():
    reach = Reach(
        {"workbench.p.__init__": "from workbench.p.q import f\n", "workbench.p.q": "def f(): ...\ndef g(): ...\n"}
    )
    assert reach.defined("workbench.p:f") == "workbench.p.q:f"
    assert "workbench.p.q:f" in reach.reached(["workbench.p:f"])
    assert reach.everything_in("workbench.p") == {"workbench.p.q:f", "workbench.p.q:g"}


def test_the_names_a_file_imports_come_with_their_lines():
    source = (
        "import numpy\nfrom workbench.a import b, c as d\nimport workbench\n\ndef f():\n    import workbench.e as e\n"
    )
    assert sorted(names_imported(source)) == [
        ("workbench.a:b", 2),
        ("workbench.a:c", 2),
        ("workbench.e:", 6),
        ("workbench:", 3),
    ]


#: Reached by nothing that is shipped, and kept: what it is for. The rules that conformance cases ask for stand in
#: `tests.conformance.test_shipped_code`.
KEPT = {
    "workbench.topology.mapa_machines:MAPA_MACHINES": "the machines of a publication, for notebooks",
}


@pytest.mark.slow
def test_every_definition_of_the_package_is_reached() -> None:
    """What only tests call is dead; a name that a notebook of ours or `_core`'s faces hand out is not."""
    package = reach_of(ROOT)
    reached = package.reached([*user_roots(), *package.everything_in("workbench.kernels"), *KEPT, *NOT_SHIPPED_YET])
    assert sorted(name for name in package.definitions - reached if not name.endswith(":__all__")) == []


@pytest.mark.slow
def test_what_is_reached_by_now_is_off_the_list_of_what_is_kept() -> None:
    package = reach_of(ROOT)
    assert KEPT.keys() <= package.definitions
    assert sorted(KEPT.keys() & package.reached([*user_roots(), *package.everything_in("workbench.kernels")])) == []
