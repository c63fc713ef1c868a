"""Rooms: memory for copies of operands, with a lock each, and what is kept in one from one call to the next.

A call takes a room, copies, works and gives it back. Where it is asked to, it leaves a ticket: the number of the room,
and that of the copy, which nobody gets a second time. A call with that ticket finds the copy, unless others needed the
room meanwhile; these take rooms that are not kept as long as there are some.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils

from .build import INT64, call
from .words import POINTER, Variable, Word

LOCK, PLACE, TICKET, WORDS = 0, 1, 2, 4  # what the words of a room are, and how many there are
NOTHING_YET, SLOTS = -1, 256  # a ticket of somebody who is to get one, and numbers of rooms in tickets


def rooms_in(module: Any, count: int) -> tuple[Any, Any]:
    """The table of rooms, and how many copies were kept so far."""
    found: list[Any] = []
    for name, words in (("loopdiff.rooms", WORDS * count), ("loopdiff.copies", 1)):
        known = module.globals.get(name)
        if known is None:
            kind = llvm_ir.ArrayType(INT64, words)
            known: Any = llvm_ir.GlobalVariable(module, kind, name)
            known.linkage, known.initializer = "internal", llvm_ir.Constant(kind, None)
        found.append(known)
    return found[0], found[1]


def word_of(builder: Any, room: Any, which: int) -> Any:
    return builder.gep(room, [INT64(which)], source_etype=INT64)


def look(builder: Any, room: Any) -> Any:
    """The ticket of a room."""
    return builder.load_atomic(word_of(builder, room, TICKET), "monotonic", 8, typ=INT64)


def mark(builder: Any, room: Any, ticket: Any) -> None:
    builder.store_atomic(ticket, word_of(builder, room, TICKET), "monotonic", 8)


def is_locked(builder: Any, room: Any) -> Any:
    """Whether the room is the caller's from now on."""
    found = builder.cmpxchg(word_of(builder, room, LOCK), INT64(0), INT64(1), "acquire", "monotonic")
    return builder.extract_value(found, 1)


def unlock(builder: Any, room: Any) -> None:
    builder.store_atomic(INT64(0), word_of(builder, room, LOCK), "release", 8)


def take_room(builder: Any, count: int, size: int, lock: Variable, room: Variable) -> None:
    """Set the address of `size` bytes, which are the caller's until their lock is 0 again, and that of the lock; leave
    both as they are if none of `count` rooms is free. Their memory is asked for once."""
    table, _ = rooms_in(builder.module, count)
    turns = INT64(2 * count)  # first those that are not kept
    with cgutils.for_range(builder, turns, intp=INT64) as loop:
        number = builder.urem(loop.index, INT64(max(count, 1)))
        word = builder.gep(table, [INT64(0), builder.mul(number, INT64(WORDS))])
        is_last_turn = builder.icmp_signed(">=", loop.index, INT64(count))
        is_free = builder.icmp_signed("==", look(builder, word), INT64(0))
        with builder.if_then(builder.or_(is_last_turn, is_free)), builder.if_then(is_locked(builder, word)):
            lock.become(Word(builder, builder.ptrtoint(word, INT64)))
            mark(builder, word, INT64(0))
            kept = word_of(builder, word, PLACE)
            with builder.if_then(builder.icmp_signed("==", builder.load(kept, typ=INT64), INT64(0)), likely=False):
                fresh = builder.ptrtoint(call(builder, "malloc", POINTER, [INT64(size + 64)]), INT64)
                start = builder.and_(builder.add(fresh, INT64(63)), INT64(-64))
                builder.store(builder.select(builder.icmp_signed("==", fresh, INT64(0)), INT64(0), start), kept)
            room.become(Word(builder, builder.load(kept, typ=INT64)))
            loop.do_break()


def room_of(builder: Any, count: int, ticket: Word) -> Any:
    """The room of a ticket."""
    table, _ = rooms_in(builder.module, count)
    return builder.gep(table, [INT64(0), builder.mul((ticket & (SLOTS - 1)).value, INT64(WORDS))])


def take_kept(builder: Any, count: int, ticket: Word, lock: Variable, room: Variable) -> None:
    """The same as `take_room` of the room that the ticket is for, if that still has the copy and is free."""
    with builder.if_then(ticket.test(">=", SLOTS)):
        word = room_of(builder, count, ticket)
        with builder.if_then(is_locked(builder, word)):
            is_there = builder.icmp_signed("==", look(builder, word), ticket.value)
            with builder.if_else(is_there) as (then, otherwise):
                with then:
                    lock.become(Word(builder, builder.ptrtoint(word, INT64)))
                    room.become(Word(builder, builder.load(word_of(builder, word, PLACE), typ=INT64)))
                with otherwise:
                    unlock(builder, word)


def keep_copy(builder: Any, count: int, lock: Word, ticket: Variable) -> None:
    """Leave the copy in the room with that `lock`, for those with the new `ticket`."""
    table, copies = rooms_in(builder.module, count)
    word = builder.inttoptr(lock.value, INT64.as_pointer())
    before = builder.atomic_rmw("add", builder.gep(copies, [INT64(0), INT64(0)]), INT64(1), "monotonic")
    apart = builder.sub(lock.value, builder.ptrtoint(table, INT64))
    number = Word(builder, builder.add(before, INT64(1))) * SLOTS + Word(builder, apart) // (8 * WORDS)
    mark(builder, word, number.value)
    ticket.become(number)


def forget_copy(builder: Any, count: int, ticket: Word) -> None:
    """Nobody comes with this ticket any more."""
    with builder.if_then(ticket.test(">=", SLOTS)):
        place = word_of(builder, room_of(builder, count, ticket), TICKET)
        builder.cmpxchg(place, ticket.value, INT64(0), "monotonic", "monotonic")
