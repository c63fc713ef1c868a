"""Integer arithmetic on addresses and counts, written as Python expressions, for LLVM functions built by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import cgutils

from loopdiff.immutable import immutable

from .build import INT8, INT64

POINTER = INT8.as_pointer()


@immutable
class Word:
    """A 64-bit integer at run time; comparisons give conditions."""

    builder: Any
    value: Any

    def of(self, other: Word | int) -> Any:
        return other.value if isinstance(other, Word) else INT64(other)

    def made(self, value: Any) -> Word:
        return Word(self.builder, value)

    def __add__(self, other: Word | int) -> Word:
        return self.made(self.builder.add(self.value, self.of(other), flags=("nsw",)))

    def __sub__(self, other: Word | int) -> Word:
        return self.made(self.builder.sub(self.value, self.of(other), flags=("nsw",)))

    def __mul__(self, other: Word | int) -> Word:
        return self.made(self.builder.mul(self.value, self.of(other), flags=("nsw",)))

    def __floordiv__(self, other: Word | int) -> Word:
        """The quotient of numbers that are not negative."""
        return self.made(self.builder.udiv(self.value, self.of(other)))

    def __and__(self, other: Word | int) -> Word:
        return self.made(self.builder.and_(self.value, self.of(other)))

    def __neg__(self) -> Word:
        return self.made(self.builder.sub(INT64(0), self.value))

    def test(self, relation: str, other: Word | int) -> Any:
        return self.builder.icmp_signed(relation, self.value, self.of(other))

    def least(self, other: Word | int) -> Word:
        return self.made(self.builder.select(self.test("<", other), self.value, self.of(other)))

    def most(self, other: Word | int) -> Word:
        return self.made(self.builder.select(self.test(">", other), self.value, self.of(other)))

    def where(self, condition: Any, other: Word | int) -> Word:
        """This number if `condition`, else the other."""
        return self.made(self.builder.select(condition, self.value, self.of(other)))

    @property
    def pointer(self) -> Any:
        return self.builder.inttoptr(self.value, POINTER)


@immutable
class Variable:
    """A 64-bit integer that changes."""

    builder: Any
    cell: Any

    @classmethod
    def of(cls, word: Word | int, builder: Any) -> Variable:
        value = word.value if isinstance(word, Word) else INT64(word)
        return cls(builder, cgutils.alloca_once_value(builder, value))

    @property
    def now(self) -> Word:
        return Word(self.builder, self.builder.load(self.cell, typ=INT64))

    def become(self, word: Word | int) -> None:
        self.builder.store(word.value if isinstance(word, Word) else INT64(word), self.cell)


@contextmanager
def counted(builder: Any, end: Word, step: Word | int = 1) -> Iterator[Word]:
    """A loop over 0, step, 2 * step and so on below `end`."""
    stride = step.value if isinstance(step, Word) else INT64(step)
    with cgutils.for_range_slice(builder, INT64(0), end.value, stride, intp=INT64) as (index, _):
        yield Word(builder, index)


@contextmanager
def repeated(builder: Any, variable: Variable, end: Word) -> Iterator[Word]:
    """A loop while `variable`, which its body changes, is below `end`."""
    test, body, done = (builder.append_basic_block(name) for name in ("while", "body", "done"))
    builder.branch(test)
    builder.position_at_end(test)
    builder.cbranch(variable.now.test("<", end), body, done)
    builder.position_at_end(body)
    yield variable.now
    builder.branch(test)
    builder.position_at_end(done)


def words(builder: Any, values: Any) -> list[Word]:
    return [Word(builder, v) for v in values]
