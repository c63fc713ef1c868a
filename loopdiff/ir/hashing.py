"""Values that keep their hash.

Expressions are trees, and keys of many tables: hashed anew each time, a tree is walked as often as it is looked up.
"""

from __future__ import annotations

from typing import TypeVar

C = TypeVar("C", bound="HashedOnce")


class HashedOnce:
    """Has room for the hash of an immutable value. It is not a field: it is neither compared, nor copied, nor kept."""

    __slots__ = ("own_hash",)

    own_hash: int


def hashed_once(cls: type[C]) -> type[C]:
    """`cls`, a frozen dataclass, whose instances find their hash at the first time that they are asked for it."""
    find = cls.__hash__

    def own_hash(self: C) -> int:
        try:
            return self.own_hash
        except AttributeError:
            found = find(self)
            object.__setattr__(self, "own_hash", found)
            return found

    cls.__hash__ = own_hash  # type: ignore[assignment]
    return cls
