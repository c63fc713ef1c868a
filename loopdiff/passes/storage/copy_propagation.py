"""Copy propagation of arrays: reads of a copy become reads of the original where that still holds the same.

    for r:                                    for r:
        for a: s[a] = ...                         for a: s[a] = ...
        for a: tape[a] = s[a]      becomes
        for a: ... tape[a] ...                    for a: ... s[a] ...

What is kept for the reverse sweep is such a copy once both sweeps run in one pass. So is the adjoint of an array whose
weighted sum is the loss, of all the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant, is_descending, turned_round
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import (
    Path,
    Site,
    accesses,
    all_statements,
    into_nest,
    map_accesses,
    map_expr,
    map_stmt_exprs,
    nodes_in,
    nodes_of,
    result_arrays,
    returned_arrays,
    seen_params,
    statements,
    subexprs,
    substitute,
    without,
    written_access,
    written_arrays,
)
from loopdiff.passes.storage.first_writes import rewritten


@immutable
class Copy:
    """One array copied into another, element by element, inside the outermost loop `number`."""

    to: str
    source: str
    number: int
    site: Site

    @property
    def element(self) -> ir.Access:
        assert isinstance(self.site.stmt, ir.Assign)
        return self.site.stmt.target


def without_copies(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` without copies inside outermost loops where all that reads them finds the same in the originals."""
    users = users_of(ls)
    for number, stmt in enumerate(ls.body):
        if isinstance(stmt, ir.Loop):
            sites = [replace(s, path=(number, *s.path[1:])) for s in statements((stmt,))]
            found = (copy_at(number, s) for s in sites)
            unneeded = (c for c in found if c is not None and is_private(ls, c, users) and is_unneeded(sites, c))
            for copy in unneeded:
                return without_copies(with_source(ls, copy))
    return ls


