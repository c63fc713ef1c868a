"""Strip-mining with scalar expansion: a loop that is independent but for private buffers runs in blocks of rows.

    for r in range(R):                      for r0 in range(0, R, 64):
        for a in range(H):                      for r in rows: for a: s_rows[r - r0, a] = 0.0
            s = 0.0                             for r in rows: for a: for i: s_rows[r - r0, a] += W[a, i] * x[r, i]
            for i in range(I):       becomes    for r in rows: for a: h_rows[r - r0, a] = max(s_rows[r - r0, a], 0.0)
                s += W[a, i] * x[r, i]          ...
            h[a] = max(s, 0.0)
        ...

Within a block every buffer has a row for each iteration (scalar and array expansion: Feautrier, "Array expansion", ICS
1988), so the body can be distributed; what one row does with a vector, a block does with a matrix, and reads `W` once.
The loop is left alone unless that isolates a contraction with such reuse.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TypeGuard

from loopdiff.analysis.contractions import factors, terms
from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.legality import Distribution, at_or_within, is_legal
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.analysis.privatization import find_privates, moved, span
from loopdiff.analysis.repeated_stores import conflicts, owners
from loopdiff.analysis.strides import direction
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import folded
from loopdiff.ir.build import at_least_one, floordiv, integer, mul, natural, nested, over_elements, shifted, sub, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.types import INT, ArrayType
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import (
    Path,
    all_statements,
    indices_in,
    loops_in,
    map_blocks,
    map_body,
    statements,
    subexprs,
    substitute,
)
from loopdiff.mapping.lane_blocks import block_loop
from loopdiff.model import tuning
from loopdiff.passes.loops.distribution import tidied, upright
from loopdiff.passes.storage.workspace import is_sized_outside
from loopdiff.schedule.blocks.rows import Piece, Row, RowPart, row_of
from loopdiff.settings.requests import NOTHING, Requests

ONE = integer(1)


@immutable
class Fitting:
    """As many rows as a buffer of so many `elements` holds, between `least` and `most`, when the function runs."""

    elements: int
    least: int
    most: int

    def rows(self, shapes: Iterable[tuple[ir.Expr, ...]], each: ir.Expr = ONE) -> ir.Expr:
        """The number of rows, of which buffers hold a part of each of these `shapes`, or of sets of `each` rows."""
        sizes = dict.fromkeys(reduce(mul, shape, ONE) for shape in shapes)
        largest = reduce(lambda a, b: ir.Apply(Op.MAX, (a, b)), sizes)
        fitting = floordiv(integer(self.elements), at_least_one(largest))
        least, most = (
            integer(n) if each == ONE else at_least_one(floordiv(integer(n), at_least_one(each)))
            for n in (self.least, self.most)
        )
        return ir.Apply(Op.MAX, (least, ir.Apply(Op.MIN, (most, fitting))))


SHIFTS = (Op.ADD, Op.SUB)
# Rows whose buffers are for kernels: as many as keep a GPU busy, and its memory holds.
FOR_THREADS = Fitting(elements=1 << 22, least=1 << 10, most=1 << 16)


Names = frozenset[str]


def block_rows(
    ls: ir.LoopSet,
    dead: Names,
    names: NameSupply,
    rows: int | Fitting = tuning.BLOCK_ROWS,
    requests: Requests = NOTHING,
) -> ir.LoopSet:
    """`ls` with loops run in blocks of `rows` where that isolates contractions; the same values up to reassociation.
    `requests` may say other sizes, or none.

    `dead` are the arrays whose contents nobody looks at after the function. New local arrays, the last of the result's
    and allocated where it begins, hold the rows of a block.
    """
    made = made_in_loops(ls, dead)
    if not has_rows(ls, dead):
        return ls
    apart = with_fills_apart(ls, made, names)
    if not has_independent_rows(tidied(apart), dead):
        return ls
    tidy = upright(apart)
    blocker = Blocker(build_model(tidy), type_env(tidy), dead, made, names, rows, requests, [])
    body = blocker.block(tidy.body, ())
    if not blocker.buffers:
        return ls
    fresh = tuple(ir.Allocate(a.name) for a in blocker.buffers)
    return replace(tidy, arrays=(*ls.arrays, *blocker.buffers), body=(*fresh, *body))


def has_rows(ls: ir.LoopSet, dead: Names) -> bool:
    """Whether there is a loop that may become blocks of rows, if no more than these arrays are `dead`."""
    return bool(candidates(ls, dead))


def candidates(ls: ir.LoopSet, dead: Names) -> list[tuple[ir.Loop, Path]]:
    """The loops that may become blocks of rows, as far as their text says."""
    made = made_in_loops(ls, dead)
    sites = ((s, s.stmt) for s in statements(ls.body))
    found = [(s, p) for s, p in sites if may_be_rows(p, made) and not conflicts(p, dead)]
    if not found:
        return []
    may_own = owners(ls, dead)
    return [(p, s.path) for s, p in found if may_own(s) or not all(map(is_rectangular, loops_in(p.body)))]


def has_independent_rows(ls: ir.LoopSet, dead: Names) -> bool:
    """Whether iterations of such a loop are independent, but for arrays that each may have for itself: it takes less
    than to turn all loops upwards, which the answer does not depend on."""
    model = build_model(ls)
    return any(find_privates(model, dead, p, path) is not None for p, path in candidates(ls, dead))


def block_for_threads(ls: ir.LoopSet, dead: Names, requests: Requests) -> ir.LoopSet:
    """`ls` with loops run in blocks of as many rows as keep a GPU busy, where that isolates contractions."""
    return block_rows(ls, dead, supply(ls), FOR_THREADS, requests)


def made_in_loops(ls: ir.LoopSet, dead: Names) -> Names:
    """Those of the `dead` arrays that loops may allocate."""
    return frozenset(a.name for a in ls.arrays if a.name in dead and is_sized_outside(a))


def with_fills_apart(ls: ir.LoopSet, made: Names, names: NameSupply) -> ir.LoopSet:
    """`ls` with arrays that are `made` in loops set to what they are filled with by loops after that."""

    def apart(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if not isinstance(stmt, ir.Allocate) or stmt.fill is None or stmt.array not in made:
            return (stmt,)
        loops, place = over_elements(ls.array(stmt.array).extents or (), names, loc=stmt.loc)
        elements = (ir.Assign(ir.Access(stmt.array, place), stmt.fill, loc=stmt.loc),)
        return (replace(stmt, fill=None), *nested(loops, elements))

    def in_loops(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(
            replace(s, body=map_body(s.body, apart)) if may_be_rows(s, made) else map_blocks(in_loops, s) for s in body
        )

    body = in_loops(ls.body)
    return ls if body == ls.body else replace(ls, body=body)


def may_be_rows(stmt: ir.Stmt, made: Names) -> TypeGuard[ir.Loop]:
    """Whether `stmt` is a loop with a sum below two loops of its own, and something beside it; the arrays `made` may be
    allocated in it."""
    if not isinstance(stmt, ir.Loop) or not (isinstance(stmt.step, ir.Const) and abs(stmt.step.value) == 1):
        return False
    sites = list(statements(stmt.body))
    if any(isinstance(s.stmt, ir.Exit | ir.Require | ir.Call) for s in sites) or not made >= allocated(stmt):
        return False
    return any(is_deep_sum(s.stmt, s.loops) and not s.is_conditional for s in sites)


def allocated(loop: ir.Loop) -> Names:
    return frozenset(s.array for s in all_statements(loop.body) if isinstance(s, ir.Allocate))


def is_deep_sum(stmt: ir.Stmt, loops: tuple[ir.Loop, ...]) -> bool:
    return isinstance(stmt, ir.Accumulate) and stmt.op == "add" and len(loops) >= 2


@immutable
class Blocker:
    model: Model
    types: TypeEnv
    dead: Names
    made: Names
    names: NameSupply
    rows: int | Fitting
    requests: Requests
    buffers: list[ir.ArrayDecl]

    def block(self, body: tuple[ir.Stmt, ...], prefix: Path) -> tuple[ir.Stmt, ...]:
        """`body` with its innermost promising loops in blocks."""
        out: list[ir.Stmt] = []
        for number, stmt in enumerate(body):
            path = (*prefix, number)
            if not isinstance(stmt, ir.Loop):
                out.append(stmt)
                continue
            inner = stmt.body if self.is_for_threads(stmt, path) else self.block(stmt.body, path)
            out.append(replace(stmt, body=inner) if inner != stmt.body else self.in_blocks(stmt, path))
        return tuple(out)

    def is_for_threads(self, loop: ir.Loop, path: Path) -> bool:
        """Whether rows are for kernels, and the iterations of `loop` may be threads: these would have blocks inside."""
        return isinstance(self.rows, Fitting) and find_privates(self.model, self.dead, loop, path) is not None

    def in_blocks(self, loop: ir.Loop, path: Path) -> ir.Stmt:
        """`loop` in blocks of rows, distributed, if it may be and something is gained."""
        size = self.requests.rows(loop.index, loop.loc.line, self.rows)
        if isinstance(self.rows, Fitting) and isinstance(size, int) and size:
            size = Fitting(size, size, size)
        rows = loop if isinstance(size, int) and is_rectangular(loop) else None
        if not size or not may_be_rows(loop, self.made) or not all(is_plain(p, rows) for p in loops_in(loop.body)):
            return loop
        own = None if conflicts(loop, self.dead) else find_privates(self.model, self.dead, loop, path)
        if own is None or not own.arrays >= allocated(loop):
            return loop
        if not own.names and all(map(is_rectangular, loops_in(loop.body))):  # distribution alone is enough
            return loop
        row = (
            self.innermost(row_of((), loop, path, own))
            if isinstance(self.rows, Fitting)
            else row_of((), loop, path, own)
        )
        pieces = self.distributed(row)
        if not any(len(p) == 1 and self.has_reuse(p[0], row) for p in pieces):
            return loop
        return Expansion(self, row, pieces, size).loop()

    def innermost(self, row: Row) -> Row:
        """`row`, or, where its body is nothing but a loop over rows that have all for themselves that it has, one of
        these."""
        path = (*row.path, 0)
        match row.loop.body:
            case (ir.Loop() as inner,) if may_be_rows(inner, self.made):
                own = find_privates(self.model, self.dead, inner, path)
                if own is not None and own.arrays >= row.own.arrays | allocated(inner):
                    return self.innermost(row_of(row.nest, inner, path, own))
        return row

    # -- distribution ----------------------------------------------------------------------------------------
    def distributed(self, row: Row) -> list[Piece]:
        """Leaves in pieces, each for all rows before the next: sums by themselves, what is between them together."""
        pieces: list[Piece] = []
        is_open = False
        for leaf in row.leaves:
            if is_open and not leaf.is_sum:
                pieces[-1] = (*pieces[-1], leaf)
            else:
                pieces.append((leaf,))
            is_open = not leaf.is_sum
        events = [self.events_at(row.paths(piece)) for piece in pieces]
        homes = {array: depth_of(self.model, home) for array, home in row.own.homes.items()}
        shared = depth_of(self.model, row.path)

        def may_follow(first: int, last: int) -> bool:
            """Whether all rows of one piece may run before all of another one."""
            return is_legal(self.model, Distribution(events[first], events[last], shared, homes))

        last = len(pieces) - 1
        while last > 0:
            first = next((k for k in range(last) if not may_follow(k, last)), None)
            if first is None:
                last -= 1
            else:
                pieces[first:] = [sum(pieces[first : last + 1], ()), *pieces[last + 1 :]]
                events[first:] = [self.events_at(row.paths(pieces[first])), *events[last + 1 :]]
                last = len(pieces) - 1
        return pieces

    def events_at(self, paths: frozenset[Path]) -> list[Event]:
        return [e for path in sorted(paths) for e in at_or_within(self.model, path)]

    def has_reuse(self, leaf: RowPart, row: Row) -> bool:
        """Whether the leaf is a sum of products of what belongs to the row and of what is the same for all rows.

        A product needs nothing but its factors; of other sums, as of squares of differences, dots of rows are as fast.
        So they are where a row has an element of its own for each product: that is read from memory once in any case.
        """
        if not (isinstance(leaf.stmt, ir.Accumulate) and leaf.is_sum):
            return False
        return any(self.has_reuse_along(leaf, row, loop.index) for loop in row.nest)

    def has_reuse_along(self, leaf: RowPart, row: Row, along: str) -> bool:
        """The same for all rows that differ in the index `along`."""
        assert isinstance(leaf.stmt, ir.Accumulate)
        own = {*row.lets, *row.repeated}
        value = row.inlined(leaf.stmt.value)
        index, loops = ir.Index(along), [self.model.loop(p) for p in leaf.loops]
        inner = {p.index for p in loops}
        moving = [ir.Index(p.index) for p in loops if along in indices_in(p.lower, p.upper)]
        shifts: list[dict[ir.Expr, ir.Expr]] = [{k: ir.Apply(op, (k, index))} for k in moving for op in SHIFTS]

        def is_same(access: ir.Access) -> bool:
            if access.array in row.own.names or not access.subscripts:
                return False
            parts = [e for s in access.subscripts for e in subexprs(s)]
            if any(isinstance(e, ir.Load) or (isinstance(e, ir.Var) and e.name in own) for e in parts):
                return False
            # Of what is read at `i + j`, rows have most in common: what they read lies beside each other.
            forms = ([folded(substitute(s, moved), INT) for s in access.subscripts] for moved in ({}, *shifts))
            found = (indices_in(*form) for form in forms)
            return any(along not in used and len(used & inner) >= 2 for used in found)

        loads = [e.access for e in subexprs(value) if isinstance(e, ir.Load)]
        is_of_row = any(a.array in row.own.names for a in (*loads, leaf.stmt.target))
        is_of_row |= bool(row.mentioned(leaf.stmt) & row.lets.keys())
        single = [f.access for _, term in terms(value) for f in factors(term) if isinstance(f, ir.Load)]
        is_of_product = any(inner <= indices_in(*a.subscripts) and not is_same(a) for a in (*loads, leaf.stmt.target))
        return is_of_row and not is_of_product and any(is_same(a) for a in (*single, leaf.stmt.target))


def is_rectangular(loop: ir.Loop) -> bool:
    """Whether a loop counts by one between bounds that are known before the function's first statement."""
    return is_plain(loop, None)


