from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests import loopback as servers
from tests.loopback import loopback
from workbench.errors import ClusterError, InputError
from workbench.live.fabric import discover_links
from workbench.live.http import Access

LINKS = json.dumps({"version": 1, "links": [{"node": "n0", "leaf": "tor0"}, {"leaf": "tor0", "spine": "agg0"}]})
NAMES = ["roce-leaf-tor0", "roce-spine-agg0"]


def names(place: str) -> list[str]:
    hypernodes = discover_links(place, Access()).hypernodes
    assert hypernodes is not None
    return [h.name for h in hypernodes]


def test_a_url_and_a_file_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "links.json").write_text(LINKS)
    assert names(str(tmp_path / "links.json")) == NAMES
    with loopback(servers.text(LINKS)) as server:
        assert names(f"{server.url}/fabric?site=a") == NAMES
        assert server.paths == ["/fabric?site=a"]


def test_bad_data_names_its_file_or_url(tmp_path: Path) -> None:
    path = tmp_path / "links.json"
    path.write_text('{"version": 1, "links": [{"node": "n0"}]}')
    with pytest.raises(InputError) as error:
        names(str(path))
    assert str(error.value).startswith(f"{path}: links[0]: no link (found node, expected")
    path.write_text("a: 1\n---\nb: 2\n")
    with pytest.raises(InputError, match="the document"):
        names(str(path))
    with loopback(servers.text("[]")) as server, pytest.raises(InputError) as error:
        names(f"{server.url}/x?token=t")
    assert str(error.value).startswith(f"{server.url}/x: the document: wrong type")


def test_a_url_that_does_not_answer_is_unreachable(tmp_path: Path) -> None:
    with loopback(servers.text("", 503)) as server, pytest.raises(ClusterError, match="status 503"):
        names(server.url)
    with pytest.raises(InputError, match="cannot be read"):
        names(str(tmp_path / "missing.json"))


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "discovery.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```json\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    path = tmp_path / "links.json"
    path.write_text(example, encoding="utf-8")
    found = names(str(path))
    assert found == ["roce-leaf-rail-0", "roce-leaf-tor-7", "roce-spine-spine-0"]
    assert all(f"`{name}`" in page for name in found)