# -- copies of whole arrays ----------------------------------------------------------------------------------
def without_whole_copies(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` without arrays of its own that get all their elements from an argument which stays as it is, or that are
    constant: the adjoint of an array is that where the loss is its weighted sum, or its sum."""
    for number, stmt in enumerate(ls.body):
        found = whole_copy(ls, number, stmt)
        if found is not None:
            return without_whole_copies(with_value(ls, number, found))
    return ls


def whole_copy(ls: ir.LoopSet, number: int, stmt: ir.Stmt) -> ir.Assign | None:
    """A statement of the perfect nest `number` that gives all elements of an array values which nothing changes, and is
    the only one that writes it, before all that read it."""
    nest, body = into_nest((stmt,))
    loops = [turned_round(p) if is_descending(p) else p for p in nest]
    indices = tuple(ir.Index(p.index) for p in loops)
    if not loops or not all(isinstance(s, ir.Let | ir.Assign | ir.Accumulate) for s in body):
        return None
    for made in body:
        if isinstance(made, ir.Assign) and made.target.subscripts == indices and is_fixed_value(ls, made):
            decl = ls.array(made.target.array)
            is_alone = not any(a.array == decl.name for s in body if s is not made for a in accesses(s))
            if is_alone and is_written_once(ls, number, decl.name) and is_covered(ls, decl, loops, number):
                return made
    return None


def is_fixed_value(ls: ir.LoopSet, made: ir.Assign) -> bool:
    """Whether an array of the function's own gets the same element of an argument that stays as it is, or a number."""
    decl = ls.array(made.target.array)
    if decl.role not in ("local", "adjoint") or decl.name in {*ls.params, *result_arrays(ls)}:
        return False
    match made.value:
        case ir.Const(dtype=dtype):
            return decl.type is not None and decl.type.element.is_float and dtype is decl.type.element
        case ir.Load(access=ir.Access(array=source, subscripts=subscripts)):
            is_same = source in ls.params and subscripts == made.target.subscripts
            return is_same and ls.array(source).type == decl.type and source not in written_arrays(ls.body)
        case _:
            return False


def is_written_once(ls: ir.LoopSet, number: int, array: str) -> bool:
    """Whether the nest `number` alone writes the array, before all that read it, and nobody asks how large it is."""
    extents = [e for a in ls.arrays for x in a.extents or () for e in subexprs(x)]
    results = [e for r in ls.results if isinstance(r, ir.ScalarResult) for e in subexprs(r.value)]
    own = [e for s in all_statements((ls.body[number],)) for e in nodes_of(s)]
    if any(isinstance(e, ir.Dim) and e.array == array for e in (*extents, *results, *own)):
        return False
    for place, stmt in enumerate(ls.body):
        if isinstance(stmt, ir.Allocate) and place < number:
            continue
        used = [a for s in all_statements((stmt,)) for a in accesses(s) if a.array == array]
        is_asked = any(isinstance(e, ir.Dim) and e.array == array for s in all_statements((stmt,)) for e in nodes_of(s))
        is_called = any(isinstance(s, ir.Call) for s in all_statements((stmt,)))
        if place != number and (is_asked or is_called or array in written_arrays((stmt,)) or (used and place < number)):
            return False
    return True


def is_covered(ls: ir.LoopSet, decl: ir.ArrayDecl, loops: Sequence[ir.Loop], number: int) -> bool:
    """Whether the loops go over all of an array; extents may be equal because something else was refused."""
    required = [s.cond for s in ls.body[:number] if isinstance(s, ir.Require) and is_equation(s.cond)]
    equal = [c.args for c in required if not any(isinstance(e, ir.Load) for e in subexprs(c))]

    def same(a: ir.Expr, b: ir.Expr) -> bool:
        return a == b or (a, b) in equal or (b, a) in equal

    pairs = zip(loops, decl.extents or (), strict=False)
    is_whole = all(is_constant(p.lower, 0) and is_constant(p.step, 1) and same(p.upper, e) for p, e in pairs)
    return is_whole and bool(loops) and len(loops) == len(decl.extents or ())


def is_equation(cond: ir.Expr) -> TypeGuard[ir.Apply]:
    return isinstance(cond, ir.Apply) and cond.op is Op.EQ


def with_value(ls: ir.LoopSet, number: int, copy: ir.Assign) -> ir.LoopSet:
    """`ls` without the statement `copy` of the nest `number`, and what it copies read in place of the copy."""
    array = copy.target.array

    def read(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Load(access=access) if access.array == array:
                kept = copy.value
                return (
                    ir.Load(replace(access, array=kept.access.array), loc=expr.loc)
                    if isinstance(kept, ir.Load)
                    else kept
                )
            case _:
                return expr

    nest = without((ls.body[number],), lambda s: s == copy)
    others = (s for part in (ls.body[:number], nest, ls.body[number + 1 :]) for s in part)
    body = (s for s in others if not (isinstance(s, ir.Allocate) and s.array == array))
    body = tuple(map_stmt_exprs(lambda e: map_expr(read, e), s) for s in body)
    return replace(ls, arrays=tuple(a for a in ls.arrays if a.name != array), body=body)


# -- copies inside loops -------------------------------------------------------------------------------------
def copy_at(number: int, site: Site) -> Copy | None:
    match site.stmt:
        case ir.Assign(target=target, value=ir.Load(access=source)) if target.subscripts and target != source:
            is_same = target.subscripts == source.subscripts
            return Copy(target.array, source.array, number, site) if is_same else None
        case _:
            return None


def is_private(ls: ir.LoopSet, copy: Copy, users: Users) -> bool:
    """Whether both arrays are floats of one shape that only the loop has to do with, and hold nothing at first."""
    to, source = ls.array(copy.to), ls.array(copy.source)
    is_alike = to.extents is not None and (to.type, to.extents) == (source.type, source.extents)
    is_float = to.type is not None and to.type.element.is_float
    return is_alike and is_float and not {copy.to, copy.source} & users.beside(copy.number)


@immutable
class Users:
    """Arrays that `all` may look at or fill, and for the others the numbers of the statements of the body that do."""

    all: frozenset[str]
    of: Mapping[str, frozenset[int]]

    def beside(self, number: int) -> frozenset[str]:
        """Arrays that others than the statement `number` look at or fill."""
        return self.all | {a for a, numbers in self.of.items() if numbers != {number}}


def users_of(ls: ir.LoopSet) -> Users:
    """Who has to do with arrays, which are anybody's if functions are called."""
    if any(isinstance(s, ir.Call) for s in all_statements(ls.body)):
        return Users(frozenset(a.name for a in ls.arrays), {})
    asked = {e.array for e in nodes_in(ls.body) if isinstance(e, ir.Dim)}
    numbers: dict[str, set[int]] = {}
    for number, stmt in enumerate(ls.body):
        for s in all_statements((stmt,)):
            filled = (s.array,) if isinstance(s, ir.Allocate) and s.fill is not None else ()
            for array in (*filled, *(a.array for a in accesses(s))):
                numbers.setdefault(array, set()).add(number)
    return Users(
        frozenset(asked) | seen_params(ls) | returned_arrays(ls), {a: frozenset(n) for a, n in numbers.items()}
    )


def is_unneeded(sites: Sequence[Site], copy: Copy) -> bool:
    """Whether the copy is made just once, and all reads of it, later in the iteration, are of elements that were copied
    and have not been written in the original since. `sites`: the statements of the loop, in textual order."""
    if copy.site.is_conditional or any(isinstance(s.stmt, ir.Exit) for s in sites):
        return False
    is_later = False
    for site in sites:
        if site.path == copy.site.path:
            is_later = True
            continue
        target = written_access(site.stmt)
        if is_later and isinstance(site.stmt, ir.Allocate) and site.stmt.array in (copy.to, copy.source):
            return False
        if target is not None and target.array == copy.to:
            return False
        if target is not None and target.array == copy.source and (is_later or not is_in_step(site, target, copy)):
            return False
        reads = [a for a in accesses(site.stmt) if a.array == copy.to]
        if reads and not (is_later and all(covers(copy, site, a) for a in reads)):
            return False
    return True


def is_in_step(site: Site, written: ir.Access, copy: Copy) -> bool:
    """Whether each iteration of the loops around both the write and the copy has elements of its own, for both."""
    shared = [p for p in copy.site.loops[1:] if any(p is q for q in site.loops)]
    pairs = [(s, t) for s, t in zip(copy.element.subscripts, written.subscripts, strict=True) if s == t]
    return all(any(coefficient(s, p.index) in (1, -1) for s, _ in pairs) for p in shared)


def covers(copy: Copy, site: Site, read: ir.Access) -> bool:
    """Whether the loops around the read go over no other elements than those around the copy, loops around both in
    step."""
    return same_elements(copy.element, copy.site.loops[1:], read, site.loops[1:])


def same_elements(first: ir.Access, inner: Sequence[ir.Loop], second: ir.Access, others: Sequence[ir.Loop]) -> bool:
    """Whether the loops `inner` around the first access go over the same elements as `others` do around the second, one
    loop for each, the same one where it is around both."""
    bound: dict[ir.Expr, ir.Expr] = {}
    for s, t in zip(first.subscripts, second.subscripts, strict=True):
        own = [p for p in inner if coefficient(s, p.index) != 0]
        their = [q for q in others if coefficient(t, q.index) != 0]
        if len(own) > 1 or len(own) != len(their):
            return False
        for p, q in zip(own, their, strict=True):
            if bound.setdefault(ir.Index(p.index), ir.Index(q.index)) != ir.Index(q.index):
                return False
            if any(p is r for r in others) and p is not q:
                return False
            if [substitute(e, bound) for e in (p.lower, p.upper, p.step)] != [q.lower, q.upper, q.step]:
                return False
        if substitute(s, bound) != t:
            return False
    return len(bound) == len(inner)


def with_source(ls: ir.LoopSet, copy: Copy) -> ir.LoopSet:
    """`ls` with the original read in place of the copy."""

    def dropped(stmt: ir.Stmt, path: Path) -> ir.Stmt | None:
        is_gone = path == copy.site.path or (isinstance(stmt, ir.Allocate) and stmt.array == copy.to)
        return None if is_gone else stmt

    def in_place(access: ir.Access) -> ir.Access:
        return replace(access, array=copy.source) if access.array == copy.to else access

    arrays = tuple(a for a in ls.arrays if a.name != copy.to or a.name in ls.params)
    body = rewritten(ls, dropped).body
    return replace(ls, arrays=arrays, body=tuple(map_accesses(in_place, s) for s in body))
