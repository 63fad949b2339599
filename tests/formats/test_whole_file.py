from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats.whole_file import check_writable, write_whole


def test_a_file_keeps_its_old_content_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.html"
    target.write_text("old", encoding="utf-8")

    def interrupted(self: Path, to: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(target, "new")
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_existing_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    write_whole(target, "neü")
    assert target.read_bytes() == "neü".encode()
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_folder_as_target_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(tmp_path, "new")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_name_as_target_is_bad_input() -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(Path(), "new")


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    # As /dev/stdout, /dev/null and /dev/full: what is no file must not be replaced by one.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "r.html", tmp_path / "latest.html"
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink() and target.read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("place", ["", "sub", "none/r.html", "file/r.html", "loop"])
def test_what_cannot_be_written_is_known_beforehand(tmp_path: Path, place: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "file").write_text("old", encoding="utf-8")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for refuse in (check_writable, lambda path: write_whole(path, "new")):
        with pytest.raises(InputError, match="cannot be written"):
            refuse(tmp_path / place)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "loop", "sub"]


def test_asking_whether_a_file_can_be_written_leaves_it(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    check_writable(target)
    assert not target.exists()
    target.write_text("old", encoding="utf-8")
    check_writable(target)
    assert target.read_text(encoding="utf-8") == "old"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused_beforehand(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"):
        check_writable(tmp_path / "r.html")
