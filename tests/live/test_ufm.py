from __future__ import annotations

import pytest

from tests import loopback as servers
from tests.loopback import PASSWORD, USERNAME, loopback
from workbench.errors import InputError
from workbench.live.credentials import Credentials
from workbench.live.fabric import PORTS_PATH, UfmServer
from workbench.live.http import Access

ACCESS = Access(Credentials(USERNAME, PASSWORD))


def test_the_ports_of_a_server_become_hypernodes() -> None:
    with loopback(servers.good) as server:
        result = UfmServer(f"{server.url}/", ACCESS).discover()
        assert server.paths == [PORTS_PATH]
    assert result.hypernodes is not None
    assert [h.name for h in result.hypernodes] == ["leaf-hn-0", "leaf-hn-1", "spine-hn"]


def test_an_answer_of_another_shape_is_named_with_its_place() -> None:
    with loopback(servers.text('[{"system_name": 7}]')) as server, pytest.raises(InputError) as error:
        UfmServer(server.url, ACCESS).discover()
    place = f"{server.url}{PORTS_PATH}: [0].system_name"
    assert str(error.value) == f"{place}: wrong type or value (found a number 7, expected text)"


@pytest.mark.parametrize(
    ("endpoint", "access", "want"),
    [
        ("", ACCESS, "UFM endpoint is not configured"),
        ("https://h", Access(), "UFM authentication credentials are not configured"),
        ("ftp://h", ACCESS, "not an endpoint"),
        ("https://u:p@h", ACCESS, "a user name or password in the URL"),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_is_sent(endpoint: str, access: Access, want: str) -> None:
    with pytest.raises(InputError, match=want):
        UfmServer(endpoint, access)
