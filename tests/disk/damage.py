"""What happens to files on disks."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def cut_early(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:12])


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def random(path: Path) -> None:
    path.write_bytes(secrets.token_bytes(200))


def other_content(path: Path) -> None:
    path.write_text("import sys\nraise SystemExit(3)\n")


def other_length(path: Path) -> None:
    head, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(head.replace(b" 1 ", b" 1 9") + b"\n" + rest)


def flipped(path: Path) -> None:
    """One bit of the content is another one."""
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


def wrong_hash(path: Path) -> None:
    head, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(b"%s %s\n%s" % (head.rpartition(b" ")[0], b"0" * 64, rest))


def linked(path: Path) -> None:
    """The content of another file."""
    other = path.with_name(f"{path.name}.other")
    path.rename(other)
    path.symlink_to(other)


FORMS = (emptied, truncated, cut_early, lengthened, random, other_content, other_length, flipped, wrong_hash, linked)
DAMAGE: dict[str, Callable[[Path], None]] = {f.__name__: f for f in FORMS}
