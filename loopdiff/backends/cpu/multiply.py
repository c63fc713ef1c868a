"""Calls of the product of matrices from generated code.

There is one function for each floating type, compiled once per machine, which generated code calls by a symbol: so no
function that is compiled contains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import llvmlite.binding as llvm
from numba.core import types
from numba.core.cgutils import if_unlikely
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.backends.cpu.interrupts import make_look
from loopdiff.backends.cpu.simd.build import INT64, Typed, call
from loopdiff.backends.cpu.simd.memory import Place, accepts, address, place, writable
from loopdiff.backends.cpu.simd.products import GIVE_UP, INTERRUPTED
from loopdiff.backends.load import import_module, write_module
from loopdiff.immutable import immutable

TEXT = """{title}
from numba import types
from loopdiff.backends.cpu.direct import DirectOnce
from loopdiff.backends.machine_code import kept_callback
from loopdiff.backends.cpu.simd.{module} import {function}

@kept_callback(types.int64({types}), DirectOnce)
def multiply({names}, scale):
    return {function}(({names}), scale)
"""
# Of each function: the module it is in, and its parameters before the scale.
FUNCTIONS = {
    "product": (
        "products",
        *("c", "c_row", "c_row2", "a", "a_row", "a_row2", "a1", "a2", "a3", "b", "b_col", "b1", "b2", "b3"),
        *("rows", "rows2", "columns", "n1", "n2", "n3", "how", "kept"),
    ),
    "lane_product": (
        "lane_products",
        *("c", "c_row", "c_col", "c_lane", "a", "a_row", "a_lane", "a1", "a2", "a3", "b", "b_col", "b_lane"),
        *("b1", "b2", "b3", "rows", "columns", "count", "n1", "n2", "n3", "is_sum"),
    ),
}


LOCK = Lock()
KNOWN: dict[tuple[str, str], Any] = {}


def use(function: str, dtype: str) -> Any:
    """Make the function for `dtype` known to code that is compiled or loaded from now on."""
    with LOCK:
        if (function, dtype) not in KNOWN:
            KNOWN[function, dtype] = compiled(function, dtype)
        return KNOWN[function, dtype]


def compiled(function: str, dtype: str) -> Any:
    """The function for `dtype`, compiled or from the disk, under its symbol."""
    make_look()
    module, *names = FUNCTIONS[function]
    text = TEXT.format(
        title=f'"""Products of {dtype} matrices, by loopdiff."""',
        module=module,
        function=function,
        types=", ".join([*["types.int64"] * len(names), f"types.{dtype}"]),
        names=", ".join(names),
    )
    found = import_module(write_module(f"{function}_{dtype}", text)).multiply
    llvm.add_symbol(symbol(function, dtype), found.address)
    return found


def symbol(function: str, dtype: str) -> str:
    return f"loopdiff_{function}_{dtype}"


@immutable
class Form:
    """A function, how many loops of each kind it has, and along which kinds each of c, a and b moves."""

    function: str
    loops: tuple[int, ...]
    sides: tuple[tuple[int, ...], ...]

    def takes(self, extents: Sequence[Any]) -> bool:
        return all(len(group) <= most for group, most in zip(extents, self.loops, strict=True))


# By the number of kinds: rows, columns and sums, or rows, columns, lanes and sums.
FORMS = {
    3: Form("product", (2, 1, 3), ((0,), (0, 2), (1, 2))),
    4: Form("lane_product", (1, 1, 1, 3), ((0, 1, 2), (0, 2, 3), (1, 2, 3))),
}


@intrinsic
def multiply(
    typingctx: Any,
    c: Any,
    c_idx: Any,
    c_moves: Any,
    a: Any,
    a_idx: Any,
    a_moves: Any,
    b: Any,
    b_idx: Any,
    b_moves: Any,
    extents: Any,
    how: Any,
    scale: Any,
) -> Typed | None:
    """c = scale * a * b from the indices on, or c += that: `how` is made of `ADD` and `IN_PARTS`.

    `extents` has the trip counts from the inside out: of the rows, of the columns, of the lanes if products lie side by
    side, and of the sums. The moves say for each loop in which an operand moves how far that goes along each axis.
    Columns of c are consecutive elements unless there are lanes. An interrupt ends the function that this is part of.
    """
    return typed_product(((c, c_idx, c_moves), (a, a_idx, a_moves), (b, b_idx, b_moves)), extents, scale)


@intrinsic
def multiply_again(
    typingctx: Any,
    c: Any,
    c_idx: Any,
    c_moves: Any,
    a: Any,
    a_idx: Any,
    a_moves: Any,
    b: Any,
    b_idx: Any,
    b_moves: Any,
    extents: Any,
    how: Any,
    scale: Any,
    kept: Any,
) -> Typed | None:
    """`multiply`, of matrices alone, again and again with the same `b`, whose copy is kept. It gives the ticket for the
    next time; the first one is `NOTHING_YET`, the last one goes to `give_up`."""
    if not isinstance(extents, types.BaseTuple) or len(extents) != len(FORMS[3].loops):
        return None
    return typed_product(((c, c_idx, c_moves), (a, a_idx, a_moves), (b, b_idx, b_moves)), extents, scale, is_kept=True)


@intrinsic
def give_up(typingctx: Any, kept: Any, scale: Any) -> Typed | None:
    """What was kept with that ticket for products with such a scale may go."""

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        nothing = [INT64(0)] * (len(FUNCTIONS["product"]) - 3)
        call(builder, symbol("product", str(scale)), INT64, [*nothing, INT64(GIVE_UP), *values])
        return context.get_dummy_value()

    return signature(types.void, types.int64, scale), lower


def typed_product(
    operands: Sequence[tuple[Any, Any, Any]], extents: Any, scale: Any, *, is_kept: bool = False
) -> Typed | None:  # fmt: skip
    groups: Any = extents if isinstance(extents, types.BaseTuple) else ()
    form = FORMS.get(len(groups))
    if form is None or not all(isinstance(g, types.BaseTuple) for g in groups) or not form.takes(groups):
        return None
    counts = [sum(len(groups[k]) for k in side) for side in form.sides]
    fits = [is_operand(*o, n, scale) for o, n in zip(operands, counts, strict=True)]
    if not all(fits) or not writable(*operands[0][:2]):
        return None
    has_ticket = form.function == "product"

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        trips = [numbers(builder, g) for g in numbers(builder, values[9])]
        args: list[Any] = []
        for number, side in enumerate(form.sides):
            array, idx, _ = operands[number]
            at = place(context, builder, array, values[3 * number], idx, values[3 * number + 1])
            args.append(builder.ptrtoint(address(context, builder, at), INT64))
            moves = iter(numbers(builder, values[3 * number + 2]))
            for k in side:
                args += filled([stride(builder, at, next(moves)) for _ in trips[k]], form.loops[k], 0)
        for found, most in zip(trips, form.loops, strict=True):
            args += filled(found, most, 1)
        how, factor, *kept = values[10:]
        ticket = kept if kept or not has_ticket else [INT64(0)]
        found = call(builder, symbol(form.function, str(scale)), INT64, [*args, how, *ticket, factor])
        is_over = builder.icmp_signed("==" if has_ticket else "!=", found, INT64(INTERRUPTED if has_ticket else 0))
        with if_unlikely(builder, is_over):
            context.call_conv.return_exc(builder)
        return found if is_kept else context.get_dummy_value()

    flat = tuple(t for operand in operands for t in operand)
    kinds = (*flat, extents, types.int64, scale)
    return (signature(types.int64, *kinds, types.int64) if is_kept else signature(types.void, *kinds)), lower


def is_operand(a: Any, idx: Any, moves: Any, count: int, like: Any) -> bool:
    return accepts(a, idx) and a.dtype == like and isinstance(moves, types.BaseTuple) and len(moves) == count


def filled(found: list[Any], count: int, number: int) -> list[Any]:
    """`found`, then `number` so often that there are `count`."""
    return found + [INT64(number)] * (count - len(found))


def numbers(builder: Any, value: Any) -> list[Any]:
    """The elements of a tuple."""
    return [builder.extract_value(value, k) for k in range(len(value.type.elements))]


def stride(builder: Any, at: Place, moves: Any) -> Any:
    """Bytes from one iteration to the next of a loop that moves so far along each axis."""
    total = INT64(0)
    for move, along in zip(numbers(builder, moves), at.strides, strict=True):
        total = builder.add(total, builder.mul(move, along))
    return total
