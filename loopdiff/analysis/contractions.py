"""Contractions: perfect nests around one `T[...] += summand` whose target does not depend on every loop."""

from __future__ import annotations

from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import folded
from loopdiff.ir.build import integer, is_constant, zeroed
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.typing import TypeEnv
from loopdiff.ir.walk import indices_in, subexprs, substitute


@immutable
class Contraction:
    """`loops` from the outside in around `update`, whose value is `summand`; the Lets of the nest are put in place.

    `start`: the `T[...] = 0` that stands before the summed loops, if there is one.
    """

    loops: tuple[ir.Loop, ...]
    update: ir.Accumulate
    summand: ir.Expr
    start: ir.Assign | None

    @property
    def kept(self) -> tuple[str, ...]:
        """Indices that the target depends on."""
        used = access_indices(self.update.target)
        return tuple(p.index for p in self.loops if p.index in used)

    @property
    def sums(self) -> tuple[str, ...]:
        """Indices that are summed over."""
        used = access_indices(self.update.target)
        return tuple(p.index for p in self.loops if p.index not in used)


@immutable
class Slide:
    """Bounds of the loop over `index` that go along with another index: from `max(low, along + first)` up to
    `min(high, along + end)`."""

    index: str
    along: str
    low: ir.Expr
    high: ir.Expr
    first: ir.Expr
    end: ir.Expr


def contraction(stmt: ir.Stmt) -> Contraction | None:
    """The contraction that `stmt` is, Lets anywhere in it; None if it is none."""
    found = accumulation(stmt)
    return found if found is not None and found.update.target.subscripts else None


def accumulation(stmt: ir.Stmt) -> Contraction | None:
    """The contraction that `stmt` is, or the sum into a cell which it is otherwise like; None if it is neither."""
    found = nest_of_update(stmt)
    return found if found is not None and found.sums else None


def nest_of_update(stmt: ir.Stmt) -> Contraction | None:
    """The loops around a single update and its start that `stmt` is, summed over or not; None if it is no such nest."""
    loops: list[ir.Loop] = []
    lets: list[ir.Let] = []
    start: ir.Assign | None = None
    started = 0
    while isinstance(stmt, ir.Loop):
        loops.append(stmt)
        lets += [s for s in stmt.body if isinstance(s, ir.Let)]
        match [s for s in stmt.body if not isinstance(s, ir.Let)]:
            case [ir.Assign() as first, ir.Loop() as inner] if start is None:
                start, started, stmt = first, len(loops), inner
            case [only]:
                stmt = only
            case _:
                return None
    if not isinstance(stmt, ir.Accumulate) or stmt.op != "add" or len(loops) < 2:
        return None
    value, *subscripts = inlined(tuple(lets), (stmt.value, *stmt.target.subscripts))
    update = replace(stmt, target=replace(stmt.target, subscripts=tuple(subscripts)))
    found = Contraction(tuple(loops), update, value, start)
    if start is not None and not is_start(start, update.target, found.kept, found.loops[:started]):
        return None
    return found


def is_start(start: ir.Assign, target: ir.Access, kept: tuple[str, ...], outside: tuple[ir.Loop, ...]) -> bool:
    """Whether `start` zeroes just what is summed into: each iteration of the loops around it has its own element."""
    own = [[i for i in kept if i in access_indices(ir.Access("", (s,)))] for s in target.subscripts]
    moving = [(s, found[0]) for s, found in zip(target.subscripts, own, strict=True) if len(found) == 1]
    is_injective = (
        all(len(found) <= 1 for found in own)
        and all(coefficient(s, i) in (1, -1) for s, i in moving)
        and sorted(i for _, i in moving) == sorted(kept)
    )
    return zeroed(start) == target and is_injective and tuple(p.index for p in outside) == kept


def inlined(lets: tuple[ir.Let, ...], values: tuple[ir.Expr, ...]) -> tuple[ir.Expr, ...]:
    """`values` with the Lets before them put in place."""
    known: dict[ir.Expr, ir.Expr] = {}
    for let in lets:
        known[ir.Var(let.name)] = substitute(let.value, known)
    return tuple(substitute(v, known) for v in values)


def access_indices(access: ir.Access) -> frozenset[str]:
    return indices_in(*access.subscripts)


def terms(value: ir.Expr) -> list[tuple[bool, ir.Expr]]:
    """(is_negative, term) of a sum."""
    match value:
        case ir.Apply(op=Op.ADD | Op.SUB as op, args=(a, b)):
            right = terms(b)
            return terms(a) + ([(not sign, e) for sign, e in right] if op is Op.SUB else right)
        case ir.Apply(op=Op.NEG, args=(a,)):
            return [(not sign, e) for sign, e in terms(a)]
        case _:
            return [(False, value)]


def factors(value: ir.Expr) -> list[ir.Expr]:
    """The factors of a product."""
    match value:
        case ir.Apply(op=Op.MUL, args=(a, b)):
            return factors(a) + factors(b)
        case _:
            return [value]


def is_uniform(found: Contraction, types: TypeEnv) -> bool:
    """Whether the summand never reads what is summed into, and all is of one floating type."""
    array = found.update.target.array
    reads = {e.access.array for e in subexprs(found.summand) if isinstance(e, ir.Load)}
    kind = types.arrays[array].element
    is_plain = not any(types.arrays[n].is_half for n in (array, *reads))  # register tiles convert nothing
    return is_plain and array not in reads and kind.is_float and {types.arrays[r].element for r in reads} <= {kind}


def is_rectangular(loops: tuple[ir.Loop, ...]) -> bool:
    """Whether the loops' ranges do not depend on each other or on memory, in unit steps."""
    indices = {p.index for p in loops}
    for loop in loops:
        for bound in (loop.lower, loop.upper):
            if any(
                isinstance(e, ir.Load | ir.Var) or (isinstance(e, ir.Index) and e.name in indices)
                for e in subexprs(bound)
            ):
                return False
        if not is_constant(loop.step, 1):
            return False
    return True


def slides_of(loops: tuple[ir.Loop, ...]) -> tuple[Slide, ...] | None:
    """How loops in unit steps slide along others, those that do; None if ranges depend on each other otherwise, or on
    memory."""
    indices, found = frozenset(p.index for p in loops), list[Slide]()
    for loop in loops:
        if not indices & indices_in(loop.lower, loop.upper) and is_rectangular((loop,)):
            continue
        low, high = sliding_bound(loop.lower, Op.MAX, indices), sliding_bound(loop.upper, Op.MIN, indices)
        if low is None or high is None or low[0] != high[0] or not is_constant(loop.step, 1):
            return None
        found.append(Slide(loop.index, low[0], low[1], high[1], low[2], high[2]))
    return tuple(found)


def sliding_bound(bound: ir.Expr, op: Op, indices: frozenset[str]) -> tuple[str, ir.Expr, ir.Expr] | None:
    """The index in one of the two arguments of `op`, the other one, and what that index is added to."""
    if not isinstance(bound, ir.Apply) or bound.op is not op:
        return None
    if any(isinstance(e, ir.Load | ir.Var) for e in subexprs(bound)):
        return None
    moving = [a for a in bound.args if indices & indices_in(a)]
    if len(moving) != 1 or len(names := indices & indices_in(moving[0])) != 1:
        return None
    (name,) = names
    if coefficient(moving[0], name) != 1:
        return None
    rest = folded(substitute(moving[0], {ir.Index(name): integer(0)}), INT)
    return name, next(a for a in bound.args if a is not moving[0]), rest
