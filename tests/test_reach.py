"""Tests of `tests.reach` and `tests.method_reach` on small packages, then on our package."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.method_reach import uncalled
from tests.reach import Reach, names_imported, reach_of, sources_of, texts_of_users, user_roots

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


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("import workbench as wb\nwb.b.used()\n", id="an attribute"),
        pytest.param("wb.b.used(1)\n", id="in a block that goes on from another"),
        pytest.param("from workbench.b import used\n", id="an import"),
        pytest.param("from workbench import b as c\nc.used.more\n", id="a module renamed"),
        pytest.param("workbench.b.used", id="in a sentence"),
    ],
)
def test_what_a_user_names_is_a_root(text):
    reach = Reach({"workbench.__init__": "", "workbench.b": "def used(): ...\ndef unused(): ...\n"})
    assert reach.named_by(text) == {"workbench.b:used"}


def test_a_module_that_a_user_imports_is_no_root():
    reach = Reach({"workbench.__init__": "", "workbench.b": "def unused(): ...\n"})
    assert reach.named_by("import workbench.b\nfrom workbench import b\n") == set()


CLASS = "class C:\n    def m(self): ...\n"


@pytest.mark.parametrize(
    ("source", "users", "templates"),
    [
        pytest.param("def f(c):\n    return c.m()\n", "", "", id="by the package"),
        pytest.param("def f(c):\n    return getattr(c, 'm')\n", "", "", id="by its name"),
        pytest.param("", "c.m()\n", "", id="by a user"),
        pytest.param("", "", "{{ c.m }}", id="by a template"),
    ],
)
def test_a_method_that_somebody_calls(source, users, templates):
    assert uncalled({"workbench.a": CLASS + source}, [users], [templates]) == []


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def f():\n    return 'm'\n", id="a text"),
        pytest.param("import numpy\ndef f():\n    return numpy.m()\n", id="of another package"),
        pytest.param("class D:\n    def dead(self, c):\n        return c.m()\n", id="by a method that nobody calls"),
        pytest.param("class D(C):\n    def m(self):\n        return super().m()\n", id="by its own override"),
    ],
)
def test_a_method_that_nobody_calls_is_accused(source):
    assert "workbench.a:C.m" in uncalled({"workbench.a": CLASS + source})


#: They hand out every export, and so vouch for none.
EXPORTS = {
    "workbench:_ROOMS",
    "workbench.model.deferred:deferred_names",
    *(f"workbench{room}:{name}" for room in ("", ".jobs", ".report") for name in ("_HOME", "__getattr__", "__dir__")),
}

#: Methods that are called from outside the package, and by whom.
CALLED_FROM_OUTSIDE = {
    "workbench.cli.app:_Sections.format_commands": "click, or typer's copy of it",
    "workbench.cli.output:_Teller.emit": "logging",
    "workbench.evaluate.beside:_SharingPickler.persistent_id": "pickle",
    "workbench.evaluate.beside:_SharingUnpickler.persistent_load": "pickle",
    "workbench.live.kubernetes.bounded_server:BoundedHandler.do_GET": "http.server",
    "workbench.live.kubernetes.bounded_server:BoundedHandler.do_POST": "http.server",
    "workbench.live.kubernetes.bounded_server:BoundedHandler.log_message": "http.server",
    "workbench.live.kubernetes.bounded_server:BoundedServer.handle_error": "socketserver",
    "workbench.live.kubernetes.bounded_server:BoundedServer.get_request": "socketserver",
    "workbench.live.kubernetes.bounded_server:BoundedServer.process_request": "socketserver",
    "workbench.live.kubernetes.bounded_server:BoundedServer.service_actions": "socketserver",
    "workbench.live.kubernetes.connection:_ReadOnly.handle_request": "httpx",
    "workbench.live.kubernetes.tls_server:TlsServer.get_request": "socketserver",
    "workbench.live.kubernetes.metrics:_Collector.collect": "prometheus_client",
    "workbench.study.digest:_Pickler.persistent_id": "pickle",
    "workbench.widgets.editor:TopologyEditor.selection": "a cell that asks what is selected on the page",
}


@pytest.mark.slow
def test_every_definition_of_the_package_is_reached() -> None:
    """A definition that only tests call is dead, exported or not: a notebook or a page has to call it."""
    package = reach_of(ROOT)
    left = package.definitions - package.reached(user_roots(ROOT)) - EXPORTS
    assert sorted(name for name in left if not name.endswith(":__all__")) == []


@pytest.mark.slow
def test_every_public_method_is_called() -> None:
    kernels = [path for path in sorted((ROOT / "_core").iterdir()) if path.suffix in (".pyx", ".pxd")]
    texts = [path.read_text("utf-8") for path in [*sorted(ROOT.glob("workbench/report/templates/*.j2")), *kernels]]
    sources, users = sources_of(ROOT, "workbench"), list(texts_of_users(ROOT))
    assert uncalled(sources, users, texts, CALLED_FROM_OUTSIDE) == []
    assert set(uncalled(sources, users, texts)) >= CALLED_FROM_OUTSIDE.keys(), "one of them is called here by now"
