"""How much the cache folder holds, and what goes when that is too much: what was not used for the longest time."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from loopdiff.disk.files import TEMPORARY, remove
from loopdiff.disk.places import cache_limit
from loopdiff.immutable import immutable

# Only files that are named like these are ever counted or removed: the folder may be one that others use too.
KINDS = {
    "derived": re.compile(r"derived/[^/]+\.(json|pickle)"),
    "machine code": re.compile(r"machine/[^/]+\.bin|__pycache__/loopdiff_[^/]+\.(nbi|nbc)"),
    "bytecode": re.compile(r"modules/[^/]+\.bin|__pycache__/loopdiff_[^/]+\.pyc"),
    "GPU kernels": re.compile(r"kernels/[^/]+\.json|loopdiff_kernel_[0-9a-f]+\.pickle"),
    "sources": re.compile(r"loopdiff_[^/]+_[0-9a-f]+\.py"),
    "unfinished": re.compile(rf"([^/]+/)?\.loopdiff_[^/]+{re.escape(TEMPORARY)}"),
}
FOLDERS = ("", "derived", "machine", "modules", "kernels", "__pycache__")
FULL = 0.8  # so much is left when something has to go
ABANDONED = 3600  # seconds after which nobody goes on with an unfinished file
OFTEN = 16  # parts of the limit that one process writes between two looks
SELDOM = 600  # seconds after a look until another process takes one before it has written so much
LOOKED = ".loopdiff_looked"  # a file in the folder: changed when somebody looked
WRITTEN: dict[Path, int] = {}


@immutable
class Kept:
    """A file: of which of `KINDS`, how large, and when it was used last."""

    place: str
    kind: str
    size: int
    used: float

    @property
    def path(self) -> Path:
        return Path(self.place)


def kept_files(folder: Path) -> Iterator[Kept]:
    """The files of loopdiff in the cache folder."""
    for name in FOLDERS:
        try:
            found = list(os.scandir(folder / name))
        except OSError:
            continue
        for entry in found:
            place = f"{name}/{entry.name}" if name else entry.name
            kind = next((k for k, pattern in KINDS.items() if pattern.fullmatch(place)), None)
            try:
                status = entry.stat(follow_symlinks=False)
                is_file = not entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            if kind is not None and is_file:
                yield Kept(entry.path, kind, status.st_size, status.st_mtime)


def keep_below_limit(folder: Path, written: int) -> None:
    """Remove what was used least recently where there is more than the limit: looked at now and then, after so many
    bytes were `written`. A look takes a second where there are a hundred thousand files."""
    limit = cache_limit()
    if folder not in WRITTEN:
        WRITTEN[folder] = 0 if was_looked_at(folder) else limit
    total = WRITTEN[folder] + written
    is_time = total * OFTEN > limit
    WRITTEN[folder] = 0 if is_time else total
    if is_time:
        shrink(folder, limit)
        with suppress(OSError):
            (folder / LOOKED).touch()


def was_looked_at(folder: Path) -> bool:
    """Whether some process has looked at the folder lately."""
    try:
        return 0 <= time.time() - (folder / LOOKED).stat().st_mtime < SELDOM
    except OSError:
        return False


def shrink(folder: Path, limit: int) -> int:
    """Remove unfinished files of processes that ended, and what was used least recently beyond the limit; how many."""
    files = list(kept_files(folder))
    old = time.time() - ABANDONED
    going = [f for f in files if f.kind == "unfinished" and f.used < old]
    staying = [f for f in files if f.kind != "unfinished"]
    size = sum(f.size for f in staying)
    if size > limit:
        for file in sorted(staying, key=lambda f: f.used):
            if size <= FULL * limit:
                break
            going.append(file)
            size -= file.size
    return sum(remove(f.path) for f in going)
