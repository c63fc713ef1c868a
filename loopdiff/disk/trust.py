"""Whether others than the user and the administrator can change a file: the rules that OpenSSH has for its keys.

A file is the user's, or the administrator's, and nobody else may write to it. So is the folder that it is in, and what
that is in, up to the user's home: who may write to a folder can put another file in the place of one. Folders further
up may be open to all if, as in `/tmp`, nobody can take away what is not his own.
"""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

from loopdiff.disk.places import home

GROUP, OTHERS = 0o020, 0o002
HAS_OWNERS = hasattr(os, "geteuid")  # elsewhere, as on Windows, permissions are no part of a mode


def distrust_folder(folder: Path) -> str:
    """Why what is in `folder` cannot be trusted, in words; empty if it can. Raises OSError if it does not exist."""
    if not HAS_OWNERS:
        return ""
    real, own = Path(os.path.realpath(folder, strict=True)), home().resolve()
    for place in (real, *real.parents):
        reason = distrust(os.stat(place), str(place), may_be_shared=place != real)
        if reason or place == own:
            return reason
    return ""


def distrust(status: os.stat_result, name: str, *, may_be_shared: bool = False) -> str:
    """Why a file or folder of that `status` cannot be trusted, or nothing. `may_be_shared`: it may be a folder for all,
    in which nobody can take away what is not his own."""
    if not HAS_OWNERS:
        return ""
    if status.st_uid not in (0, os.geteuid()):
        return f"{name} belongs to another user"
    if may_be_shared and stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX:
        return ""
    if status.st_mode & OTHERS or (status.st_mode & GROUP and not is_private_group(status.st_gid)):
        return f"others may write to {name}"
    return ""


@cache
def is_private_group(number: int) -> bool:
    """Whether a group is that of this user alone, as systems have them whose new files are open to groups."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and user.pw_gid == number and set(group.gr_mem) <= {user.pw_name}


def make_folder(folder: Path) -> None:
    """Make `folder`, and those it is in, for this user alone. Raises OSError."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
