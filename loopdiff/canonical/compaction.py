"""Elimination of compactions: what `x[mask]` packs is read where it comes from, under the mask, and packed no more.

    n = 0
    for i in range(N):
        if m[i]:                                         for i in range(N):
            packed[n] = x[i]                                 if m[i]:
            n += 1                         becomes               s += f(x[i])
    for k in range(n):
        s += f(packed[k])

Deforestation (Wadler, "Deforestation: transforming programs to eliminate trees", 1990) of a filter and of what goes
through its result. The same for what is stored back, `x[mask] = f(x[mask], y[mask])`: there the places are counted once
more, under the same condition. No element then depends on how many were chosen before it, so that such loops become
vectors, and the reverse sweep needs neither places nor copies.

Elements keep their order. An array is packed no more where all that reads it can read what it was made of; nothing that
this depends on may be written in between. It must be certain that all chosen elements have room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from loopdiff.canonical.put_in_place import nest_with_lets, unseen_arrays, without_arrays
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, conjuncts, integer, is_constant, is_from_zero, is_zero, nested
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import FUNCTIONS, Op
from loopdiff.ir.types import BOOL, INT
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import (
    all_statements,
    exits,
    indices_in,
    into_nest,
    loads,
    loads_in,
    loops_in,
    map_blocks,
    map_expr,
    map_own_exprs,
    map_stmt_exprs,
    nodes_in,
    subexprs,
    substitute,
    without,
    written_access,
    written_arrays,
)

Names = frozenset[str]
Block = tuple[ir.Stmt, ...]


def without_compactions(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, normal, with elements that its own arrays were packed with under conditions read where they come from."""
    types = type_env(ls)
    if not any(packed_arrays(n) for loop in loops_in(ls.body) if (n := counting_nest(loop, types)) is not None):
        return ls
    chosen = unseen_arrays(ls)
    walk = Walk(ls, types, chosen, supply(ls))
    walk.rewritten()
    return without_arrays(ls, chosen & walk.replaced, lambda rest: Walk(ls, types, rest, supply(ls)).rewritten())


# -- nests that count --------------------------------------------------------------------------------------------
@immutable
class Counting:
    """The `loops` around `if cond: body; counter += 1`, with Lets in place."""

    loops: tuple[ir.Loop, ...]
    cond: ir.Expr
    body: Block
    counter: ir.Load

    @property
    def indices(self) -> tuple[ir.Expr, ...]:
        return tuple(ir.Index(p.index) for p in self.loops)

    @property
    def choice(self) -> tuple[ir.Expr, ...]:
        """What says which iterations are chosen: the ranges and the condition."""
        return (*(e for p in self.loops for e in (p.lower, p.upper, p.step)), self.cond)

    def is_like(self, other: Counting) -> bool:
        """Whether both choose the same iterations, where what they read is the same."""
        if len(self.loops) != len(other.loops):
            return False
        renamed = dict(zip(self.indices, other.indices, strict=True))
        return tuple(substitute(e, renamed) for e in self.choice) == other.choice

    def around(self, make: Callable[[tuple[ir.Expr, ...]], Block], names: NameSupply) -> Block:
        """Loops of their own over the chosen iterations, around what `make` gives for their indices."""
        fresh = tuple(ir.Index(names.fresh(p.index)) for p in self.loops)
        renamed = dict(zip(self.indices, fresh, strict=True))
        ranges = [map_own_exprs(lambda e: substitute(e, renamed), p) for p in self.loops]
        loops = [replace(p, index=k.name) for k, p in zip(fresh, ranges, strict=True) if isinstance(p, ir.Loop)]
        return nested(loops, (ir.If(substitute(self.cond, renamed), make(fresh), loc=loops[-1].loc),))


def counting_nest(stmt: ir.Stmt, types: TypeEnv) -> Counting | None:
    """The nest that `stmt` is, if it counts the iterations that a condition chooses."""
    parts = nest_with_lets(stmt)
    if parts is None:
        return None
    around, lets, stmt = parts
    loops = [
        replace(p, lower=substitute(p.lower, lets), upper=substitute(p.upper, lets), body=()) for p in around
    ]  # fmt: skip
    match stmt:
        case ir.If(cond=cond, then=(*body, ir.Accumulate(op="add", target=counter, value=value)), orelse=()):
            is_count = is_constant(value, 1)
        case ir.Accumulate(op="add", target=counter, value=ir.Cast(value=cond)):
            body, is_count = [], type_of(cond, types) == BOOL
        case _:
            return None
    is_cell = not counter.subscripts and types.arrays[counter.array].element == INT
    if not loops or not is_count or not is_cell or counter.array in written_arrays((*body,)):
        return None
    condition = substitute(cond, lets)
    inside = with_lets_in_place((*body,), lets)
    return None if inside is None else Counting(tuple(loops), condition, inside, ir.Load(counter, loc=counter.loc))


