"""What decisions are made from: the floating numbers that comparisons see, and whatever else jumps.

    t = a[i] / n - b[i]         `t` decides, and so do the quotient and the difference that it is made of
    if t > 0.0: ...

This is the slice of a program (Weiser 1984) that its decisions depend on element by element: through names, cells that
iterations hand on, and arrays, each of them as a whole. It ends at a sum over a loop, whose terms may be added in any
order: one that several iterations add to while nobody reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from loopdiff.ir.linear import linear
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Apply,
    Assign,
    Cast,
    Expr,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Select,
    Var,
)
from loopdiff.ir.ops import COMPARISONS, FLOAT_TESTS, ROUNDINGS, Op
from loopdiff.ir.typing import TypeEnv, type_of
from loopdiff.ir.walk import Path, Site, expressions, loads, operands, statements, stmt_exprs, subexprs

# What jumps however little its operands change: an angle does on the negative axis.
JUMPS = frozenset((*COMPARISONS, *FLOAT_TESTS, *ROUNDINGS, Op.SIGN, Op.FLOORDIV, Op.MOD, Op.FMOD, Op.ATAN2))


def deciding_operands(expr: Expr, decides: bool, types: TypeEnv) -> tuple[bool, ...]:
    """Whether each of the `operands` of `expr` decides something; `decides`: `expr` does."""
    match expr:
        case Apply(op=Op.COPYSIGN):
            return decides, True
        case Apply(op=op, args=args):
            return (decides or op in JUMPS,) * len(args)
        case Cast(dtype=dtype, value=value):
            return (decides or (not dtype.is_float and type_of(value, types).is_float),)
        case Select():
            return False, decides, decides
        case Load(access=access):
            return (False,) * len(access.subscripts)
        case _:
            return (decides,) * len(operands(expr))


def added(value: Expr, target: Access) -> Expr | None:
    """`e + f` of `target + e + f`, perhaps converted; None if `value` is something else."""
    match value:
        case Cast(dtype=dtype, value=inner):
            rest = added(inner, target)
            return None if rest is None else Cast(dtype, rest, loc=value.loc)
        case Apply(op=(Op.ADD | Op.SUB) as op, args=(left, right)) if not reads(right, target):
            if is_load(left, target):
                return right if op is Op.ADD else Apply(Op.NEG, (right,), loc=value.loc)
            rest = added(left, target) if isinstance(left, Apply) else None
            return None if rest is None else replace(value, args=(rest, right))
        case _:
            return None


def is_load(expr: Expr, access: Access) -> bool:
    return expr == Load(access) or (isinstance(expr, Cast) and expr.value == Load(access))


def reads(expr: Expr, access: Access) -> bool:
    return any(load.access == access for load in loads(expr))


def addition(site: Site) -> tuple[Access, Expr] | None:
    """What the statement adds, and to what, if that is all that it does."""
    match site.stmt:
        case Accumulate(op="add", target=target, value=value):
            return target, value
        case Assign(target=target, value=value) if (rest := added(value, target)) is not None:
            return target, rest
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Deciding:
    """Lets, cells and arrays whose values decide; the paths of statements that add to those element by element."""

    names: frozenset[str]
    additions: frozenset[Path]


def deciding(ls: LoopSet, types: TypeEnv) -> Deciding:
    """What decides in the normal LoopSet `ls`."""
    slicing = Slicing(types)
    for site in statements(ls.body):
        slicing.enter(site)
    slicing.follow([n for e in expressions(ls) for n in slicing.names_in(e, False)])
    return Deciding(frozenset(slicing.found), frozenset(slicing.additions))


@dataclass(slots=True)
class Slicing:
    """Follows values back to what they are made from: `makers` and `readers` are the statements that give and read a
    name."""

    types: TypeEnv
    makers: dict[str, list[Site]] = field(default_factory=lambda: defaultdict(list))
    readers: dict[str, list[Site]] = field(default_factory=lambda: defaultdict(list))
    found: set[str] = field(default_factory=set)
    additions: set[Path] = field(default_factory=set)

    def enter(self, site: Site) -> None:
        read = stmt_exprs(site.stmt)
        match site.stmt:
            case Let(name=name):
                self.makers[name].append(site)
            case Assign(target=target) | Accumulate(target=target):
                self.makers[target.array].append(site)
                rest = addition(site)
                read = read if rest is None else (*target.subscripts, rest[1])
            case _:
                pass
        for array in {e.access.array for expr in read for e in loads(expr)}:
            self.readers[array].append(site)

    def names_in(self, expr: Expr, decides: bool) -> Iterator[str]:
        """What `expr` reads that decides."""
        if decides and type_of(expr, self.types).is_float:
            match expr:
                case Var(name=name) | Load(access=Access(array=name)):
                    yield name
                case _:
                    pass
        for part, is_so in zip(operands(expr), deciding_operands(expr, decides, self.types), strict=True):
            yield from self.names_in(part, is_so)

    def follow(self, names: list[str]) -> None:
        while names:
            name = names.pop()
            if name not in self.found:
                self.found.add(name)
                for site in self.makers[name]:
                    names += self.makes(site)

    def makes(self, site: Site) -> Iterator[str]:
        """What decides because `site` makes a value of it that does."""
        added_here = addition(site)
        if added_here is None:
            assert isinstance(site.stmt, Let | Assign | Accumulate)
            yield from self.names_in(site.stmt.value, True)
        elif self.adds_once(site, added_here[0]):
            self.additions.add(site.path)
            yield from self.names_in(added_here[1], True)

    def adds_once(self, site: Site, target: Access) -> bool:
        """Whether no loop adds several numbers to one element of `target` that nobody reads in between."""
        shared = max((common(site.loops, r.loops) for r in self.readers[target.array]), default=0)
        inner = site.loops[shared:]
        return all(any(is_axis(s, loop, inner) for s in target.subscripts) for loop in inner)


def common(a: tuple[Loop, ...], b: tuple[Loop, ...]) -> int:
    """How many loops are around both."""
    pairs = zip(a, b, strict=False)
    return next((k for k, (x, y) in enumerate(pairs) if x is not y), min(len(a), len(b)))


def is_axis(subscript: Expr, loop: Loop, loops: tuple[Loop, ...]) -> bool:
    """Whether `subscript` differs between iterations of `loop`, whatever those of other `loops` are."""
    terms, _ = linear(subscript)
    others = {p.index for p in loops} - {loop.index}
    used = {e.name for term in terms for e in subexprs(term) if isinstance(e, Index)}
    return Index(loop.index) in terms and not used & others
