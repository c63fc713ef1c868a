"""How functions of very many arguments are called: their words are in memory, and one pointer says where.

Numba passes each word of each array by itself, seven of them for one axis. LLVM looks at what is passed in a call word
by word, and each time at all of the others: with two thousand arrays, as the tapes of a thousand statements are, that
took more time and memory than the function itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, types
from numba.core.base import BaseContext
from numba.core.cpu import CPUContext
from numba.core.datamodel.packer import ArgPacker

from loopdiff.immutable import immutable

INTEGER = llvm.IntType(64)
WORDS = INTEGER.as_pointer()
MOST_WORDS = 1000  # of the arguments of a function that gets them one by one


class InMemory(tuple[types.Type, ...]):
    """The types of arguments whose words are in memory: as those of a function, they say how it is called."""

    def __reduce__(self) -> Any:
        return in_memory, (tuple(self),)


@immutable
class Run:
    """Arguments of one type, one after the other: the first of them, and the first of their words."""

    kind: types.Type
    count: int
    first: int
    word: int


class WordsInMemory:
    """In place of Numba's packer of arguments: an argument is as many words as that makes of it."""

    argument_types = (WORDS,)

    def __init__(self, manager: Any, kinds: Iterable[types.Type]) -> None:
        self.kinds = tuple(kinds)
        self.packers: dict[types.Type, Any] = {ty: ArgPacker(manager, (ty,)) for ty in dict.fromkeys(self.kinds)}
        self.parts = {ty: packer.argument_types for ty, packer in self.packers.items()}

    @cached_property
    def size(self) -> int:
        return sum(len(self.parts[ty]) for ty in self.kinds)

    def runs(self) -> Iterator[Run]:
        first = word = 0
        for kind, same in groupby(self.kinds):
            count = sum(1 for _ in same)
            yield Run(kind, count, first, word)
            first, word = first + count, word + count * len(self.parts[kind])

    def memory(self, builder: Any) -> Any:
        """Where the words go, for as long as the caller runs."""
        return cgutils.alloca_once(builder, INTEGER, size=self.size)

    def as_arguments(self, builder: Any, values: Sequence[Any]) -> Sequence[Any]:
        memory, at = self.memory(builder), 0
        for kind, value in zip(self.kinds, values, strict=True):
            words = self.packers[kind].as_arguments(builder, [value])
            store_words(builder, memory, INTEGER(at), words)
            at += len(words)
        return (memory,)

    def from_arguments(self, builder: Any, args: Sequence[Any]) -> Sequence[Any]:
        """The values, which are read at once: nobody writes the words while the function runs."""
        (memory,), at = args, 0
        found: list[Any] = []
        for kind in self.kinds:
            words: list[Any] = []
            for part in self.parts[kind]:
                words.append(builder.load(builder.bitcast(builder.gep(memory, [INTEGER(at)]), part.as_pointer())))
                at += 1
            found += self.packers[kind].from_arguments(builder, words)
        return found

    def assign_names(self, args: Sequence[Any], names: Iterable[str]) -> None:
        """The names of arguments are of no use to words; nothing else points to them."""
        (memory,) = args
        memory.name = "words"
        memory.add_attribute("noalias")


def store_words(builder: Any, memory: Any, at: Any, words: Sequence[Any]) -> None:
    """Store `words` from the place `at` on."""
    for k, word in enumerate(words):
        place = builder.gep(memory, [builder.add(at, INTEGER(k))])
        builder.store(word, builder.bitcast(place, word.type.as_pointer()))


def passed(context: Any, kinds: tuple[types.Type, ...]) -> tuple[types.Type, ...]:
    """The types of arguments as a function gets them: in memory, if they have too many words."""
    words = WordsInMemory(context.data_model_manager, kinds)
    fit = all(context.get_abi_sizeof(part) <= INTEGER.width // 8 for parts in words.parts.values() for part in parts)
    return in_memory(kinds) if fit and words.size > MOST_WORDS else kinds


def in_memory(kinds: tuple[types.Type, ...]) -> InMemory:
    """`kinds` as types of arguments in memory. Numba hears of that with the first function that has them, as its own
    code may call it, too, be it just compiled or from disk."""
    numba: Any = CPUContext
    numba.get_arg_packer = packer_of
    return InMemory(kinds)


def packer_of(context: Any, kinds: Any) -> Any:
    """What makes words of arguments."""
    if isinstance(kinds, InMemory):
        return WordsInMemory(context.data_model_manager, kinds)
    return BaseContext.get_arg_packer(context, kinds)
