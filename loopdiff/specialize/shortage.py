"""The report of a call for which there is not enough memory: how much each of its arrays takes, and what takes less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from loopdiff.errors import NOWHERE, LoopdiffError, OutOfMemoryError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import tail_names
from loopdiff.ir.printer import print_expr
from loopdiff.memory.arena import EXTENT_NAMES, placed, size_in_bytes, tuple_text

LEAST_SHARE = 100  # what takes less than this part of the largest array is not listed
WITHOUT_TAPE = "call it with smaller arrays, or where there is more memory"
Shape = tuple[int, ...]


@immutable
class Needs:
    """What calls of the function `name` need memory for: what `loopsets` declare beside the `params`.

    `counts` finds the integers `count_names` that decide about more, for the arguments of a call. `has_tape`: less can
    be kept between sweeps.
    """

    name: str
    params: tuple[str, ...]
    loopsets: tuple[ir.LoopSet, ...]
    count_names: tuple[str, ...] = ()
    counts: Callable[[tuple[Any, ...]], tuple[int, ...]] | None = None
    has_tape: bool = False

    def refusal(self, args: Sequence[Any], error: MemoryError) -> MemoryError:
        """What `error`, for which there was not enough memory, is to the caller with arguments `args`."""
        return self.of_known(dict(zip(self.params, args, strict=True)), error)

    def of_variables(self, passed: Sequence[str], variables: Mapping[str, Any], error: MemoryError) -> MemoryError:
        """The same for arguments that are `variables` of an entry point, as far as it has come."""
        known = {p: variables[v] for p, v in zip(self.params, passed, strict=False) if v in variables}
        return self.of_known(known, error)

    def of_known(self, given: Mapping[str, Any], error: MemoryError) -> MemoryError:
        """The same for arguments `given`, which need not be all."""
        return shortage(self, given, error)


def shortage(needs: Needs, given: Mapping[str, Any], error: MemoryError) -> MemoryError:
    """The error for a call with the arguments `given`, as far as these are known, for which there was no memory."""
    if isinstance(error, LoopdiffError):
        return error
    known = {**given, **counted(needs, given)}
    sizes = {name: size for ls in needs.loopsets for name, size in sizes_of(ls, known)}
    return report(needs.name, sizes, None if needs.has_tape else WITHOUT_TAPE)


def report(name: str, sizes: Mapping[str, int], hint: str | None) -> OutOfMemoryError:
    """The error for a call of the function `name`, whose arrays take so many bytes."""
    least = max(sizes.values(), default=0) / LEAST_SHARE
    listed = sorted(((size, array) for array, size in sizes.items() if size >= least), reverse=True)
    shown = ", ".join(f"`{array}` {size}" for size, array in listed)
    message = f"there is not enough memory for `{name}`" + (f"; bytes of its arrays: {shown}" if shown else "")
    return OutOfMemoryError(reject("LD610", message, NOWHERE, hint))


def counted(needs: Needs, given: Mapping[str, Any]) -> dict[str, int]:
    """The integers that only a run of the program tells; none if there is no memory for that either."""
    if needs.counts is None or not needs.count_names:
        return {}
    try:
        found = needs.counts(tuple(given[p] for p in needs.params))
    except (KeyError, MemoryError):
        return {}
    return dict(zip(needs.count_names, found, strict=True))


def sizes_of(ls: ir.LoopSet, known: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Names and bytes of the arrays that `ls` declares beside those that are `known`."""
    others = [d for d in ls.arrays if d.name not in known and d.type is not None and d.type.rank]
    alike = [d.name for d in others if d.extents is None]
    arrays = [name for name, value in known.items() if hasattr(value, "shape")]
    like = {buffer: name for tail in ("_adj", "_tan") for name, buffer in tail_names(alike, arrays, tail).items()}
    for decl in others:
        shape = known[like[decl.name]].shape if decl.name in like else shape_of(decl, known)
        if shape is not None and decl.type is not None:
            yield decl.name, size_in_bytes(tuple(max(n, 0) for n in shape), np.dtype(decl.type.dtype))


def shape_of(decl: ir.ArrayDecl, known: Mapping[str, Any]) -> Shape | None:
    """The extents of an array; None where the program finds them itself."""
    if decl.extents is None:
        return None
    places = {name: f"a{k}" for k, name in enumerate(known)}
    values = dict(zip(places.values(), known.values(), strict=True))
    try:
        text = tuple_text([print_expr(placed(extent, places)) for extent in decl.extents])
        return eval(text, {**EXTENT_NAMES, **values})
    except (KeyError, NameError, SyntaxError, TypeError, ZeroDivisionError):
        return None
