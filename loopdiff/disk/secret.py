"""The key that entries are authenticated with: a file in the user's configuration that nobody else can read."""

from __future__ import annotations

import secrets
import stat
from pathlib import Path

from loopdiff.disk.files import DamagedError, content_of, write_file
from loopdiff.disk.places import config_directory
from loopdiff.disk.trust import HAS_OWNERS, distrust_folder, make_folder

SIZE = 32
KNOWN: dict[Path, bytes] = {}


class NoKeyError(Exception):
    """There is no key that only this user knows; the text says why."""


def key_file() -> Path:
    return config_directory() / "cache.key"


def signing_key() -> bytes:
    """The key, made at its first use in all. Raises NoKeyError."""
    path = key_file()
    if path not in KNOWN:
        try:
            KNOWN[path] = find_key(path)
        except OSError as error:
            raise NoKeyError(f"{path}: {error.strerror or error}") from error
    return KNOWN[path]


def find_key(path: Path) -> bytes:
    make_folder(path.parent)
    reason = distrust_folder(path.parent)
    if reason:
        raise NoKeyError(reason)
    try:
        return read_key(path)
    except FileNotFoundError:
        write_file(path, secrets.token_bytes(SIZE), is_kept=True, is_new=True)
    except DamagedError:  # what it authenticated can be made again, so nobody needs to be asked
        write_file(path, secrets.token_bytes(SIZE), is_kept=True)
    try:  # another process may have been faster
        return read_key(path)
    except DamagedError as error:
        raise NoKeyError(f"{path} {error}") from error


def read_key(path: Path) -> bytes:
    """The key in a file. Raises DamagedError if that is none, or one that others may know, and OSError."""
    content, status = content_of(path)
    if HAS_OWNERS and stat.S_IMODE(status.st_mode) & 0o077:
        raise DamagedError("may be read by others")
    if len(content) != SIZE:
        raise DamagedError("holds no key")
    return content
