"""Entries of the cache folder: each is read whole and as it was written under its name, or not at all.

An entry begins with a line that says how long it is, and what its name and content are authenticated by. One that does
not match is removed, so that it is made again. No call raises anything because of what is on disk.
"""

from __future__ import annotations

import hmac
import os
import sys
import time
from pathlib import Path

from loopdiff.disk.files import DamagedError, content_of, remove, write_file
from loopdiff.disk.notices import say_once
from loopdiff.disk.places import cache_directory
from loopdiff.disk.secret import NoKeyError, signing_key
from loopdiff.disk.trust import distrust_folder, make_folder
from loopdiff.immutable import immutable

HEADER = b"loopdiff 1"
FRESH = 3600  # seconds; what was used within them does not get another date
VERDICTS: dict[tuple[str, int, int, int, int], str] = {}


@immutable
class Opened:
    """The cache folder, and the key of what is in it."""

    folder: Path
    key: bytes

    def sealed(self, name: str, payload: bytes) -> bytes:
        """The entry of that name and content."""
        return b"%s %d %s\n" % (HEADER, len(payload), self.tag(name, payload)) + payload

    def unsealed(self, name: str, content: bytes) -> bytes:
        """What `sealed` was given. Raises DamagedError."""
        line, _, payload = content.partition(b"\n")
        header, _, rest = line.rpartition(b" ")
        start, _, length = header.rpartition(b" ")
        if not content:
            raise DamagedError("is empty")
        if start != HEADER or not length.isdigit() or len(length) > len(str(sys.maxsize)):
            raise DamagedError("is something else")
        if int(length) != len(payload):
            raise DamagedError("is not as long as it was")
        if not hmac.compare_digest(rest, self.tag(name, payload)):
            raise DamagedError("is not what was written with the key of this user")
        return payload

    def tag(self, name: str, payload: bytes) -> bytes:
        text = b"%s\n%d\n%s" % (name.encode(), len(payload), payload)
        return hmac.digest(self.key, text, "sha256").hex().encode()


def opened(name: str, *, is_made: bool = False) -> Opened | None:
    """The cache folder, if there is one, and the entry `name` is where it can be trusted. `is_made`: folders are made
    that are not there."""
    try:
        folder = cache_directory()
        place = (folder / name).parent
        if is_made:
            make_folder(place)
        reason = verdict(folder) or verdict(place)
        if reason:
            say_once("LW602", f"nothing is kept in {place}: {reason}; `LOOPDIFF_CACHE_DIR` names another folder")
            return None
        return Opened(folder, signing_key())
    except NoKeyError as error:
        say_once("LW602", f"nothing is kept for want of a key: {error}; `LOOPDIFF_CONFIG_DIR` names another folder")
    except OSError:
        pass
    return None


def verdict(folder: Path) -> str:
    """Why others may change what is in `folder`, looked at once as long as it stays the same. Raises OSError."""
    status = os.stat(folder)
    key = (str(folder), status.st_dev, status.st_ino, status.st_mode, status.st_uid)
    if key not in VERDICTS:
        VERDICTS[key] = distrust_folder(folder)
    return VERDICTS[key]


def read(name: str) -> bytes | None:
    """What was written as `name`; None if there is nothing, or nothing that can be trusted."""
    found = opened(name)
    if found is None:
        return None
    path = found.folder / name
    try:
        content, status = content_of(path)
        payload = found.unsealed(name, content)
    except DamagedError as error:
        discard(name, str(error))
        return None
    except OSError:
        return None
    if time.time() - status.st_mtime > FRESH:
        touch(path)
    return payload


def write(name: str, payload: bytes) -> bool:
    """Write an entry, and remove others where there are too many; whether that was possible."""
    found = opened(name, is_made=True)
    if found is None:
        return False
    content = found.sealed(name, payload)
    try:
        write_file(found.folder / name, content)
    except OSError:
        return False
    note_written(found.folder, len(content))
    return True


def note_written(folder: Path, size: int) -> None:
    """Have the folder looked at, should it be full."""
    from loopdiff.disk.upkeep import keep_below_limit

    keep_below_limit(folder, size)


def discard(name: str, reason: str) -> None:
    """Remove an entry that cannot be used."""
    found = opened(name)
    if found is not None:
        remove(found.folder / name)
        say_once("LW603", f"{found.folder / name} {reason}; this and others like it are made again")


def touch(path: Path) -> None:
    """Note that a file was used: those that were not go first."""
    try:
        os.utime(path)
    except OSError:
        return


def publish(name: str, text: str) -> Path:
    """Write a file for people to read, which nothing depends on; where it is. Raises OSError."""
    found = opened(name, is_made=True)
    if found is None:
        raise OSError(f"{name} cannot be kept")
    path, content = found.folder / name, text.encode()
    try:
        shown, status = content_of(path)
        if shown != content:
            raise DamagedError("is not what was written")
    except FileNotFoundError:
        pass
    except DamagedError as error:
        discard(name, str(error))
    else:
        if time.time() - status.st_mtime > FRESH:
            touch(path)
        return path
    write_file(path, content)
    note_written(found.folder, len(content))
    return path
