"""One GET against a server on loopback that is slow, wrong, huge, redirecting or not to be trusted."""

from __future__ import annotations

import base64
import datetime
import logging
import socket
import threading
from pathlib import Path

import pytest
import trustme

from tests import loopback as servers
from tests.loopback import PASSWORD, PORTS, USERNAME, Reply, loopback
from workbench.errors import ClusterError, InputError
from workbench.live.credentials import Credentials
from workbench.live.http import MAX_BYTES, Access, checked_url, fetch_json, shown_url

GOOD = Credentials(USERNAME, PASSWORD)


def ask(url: str, **options: object) -> object:
    """With a time-out that only the slow ones reach."""
    return fetch_json(url, Access(**{"credentials": GOOD, "timeout_s": 20.0, **options}))  # type: ignore[arg-type]


def nobody_fetches() -> bool:
    """Whether every fetching thread has ended, now or soon."""
    threads = [thread for thread in threading.enumerate() if thread.name == "workbench-fetch"]
    for thread in threads:
        thread.join(60)
    return not any(thread.is_alive() for thread in threads)


def test_the_answer_of_a_good_server() -> None:
    with loopback(servers.good) as server:
        assert ask(f"{server.url}/x") == PORTS
        assert server.paths == ["/x"]


@pytest.mark.slow
@pytest.mark.parametrize("reply", [servers.silent, servers.dripping_headers, servers.dripping_body])
def test_a_slow_server_is_given_up_and_the_connection_closed(reply: Reply) -> None:
    with loopback(reply) as server:
        with pytest.raises(ClusterError, match=r"no whole answer within 0\.3 s$"):
            ask(server.url, timeout_s=0.3)
        assert nobody_fetches()


REFUSED: dict[str, tuple[Reply, str]] = {
    "server error": (
        servers.text("Server Error", 500),
        "answered with status 500 (Internal Server Error), expected 200",
    ),
    "not found": (servers.text("", 404), "answered with status 404 (Not Found), expected 200"),
    "no content": (servers.text("", 204), "answered with status 204 (No Content), expected 200"),
    "a status of its own": (servers.text("", 799), "answered with status 799, expected 200"),
    "forbidden": (servers.text("", 403), "refused with status 403: this user may not read it"),
    "cut off": (servers.cut_off, "the connection broke: "),
    "no HTTP": (lambda handler: handler.wfile.write(b"220 mail ready\r\n") and None, "the connection broke: "),
}


