from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.live.credentials import (
    Credentials,
    credentials_from_environment,
    credentials_of_secret,
    load_credentials,
)

SECRET = "hunter2: é"


def test_both_variables_of_the_source_are_needed() -> None:
    environment = {"WORKBENCH_UFM_USERNAME": "u", "WORKBENCH_UFM_PASSWORD": SECRET}
    assert credentials_from_environment(environment, "ufm") == Credentials("u", SECRET)
    assert credentials_from_environment(environment, "roce") is None
    for name in environment:
        assert credentials_from_environment({**environment, name: ""}, "ufm") is None


def test_a_secret_without_one_of_its_keys_is_none() -> None:
    assert credentials_of_secret({"username": "u", "password": "p"}) == Credentials("u", "p")
    assert credentials_of_secret({"username": "u"}) is credentials_of_secret({}) is credentials_of_secret(None) is None


def test_the_password_is_not_shown() -> None:
    assert SECRET not in repr(Credentials("u", SECRET)) + str(Credentials("u", SECRET))


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "content",
    [
        f'username: u\npassword: "{SECRET}"\n',
        json.dumps({"username": "u", "password": SECRET}),
        f"kind: Secret\napiVersion: v1\ndata: {{username: {encoded('u')}, password: {encoded(SECRET)}}}\n",
        f'kind: Secret\napiVersion: v1\ndata: {{username: {encoded("u")}}}\nstringData: {{password: "{SECRET}"}}\n',
    ],
)
def test_a_file_with_both(tmp_path: Path, content: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(content, encoding="utf-8")
    assert load_credentials(path) == Credentials("u", SECRET)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "password: 4711\nusername: u\n",
        "password: 0x4711_\nusername: u\n",
        "username: u\npassword: ''\n",
        "username: u\n",
        "- 4711\n",
        "4711",
        "password: !!python/object 4711\n",
        "password: 4711: x\n",
        "username: u\n---\npassword: '4711'\n",
        "kind: Secret\ndata: {username: dQ==, password: '4711*'}\n",
        "kind: Secret\ndata: {username: dQ==, password: '/w=='}\n",
        "kind: Secret\ndata: [4711]\n",
        '{"password": 4711, "username": "u"',
    ],
)
def test_what_is_no_credentials_is_refused_without_a_word_of_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_credentials(path)
    assert str(path) in str(error.value) and "username and password" in str(error.value)
    assert "4711" not in str(error.value).replace(str(path), "")
