"""`workbench topology discover`: labels, UFM and RoCE against HyperNodes that exist."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from tests import loopback as servers
from tests.cli.conftest import Result, Run
from tests.loopback import PASSWORD, USERNAME, Reply, loopback
from workbench.model.labels import SOURCE_LABEL

TYPE = "fabric=spine,rack,kubernetes.io/hostname"


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


NODES = [node("n0", rack="r0", spine="s0"), node("n1", rack="r0", spine="s0"), node("n2", rack="r1", spine="s0")]


def hypernode(name: str, source: str, *nodes: str, tier: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name, "labels": {SOURCE_LABEL: source} if source else {}},
        "spec": {
            "tier": tier,
            "members": [{"type": "Node", "selector": {"exactMatch": {"name": name}}} for name in nodes],
        },
    }


def write(path: Path, *manifests: dict[str, Any]) -> Path:
    path.write_text("---\n".join(yaml.safe_dump(manifest) for manifest in manifests), encoding="utf-8")
    return path


def kubeconfig(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }


@contextmanager
def api_server(answer: Callable[[str, str], dict[str, Any]]) -> Iterator[str]:
    """An API server without TLS on loopback, which gives the answers of a function of path and method."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.dumps(answer(self.path, self.command)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def read(text: str) -> dict[str, Any]:
    return {data["metadata"]["name"]: data for data in yaml.safe_load_all(text)}


class TestLabel:
    def test_what_is_written_is_a_topology(self, run: Run, tmp_path: Path) -> None:
        nodes = write(tmp_path / "nodes.yaml", *NODES)
        out = tmp_path / "hypernodes.yaml"
        result = run("topology", "discover", "label", "-f", nodes, "--type", TYPE, "--out", out)
        assert (result.status, result.out, result.err) == (0, "", "label: 3 to create\n")
        shown = run("topology", "show", "-f", nodes, "-f", out, "-o", "json").json
        assert sorted((domain["tier"], domain["nodes"]) for domain in shown["domains"]) == [(1, 1), (1, 2), (2, 3)]
        assert shown["problems"] == []
        assert run("topology", "lint", "-f", nodes, "-f", out).status == 0

    def test_a_second_run_changes_nothing_and_a_new_node_keeps_the_names(self, run: Run, tmp_path: Path) -> None:
        nodes = write(tmp_path / "nodes.yaml", *NODES)
        out = tmp_path / "hypernodes.yaml"
        run("topology", "discover", "label", "-f", nodes, "--type", TYPE, "--out", out)
        before = out.read_text("utf-8")
        again = run("topology", "discover", "label", "-f", nodes, "-f", out, "--type", TYPE, "--out", out)
        assert (again.status, again.err) == (0, "label: 3 unchanged\n")
        assert out.read_text("utf-8") == before
        write(nodes, node("a0", rack="r1", spine="s0"), *NODES)
        more = run("topology", "discover", "label", nodes, out, "--type", TYPE, "-o", "json").json
        assert (len(more["update"]), len(more["unchanged"]), more["create"], more["delete"]) == (1, 2, [], [])

    @pytest.mark.parametrize("option", [("--dry-run",), ("--context", "x"), ("--kubeconfig", "x")])
    def test_options_of_a_live_cluster_need_apply(self, run: Run, tmp_path: Path, option: tuple[str, ...]) -> None:
        nodes = write(tmp_path / "nodes.yaml", *NODES)
        result = run("topology", "discover", "label", nodes, "--type", TYPE, *option)
        assert result.status == 2 and result.out == "" and f"{option[0]}: it belongs to --apply" in result.err

    def test_1_13_gets_what_it_can_store(self, run: Run, tmp_path: Path) -> None:
        nodes = write(tmp_path / "nodes.yaml", *NODES)
        out = tmp_path / "hypernodes.yaml"
        assert (
            run("topology", "discover", "label", nodes, "--type", TYPE, "--release", "1.13", "--out", out).status == 0
        )
        assert "tierName" not in out.read_text("utf-8")
        assert run("validate", "--release", "1.13", out).status == 0

    def test_a_live_cluster_is_read_and_changed(self, run: Run, tmp_path: Path) -> None:
        asked: list[tuple[str, str]] = []

        def answer(path: str, method: str) -> dict[str, Any]:
            asked.append((method, path))
            items = NODES if path.startswith("/api/v1/nodes") else []
            return {"metadata": {}, "items": items if method == "GET" else []}

        with api_server(answer) as url:
            config = write(tmp_path / "config", kubeconfig(url))
            common = ("topology", "discover", "label", "--type", TYPE, "--apply", "--kubeconfig", config)
            tried = run(*common, "--dry-run")
            written = run(*common)
        assert (tried.status, written.status, tried.out, written.out) == (0, 0, "", "")
        assert "the API server would take 3 changes; nothing is written" in tried.err
        assert "3 changes written to the cluster" in written.err
        posts = [path for method, path in asked if method == "POST"]
        assert len(posts) == 6 and [("dryRun=All" in path) for path in posts] == [True] * 3 + [False] * 3

    def test_the_configuration_of_a_controller(self, run: Run, tmp_path: Path) -> None:
        types = {"fabric": [{"nodeLabel": key} for key in TYPE.partition("=")[2].split(",")], "x" * 21: []}
        source = {"source": "label", "enabled": False, "config": {"networkTopologyTypes": types}}
        config = write(tmp_path / "volcano-controller.conf", {"networkTopologyDiscovery": [source]})
        nodes = write(tmp_path / "nodes.yaml", *NODES)
        result = run("topology", "discover", "label", nodes, "--config", config, "-o", "table")
        assert result.status == 0 and "create" in result.out and "label: 3 to create" in result.out
        assert "note: source label is not enabled" in result.err
        assert f"note: type {'x' * 21} is dropped: its name has more than 20 bytes" in result.err

    def test_hypernodes_without_their_nodes_are_not_taken_away(self, run: Run, tmp_path: Path) -> None:
        old = write(tmp_path / "h.yaml", hypernode("old", "label", "n0"))
        result = run("topology", "discover", "label", "-f", old, "--type", TYPE)
        assert (result.status, result.out) == (1, "")
        assert result.err.splitlines()[0] == "note: no Node in the input"

    def test_a_source_or_a_type_that_is_not_there(self, run: Run, tmp_path: Path) -> None:
        nodes = write(tmp_path / "nodes.yaml", *NODES)
        config = write(tmp_path / "c.yaml", {"networkTopologyDiscovery": [{"source": "ufm"}]})
        for arguments, want in (
            ((), "label: no topology types (expected --type NAME=KEY,"),
            (("--type", "rack"), "--type: no key and value"),
            (("--config", config), f"{config}: no source label (found ufm, expected source: label)"),
        ):
            result = run("topology", "discover", "label", "-f", nodes, *arguments)
            assert result.status == 2 and want in result.err and result.out == ""


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_UFM_USERNAME", USERNAME)
    monkeypatch.setenv("WORKBENCH_UFM_PASSWORD", PASSWORD)