def with_lets_in_place(body: Block, lets: dict[ir.Expr, ir.Expr]) -> Block | None:
    """`body`, behind Lets that stand for `lets`, without any; None where what they read may have changed when they are
    used."""
    lets, made = dict(lets), list[ir.Stmt]()
    for stmt in body:
        if isinstance(stmt, ir.Let):
            lets[ir.Var(stmt.name)] = substitute(stmt.value, lets)
        else:
            made.append(map_stmt_exprs(lambda e: substitute(e, lets), stmt))
    is_one = len(made) == 1 and isinstance(made[0], ir.Assign | ir.Accumulate)
    is_steady = is_one or not arrays_in(*lets.values()) & written_arrays((*made,))
    return (*made,) if is_steady else None


Parts = tuple[ir.Expr, ...]


@immutable
class Packed:
    """What an element of a packed array is made of, where `loops` go over its axes after the first: of a pair, the
    parts of a complex number, each of the `values`."""

    array: str
    loops: tuple[ir.Loop, ...]
    values: Mapping[Parts, ir.Expr]

    def changed(self, change: Callable[[ir.Expr], ir.Expr]) -> Packed:
        return replace(self, values={k: change(v) for k, v in self.values.items()})


def packed_arrays(found: Counting) -> list[Packed]:
    """What a nest packs, in arrays that nothing else in it writes."""
    made: dict[str, list[Packed | None]] = {}
    for stmt in found.body:
        for array in dict.fromkeys(a.array for a in stores_in((stmt,))):
            made.setdefault(array, []).append(packed_at(stmt, found.counter))
    whole = (together(parts) for parts in made.values())
    return [m for m in whole if m is not None and not is_read(found.counter.access.array, *m.values.values())]


def together(parts: Sequence[Packed | None]) -> Packed | None:
    """The parts of one array, each of which is stored once."""
    if None in parts or len({p.array for p in parts if p is not None}) != 1:
        return None
    first, *others = (p for p in parts if p is not None)
    values = {k: v for p in (first, *others) for k, v in p.values.items()}
    return replace(first, values=values) if len(values) == len(parts) and not (others and first.loops) else None


def packed_at(stmt: ir.Stmt, place: ir.Expr) -> Packed | None:
    """What `stmt` gives to all that stands at `place` of an array, along its first axis, or to one part of it."""
    loops, body = into_nest((stmt,))
    match body:
        case (ir.Assign(target=ir.Access(array=array, subscripts=(first, *rest)), value=value),):
            along, part = rest[: len(loops)], rest[len(loops) :]
            is_all = along == [ir.Index(p.index) for p in loops] and all(map(is_from_zero, loops))
            is_part = all(isinstance(e, ir.Const) for e in part)
            return Packed(array, loops, {tuple(part): value}) if first == place and is_all and is_part else None
        case _:
            return None


def is_read(array: str, *exprs: ir.Expr) -> bool:
    return any(e.access.array == array for expr in exprs for e in loads(expr))


def arrays_in(*exprs: ir.Expr) -> Names:
    return frozenset(e.access.array for expr in exprs for e in loads(expr))


