from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.formats import whole_file
from workbench.formats.whole_file import check_writable, write_whole


@pytest.fixture(params=["unnamed drafts", "named drafts"], autouse=True)
def drafts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Both kinds of draft; a system that has no unnamed ones tries the named ones twice."""
    if request.param == "named drafts":
        monkeypatch.setattr(whole_file, "_unnamed", lambda folder: None)
    yield request.param


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


def test_threads_that_write_one_file_all_succeed_and_leave_one_of_their_contents(tmp_path: Path) -> None:
    target = tmp_path / "s.json"
    contents = [str(number) * 100_000 for number in range(8)]
    target.write_text(contents[0], encoding="utf-8")
    seen = set()

    def read(_: int) -> None:
        seen.add(target.read_text(encoding="utf-8"))

    with ThreadPoolExecutor(8) as pool:
        writing = [pool.submit(write_whole, target, content) for content in contents * 5]
        list(pool.map(read, range(40)))
        assert [each.result() for each in writing] == [None] * len(writing)
    assert seen <= set(contents)
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("size", [1, 240, 245, 250, 255])
def test_a_file_may_have_the_longest_name_there_is(tmp_path: Path, size: int) -> None:
    target = tmp_path / ("n" * size)
    check_writable(target)
    write_whole(target, "new")
    write_whole(target, "newer")
    assert target.read_text(encoding="utf-8") == "newer"
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(tmp_path / ("n" * 256), "new")
    assert list(tmp_path.iterdir()) == [target]


def test_what_a_killed_process_left_is_in_nobodys_way(tmp_path: Path) -> None:
    target = tmp_path / "o.json"
    (tmp_path / f".o.json.{os.getpid()}.part").write_text("half", encoding="utf-8")
    write_whole(target, "new")
    assert target.read_text(encoding="utf-8") == "new"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a draft has a name")
def test_a_process_that_is_killed_while_it_writes_leaves_nothing(tmp_path: Path, drafts: str) -> None:
    if drafts == "named drafts":
        pytest.skip("a named draft stays when its process is killed")
    target = tmp_path / "o.json"
    target.write_text("old", encoding="utf-8")
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from workbench.formats.whole_file import write_whole\n"
        "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_whole(Path(sys.argv[1]), 'new')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == [target]
    assert target.read_text(encoding="utf-8") == "old"


def test_a_new_file_has_the_permissions_that_the_mask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_the_old_content_and_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "o.json"
    target.write_text("old", encoding="utf-8")

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_whole(target, "new")
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("given", ["pipe", "missing/../pipe", "link", "missing/../link"])
def test_a_pipe_is_written_to_and_never_replaced(tmp_path: Path, given: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    with ThreadPoolExecutor(1) as pool:
        # Opened for both directions it waits for no writer, so a failure cannot hang the test.
        reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        try:
            check_writable(tmp_path / given)
            pool.submit(write_whole, tmp_path / given, "new").result(timeout=60)
            assert stat.S_ISFIFO(pipe.stat().st_mode)
            assert os.read(reader, 10) == b"new"
        finally:
            os.close(reader)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_private_file_is_made_readable_by_its_owner_only(tmp_path: Path) -> None:
    made, kept = tmp_path / "made", tmp_path / "kept"
    kept.write_text("before")
    kept.chmod(0o640)
    for path in (made, kept):
        write_whole(path, "text", private=True)
    assert made.stat().st_mode & 0o777 == 0o600
    assert kept.stat().st_mode & 0o777 == 0o640


def test_a_link_that_is_not_followed_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "to").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "to")
    write_whole(tmp_path / "link", "after", follow=False)
    assert (tmp_path / "to").read_text() == "before" and (tmp_path / "link").read_text() == "after"


@pytest.mark.parametrize(("there", "known"), [("a", b"b"), (None, b"b"), ("a", None)])
def test_a_file_that_has_changed_is_kept(there: str | None, known: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "f"
    if there is not None:
        path.write_text(there)
    with pytest.raises(InputError, match="has changed meanwhile"):
        write_whole(path, "c", known=known)
    assert (path.read_text() if path.exists() else None) == there
    write_whole(path, "c", known=None if there is None else there.encode())
    assert path.read_text() == "c"