@pytest.mark.parametrize(("reply", "want"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_answer_is_one_line(reply: Reply, want: str) -> None:
    with loopback(reply) as server, pytest.raises(ClusterError) as error:
        ask(server.url)
    assert str(error.value).startswith(f"{server.url}: {want}")
    assert "\n" not in str(error.value)


WRONG: dict[str, tuple[Reply, str]] = {
    "no JSON": (servers.text("<html>log in</html>"), "line 1, column 1: the answer is not JSON"),
    "cut JSON": (servers.text("[1, 2"), "the answer is not JSON"),
    "two values": (servers.text("[] []"), "the answer is not JSON"),
    "nothing": (servers.text(""), "the answer is not JSON"),
    "deeper than any data": (servers.text("[" * 100_000), "the answer is not JSON"),
    "announced too large": (servers.huge, "the answer is too large (expected at most 5000 bytes)"),
    "endless": (servers.endless, "the answer is too large (expected at most 5000 bytes)"),
    "compressed": (servers.compressed, "the answer is compressed, which was not asked for"),
}


@pytest.mark.parametrize(("reply", "want"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_data_is_bad_input(reply: Reply, want: str) -> None:
    limit = {"max_bytes": 5000} if "5000" in want else {}
    with loopback(reply) as server, pytest.raises(InputError) as error:
        ask(server.url, **limit)
    assert str(error.value).startswith(f"{server.url}: ") and want in str(error.value)


def test_a_body_of_exactly_the_limit_is_read() -> None:
    assert Access().max_bytes == MAX_BYTES == 100 * 1024**2
    with loopback(servers.text('"' + "x" * 98 + '"')) as server:
        assert ask(server.url, max_bytes=100) == "x" * 98
        with pytest.raises(InputError, match="too large"):
            ask(server.url, max_bytes=99)


def test_a_redirect_is_not_followed() -> None:
    with loopback(servers.good) as other, loopback(servers.redirect_to(other.url)) as server:
        with pytest.raises(ClusterError, match=r"a redirect \(status 302\), which is not followed"):
            ask(server.url)
        assert other.paths == []


def test_wrong_and_missing_credentials() -> None:
    with loopback(servers.good) as server:
        with pytest.raises(ClusterError, match="status 401: the user name or password is wrong"):
            ask(server.url, credentials=Credentials(USERNAME, "guess"))
        with pytest.raises(ClusterError, match="status 401: it asks for a user name and password"):
            ask(server.url, credentials=None)


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ClusterError, match="no connection: Connection refused"):
        ask(f"http://127.0.0.1:{port}")


class TestCertificates:
    @pytest.fixture(scope="class")
    @staticmethod
    def ca() -> trustme.CA:
        return trustme.CA()

    @pytest.fixture
    @staticmethod
    def ca_file(ca: trustme.CA, tmp_path: Path) -> Path:
        return servers.write_ca(ca, tmp_path)

    def test_a_trusted_one(self, ca: trustme.CA, ca_file: Path) -> None:
        with loopback(servers.good, ca.issue_cert("127.0.0.1")) as server:
            assert ask(server.url, ca_file=ca_file) == PORTS

    @pytest.mark.parametrize(
        ("name", "expired", "trusted", "want"),
        [
            ("127.0.0.1", False, False, "unable to get local issuer certificate"),
            ("127.0.0.2", False, True, "IP address mismatch, certificate is not valid for '127.0.0.1'."),
            ("127.0.0.1", True, True, "certificate has expired"),
        ],
    )
    def test_a_bad_one(self, ca: trustme.CA, ca_file: Path, name: str, expired: bool, trusted: bool, want: str) -> None:
        past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC) if expired else None
        certificate = ca.issue_cert(name, not_after=past) if past else ca.issue_cert(name)
        with loopback(servers.good, certificate) as server:
            with pytest.raises(ClusterError) as error:
                ask(server.url, ca_file=ca_file if trusted else None)
            assert str(error.value) == f"{server.url}: the certificate is not trusted: {want}"
            assert server.paths == [], "nothing was sent to it"
            assert ask(server.url, verify=False) == PORTS

    def test_a_server_without_tls(self, ca_file: Path) -> None:
        with loopback(servers.good) as server, pytest.raises(ClusterError, match="no TLS connection: "):
            ask(server.url.replace("http:", "https:"), ca_file=ca_file)

    def test_a_file_without_certificates(self, tmp_path: Path) -> None:
        (tmp_path / "empty.pem").write_text("")
        for name in ("empty.pem", "missing.pem"):
            with pytest.raises(InputError, match=rf"{name}: cannot be read: .* \(expected certificates in PEM\)"):
                ask("https://127.0.0.1", ca_file=tmp_path / name)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_out_is_a_number_above_zero(seconds: float) -> None:
    with pytest.raises(InputError, match="not a time-out"):
        Access(timeout_s=seconds)


def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with loopback(servers.good) as proxy, loopback(servers.good) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert ask(server.url) == PORTS
        assert proxy.paths == []


@pytest.mark.parametrize(
    "reply", [servers.good, servers.text("", 500), servers.silent, servers.cut_off, servers.text("x")]
)
def test_the_password_is_in_no_message_and_no_log(reply: Reply, caplog: pytest.LogCaptureFixture) -> None:
    access = Access(Credentials(USERNAME, PASSWORD), timeout_s=0.3)
    said = [repr(access)]
    with caplog.at_level(logging.DEBUG), loopback(reply) as server:
        try:
            fetch_json(server.url, access)
        except (ClusterError, InputError) as error:
            said += [str(error), repr(error), repr(error.__cause__)]
    everything = "\n".join(said + [record.getMessage() for record in caplog.records])
    code = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
    assert caplog.records and PASSWORD not in everything and code not in everything


@pytest.mark.parametrize(
    ("endpoint", "want"),
    [
        ("ufm.example.com", "https://ufm.example.com/p"),
        ("ufm.example.com:8080/", "https://ufm.example.com:8080/p"),
        (" http://10.0.0.1/base// ", "http://10.0.0.1/base/p"),
        ("https://[::1]:443", "https://[::1]/p"),
    ],
)
def test_an_endpoint_becomes_a_url(endpoint: str, want: str) -> None:
    assert checked_url(endpoint, "/p") == want


def test_a_whole_url_keeps_its_query() -> None:
    assert checked_url("https://h/links?site=a#top") == "https://h/links?site=a"


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://" + "a" * 64 + ".example",
        "https://x." + "a" * 64,
        "https://a..b",
        "",
        "https://",
        "ftp://h",
        "file:///etc/passwd",
        "https://h:port",
        "https://h/?a=b",
        "https://h/#x",
        "h\x00",
    ],
)
def test_what_is_no_endpoint(endpoint: str) -> None:
    with pytest.raises(InputError, match="not an endpoint"):
        checked_url(endpoint, "/p")


@pytest.mark.parametrize(
    "endpoint", [f"https://u:{PASSWORD}@h", f"u:{PASSWORD}@h/x", f"https://{PASSWORD}@h", f"ftp://a:{PASSWORD}@h"]
)
def test_credentials_in_a_url_are_refused_and_not_repeated(endpoint: str) -> None:
    with pytest.raises(InputError) as error:
        checked_url(endpoint, "/p")
    assert PASSWORD not in str(error.value)
    assert shown_url(f"https://u:p@h/x?token={PASSWORD}") == "https://h/x"
