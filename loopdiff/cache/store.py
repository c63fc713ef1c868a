"""What a compilation derived, kept on disk under a key of everything it depends on (`loopdiff.cache.keys`)."""

from __future__ import annotations

import os
from typing import Any

from loopdiff.disk import entries
from loopdiff.errors import Span
from loopdiff.immutable import immutable
from loopdiff.ir.codec import CodecError, decode, encode
from loopdiff.source.positions import Homes, UnknownPlaceError


@immutable
class Store:
    """Keeps results that `codec` can write under `key`; with key None it keeps nothing. Places in them go with the text
    of the functions that stand at `homes`."""

    key: str | None
    homes: Homes = Homes()

    def entry(self, stage: str) -> str:
        return f"derived/{self.key}-{stage}.json"

    def load(self, stage: str) -> Any | None:
        """What was kept, or None; what cannot be read counts as absent."""
        payload = None if self.key is None else entries.read(self.entry(stage))
        if payload is None:
            return None
        try:
            return decode(payload, {Span: self.homes.absolute})
        except CodecError:
            entries.discard(self.entry(stage), "cannot be read")
            return None

    def save(self, stage: str, value: Any) -> None:
        """Keep `value`; other processes see the old file or the new. A full or read-only disk is no error.

        What comes from a function that the key does not know is not kept.
        """
        if self.key is None:
            return
        try:
            payload = encode(value, {Span: self.homes.relative})
        except UnknownPlaceError:
            return
        except CodecError:
            if os.environ.get("LOOPDIFF_STRICT"):
                raise
            return
        entries.write(self.entry(stage), payload)
