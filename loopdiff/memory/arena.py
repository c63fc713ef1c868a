"""Memory between the sweeps: sized by the arguments of a call, aligned for SIMD, reused by calls alike."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NoReturn

import numpy as np

from loopdiff.errors import ArgumentError, Span
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import natural
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import map_expr, subexprs

ALIGNMENT, PAGE = 64, 4096
# Bytes of an array that is large, and how far within a page it begins behind the one before
LARGE_ARRAY, STAGGER = 1 << 16, 27 * ALIGNMENT
SHAPES_KEPT = 8
SIZES_KEPT = 64
MOST_BYTES = 1 << 62  # NumPy's own error for more is another one
LARGE = 1 << 28  # bytes for which it is worth to ask how many are free
FREE_KEPT = 4
Order = Literal["C", "F"]
Sizes = tuple[tuple[int, ...], ...]
CASTS = {"int64": int, "float64": float, "float32": float, "bool": bool, "max": max, "min": min, "abs": abs}
STRICT = {f"strict_{op.name.lower()}": vars(math)[op.value] for op in Op if op.value in vars(math)}
OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
EXTENT_NAMES = {**vars(math), **STRICT, **{f"strict_{name}": of for name, of in OPERATORS.items()}, **CASTS}


def sizes_function(
    parameters: Sequence[str], decls: Sequence[ir.ArrayDecl], like: Sequence[str] = ()
) -> Callable[..., Sizes]:
    """The function from `parameters` to the shapes of `decls`, then of the arguments `like`.

    Parameters are the arguments, then the counts. An extent that a program refuses as negative is zero here. Sizes are
    found once for the same shapes and numbers.
    """
    places = {name: f"a{k}" for k, name in enumerate(parameters)}  # an argument may be called `max`
    shapes = [tuple_text([print_expr(natural(placed(e, places))) for e in d.extents or ()]) for d in decls]
    shapes += [f"{places[name]}.shape" for name in like]
    found, given = tuple_text(shapes), ", ".join(places.values())
    nodes = [e for d in decls for extent in d.extents or () for e in subexprs(extent)]
    if any(isinstance(e, ir.Load) for e in nodes):
        return eval(f"lambda {given}: {found}", dict(EXTENT_NAMES))
    used = {f"{places[e.array]}.shape" for e in nodes if isinstance(e, ir.Dim)}
    used |= {f"{places[name]}.shape" for name in like} | {places[e.name] for e in nodes if isinstance(e, ir.Param)}
    key = ", ".join(sorted(used))
    named = [text.replace(".shape", "_shape") for text in (key, found)]
    known = lru_cache(SIZES_KEPT)(eval("lambda {}: {}".format(*named), dict(EXTENT_NAMES)))
    return eval(f"lambda {given}: known({key})", {"known": known})


class UnknownNumber:
    """Stands for an argument of a `sizes_function` that is not known yet: any use of it is refused, by `refuse`."""

    def refuse(self) -> NoReturn:
        """Raise the error that says whose number it is."""
        raise NotImplementedError

    def used(self, *_: Any) -> Any:
        return self.refuse()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = used
    __mod__ = __neg__ = __index__ = __int__ = __lt__ = __gt__ = __le__ = __ge__ = used


def placed(extent: ir.Expr, places: Mapping[str, str]) -> ir.Expr:
    """`extent` with arguments and counts under other names."""

    def rename(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Dim(array=array):
                return replace(e, array=places[array])
            case ir.Param(name=name):
                return replace(e, name=places[name])
            case ir.Load(access=ir.Access(array=array, subscripts=())):
                return ir.Param(f"{places[array]}[()]")
            case ir.Load(access=access):
                return replace(e, access=replace(access, array=places[access.array]))
            case _:
                return e

    return map_expr(rename, extent)


def tuple_text(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)},)" if parts else "()"


@immutable
class Workspace:
    """Arrays for one forward and reverse run, the shapes they were made for, and where."""

    sizes: Sizes
    arrays: tuple[np.ndarray, ...]
    place: Any = None


def allocate(sizes: Sizes, dtypes: Sequence[np.dtype[Any]], orders: Sequence[Order]) -> tuple[np.ndarray, ...]:
    """Uninitialised arrays in one block, each starting on a cache line.

    Large ones start in different places of a page: processors take a load for what was stored just now where the two
    agree in the bits within one, and wait ("4-KByte memory aliasing", Intel 64 and IA-32 Architectures Optimization
    Reference Manual). They would all start in the same place where each has a whole number of pages.
    """
    starts: list[int] = []
    total = large = 0
    for shape, dtype in zip(sizes, dtypes, strict=True):
        size = size_in_bytes(shape, dtype)
        if size >= LARGE_ARRAY:
            large += 1
            total += (large * STAGGER - total) % PAGE
        starts.append(total)
        total += -(-size // ALIGNMENT) * ALIGNMENT
    block, shift = aligned_block(total, 0 if large else None)
    return tuple(
        np.ndarray(shape, dtype, block, shift + start, order=order)
        for shape, dtype, start, order in zip(sizes, dtypes, starts, orders, strict=True)
    )


def aligned_block(size: int, place: int | None = None) -> tuple[np.ndarray, int]:
    """Uninitialised memory with room for `size` bytes from a cache line on, or from a `place` within a page, and where
    that starts. MemoryError where there is not as much: a system that promises more than it has would end the process
    when it is used."""
    if size > MOST_BYTES:
        raise MemoryError(f"{size} bytes are more than can be addressed")
    if size > LARGE and (there := free_bytes()) is not None and size > there:
        raise MemoryError(f"{size} bytes are more than the {there} that are free")
    step, behind = (ALIGNMENT, 0) if place is None else (PAGE, place)
    block = np.empty(size + step, np.uint8)
    return block, (behind - block.ctypes.data) % step


def free_bytes() -> int | None:
    """How much memory can be had now, where the system says."""
    from loopdiff.memory.free import available

    return available()


def size_in_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(shape) * dtype.itemsize


@dataclass(slots=True)
class Arena:
    """Workspaces of one pair of sweeps.

    Taking and giving back are single operations on built-in containers, so threads need no lock. Memory of
    the `SHAPES_KEPT` latest shapes is kept for reuse. `step` is the place of the program's first `range` whose
    step may be zero, if there is one. `make` gives the arrays, which need not be the host's: `place` says where they
    are used then (a stream), and those of another place are let go of, as they may be in use there.
    """

    measure: Callable[..., Sizes]
    decls: tuple[ir.ArrayDecl, ...]
    step: Span | None
    make: Callable[[Sizes, Sequence[np.dtype[Any]], Sequence[Order]], tuple[np.ndarray, ...]] = allocate
    place: Callable[[], Any] | None = None
    is_in_file: Callable[[int, int], bool] | None = None
    dtypes: tuple[np.dtype[Any], ...] = field(init=False)
    orders: tuple[Order, ...] = field(init=False)
    free: dict[Sizes, list[Workspace]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        types = [d.type for d in self.decls if d.type is not None]
        self.dtypes = tuple(np.dtype(t.dtype) for t in types)
        self.orders = tuple("F" if t.layout == "F" else "C" for t in types)

    def sizes(self, values: Sequence[Any]) -> Sizes:
        """Shapes for arguments, then counts. Raises ArgumentError (LD330) if an extent divides by a step that is zero,
        and what Python raises if it divides by another zero."""
        try:
            return self.measure(*values)
        except ZeroDivisionError:
            if self.step is None:
                raise
            raise ArgumentError(reject("LD330", "the step of `range` is zero", self.step)) from None

    def take(self, sizes: Sizes) -> Workspace:
        """A workspace nobody else uses."""
        waiting = self.free.get(sizes)
        here = None if self.place is None else self.place()
        while waiting:
            try:
                found = waiting.pop()
            except IndexError:  # another thread took the last one
                break
            if found.place == here:
                return found
        return Workspace(sizes, self.make(sizes, self.dtypes, self.orders), here)

    def give(self, workspace: Workspace) -> None:
        """Return a workspace for reuse."""
        if self.has_files(workspace.sizes):
            return
        waiting = self.free.get(workspace.sizes)
        if waiting is None:
            if len(self.free) >= SHAPES_KEPT:
                self.forget_oldest()
            waiting = self.free.setdefault(workspace.sizes, [])
        if len(waiting) < FREE_KEPT:
            waiting.append(workspace)

    def forget_oldest(self) -> None:
        try:
            self.free.pop(next(iter(self.free)), None)
        except (StopIteration, RuntimeError):  # another thread is at it
            return

    def bytes(self, sizes: Sizes) -> int:
        return sum(map(size_in_bytes, sizes, self.dtypes))

    def has_files(self, sizes: Sizes) -> bool:
        """Whether an array of these shapes is in a file."""
        is_in_file = self.is_in_file
        if is_in_file is None:
            return False
        return any(is_in_file(k, size) for k, size in enumerate(map(size_in_bytes, sizes, self.dtypes)))