# -- what is known on the way ------------------------------------------------------------------------------------
@dataclass(slots=True)
class Known:
    """A nest that counted, cells that hold how many it chose, and what is packed like it."""

    nest: Counting
    counters: list[ir.Load]
    packed: dict[str, Packed] = field(default_factory=dict)

    def is_left(self, written: Names) -> bool:
        """Whether anything is known of it once `written` was written."""
        self.counters = [c for c in self.counters if c.access.array not in written]
        made = self.packed.items()
        self.packed = {a: p for a, p in made if a not in written and not arrays_in(*p.values.values()) & written}
        return bool(self.counters) and not arrays_in(*self.nest.choice) & written

    def value(self, access: ir.Access, indices: Sequence[ir.Expr]) -> ir.Expr:
        """What the element of a packed array is made of, in the iteration `indices`."""
        made = self.packed[access.array]
        rest, last = (ir.Index(p.index) for p in made.loops), 1 + len(made.loops)
        own = dict(zip((*self.nest.indices, *rest), (*indices, *access.subscripts[1:last]), strict=True))
        return substitute(made.values[access.subscripts[last:]], own)

    def uses(self, body: Block, place: ir.Expr) -> list[ir.Access]:
        """Elements of packed arrays that `body` reads, at `place` along the first axis; none if it reads others, or
        does anything else with the place than to store there."""
        found = [e.access for e in loads_in(body) if e.access.array in self.packed]
        at = [a for a in (*found, *stores_in(body)) if a.subscripts[:1] == (place,)]
        is_used_up = len(at) == sum(e == place for e in nodes_in(body))
        is_known = all(a.subscripts[1 + len((p := self.packed[a.array]).loops) :] in p.values for a in found)
        is_used_up = is_used_up and is_known
        return found if is_used_up and all(a.subscripts[0] == place for a in found) else []

    def read_in_place(self, body: Block, indices: Sequence[ir.Expr]) -> Block:
        """`body` with what packed elements are made of in the iteration `indices` in their place."""

        def read(expr: ir.Expr) -> ir.Expr:
            match expr:
                case ir.Load(access=access) if access.array in self.packed:
                    return self.value(access, indices)
                case _:
                    return expr

        return tuple(map_stmt_exprs(lambda e: map_expr(read, e), s) for s in body)


@dataclass(slots=True)
class Walk:
    """One walk over `ls`, which reads elements of `chosen` arrays where they come from; it says which of these are
    `replaced` anywhere. `sizes` are extents of arrays that it has seen to be made."""

    ls: ir.LoopSet
    types: TypeEnv
    chosen: Names
    names: NameSupply
    replaced: Names = frozenset()
    sizes: set[ir.Expr] = field(default_factory=set)

    def rewritten(self) -> ir.LoopSet:
        here = Here(self, [], set(), {})
        body: list[ir.Stmt] = []
        for stmt in self.ls.body:
            body += here.statement(stmt)
            if isinstance(stmt, ir.Allocate):
                self.sizes |= {*(self.ls.array(stmt.array).extents or ())}
        results = (
            replace(r, value=map_expr(here.counted, r.value)) if isinstance(r, ir.ScalarResult) else r
            for r in self.ls.results
        )
        return replace(self.ls, body=tuple(body), results=tuple(results))

    def is_size(self, expr: ir.Expr) -> bool:
        """Whether `expr` is never below zero, as the argument of a `range` may be: arrays were made with it."""
        return isinstance(expr, ir.Dim) or (isinstance(expr, ir.Const) and expr.value >= 0) or expr in self.sizes

    def block(self, body: Block) -> Block:
        here = Here(self, [], set(), {})
        return tuple(new for stmt in body for new in here.statement(stmt))


