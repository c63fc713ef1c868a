"""Entries of the cache folder: read as they were written, by who wrote them, or not at all."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loopdiff import LoopdiffWarning
from loopdiff.disk import entries, notices, secret
from loopdiff.disk.places import cache_directory, cache_limit
from loopdiff.disk.report import clear_cache, describe_cache
from loopdiff.disk.trust import distrust_folder, is_private_group, make_folder
from loopdiff.disk.upkeep import LOOKED, WRITTEN, keep_below_limit, kept_files, shrink
from tests.disk.damage import DAMAGE

NAME, CONTENT = "derived/some-stage.json", b"what was derived"
OWNERS = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes say nothing of permissions here")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder and a key of their own, in a process that has warned of nothing."""
    monkeypatch.setenv("LOOPDIFF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LOOPDIFF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr(notices, "SAID", set())
    monkeypatch.setattr(secret, "KNOWN", {})
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield tmp_path / "cache"


def test_what_was_written_is_read(folder: Path) -> None:
    assert entries.read(NAME) is None
    assert entries.write(NAME, CONTENT)
    assert entries.read(NAME) == CONTENT
    assert entries.write(NAME, b"")
    assert entries.read(NAME) == b""
    assert {p.name for p in folder.rglob("*") if p.is_file()} == {Path(NAME).name, LOOKED}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_entries_are_removed_and_mentioned_once(folder: Path, damage: Callable[[Path], None]) -> None:
    for name in (NAME, "machine/other.bin"):
        entries.write(name, CONTENT)
        damage(folder / name)
    with pytest.warns(LoopdiffWarning, match=r"^LW603: .*some-stage.json is .*made again"):
        assert entries.read(NAME) is None
    assert not os.path.lexists(folder / NAME)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert entries.read("machine/other.bin") is None
    entries.write(NAME, CONTENT)
    assert entries.read(NAME) == CONTENT


def test_an_entry_is_not_another_one(folder: Path) -> None:
    """Whoever can write files cannot give the content of one the name of another."""
    entries.write(NAME, CONTENT)
    other = "derived/other-stage.json"
    (folder / other).write_bytes((folder / NAME).read_bytes())
    with pytest.warns(LoopdiffWarning, match="LW603"):
        assert entries.read(other) is None


def test_another_key_reads_nothing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries.write(NAME, CONTENT)
    monkeypatch.setenv("LOOPDIFF_CONFIG_DIR", str(tmp_path / "another"))
    with pytest.warns(LoopdiffWarning, match="not what was written with the key of this user"):
        assert entries.read(NAME) is None


def test_warnings_never_become_exceptions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries.write(NAME, CONTENT)
    (folder / NAME).write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert entries.read(NAME) is None
    assert capsys.readouterr().err.startswith("LoopdiffWarning: LW603: ")


# -- the key -------------------------------------------------------------------------------------------------
def test_the_key_is_for_the_user_alone() -> None:
    key = secret.signing_key()
    status = secret.key_file().stat()
    assert len(key) == 32
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert stat.S_IMODE(secret.key_file().parent.stat().st_mode) == 0o700
    secret.KNOWN.clear()
    assert secret.signing_key() == key


@OWNERS
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_key_that_others_may_know_is_replaced(mode: int) -> None:
    key = secret.signing_key()
    secret.key_file().chmod(mode)
    secret.KNOWN.clear()
    assert secret.signing_key() != key
    assert stat.S_IMODE(secret.key_file().stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"short", bytes(64)])
def test_a_damaged_key_is_replaced(content: bytes) -> None:
    secret.signing_key()
    secret.key_file().write_bytes(content)
    secret.KNOWN.clear()
    assert len(secret.signing_key()) == 32
    assert secret.key_file().read_bytes() == secret.signing_key()


