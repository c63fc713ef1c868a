"""What a compilation derived, kept on disk under a key of everything it depends on (`loopdiff.keys`)."""

from __future__ import annotations

import os
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopdiff.backends.load import cache_directory


@dataclass(frozen=True, slots=True)
class Store:
    """Keeps picklable results under `key`; with key None it keeps nothing."""

    key: str | None

    def path(self, stage: str) -> Path:
        return cache_directory() / "derived" / f"{self.key}-{stage}.pickle"

    def load(self, stage: str) -> Any | None:
        """What was kept, or None; a file that cannot be read counts as absent."""
        if self.key is None:
            return None
        try:
            return pickle.loads(self.path(stage).read_bytes())
        except Exception:  # pickles fail in many ways, and each only means to derive again
            return None

    def save(self, stage: str, value: Any) -> None:
        """Keep `value`; other processes see the old file or the new. A full or read-only disk is no error."""
        if self.key is None:
            return
        path = self.path(stage)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem)
            with os.fdopen(handle, "wb") as file:
                pickle.dump(value, file, pickle.HIGHEST_PROTOCOL)
            os.replace(name, path)
        except OSError:
            return
