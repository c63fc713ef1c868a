"""Texts that are made to be read."""

from __future__ import annotations


class Text(str):
    """A string that Python's prompt and notebooks show as it would be printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