def test_without_a_place_for_the_key_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    monkeypatch.setenv("LOOPDIFF_CONFIG_DIR", str(blocked / "config"))
    with pytest.warns(LoopdiffWarning, match="LW602: .*LOOPDIFF_CONFIG_DIR"):
        assert not entries.write(NAME, CONTENT)
    assert entries.read(NAME) is None
    assert "not used, for want of a key" in describe_cache()


# -- who may write -------------------------------------------------------------------------------------------
@OWNERS
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_folder_that_others_may_write_to_is_not_used(folder: Path, mode: int) -> None:
    entries.write(NAME, CONTENT)
    entries.publish("loopdiff_f_0123.py", "text")
    folder.chmod(mode)
    with pytest.warns(LoopdiffWarning, match=r"LW602: nothing is kept in .* others may write to"):
        assert entries.read(NAME) is None
    assert not entries.write(NAME, b"other")
    assert "not used: others may write to" in describe_cache()
    folder.chmod(0o700)
    assert entries.read(NAME) == CONTENT


@OWNERS
def test_so_is_a_folder_in_it(folder: Path) -> None:
    entries.write(NAME, CONTENT)
    (folder / NAME).parent.chmod(0o777)
    with pytest.warns(LoopdiffWarning, match=r"LW602: nothing is kept in .*derived: others may write to"):
        assert entries.read(NAME) is None
    assert entries.write("machine/other.bin", CONTENT)


