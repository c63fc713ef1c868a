"""What is in the cache folder, in words, and an end to it."""

from __future__ import annotations

import os
import time

from loopdiff.disk.entries import verdict
from loopdiff.disk.files import remove
from loopdiff.disk.places import cache_directory, cache_limit
from loopdiff.disk.secret import NoKeyError, key_file, signing_key
from loopdiff.disk.upkeep import KINDS, LOOKED, kept_files

STEPS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
DAY = 86400


def describe_cache() -> str:
    """Where files are, whether they are used, and how much there is of each kind."""
    try:
        folder = cache_directory()
        files = list(kept_files(folder))
    except OSError as error:
        return f"no cache folder: {error}"
    lines = [f"folder   {folder}", f"key      {key_file()}", f"state    {state()}"]
    total = sum(f.size for f in files)
    lines.append(f"size     {in_words(total)} of {in_words(cache_limit())} in {len(files)} files")
    for kind in KINDS:
        sizes = [f.size for f in files if f.kind == kind]
        if sizes:
            lines.append(f"         {in_words(sum(sizes)):>10} in {len(sizes)} files: {kind}")
    if files:
        days = (time.time() - min(f.used for f in files)) / DAY
        lines.append(f"oldest   used {max(0.0, days):.1f} days ago")
    return "\n".join(lines)


def state() -> str:
    """Whether loopdiff uses the folder."""
    folder = cache_directory()
    try:
        reason = verdict(folder)
        if reason:
            return f"not used: {reason}"
        signing_key()
    except FileNotFoundError:
        return "empty: nothing was kept so far"
    except NoKeyError as error:
        return f"not used, for want of a key: {error}"
    except OSError as error:
        return f"not used: {error.strerror or error}"
    return "used" if os.access(folder, os.W_OK) else "used, and cannot be written"


def clear_cache() -> tuple[int, int]:
    """Remove all that loopdiff has put there; how many files, and how many could not be."""
    folder = cache_directory()
    done = [remove(f.path) for f in kept_files(folder)]
    remove(folder / LOOKED)
    return sum(done), len(done) - sum(done)


def in_words(size: float) -> str:
    unit, name = next(((u, n) for u, n in STEPS if size >= u), (1, "bytes"))
    return f"{size / unit:.1f} {name}" if unit > 1 else f"{size:.0f} {name}"
