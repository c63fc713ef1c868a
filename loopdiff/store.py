"""What a compilation derived, kept on disk under a key of everything it depends on (`loopdiff.keys`)."""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopdiff.backends.load import cache_directory
from loopdiff.errors import Span
from loopdiff.homes import Homes, UnknownPlaceError


@dataclass(frozen=True, slots=True)
class Store:
    """Keeps picklable results under `key`; with key None it keeps nothing. Places in them go with the text of the
    functions that stand at `homes`."""

    key: str | None
    homes: Homes = Homes()

    def path(self, stage: str) -> Path:
        return cache_directory() / "derived" / f"{self.key}-{stage}.pickle"

    def load(self, stage: str) -> Any | None:
        """What was kept, or None; a file that cannot be read counts as absent."""
        if self.key is None:
            return None
        try:
            return Reader(io.BytesIO(self.path(stage).read_bytes()), self.homes).load()
        except Exception:  # pickles fail in many ways, and each only means to derive again
            return None

    def save(self, stage: str, value: Any) -> None:
        """Keep `value`; other processes see the old file or the new. A full or read-only disk is no error.

        What comes from a function that the key does not know is not kept.
        """
        if self.key is None:
            return
        path, content = self.path(stage), io.BytesIO()
        try:
            Writer(content, self.homes).dump(value)
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
            with os.fdopen(handle, "wb") as file:
                file.write(content.getbuffer())
            os.replace(name, path)
        except (OSError, UnknownPlaceError):
            return


class Writer(pickle.Pickler):
    """Writes spans relative to their functions."""

    def __init__(self, file: Any, homes: Homes) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.homes = homes

    def persistent_id(self, obj: Any) -> Any:
        return self.homes.relative(obj) if type(obj) is Span else None


class Reader(pickle.Unpickler):
    """Reads what Writer wrote."""

    def __init__(self, file: Any, homes: Homes) -> None:
        super().__init__(file)
        self.homes = homes

    def persistent_load(self, pid: Any) -> Span:
        return self.homes.absolute(pid)