@dataclass(slots=True)
class Here:
    """What is known between two statements of a block: nests that counted, cells that are zero, and Lets of cells."""

    walk: Walk
    known: list[Known]
    zeros: set[str]
    lets: dict[str, ir.Load]

    def statement(self, stmt: ir.Stmt) -> Block:
        """What `stmt` becomes; what it does is known from then on."""
        stmt = map_own_exprs(lambda e: map_expr(self.counted, e), stmt)
        new = self.rewritten(stmt)
        written = written_arrays(new)
        self.known = [k for k in self.known if k.is_left(written)]
        self.lets = {n: c for n, c in self.lets.items() if c.access.array not in written}
        for made in new:
            self.learn(made, written)
        self.zeros -= written
        match stmt:
            case ir.Assign(target=ir.Access(array=cell, subscripts=()), value=value) if is_zero(value):
                self.zeros.add(cell)
            case ir.Let(name=name, value=ir.Load(access=ir.Access(subscripts=())) as cell):
                self.lets[name] = cell
            case ir.Require(cond=ir.Apply(op=Op.EQ, args=(a, b))) if a == b and self.counter(a) is not None:
                return ()
            case _:
                pass
        return new

    # -- counters ------------------------------------------------------------------------------------------------
    def counter(self, expr: ir.Expr) -> Known | None:
        """The nest that chose as many as `expr` says."""
        cell = self.lets.get(expr.name) if isinstance(expr, ir.Var) else expr
        return next((k for k in self.known if cell in k.counters), None)

    def counted(self, expr: ir.Expr) -> ir.Expr:
        """`expr` with one counter in place of all that hold the same, and no minima where there is room for all."""
        match expr:
            case ir.Load(access=ir.Access(subscripts=())) if (found := self.counter(expr)) is not None:
                return replace(found.counters[0], loc=expr.loc)
            case ir.Apply(op=Op.MIN, args=(a, b)):
                for count, most in ((a, b), (b, a)):
                    found = self.counter(count)
                    is_certain = found is not None and all(map(self.walk.is_size, (p.upper for p in found.nest.loops)))
                    if found is not None and is_certain and self.has_room(found.nest, most):
                        return count
                return expr
            case _:
                return expr

    def has_room(self, nest: Counting, most: ir.Expr) -> bool:
        """Whether a nest has as many iterations as `most` says, a product of extents."""
        factors, parts = [most], list[ir.Expr]()
        while factors:
            match factors.pop():
                case ir.Apply(op=Op.MUL, args=args):
                    factors += args
                case other:
                    parts.append(other)
        is_plain = all(map(is_from_zero, nest.loops)) and not indices_in(*(p.upper for p in nest.loops))
        return is_plain and Counter(parts) == Counter(p.upper for p in nest.loops)

    # -- statements ----------------------------------------------------------------------------------------------
    def rewritten(self, stmt: ir.Stmt) -> Block:
        if isinstance(stmt, ir.Loop):
            nest = counting_nest(stmt, self.walk.types)
            found = self.over_places(stmt) if nest is None else self.put_back(nest)
            if found is not None or nest is not None:
                return found or (stmt,)
        return (map_blocks(lambda body: self.walk.block(body), stmt),)

    def over_places(self, loop: ir.Loop) -> Block | None:
        """A loop over all that was packed as one over where it comes from."""
        found, place = self.packed_for(loop), ir.Index(loop.index)
        if found is None or any(place in a.subscripts for a in stores_in(loop.body)):
            return None
        body = without(loop.body, lambda s: isinstance(s, ir.Require) and self.is_in_range(s.cond, loop))
        used = found.uses(body, place)
        arrays = frozenset(a.array for a in used)
        read = arrays_in(*found.nest.choice, *(v for a in arrays for v in found.packed[a].values.values()))
        if not used or written_arrays(body) & (read | arrays):
            return None
        self.walk.replaced |= arrays
        return found.nest.around(lambda indices: found.read_in_place(body, indices), self.walk.names)

    def is_in_range(self, cond: ir.Expr, loop: ir.Loop) -> bool:
        """Whether all that `cond` says is that the index of `loop`, which begins at zero, is in its range."""
        index = ir.Index(loop.index)
        certain = compare(Op.GE, index, ir.Const(0, INT)), compare(Op.LT, index, loop.upper)
        return all(map_expr(self.counted, c) in certain for c in conjuncts(cond))

    def packed_for(self, loop: ir.Loop) -> Known | None:
        """What is known of the elements that `loop` goes over, if it goes over all that were chosen."""
        return self.counter(loop.upper) if is_from_zero(loop) and not exits(loop) else None

    def put_back(self, nest: Counting) -> Block | None:
        """A nest that counts the same iterations once more, for each of which it reads what was packed then."""
        found = self.like(nest)
        used = [] if found is None else found.uses(nest.body, nest.counter)
        if found is None or not used:
            return None
        arrays, values = {a.array for a in used}, [found.value(a, nest.indices) for a in used]
        body = found.read_in_place(nest.body, nest.indices)
        shared = written_arrays(body) & arrays_in(*nest.choice, *values)
        read = [e.access for x in (*nest.choice, *values) for e in loads(x)]
        if shared and len(body) > 1:
            others = {e.access.array for s in nest.body for e in loads_in((s,))} & written_arrays(body)
            body = () if others else self.first_read(body)
        if arrays & written_arrays(body) or (shared and not is_in_place(nest, body, read, shared)):
            return None
        self.walk.replaced |= arrays
        count = ir.Accumulate("add", nest.counter.access, ir.Const(1, INT), loc=nest.loops[-1].loc)
        return nested(nest.loops, (ir.If(nest.cond, (*body, count), loc=nest.loops[-1].loc),))

    def first_read(self, body: Block) -> Block:
        """`body`, of stores, with all that they store computed ahead of them; nothing if there is more in it."""
        lets: list[ir.Stmt] = []
        stores: list[ir.Stmt] = []
        for stmt in body:
            if not isinstance(stmt, ir.Assign | ir.Accumulate):
                return ()
            name = self.walk.names.fresh("part")
            lets.append(ir.Let(name, stmt.value, loc=stmt.loc))
            stores.append(replace(stmt, value=ir.Var(name)))
        return (*lets, *stores)

    def like(self, nest: Counting) -> Known | None:
        """What is known of an earlier nest that chose what `nest` chooses, which starts to count at zero."""
        starts = nest.counter.access.array in self.zeros
        return next((k for k in self.known if starts and nest.is_like(k.nest)), None)

    def learn(self, stmt: ir.Stmt, written: Names) -> None:
        """Add what is known after the loop `stmt`, which wrote `written`."""
        nest = counting_nest(stmt, self.walk.types)
        if nest is not None and nest.counter.access.array in self.zeros:
            if arrays_in(*nest.choice) & written:
                return
            found = self.like(nest)
            if found is None:
                self.known.append(found := Known(nest, []))
            found.counters.append(nest.counter)
            renamed = dict(zip(nest.indices, found.nest.indices, strict=True))
            for made in packed_arrays(nest):
                self.pack(found, made.changed(lambda v, renamed=renamed: substitute(v, renamed)), written)
        elif isinstance(stmt, ir.Loop) and len(stmt.body) == 1 and (found := self.packed_for(stmt)) is not None:
            place = ir.Index(stmt.index)
            made = packed_at(stmt.body[0], place)
            used = found.uses(stmt.body, place)
            if made is not None and used:
                self.walk.replaced |= {a.array for a in used}
                (copied,) = found.read_in_place((stmt.body[0],), found.nest.indices)
                again = packed_at(copied, place)
                if again is not None:
                    self.pack(found, again, written)

    def pack(self, found: Known, made: Packed, written: Names) -> None:
        """Add what an array is packed with, if it is one that may go, has room and costs nothing to make again."""
        decl = self.walk.ls.array(made.array)
        values = [*made.values.values()]
        if made.array not in self.walk.chosen or decl.extents is None or arrays_in(*values) & written:
            return
        if decl.type is None or not decl.type.keeps_values:
            return
        first, *rest = decl.extents
        uppers = [p.upper for p in made.loops]
        reads = sum(e.access.array == made.array for e in loads_in(self.walk.ls.body))
        is_slow = any(isinstance(e, ir.Apply) and e.op in FUNCTIONS for v in values for e in subexprs(v))
        parts = rest[len(uppers) :]
        places = product(*(map(integer, range(int(e.value))) for e in parts if isinstance(e, ir.Const)))
        is_whole = {*made.values} == {*places}
        is_free = reads <= len(values) or not is_slow
        if self.has_room(found.nest, first) and rest[: len(uppers)] == uppers and is_whole and is_free:
            found.packed[made.array] = made


def is_in_place(nest: Counting, body: Block, read: Sequence[ir.Access], shared: Names) -> bool:
    """Whether each iteration writes one element of the `shared` arrays that is its own, all that it reads of them being
    this one; parts of one complex number are one element."""
    loops, body = into_nest(body)
    indices = {*nest.indices, *(ir.Index(p.index) for p in loops)}
    targets = {element_of(t) for s in body if (t := written_access(s)) is not None}
    is_own = len(targets) == 1 and all(indices <= {*t.subscripts} for t in targets)
    is_alone = is_own and all(isinstance(s, ir.Let | ir.Assign | ir.Accumulate) for s in body)
    return is_alone and all(element_of(a) in targets for a in read if a.array in shared)


def element_of(access: ir.Access) -> ir.Access:
    """`access`, or the complex number that it is a part of."""
    *rest, last = access.subscripts or (ir.Const(0, INT),)
    return replace(access, subscripts=tuple(rest)) if isinstance(last, ir.Const) else access


def stores_in(body: Block) -> list[ir.Access]:
    """What is written in `body`, each time."""
    return [a for s in all_statements(body) if (a := written_access(s)) is not None]