@pytest.fixture
def existing(tmp_path: Path) -> Path:
    """What an earlier run left, beside a HyperNode made by hand."""
    return write(
        tmp_path / "hypernodes.yaml",
        hypernode("leaf-hn-0", "ufm", "n0", "n1"),
        hypernode("leaf-hn-1", "ufm", "n9"),
        hypernode("leaf-hn-2", "ufm", "n8"),
        hypernode("mine", "", "n7"),
    )


def ufm(run: Run, url: str, existing: Path, *more: object) -> Result:
    """Discover and write back; the password is nowhere, whatever happens."""
    result = run("topology", "discover", "ufm", url, "-f", existing, "--out", existing, *more)
    assert PASSWORD not in result.out + result.err
    return result


@pytest.mark.usefixtures("login")
class TestUfm:
    def test_the_plan_is_written_and_told(self, run: Run, existing: Path) -> None:
        with loopback(servers.good) as server:
            result = ufm(run, server.url, existing)
        assert (result.status, result.out) == (0, "")
        assert result.err.splitlines() == [
            "warning: over http:// the user name and password can be read on the way",
            "ufm: 1 to create, 1 to update, 1 to delete, 1 unchanged",
        ]
        after = read(existing.read_text("utf-8"))
        assert list(after) == ["leaf-hn-0", "leaf-hn-1", "mine", "spine-hn"]
        assert after["leaf-hn-1"]["spec"]["members"][0]["selector"] == {"exactMatch": {"name": "n2"}}

    def test_json_says_everything(self, run: Run, existing: Path) -> None:
        with loopback(servers.good) as server:
            facts = run("topology", "discover", "ufm", server.url, existing, "-o", "json").json
        assert {key: facts[key] for key in facts if key != "hypernodes"} == {
            "source": "ufm",
            "create": ["spine-hn"],
            "update": ["leaf-hn-1"],
            "unchanged": ["leaf-hn-0"],
            "delete": ["leaf-hn-2"],
            "conflicts": [],
            "notes": [],
        }
        assert [data["metadata"]["name"] for data in facts["hypernodes"]] == [
            "leaf-hn-0",
            "leaf-hn-1",
            "mine",
            "spine-hn",
        ]

    def test_a_name_of_another_owner_is_a_finding(self, run: Run, tmp_path: Path) -> None:
        taken = write(
            tmp_path / "t.yaml", hypernode("leaf-hn-0", "roce", "n0"), hypernode("spine-hn", "", "n1", tier=2)
        )
        with loopback(servers.good) as server:
            result = ufm(run, server.url, taken)
        assert result.status == 1
        assert "conflict: leaf-hn-0 belongs to source 'roce': left as it is" in result.err
        assert "conflict: spine-hn belongs to someone by hand: left as it is" in result.err
        assert list(read(taken.read_text("utf-8"))) == ["leaf-hn-0", "spine-hn", "leaf-hn-1"]

    def test_an_empty_result_is_refused_until_somebody_agrees(
        self, run: Run, existing: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = existing.read_bytes()
        with loopback(servers.text("[]")) as server:
            refused = ufm(run, server.url, existing)
            assert refused.status == 1 and existing.read_bytes() == before
            assert "refused: source ufm found nothing, its 3 HyperNodes would be deleted; nothing is wr" in refused.err
            monkeypatch.setattr("sys.stdin.isatty", lambda: True)
            for answer, status in (("n\n", 1), ("\n", 1), ("y\n", 0)):
                assert existing.read_bytes() == before
                monkeypatch.setattr("typer.confirm", confirm(answer))
                assert ufm(run, server.url, existing).status == status
        assert list(read(existing.read_text("utf-8"))) == ["mine"]

    def test_yes_agrees_and_what_is_left_of_nothing_can_be_read(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "h.yaml", hypernode("leaf-hn-0", "ufm", "n0"))
        with loopback(servers.text("[]")) as server:
            assert ufm(run, server.url, path, "--yes").status == 0
            again = ufm(run, server.url, path)
        assert (again.status, again.err.splitlines()[-1]) == (0, "ufm: no HyperNodes")

    def test_an_empty_result_that_deletes_nothing_asks_nothing(self, run: Run, tmp_path: Path) -> None:
        path = write(tmp_path / "h.yaml", hypernode("mine", "", "n0"))
        with loopback(servers.text("[]")) as server:
            assert ufm(run, server.url, path).status == 0

    BAD: dict[str, tuple[Reply, int, str]] = {
        "silent": (servers.silent, 3, "no whole answer within 0.4 s"),
        "slow headers": (servers.dripping_headers, 3, "no whole answer within 0.4 s"),
        "slow body": (servers.dripping_body, 3, "no whole answer within 0.4 s"),
        "wrong JSON": (servers.text("<html>"), 2, "the answer is not JSON"),
        "another JSON": (servers.text('{"ports": []}'), 2, "the answer: wrong type or value (found a mapping of 1"),
        "huge": (servers.huge, 2, "the answer is too large (expected at most 104857600 bytes)"),
        "redirecting": (servers.redirect_to("http://127.0.0.1:9/"), 3, "answered with a redirect (status 302)"),
        "forbidding": (servers.text("", 403), 3, "refused with status 403"),
        "failing": (servers.text("", 500), 3, "answered with status 500"),
        "cut off": (servers.cut_off, 3, "the connection broke"),
    }

    @pytest.mark.slow
    @pytest.mark.parametrize(("reply", "status", "want"), BAD.values(), ids=BAD.keys())
    def test_a_bad_server_is_one_line_and_the_old_hypernodes_stay(
        self, run: Run, existing: Path, reply: Reply, status: int, want: str
    ) -> None:
        before = existing.read_bytes()
        ca = trustme.CA()
        authority = servers.write_ca(ca, existing.parent)
        with loopback(reply, ca.issue_cert("127.0.0.1")) as server:
            limit = 0.4 if status == 3 and "0.4" in want else 20
            result = ufm(run, server.url, existing, "--ca-file", authority, "--timeout", limit)
        assert (result.status, result.out, result.err.count("\n")) == (status, "", 1)
        assert result.err.startswith(f"workbench: {server.url}/ufmRest/resources/ports: ") and want in result.err
        assert existing.read_bytes() == before

    def test_a_bad_certificate_and_how_to_go_on_without_one(self, run: Run, existing: Path) -> None:
        before = existing.read_bytes()
        with loopback(servers.good, trustme.CA().issue_cert("127.0.0.1")) as server:
            result = ufm(run, server.url, existing)
            assert (result.status, result.err.count("\n")) == (3, 1)
            assert "the certificate is not trusted: unable to get local issuer certificate" in result.err
            assert existing.read_bytes() == before
            source = {"source": "ufm", "enabled": True, "config": {"endpoint": server.url, "insecureSkipVerify": True}}
            config = write(existing.parent / "c.yaml", {"networkTopologyDiscovery": [source]})
            result = run("topology", "discover", "ufm", "--config", config, "-f", existing, "--out", existing)
        assert result.status == 0 and "warning: the server's certificate is not verified" in result.err
        assert "spine-hn" in read(existing.read_text("utf-8"))

    def test_a_bad_password_and_a_file_with_the_right_one(
        self, run: Run, existing: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WORKBENCH_UFM_PASSWORD", "guess")
        before = existing.read_bytes()
        with loopback(servers.good) as server:
            result = ufm(run, server.url, existing)
            assert result.status == 3 and "status 401: the user name or password is wrong" in result.err
            assert "guess" not in result.err and existing.read_bytes() == before
            secret = write(existing.parent / "s.yaml", {"username": USERNAME, "password": PASSWORD})
            assert ufm(run, server.url, existing, "--credentials", secret).status == 0

    def test_what_is_missing_is_said_before_anything_is_sent(
        self, run: Run, existing: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        result = ufm(run, "", existing)
        assert result.status == 2 and "UFM endpoint is not configured" in result.err
        result = ufm(run, f"https://{USERNAME}:{PASSWORD}@h", existing)
        assert result.status == 2 and "a user name or password in the URL" in result.err
        monkeypatch.delenv("WORKBENCH_UFM_PASSWORD")
        with loopback(servers.good) as server:
            result = ufm(run, server.url, existing)
            assert result.status == 2 and "UFM authentication credentials are not configured" in result.err
            assert server.paths == []

    def test_a_setting_of_the_wrong_type_is_named_with_its_file(self, run: Run, tmp_path: Path) -> None:
        for key, value in (("endpoint", 3), ("insecureSkipVerify", "no")):
            source = {"source": "ufm", "config": {"endpoint": "https://h", key: value}}
            config = write(tmp_path / "c.yaml", {"networkTopologyDiscovery": [source]})
            result = run("topology", "discover", "ufm", "--config", config)
            assert result.status == 2 and f"{config}: config.{key}: wrong type or value" in result.err

    def test_bad_hypernodes_are_refused_before_anything_is_sent(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "h.yaml"
        path.write_text("kind: HyperNode\n", encoding="utf-8")
        with loopback(servers.good) as server:
            assert ufm(run, server.url, path).status == 2
            assert server.paths == []


def confirm(answer: str) -> Any:
    """What typer would make of an answer typed at a terminal."""

    def ask(question: str, default: bool, err: bool) -> bool:
        assert question == "source ufm found nothing: delete its 3 HyperNodes?" and err
        return answer.strip() == "y" if answer.strip() else default

    return ask


class TestRoce:
    LINKS = {"version": 1, "links": [{"node": "n0", "leaf": "tor0"}, {"leaf": "tor0", "spine": "agg0"}]}

    def test_links_of_a_file_and_of_a_configured_url(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "links.json"
        path.write_text(json.dumps(self.LINKS), encoding="utf-8")
        result = run("topology", "discover", "roce", path)
        assert result.status == 0 and list(read(result.out)) == ["roce-leaf-tor0", "roce-spine-agg0"]
        with loopback(servers.text(json.dumps(self.LINKS))) as server:
            source = {"source": "roce", "enabled": True, "config": {"endpoint": server.url}}
            config = write(tmp_path / "c.yaml", {"networkTopologyDiscovery": [source]})
            assert run("topology", "discover", "roce", "--config", config).out == result.out

    def test_no_links_bad_links_and_no_server(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "links.json"
        path.write_text(json.dumps({"version": 1, "links": [{"node": "n0"}]}), encoding="utf-8")
        result = run("topology", "discover", "roce", path)
        assert result.status == 2 and f"{path}: links[0]: no link" in result.err
        assert run("topology", "discover", "roce").status == 2
        with loopback(servers.text("", 503)) as server:
            assert run("topology", "discover", "roce", server.url).status == 3


def test_help_names_the_sources(run: Run) -> None:
    result = run("topology", "discover", "--help")
    assert result.status == 0 and all(source in result.out for source in ("label", "ufm", "roce"))