@OWNERS
def test_folders_around_it_count_unless_nobody_can_take_what_is_not_his(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "cache"
    make_folder(inner)
    assert stat.S_IMODE(inner.stat().st_mode) == stat.S_IMODE(inner.parent.stat().st_mode) == 0o700
    assert distrust_folder(inner) == ""
    inner.parent.chmod(0o777)
    assert "outer" in distrust_folder(inner)
    inner.parent.chmod(0o1777)
    assert distrust_folder(inner) == ""
    link = tmp_path / "link"
    link.symlink_to(inner)
    inner.parent.chmod(0o777)
    assert "outer" in distrust_folder(link)


@OWNERS
def test_files_of_others_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user is one with another number."""
    entries.write(NAME, CONTENT)
    entries.read(NAME)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    if (folder / NAME).stat().st_uid == 0:  # what is the administrator's is trusted
        assert entries.read(NAME) == CONTENT
    else:
        with pytest.warns(LoopdiffWarning, match="belongs to another user"):
            assert entries.read(NAME) is None


@OWNERS
def test_what_a_group_may_write_is_trusted_if_the_user_is_all_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    entries.write(NAME, CONTENT)
    (folder / NAME).chmod(0o660)
    monkeypatch.setattr("loopdiff.disk.trust.is_private_group", lambda number: True)
    assert entries.read(NAME) == CONTENT
    monkeypatch.setattr("loopdiff.disk.trust.is_private_group", lambda number: False)
    with pytest.warns(LoopdiffWarning, match="others may write to it"):
        assert entries.read(NAME) is None


@OWNERS
def test_a_group_without_a_name_is_not_private() -> None:
    assert not is_private_group(987654321)


# -- disks ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("error", [PermissionError, OSError], ids=["read-only", "full"])
def test_a_disk_that_takes_nothing_is_no_error(error: type[OSError], monkeypatch: pytest.MonkeyPatch) -> None:
    entries.write(NAME, CONTENT)

    def refuse(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    assert not entries.write("derived/new.json", CONTENT)
    assert entries.read(NAME) == CONTENT
    with pytest.raises(OSError):  # noqa: PT011
        entries.publish("loopdiff_f_0123.py", "text")


def test_nothing_is_left_of_a_file_that_does_not_fit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise OSError

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", refuse)
        assert not entries.write(NAME, CONTENT)
    assert not [p for p in folder.rglob("*") if p.is_file()]


def test_a_folder_that_disappears_is_made_again(folder: Path) -> None:
    entries.write(NAME, CONTENT)
    (folder / NAME).unlink()
    (folder / NAME).parent.rmdir()
    (folder / LOOKED).unlink()
    folder.rmdir()
    assert entries.read(NAME) is None
    assert entries.write(NAME, CONTENT)
    assert entries.read(NAME) == CONTENT


def test_a_file_for_people_is_written_again_where_it_was_changed(folder: Path) -> None:
    path = entries.publish("loopdiff_f_0123.py", "text")
    path.write_text("something else")
    with pytest.warns(LoopdiffWarning, match="LW603"):
        assert entries.publish("loopdiff_f_0123.py", "text").read_text() == "text"


# -- how much ------------------------------------------------------------------------------------------------
def aged(folder: Path, name: str, size: int, seconds: float) -> Path:
    """A file last used so long ago."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    used = path.stat().st_mtime - seconds
    os.utime(path, (used, used))
    return path


def test_what_was_used_least_recently_goes_first(folder: Path) -> None:
    files = [aged(folder, f"machine/f{k}-0.bin", 100, 1000.0 * k) for k in range(10)]
    others = [aged(folder, name, 100, 1e6) for name in ("notes.txt", "machine/notes.txt", "mine.py")]
    assert shrink(folder, 1000) == 0
    assert shrink(folder, 500) == 6  # down to four fifths of that
    assert [p.exists() for p in files] == [True] * 4 + [False] * 6
    assert all(p.exists() for p in others)


def test_reading_counts_as_use(folder: Path) -> None:
    for name in (NAME, "derived/other.json"):
        entries.write(name, CONTENT)
        os.utime(folder / name, (1e9, 1e9))
    entries.read(NAME)
    assert shrink(folder, 150) == 1
    assert entries.read(NAME) == CONTENT


def test_unfinished_files_of_processes_that_ended_go(folder: Path) -> None:
    old, new = (aged(folder, f"derived/.loopdiff_{k}.tmp", 10, 5000.0 * k) for k in (1, 0))
    assert shrink(folder, 1 << 20) == 1
    assert new.exists()
    assert not old.exists()


def test_writing_looks_at_the_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDIFF_CACHE_SIZE", "10K")
    for k in range(40):
        entries.write(f"machine/f{k}-0.bin", bytes(1000))
    assert sum(f.size for f in kept_files(folder)) <= 10 << 10
    assert entries.read("machine/f39-0.bin") == bytes(1000)
    keep_below_limit(folder / "absent", 1 << 30)


def test_processes_do_not_all_look(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDIFF_CACHE_SIZE", "10K")
    entries.write("machine/first-0.bin", bytes(10))
    files = [aged(folder, f"machine/f{k}-0.bin", 1000, 1000.0 * k) for k in range(20)]
    for is_late in (False, True):
        WRITTEN.clear()  # as in another process
        if is_late:
            os.utime(folder / LOOKED, (1e9, 1e9))
        entries.write("machine/other-0.bin", bytes(10))
        assert all(p.exists() for p in files) != is_late
    assert sum(p.exists() for p in files) <= 8


@pytest.mark.parametrize(
    ("text", "size"),
    [("", 1 << 30), ("500", 500), ("2K", 2048), ("3m", 3 << 20), ("2 GB", 1 << 30), ("2GB", 2 << 30), ("x", 1 << 30)],
)
def test_the_limit_is_a_setting(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDIFF_CACHE_SIZE", text)
    assert cache_limit() == size


def test_the_command_says_what_there_is_and_removes_it(folder: Path) -> None:
    assert "empty: nothing was kept so far" in describe_cache()
    entries.write(NAME, CONTENT)
    entries.publish("loopdiff_f_0123.py", "text")
    (folder / "notes.txt").write_text("mine")
    text = describe_cache()
    assert str(cache_directory()) in text
    assert "state    used" in text
    assert "in 2 files\n" in text
    assert clear_cache() == (2, 0)
    assert [p.name for p in folder.rglob("*") if p.is_file()] == ["notes.txt"]
