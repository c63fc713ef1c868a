"""Backward slice of decisions: the floating values that conditions, subscripts, bounds and roundings depend on.

    t = a[i] / n - b[i]         `t` decides, and so do the quotient and the difference that it is made of
    if t > 0.0: ...

This is the slice of a program (Weiser 1984) that its decisions depend on element by element: through names, cells that
iterations hand on, and arrays, each of them as a whole. It ends at a sum over a loop, whose terms may be added in any
order: one that several iterations add to while nobody reads it.

Whether a function has a value is such a decision, too: a difference that is zero in Python has a root, and a negative
number in its place has none. What is not a difference keeps its sign, however it is rounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache

from loopdiff.analysis.legality import may_meet
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.analysis.polyhedral.pairs import orders
from loopdiff.analysis.polyhedral.sets import Model
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.ops import COMPARISONS, FLOAT_TESTS, ROUNDINGS, SUMS, Op
from loopdiff.ir.typing import TypeEnv, type_of
from loopdiff.ir.walk import Path, Site, expressions, loads, operands, reads, statements, stmt_exprs, subexprs

# What jumps however little its operands change: an angle does on the negative axis, and an inverse sine has no value
# beyond 1.
JUMPS = frozenset((
    *COMPARISONS, *FLOAT_TESTS, *ROUNDINGS, Op.SIGN, Op.FLOORDIV, Op.MOD, Op.FMOD, Op.ATAN2,
    Op.ASIN, Op.ACOS, Op.ACOSH, Op.ATANH,
))  # fmt: skip
OF_POSITIVE = frozenset((Op.SQRT, Op.LOG, Op.LOG2, Op.LOG10))
POSITIVE = frozenset((Op.ABS, Op.EXP, Op.EXP2, Op.COSH, Op.HYPOT, Op.ERFC))


class Stake(IntEnum):
    """What hangs on the rounding of a value: nothing, whether it is negative or zero, or any decision."""

    NONE = 0
    SIGN = 1
    DECISION = 2


def stakes_of_operands(expr: ir.Expr, stake: Stake, types: TypeEnv) -> tuple[Stake, ...]:
    """What hangs on each of the `operands` of `expr`, on which `stake` does."""
    match expr:
        case ir.Apply(op=Op.COPYSIGN):
            return stake, Stake.DECISION
        case ir.Apply(args=args):
            return (stake_of_arguments(expr, stake),) * len(args)
        case ir.Cast(dtype=dtype, value=value):
            return (Stake.DECISION if not dtype.is_float and type_of(value, types).is_float else stake,)
        case ir.Select():
            return Stake.NONE, stake, stake
        case ir.Load(access=access):
            return (Stake.NONE,) * len(access.subscripts)
        case _:
            return (stake,) * len(operands(expr))


def stake_of_arguments(expr: ir.Apply, stake: Stake) -> Stake:
    if expr.op in JUMPS or is_decided(expr, stake):
        return Stake.DECISION
    if is_of_positive(expr):
        return Stake.SIGN
    return Stake.NONE if is_positive(expr) else stake


def is_of_positive(expr: ir.Apply) -> bool:
    """Whether a negative operand has no value."""
    match expr:
        case ir.Apply(op=Op.POW, args=(_, ir.Const(value=exponent))):
            return not float(exponent).is_integer()
        case _:
            return expr.op in OF_POSITIVE or expr.op is Op.POW


def is_positive(expr: ir.Apply) -> bool:
    """Whether the value is positive or zero however operands are rounded, as a square is."""
    match expr:
        case ir.Apply(op=Op.MUL, args=(a, b)):
            return a == b
        case ir.Apply(op=Op.POW, args=(_, ir.Const(value=exponent))):
            return float(exponent) % 2.0 == 0.0
        case _:
            return expr.op in POSITIVE


def is_decided(expr: ir.Expr, stake: Stake) -> bool:
    """Whether `expr`, on which `stake` hangs, is to be rounded as Python rounds it."""
    return stake is Stake.DECISION or (stake is Stake.SIGN and is_difference(expr))


def is_difference(expr: ir.Expr) -> bool:
    match expr:
        case ir.Apply(op=Op.SUB):
            return True
        case ir.Apply(op=Op.ADD, args=args):
            return any(isinstance(a, ir.Apply) and a.op is Op.NEG for a in args) or any(
                isinstance(a, ir.Const) and a.value < 0 for a in args
            )
        case _:
            return False


def added(value: ir.Expr, target: ir.Access) -> ir.Expr | None:
    """`e + f` of `target + e + f`, perhaps of another width; None if `value` is something else."""
    match value:
        case ir.Cast(dtype=dtype, value=inner) if dtype.is_float:
            rest = added(inner, target)
            return None if rest is None else ir.Cast(dtype, rest, loc=value.loc)
        case ir.Apply(op=op, args=(left, right)) if op in SUMS and not reads(right, target):
            if is_load(left, target):
                return ir.Apply(Op.NEG, (right,), loc=value.loc) if op in (Op.SUB, Op.STRICT_SUB) else right
            rest = added(left, target) if isinstance(left, ir.Apply) else None
            return None if rest is None else replace(value, args=(rest, right))
        case _:
            return None


def is_load(expr: ir.Expr, access: ir.Access) -> bool:
    return expr == ir.Load(access) or (isinstance(expr, ir.Cast) and expr.value == ir.Load(access))


def addend(stmt: ir.Stmt) -> ir.Expr | None:
    """What the statement adds to its target, if that is all that it does."""
    match stmt:
        case ir.Accumulate(op="add", value=value):
            return value
        case ir.Assign(target=target, value=value):
            return added(value, target)
        case _:
            return None


def total(stmt: ir.Assign | ir.Accumulate) -> ir.Expr:
    """What the target of a statement that adds to it holds after it."""
    return (
        stmt.value
        if isinstance(stmt, ir.Assign)
        else ir.Apply(Op.ADD, (ir.Load(stmt.target), stmt.value), loc=stmt.loc)
    )


@immutable
class Deciding:
    """What hangs on Lets, cells and arrays, if anything does; the paths of statements that add to those element by
    element."""

    stakes: Mapping[str, Stake]
    additions: frozenset[Path]


def deciding(ls: ir.LoopSet, types: TypeEnv) -> Deciding:
    """What decides in the normal LoopSet `ls`."""
    slicing = Slicing(types, cache(lambda: build_model(ls)))
    for site in statements(ls.body):
        slicing.enter(site)
    slicing.follow([found for e in expressions(ls) for found in slicing.names_in(e, Stake.NONE)])
    return Deciding(slicing.stakes, frozenset(slicing.additions))


@dataclass(slots=True)
class Slicing:
    """Follows values back to what they are made from: `makers` and `readers` are the statements that give and read a
    name. `model` of the program is made where subscripts have to be compared."""

    types: TypeEnv
    model: Callable[[], Model]
    makers: dict[str, list[Site]] = field(default_factory=lambda: defaultdict(list))
    readers: dict[str, list[tuple[Site, ir.Access]]] = field(default_factory=lambda: defaultdict(list))
    stakes: dict[str, Stake] = field(default_factory=dict)
    additions: set[Path] = field(default_factory=set)

    def enter(self, site: Site) -> None:
        read = stmt_exprs(site.stmt)
        match site.stmt:
            case ir.Let(name=name):
                self.makers[name].append(site)
            case ir.Assign(target=target) | ir.Accumulate(target=target):
                self.makers[target.array].append(site)
                rest = addend(site.stmt)
                read = read if rest is None else (*target.subscripts, rest)
            case _:
                pass
        for access in {e.access for expr in read for e in loads(expr)}:
            self.readers[access.array].append((site, access))

    def names_in(self, expr: ir.Expr, stake: Stake) -> Iterator[tuple[str, Stake]]:
        """What `expr` reads on whose rounding something hangs."""
        if stake and type_of(expr, self.types).is_float:
            match expr:
                case ir.Var(name=name) | ir.Load(access=ir.Access(array=name)):
                    yield name, stake
                case _:
                    pass
        for part, found in zip(operands(expr), stakes_of_operands(expr, stake, self.types), strict=True):
            yield from self.names_in(part, found)

    def follow(self, names: list[tuple[str, Stake]]) -> None:
        while names:
            name, stake = names.pop()
            if stake > self.stakes.get(name, Stake.NONE):
                self.stakes[name] = stake
                for site in self.makers[name]:
                    names += self.makes(site, stake)

    def makes(self, site: Site, stake: Stake) -> Iterator[tuple[str, Stake]]:
        """What `site` makes a value of on which `stake` hangs."""
        stmt = site.stmt
        assert isinstance(stmt, ir.Let | ir.Assign | ir.Accumulate)
        if isinstance(stmt, ir.Let) or addend(stmt) is None:
            yield from self.names_in(stmt.value, stake)
        elif self.adds_once(site, stmt.target):
            self.additions.add(site.path)
            yield from self.names_in(total(stmt), stake)

    def adds_once(self, site: Site, target: ir.Access) -> bool:
        """Whether no loop adds several numbers to one element of `target` that nobody reads in between."""
        depth = 0
        apart: list[tuple[Site, ir.Access]] = []
        for reader, access in self.readers[target.array]:
            shared = common(site.loops, reader.loops)
            if access == target or not target.subscripts:
                depth = max(depth, shared)
            elif shared:
                apart.append((reader, access))
        while not is_injective(target, site.loops[depth:]):
            if not apart:
                return False
            depth = max(depth, self.depth_read(site, target, *apart.pop()))
        return True

    def depth_read(self, site: Site, target: ir.Access, reader: Site, access: ir.Access) -> int:
        """How many loops are around a read of an element between two additions to it at `site`."""
        model = self.model()
        adding = [e for e in model.events if e.path == site.path and e.is_write and e.access == target]
        reading = [e for e in model.events if e.path == reader.path and not e.is_write and e.access == access]
        both = [pair for a in adding for r in reading for pair in ((a, r), (r, a))]
        found = (o.shared + o.is_carried for a, b in both for o in orders(a, b) if may_meet(model, a, b, o))
        return max(found, default=0 if both else common(site.loops, reader.loops))


def common(a: tuple[ir.Loop, ...], b: tuple[ir.Loop, ...]) -> int:
    """How many loops are around both."""
    pairs = zip(a, b, strict=False)
    return next((k for k, (x, y) in enumerate(pairs) if x is not y), min(len(a), len(b)))


def is_injective(target: ir.Access, loops: tuple[ir.Loop, ...]) -> bool:
    """Whether all iterations of `loops` have elements of their own."""
    return all(any(is_axis(s, loop, loops) for s in target.subscripts) for loop in loops)


def is_axis(subscript: ir.Expr, loop: ir.Loop, loops: tuple[ir.Loop, ...]) -> bool:
    """Whether `subscript` differs between iterations of `loop`, whatever those of other `loops` are."""
    terms, _ = linear(subscript)
    others = {p.index for p in loops} - {loop.index}
    used = {e.name for term in terms for e in subexprs(term) if isinstance(e, ir.Index)}
    return ir.Index(loop.index) in terms and not used & others
