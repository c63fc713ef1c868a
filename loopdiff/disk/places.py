"""Where files are, and how much room they may take."""

from __future__ import annotations

import os
from pathlib import Path

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
LIMIT = 1 << 30


def cache_directory() -> Path:
    """What can be made again: `LOOPDIFF_CACHE_DIR`, else below `XDG_CACHE_HOME` or `~/.cache`."""
    return chosen("LOOPDIFF_CACHE_DIR", ("XDG_CACHE_HOME", "LOCALAPPDATA"), ".cache")


def config_directory() -> Path:
    """The key that entries are authenticated with: `LOOPDIFF_CONFIG_DIR`, else below `XDG_CONFIG_HOME` or
    `~/.config`."""
    return chosen("LOOPDIFF_CONFIG_DIR", ("XDG_CONFIG_HOME", "APPDATA"), ".config")


def chosen(variable: str, bases: tuple[str, ...], usual: str) -> Path:
    """The folder that `variable` names, else `loopdiff` in the first of `bases`, else in `usual` at home."""
    found = os.environ.get(variable)
    if found:
        return absolute(Path(found))
    base = next((b for name in bases if (b := os.environ.get(name))), None)
    return absolute(Path(base) if base else home() / usual) / "loopdiff"


def absolute(path: Path) -> Path:
    """`path` from the root; as it is where the folder is gone that it counts from."""
    try:
        return path.absolute()
    except OSError:
        return path


def home() -> Path:
    """The user's; that of nobody in particular where the system knows none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def cache_limit() -> int:
    """Bytes that entries may take together: `LOOPDIFF_CACHE_SIZE`, such as `500M` or `2G`; 1 GiB unless told."""
    text = os.environ.get("LOOPDIFF_CACHE_SIZE", "").strip().upper().removesuffix("B")
    number = text.rstrip("".join(UNITS))
    unit = text[len(number) :]
    return int(number) * UNITS[unit] if number.isdecimal() and unit in UNITS else LIMIT
