from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.objects.metadata import read_metadata


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"name": "a\x1bb"}, r"metadata\.name: .*'a\\x1bb'"),
        ({"name": "a/b"}, r"metadata\.name: .*'a/b'"),
        ({"name": "a", "namespace": "n\n"}, r"metadata\.namespace: .*'n\\n'"),
    ],
)
def test_a_refused_name_is_told_as_it_stands_in_the_file(metadata: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_metadata({"metadata": metadata}, namespaced=True)
