"""Integer expressions as affine terms: what is not affine becomes an opaque dimension of the instance space.

An opaque dimension stands for one integer (or truth value) whose formula the affine view does not know but
which is a function of the iteration: two instances that agree on the first `level` loops, and on its key,
have the same value. So `x[idx[i]]` read and written in one iteration of `i` is recognised as the same
element, the two branches of a data-dependent `if` exclude each other, and an inner loop with loaded bounds
runs exactly as often as it did before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

from loopdiff.analysis.polyhedral.value_ranges import ValueRange
from loopdiff.immutable import HashedOnce, immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, any_of, compare
from loopdiff.ir.ops import COMPARISONS, Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import BOOL, INT
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import LEAVES, Path, operands, rebuild, statements, subexprs, written_arrays

LINEAR = (Op.ADD, Op.SUB, Op.NEG, Op.MIN, Op.MAX)
DIVISIONS = (Op.FLOORDIV, Op.MOD)
LOGIC = (Op.AND, Op.OR, Op.NOT)
PIECEWISE = (Op.MIN, Op.MAX, *DIVISIONS)
ONE = ir.Const(1, INT)
MOST_PIECES = 6  # minima, maxima and divisions in a term: sets are split at each
MOST_WAYS = 3  # for a question of floats to be true, or to be false


@immutable
class Dimension(HashedOnce):
    """One coordinate of an instance space; `leaf` is how terms refer to it.

    `loop`: the iteration of a loop, `stride` from one to the next. `opaque`: see above. `element`: a
    coordinate of an access to a whole array. `level` counts the loops that fix the value.
    """

    kind: Literal["loop", "opaque", "element"]
    key: Hashable
    level: int
    leaf: ir.Expr
    stride: int = 1


@immutable
class Formula:
    """What is known of an expression in which the values of Lets stand for their names: a `leaf` that it shares with
    all that read the same, whether nothing that it reads is ever written, and how many loops fix its value.
    """

    leaf: ir.Var
    is_pure: bool
    level: int


@dataclass(slots=True)
class Terms:
    """Translates the expressions of one LoopSet; collects its parameters until `is_closed`, each with the
    `number` that it has.

    `signed` are indices that may be negative; `trips` maps the index of a loop whose step is not constant to
    the dimension that holds its value. `ranges` are formulas that hold for opaque dimensions, made of what is `known`
    of arrays that their values are elements of: of those that are `stored`. `extents` and `places` keep what `events`
    found.
    """

    ls: ir.LoopSet
    number: Callable[[ir.Expr], int]
    known: Mapping[str, ValueRange] = field(default_factory=dict)
    types: TypeEnv = field(init=False)
    levels: dict[str, int] = field(init=False)
    lets: dict[str, tuple[ir.Let, Path, int]] = field(init=False)
    written: frozenset[str] = field(init=False)
    opaques: dict[Hashable, Dimension] = field(default_factory=dict)
    formulas: dict[ir.Expr, Formula] = field(default_factory=dict)
    formulas_of_lets: dict[str, Formula] = field(default_factory=dict)
    values: dict[str, ir.Expr] = field(default_factory=dict)
    named: dict[str, Dimension] = field(default_factory=dict)
    parameters: dict[ir.Expr, int] = field(default_factory=dict)
    trips: dict[str, Dimension] = field(default_factory=dict)
    signed: set[str] = field(default_factory=set)
    extents: dict[Hashable, tuple[ir.Expr | None, ...]] = field(default_factory=dict)
    places: dict[Hashable, tuple[Any, tuple[ir.Expr, ...]]] = field(default_factory=dict)
    ranges: dict[Dimension, ir.Expr] = field(default_factory=dict)
    stored: set[Dimension] = field(default_factory=set)
    is_closed: bool = False

    def __post_init__(self) -> None:
        self.types = type_env(self.ls)
        self.written = written_arrays(self.ls.body)
        self.levels, self.lets = {}, {}
        for site in statements(self.ls.body):
            match site.stmt:
                case ir.Loop(index=index):
                    self.levels[index] = len(site.loops) + 1
                case ir.Let(name=name):
                    self.lets[name] = (site.stmt, site.path, len(site.loops))
                case _:
                    pass

    # -- integers --------------------------------------------------------------------------------------------
    def integer(self, expr: ir.Expr, path: Path, level: int) -> ir.Expr:
        """`expr`, evaluated by the statement at `path` below `level` loops, over dimensions and parameters."""
        match expr:
            case ir.Const(value=value):
                return ir.Const(int(value), INT)
            case ir.Index(name=name):
                return self.trips[name].leaf if name in self.trips else replace(expr)
            case ir.Param() | ir.Dim():
                return self.parameter(expr) if type_of(expr, self.types) == INT else self.opaque(expr, path, level)
            case ir.Var(name=name):
                return self.let(name)
            case ir.Cast(value=value) if type_of(value, self.types) == INT and expr.dtype == INT:
                return self.integer(value, path, level)
            case ir.Apply(op=op, args=args) if type_of(expr, self.types) == INT:
                return self.operation(expr, op, tuple(self.integer(a, path, level) for a in args), path, level)
            case _:
                return self.opaque(expr, path, level)

    def operation(self, expr: ir.Expr, op: Op, args: tuple[ir.Expr, ...], path: Path, level: int) -> ir.Expr:
        known = [constant_terms(a) for a in args]
        if op in PIECEWISE and pieces(args) >= MOST_PIECES:
            return self.simple(ir.Apply(op, args), expr, path, level)
        if op in LINEAR or (op in DIVISIONS and known[1]) or (op == Op.MUL and known != [None, None]):
            return ir.Apply(op, args)
        if op == Op.ABS:
            return ir.Apply(Op.MAX, (args[0], ir.Apply(Op.NEG, args)))
        if op == Op.MUL and all(self.is_parametric(a) for a in args):
            return self.parameter(ir.Apply(op, args))
        found = self.unknown(expr, path, level)
        if op == Op.MOD:
            self.ranges[found] = remainder_range(found.leaf, args[1])
        if op == Op.BITAND and not all(map(has_opaque, args)):
            self.ranges[found] = common_bits_range(found.leaf, args)
        return found.leaf

    def simple(self, term: ir.Expr, expr: ir.Expr, path: Path, level: int) -> ir.Expr:
        """A name for a `term` of many pieces, the translated `expr`: sets would be split at each of them."""
        is_fixed = all(isinstance(e, ir.Param | ir.Dim | ir.Const | ir.Apply) for e in subexprs(term))
        return self.parameter(term) if is_fixed else self.opaque(expr, path, level)

    def parameter(self, expr: ir.Expr) -> ir.Expr:
        if self.is_closed and expr not in self.parameters:
            return self.opaque(expr, (), 0)
        if expr not in self.parameters:
            self.parameters[expr] = self.number(expr)
        return expr

    def is_parametric(self, expr: ir.Expr) -> bool:
        """Whether `expr` (translated) is made of parameters and constants by + - * only, so that it can be
        one.
        """
        return all(
            isinstance(e, ir.Param | ir.Dim | ir.Const)
            or (isinstance(e, ir.Apply) and e.op in (Op.ADD, Op.SUB, Op.NEG, Op.MUL))
            for e in subexprs(expr)
        )

    def let(self, name: str) -> ir.Expr:
        """The value of a Let: its formula if that means the same wherever the Let is visible."""
        if name not in self.values:
            stmt, path, level = self.lets[name]
            is_formula = type_of(stmt.value, self.types) == INT and self.is_pure(stmt.value)
            leaf = None if is_formula else self.within(self.dimension(("let", name), level), stmt.value).leaf
            self.values[name] = leaf or self.integer(stmt.value, path, level)
        return self.values[name]

    # -- conditions ------------------------------------------------------------------------------------------
    def condition(self, expr: ir.Expr, path: Path, level: int) -> ir.Expr:
        """The truth of `expr` as a formula of comparisons between integer terms."""
        match expr:
            case ir.Const(value=value):
                return ir.Const(bool(value), BOOL)
            case ir.Apply(op=op, args=args) if op in LOGIC and max(self.ways(expr) or (0,)) <= MOST_WAYS:
                return ir.Apply(op, tuple(self.condition(a, path, level) for a in args))
            case ir.Apply(op=op, args=args) if op in COMPARISONS and all(type_of(a, self.types) == INT for a in args):
                return ir.Apply(op, tuple(self.integer(a, path, level) for a in args))
            case ir.Var(name=name) if self.is_pure(self.lets[name][0].value):
                stmt, let_path, let_level = self.lets[name]
                return self.condition(stmt.value, let_path, let_level)
            case ir.Var(name=name):
                leaf = self.dimension(("let", name), self.lets[name][2]).leaf
            case _:
                leaf = self.opaque(expr, path, level)
        return ir.Apply(Op.GE, (leaf, ONE))  # whose complement is one piece, not two

    def ways(self, expr: ir.Expr) -> tuple[int, int] | None:
        """How many ways there are for a question of floats alone to be true, and to be false: of each, sets have a
        piece. None for questions that the affine view knows something of."""
        match expr:
            case ir.Apply(op=op, args=args) if op in LOGIC:
                found = [self.ways(a) for a in args]
                if any(f is None for f in found):
                    return None
                true, false = zip(*(f for f in found if f is not None), strict=True)
                if op == Op.NOT:
                    return false[0], true[0]
                return (prod(true), sum(false)) if op == Op.AND else (sum(true), prod(false))
            case ir.Var(name=name) if self.is_pure(self.lets[name][0].value):
                return self.ways(self.lets[name][0].value)
            case ir.Const():
                return None
            case ir.Apply(op=op, args=args) if op in COMPARISONS and all(type_of(a, self.types) == INT for a in args):
                return None
            case _:
                return 1, 1

    def branches(self, cond: ir.Expr, path: Path, level: int) -> tuple[ir.Expr, ir.Expr]:
        """What holds where the condition of a branch does, and where it does not.

        Whether two parameters are equal is one parameter: where they are not, all sets would have two pieces, and pairs
        of instances four. That one parameter is not two constants at once is known of it itself.
        """
        term = self.in_parameters(self.condition(cond, path, level))
        return term, ir.Apply(Op.NOT, (term,))

    def in_parameters(self, term: ir.Expr) -> ir.Expr:
        """`term` with a parameter for whether two others are equal."""
        match term:
            case ir.Apply(op=Op.NOT, args=(inner,)):
                return ir.Apply(Op.NOT, (self.in_parameters(inner),))
            case ir.Apply(op=Op.NE, args=args):
                return ir.Apply(Op.NOT, (self.in_parameters(ir.Apply(Op.EQ, args)),))
            case ir.Apply(op=Op.EQ, args=args) if all(map(self.is_parametric, args)):
                if any(isinstance(a, ir.Const) for a in args):
                    return term
                equal = ir.Apply(Op.EQ, tuple(sorted(args, key=print_expr)))
                return ir.Apply(Op.GE, (self.parameter(ir.Cast(INT, equal)), ONE))
            case _:
                return term

    # -- opaque dimensions -----------------------------------------------------------------------------------
    def opaque(self, expr: ir.Expr, path: Path, level: int) -> ir.Expr:
        return self.unknown(expr, path, level).leaf

    def unknown(self, expr: ir.Expr, path: Path, level: int) -> Dimension:
        """A dimension for `expr`: keyed by its formula where nothing it reads is ever written, else by its
        place.
        """
        found = self.formula(expr)
        if not found.is_pure:
            return self.within(self.dimension((path, expr), level), expr)
        return self.dimension(("value", found.leaf), found.level)

    def within(self, dimension: Dimension, value: ir.Expr) -> Dimension:
        """The dimension of a `value`, with what is known of the elements that it is one of."""
        if isinstance(value, ir.Load) and (known := self.known.get(value.access.array)) is not None:
            sides = ((Op.GE, known.lows), (Op.LE, known.highs))
            tests = [
                any_of(ir.Apply(op, (dimension.leaf, self.integer(bound, (), 0))) for bound in bounds)
                for op, bounds in sides
            ]
            self.ranges[dimension] = ir.Apply(Op.AND, tuple(tests))
            self.stored.add(dimension)
        return dimension

    def formula(self, expr: ir.Expr) -> Formula:
        """The Formula of `expr`, in steps as many as the program has operations: written out, values that Lets share
        would be exponentially long.
        """
        if isinstance(expr, ir.Var):
            if expr.name not in self.formulas_of_lets:
                let, _, level = self.lets[expr.name]
                found = self.formula(let.value) if self.is_pure(let.value) else self.numbered(expr, True, level)
                self.formulas_of_lets[expr.name] = found
            return self.formulas_of_lets[expr.name]
        parts = [self.formula(e) for e in operands(expr)]
        is_written = isinstance(expr, ir.Load) and expr.access.array in self.written
        own = self.levels[expr.name] if isinstance(expr, ir.Index) else 0
        short = rebuild(expr, tuple(p.leaf for p in parts))
        return self.numbered(
            short, not is_written and all(p.is_pure for p in parts), max((p.level for p in parts), default=own)
        )

    def numbered(self, short: ir.Expr, is_pure: bool, level: int) -> Formula:
        """The Formula of `short`, an operation on leaves of others."""
        if short not in self.formulas:
            self.formulas[short] = Formula(ir.Var(f"#{len(self.formulas)}"), is_pure, level)
        return self.formulas[short]

    def is_pure(self, expr: ir.Expr) -> bool:
        return not any(isinstance(e, ir.Load) and e.access.array in self.written for e in subexprs(expr))

    def dimension(self, key: Hashable, level: int) -> Dimension:
        if key not in self.opaques:
            made = Dimension("opaque", key, level, ir.Var(f"?{len(self.opaques)}"))
            self.opaques[key] = self.named[made.leaf.name] = made  # type: ignore[union-attr]
        return self.opaques[key]

    def may_be_negative(self, term: ir.Expr) -> bool:
        """Whether `term` contains anything that could make it negative: a quick test, not a proof."""
        return any(
            (isinstance(e, ir.Apply) and e.op in (Op.SUB, Op.NEG))
            or (isinstance(e, ir.Const) and e.value < 0)
            or isinstance(e, ir.Param)
            or (isinstance(e, ir.Index) and e.name in self.signed)
            for e in subexprs(term)
        )

    def opaques_in(self, terms: tuple[ir.Expr, ...]) -> Iterator[Dimension]:
        """Opaque dimensions that translated `terms` refer to."""
        for term in terms:
            for e in subexprs(term):
                if isinstance(e, ir.Var):
                    yield self.named[e.name]


def pieces(terms: Iterable[ir.Expr]) -> int:
    """How many minima, maxima and divisions there are in `terms`."""
    return sum(isinstance(e, ir.Apply) and e.op in PIECEWISE for term in terms for e in subexprs(term))


def constant_terms(term: ir.Expr) -> int | None:
    """The value of an integer term without dimensions and parameters."""
    match term:
        case ir.Const(value=value):
            return int(value)
        case ir.Apply(op=op, args=args):
            known = [constant_terms(a) for a in args]
            if None in known:
                return None
            return evaluate(op, [v for v in known if v is not None])
        case _:
            return None


def evaluate(op: Op, values: list[int]) -> int | None:
    match op, values:
        case Op.NEG, [a]:
            return -a
        case Op.ADD, [a, b]:
            return a + b
        case Op.SUB, [a, b]:
            return a - b
        case Op.MUL, [a, b]:
            return a * b
        case Op.FLOORDIV, [a, b] if b:
            return a // b
        case Op.MOD, [a, b] if b:
            return a % b
        case Op.MIN, _:
            return min(values)
        case Op.MAX, _:
            return max(values)
        case _:
            return None


def remainder_range(remainder: ir.Expr, divisor: ir.Expr) -> ir.Expr:
    """Where the remainder of a division by a positive number is: there is none by zero."""
    within = (ir.Apply(Op.GE, (remainder, ir.Const(0, INT))), ir.Apply(Op.LT, (remainder, divisor)))
    return ir.Apply(Op.OR, (ir.Apply(Op.LE, (divisor, ir.Const(0, INT))), ir.Apply(Op.AND, within)))


def common_bits_range(common: ir.Expr, args: Iterable[ir.Expr]) -> ir.Expr:
    """Where the bits are that integers have in common: between zero and each of these that is not negative."""
    zero = ir.Const(0, INT)
    known = (a for a in args if not has_opaque(a))
    return all_of(
        any_of((compare(Op.LT, a, zero), all_of((compare(Op.GE, common, zero), compare(Op.LE, common, a)))))
        for a in known
    )


def has_opaque(term: ir.Expr) -> bool:
    return any(isinstance(e, ir.Var) for e in subexprs(term))


def guarded_loads(
    expr: ir.Expr, guards: tuple[tuple[ir.Expr, bool], ...] = ()
) -> Iterator[tuple[ir.Load, tuple[tuple[ir.Expr, bool], ...]]]:
    """Every Load in `expr` with the conditions, and their outcomes, under which it is evaluated."""
    match expr:
        case ir.Select(cond=cond, then=then, orelse=orelse):
            yield from guarded_loads(cond, guards)
            yield from guarded_loads(then, (*guards, (cond, True)))
            yield from guarded_loads(orelse, (*guards, (cond, False)))
        case ir.Apply(op=op, args=args) if op in (Op.AND, Op.OR):
            for arg in args:
                yield from guarded_loads(arg, guards)
                guards = (*guards, (arg, op == Op.AND))
        case _:
            for part in operands(expr):
                if type(part) not in LEAVES:
                    yield from guarded_loads(part, guards)
            if isinstance(expr, ir.Load):
                yield expr, guards
