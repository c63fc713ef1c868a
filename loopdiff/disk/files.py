"""Single files: written in one step, read with a look at who may write them."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path

from loopdiff.disk.trust import distrust, make_folder

TEMPORARY = ".tmp"
# A link is not followed, and nothing waits for somebody to write into a pipe.
READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class DamagedError(Exception):
    """A file is not what was written there; the text says why, as what follows its name."""


def content_of(path: Path) -> tuple[bytes, os.stat_result]:
    """What a file holds, and its status. Raises DamagedError if others may have written it, and OSError."""
    try:
        handle = os.open(path, READING)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EACCES, errno.EISDIR):
            raise DamagedError("is no file that can be read") from error
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedError("is no file")
        reason = distrust(status, "it")
        if reason:
            raise DamagedError(f"is not trusted: {reason}")
        chunks = []
        while chunk := os.read(handle, max(1 << 16, status.st_size + 1)):
            chunks.append(chunk)
    finally:
        os.close(handle)
    return b"".join(chunks), status


def write_file(path: Path, content: bytes, *, is_kept: bool = False, is_new: bool = False) -> None:
    """Write a file that only this user can read: others see the old one, or none, or all of the new one.

    `is_kept`: it is not to be lost if the machine stops. `is_new`: one that is there stays. Raises OSError, and leaves
    nothing then.
    """
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".loopdiff_", suffix=TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if is_kept:
                os.fsync(file.fileno())
        if is_new:
            place_new(Path(name), path)
        else:
            os.replace(name, path)
    except BaseException:
        remove(Path(name))
        raise


def place_new(file: Path, path: Path) -> None:
    """Give `file` the name `path`, unless there is a file of that name."""
    try:
        os.link(file, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(file, path)
        return
    remove(file)


def remove(path: Path) -> bool:
    """Remove a file, if that is possible."""
    with contextlib.suppress(OSError):
        path.unlink()
        return True
    return False