def is_plain(loop: ir.Loop, rows: ir.Loop | None) -> bool:
    """Whether a loop counts by one between bounds that are known before the function's first statement, or that move
    in one direction with the loop over `rows`."""
    if not (isinstance(loop.step, ir.Const) and abs(loop.step.value) == 1):
        return False
    index = "" if rows is None else rows.index
    lower, upper = span(loop)
    if any(direction(b, index) is None for b in (lower, upper, sub(upper, lower))):
        return False
    parts = [e for b in (lower, upper) for e in subexprs(b)]
    return not any(isinstance(e, ir.Var | ir.Load) or (isinstance(e, ir.Index) and e.name != index) for e in parts)


# -- the new loops -------------------------------------------------------------------------------------------
class Expansion:
    """One loop in blocks: expanded buffers, then a nest for every piece."""

    def __init__(self, blocker: Blocker, row: Row, pieces: list[Piece], size: int | Fitting) -> None:
        self.blocker = blocker
        self.row = row
        self.pieces = pieces
        self.shapes: dict[str, tuple[str, tuple[ir.Expr, ...]]] = {}
        self.size = size
        first, *inner = row.nest
        self.first, self.inner = first, tuple(inner)
        self.start = blocker.names.fresh(f"{first.index}_block")
        self.lower, self.upper = span(first)
        self.each = tuple(natural(sub(upper, lower)) for lower, upper in map(span, self.inner))
        self.piece_of = {leaf.path: k for k, piece in enumerate(pieces) for leaf in piece}
        self.cells: dict[str, ir.Access] = {}
        self.kept: dict[str, ir.Access] = {}
        self.arrays: dict[str, str] = {}

    def loop(self) -> ir.Loop:
        self.expand()
        shapes = [shape for _, shape in self.shapes.values()]
        each = reduce(mul, self.each, ONE)
        self.rows = self.size.rows(shapes, each) if isinstance(self.size, Fitting) else integer(self.size)
        for name, (dtype, shape) in self.shapes.items():
            kind = ArrayType(dtype, 1 + len(shape))
            self.blocker.buffers.append(ir.ArrayDecl(name, kind, "local", (self.rows, *shape)))
        body: list[ir.Stmt] = [self.cleared(a) for a in sorted(self.row.own.zero)]
        for number in range(len(self.pieces)):
            body += renamed_block((self.nest(number),), self.blocker.names)
        return ir.Loop(self.start, self.lower, self.upper, self.rows, tuple(body), loc=self.first.loc)

    # -- buffers ---------------------------------------------------------------------------------------------
    def expand(self) -> None:
        """Buffers for the rows of a block: of arrays, and of cells and Lets that more than one piece uses."""
        row, blocker = self.row, self.blocker
        users: dict[str, set[int]] = {}
        for number, piece in enumerate(self.pieces):
            for name in frozenset[str]().union(*(row.mentioned(leaf.stmt) for leaf in piece)):
                users.setdefault(name, set()).add(number)
        for array in sorted(row.own.arrays):
            decl = blocker.model.ls.array(array)
            assert decl.type is not None
            self.arrays[array] = self.buffer(array, decl.type.dtype, decl.extents or ())
        for cell, home in sorted(row.own.homes.items()):
            if len(users.get(cell, ())) > 1:
                decl = blocker.model.ls.array(cell)
                assert decl.type is not None
                self.cells[cell] = self.element(cell, decl.type.dtype, home)
        for name, leaf in row.lets.items():
            if len(users[name]) > 1:
                assert isinstance(leaf.stmt, ir.Let)
                dtype = type_of(leaf.stmt.value, blocker.types).value
                self.kept[name] = self.element(name, dtype, leaf.loops[-1] if leaf.loops else row.path)

    def buffer(self, stem: str, dtype: str, extents: tuple[ir.Expr, ...]) -> str:
        name = self.blocker.names.fresh(f"{stem}_rows")
        self.shapes[name] = dtype, (*self.each, *extents)
        return name

    def element(self, stem: str, dtype: str, home: Path) -> ir.Access:
        """The element of a new buffer for one iteration of the loop at `home` in a row."""
        loops = [self.blocker.model.loop(home[:k]) for k in range(len(self.row.path) + 1, len(home) + 1)]
        spans = [span(p) for p in loops]
        name = self.buffer(stem, dtype, tuple(natural(self.most(sub(upper, lower))) for lower, upper in spans))
        inner = tuple(sub(ir.Index(p.index), lower) for p, (lower, _) in zip(loops, spans, strict=True))
        return ir.Access(name, (*self.place, *inner))

    def most(self, extent: ir.Expr) -> ir.Expr:
        """What `extent` is in the row where that is largest."""
        index = self.row.loop.index
        largest = self.lower if (direction(extent, index) or 0) < 0 else shifted(self.upper, -1)
        return folded(substitute(extent, {ir.Index(index): largest}), INT)

    @property
    def place(self) -> tuple[ir.Expr, ...]:
        """Which row of the block an iteration is, along each loop over rows."""
        inner = ((p, span(p)[0]) for p in self.inner)
        return (
            sub(ir.Index(self.first.index), ir.Index(self.start)), *(sub(ir.Index(p.index), low) for p, low in inner)
        )  # fmt: skip

    # -- nests -----------------------------------------------------------------------------------------------
    def rows_loop(self, body: tuple[ir.Stmt, ...]) -> ir.Loop:
        inside = nested(self.inner, body)
        return block_loop(self.first.index, self.start, self.rows, self.upper, inside, self.first.loc)

    def cleared(self, array: str) -> ir.Stmt:
        """Zeros in every row of the block."""
        decl, loc = self.blocker.model.ls.array(array), self.row.loop.loc
        assert decl.type is not None
        loops, place = over_elements(decl.extents or (), self.blocker.names, loc=loc)
        access = ir.Access(self.arrays[array], (*self.place, *place))
        body = nested(loops, (ir.Assign(access, zero(decl.type.element), loc=loc),))
        return renamed_block((self.rows_loop(body),), self.blocker.names)[0]

    def nest(self, number: int) -> ir.Stmt:
        """The leaves of one piece and the Lets repeated with them, for all rows of the block."""
        paths = self.row.paths(self.pieces[number])
        return self.rows_loop(self.chosen(self.row.loop.body, self.row.path, paths, number))

    def chosen(
        self, body: tuple[ir.Stmt, ...], prefix: Path, paths: frozenset[Path], number: int
    ) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        for position, stmt in enumerate(body):
            path = (*prefix, position)
            if isinstance(stmt, ir.Loop):
                inner = self.chosen(stmt.body, path, paths, number)
                if inner:
                    out.append(replace(stmt, body=inner))
            elif path in paths and not isinstance(stmt, ir.Allocate):
                here = {n for n in self.kept if self.piece_of[self.row.lets[n].path] == number}
                out += moved(stmt, self.placed, self.kept, here)
        return tuple(out)

    def placed(self, access: ir.Access) -> ir.Access:
        """Where `access` goes in the buffers of the block; its subscripts are placed already."""
        if access.array in self.cells:
            return self.cells[access.array]
        if access.array in self.arrays:
            return replace(access, array=self.arrays[access.array], subscripts=(*self.place, *access.subscripts))
        return access
