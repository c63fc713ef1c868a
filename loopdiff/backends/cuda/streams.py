"""Streams of the device, and who keeps them: memory is given back on the stream it was asked for on, which has to be
there still."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from loopdiff.immutable import immutable

LEGACY, PER_THREAD = 1, 2  # numbers that the driver has for the default stream, and for one of each thread


@immutable
class Stream:
    """A stream by its number, zero for the default one, and what keeps it from being destroyed as long as anybody
    refers to this. Without an owner it may be gone any time: it can be waited for now, and no more."""

    number: int = 0
    owner: Any = field(default=None, compare=False)

    @property
    def is_kept(self) -> bool:
        return self.number == 0 or self.owner is not None


DEFAULT = Stream()


def stream_numbered(number: int, owner: Any = None) -> Stream:
    """A stream as libraries name it. The one of each thread is another one for finalizers: nobody keeps it."""
    if number in (0, LEGACY):
        return DEFAULT
    return Stream(number, None if number == PER_THREAD else owner)
