"""Formulas and terms as isl's sets and functions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from loopdiff.analysis.polyhedral.terms import constant_terms
from loopdiff.errors import InternalError
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.settings.deferred import deferred_interrupts

with deferred_interrupts():  # half of its types would be registered, and the next import abort the process
    import islpy as isl

MANY = 64  # parts of a set
SET, PARAM, DIV = isl.dim_type.set, isl.dim_type.param, isl.dim_type.div


@immutable
class Translation:
    """Formulas and terms over the dimensions `places` as isl sets and functions on `space`, and on those of the
    `parameters` that they mention."""

    space: Any
    parameters: Mapping[ir.Expr, int]
    places: Mapping[ir.Expr, int]

    def truth(self, formula: ir.Expr) -> Any:
        """The set where `formula` holds."""
        match formula:
            case ir.Const(value=value):
                return isl.Set.universe(self.space) if value else isl.Set.empty(self.space)
            case ir.Apply(op=Op.AND, args=args):
                return self.join(args, "intersect")
            case ir.Apply(op=Op.OR, args=args):
                return self.join(args, "union")
            case ir.Apply(op=Op.NOT, args=(arg,)):
                return self.truth(arg).complement()
            case ir.Apply(op=op, args=args):
                return self.comparison(op, args)
            case _:
                raise InternalError(f"LD906: no set for {print_expr(formula)}")

    def comparison(self, op: Op, args: tuple[ir.Expr, ...]) -> Any:
        plain = without_extremum(op, args)
        if plain is None:
            name = {Op.LT: "lt", Op.LE: "le", Op.GT: "gt", Op.GE: "ge", Op.EQ: "eq", Op.NE: "ne"}[op]
            return getattr(self.function(args[0]), f"{name}_set")(self.function(args[1]))
        if op in (Op.EQ, Op.NE):
            both, ways = (Op.AND, (Op.LE, Op.GE)) if op == Op.EQ else (Op.OR, (Op.LT, Op.GT))
            return self.truth(ir.Apply(both, tuple(ir.Apply(way, args) for way in ways)))
        return self.truth(plain)

    def text(self, term: ir.Expr) -> Hashable:
        """What a term or formula says, whatever names its dimensions have."""
        if term in self.parameters:
            return self.parameters[term]
        if term in self.places:
            return ("at", self.places[term])
        match term:
            case ir.Apply(op=op, args=args):
                return (op, *(self.text(a) for a in args))
            case _:
                return term

    def join(self, args: tuple[ir.Expr, ...], how: str) -> Any:
        found = self.truth(args[0])
        for arg in args[1:]:
            found = in_few_pieces(getattr(found, how)(self.truth(arg)))
        return found

    def function(self, term: ir.Expr) -> Any:
        """`term` as a piecewise affine function."""
        if term in self.parameters:
            return self.parameter(self.parameters[term])
        if term in self.places:
            return self.variable(SET, self.places[term])
        value = constant_terms(term)
        if value is not None:
            return isl.PwAff.from_aff(isl.Aff.zero_on_domain(self.local).set_constant_val(self.number(value)))
        match term:
            case ir.Apply(op=Op.NEG, args=(a,)):
                return self.function(a).neg()
            case ir.Apply(op=Op.ADD, args=(a, b)):
                return self.function(a).add(self.function(b))
            case ir.Apply(op=Op.SUB, args=(a, b)):
                return self.function(a).sub(self.function(b))
            case ir.Apply(op=Op.MUL, args=(a, b)):
                return self.function(a).mul(self.function(b))
            case ir.Apply(op=(Op.FLOORDIV | Op.MOD) as op, args=(a, b)):
                return self.division(op, self.function(a), constant_terms(b) or 1)
            case ir.Apply(op=(Op.MIN | Op.MAX) as op, args=args):
                return self.extremum("min" if op == Op.MIN else "max", args)
            case _:
                raise InternalError(f"LD906: no affine function for {print_expr(term)}")

    def division(self, op: Op, function: Any, divisor: int) -> Any:
        """Python's // and %, which round towards minus infinity."""
        if divisor < 0:
            opposite = self.division(op, function.neg(), -divisor)
            return opposite if op == Op.FLOORDIV else opposite.neg()
        value = self.number(divisor)
        return function.scale_down_val(value).floor() if op == Op.FLOORDIV else function.mod_val(value)

    def extremum(self, which: str, args: tuple[ir.Expr, ...]) -> Any:
        found = self.function(args[0])
        for arg in args[1:]:
            found = getattr(found, which)(self.function(arg))
        return found

    @property
    def local(self) -> Any:
        return isl.LocalSpace.from_space(self.space)

    def variable(self, kind: Any, place: int) -> Any:
        return isl.PwAff.from_aff(isl.Aff.var_on_domain(self.local, kind, place))

    def parameter(self, place: int) -> Any:
        space = self.space.add_dims(PARAM, 1).set_dim_name(PARAM, 0, f"p{place}")
        return isl.PwAff.from_aff(isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), PARAM, 0))

    def number(self, value: int) -> Any:
        return isl.Val.int_from_si(self.space.get_ctx(), value)


def in_few_pieces(found: Any) -> Any:
    """The same set, of less parts if there are many: what comes of it has as many as the product of all."""
    return found.coalesce() if found.n_basic_set() > MANY else found


def without_extremum(op: Op, args: tuple[ir.Expr, ...]) -> ir.Expr | None:
    """A comparison of sums with one minimum or maximum less, None if there is none: `i < min(n, m) - 1` is
    `i < n - 1 and i < m - 1`, in fewer pieces than as a comparison with a function that has several.
    """
    a, b = args
    for is_left, term in ((True, a), (False, b)):
        found = extremum_in(term)
        if found is not None:
            which, parts = found
            pairs = ((p, b) if is_left else (a, p) for p in parts)
            both = (which == Op.MIN) == ((op in (Op.GT, Op.GE)) == is_left)
            return ir.Apply(Op.AND if both else Op.OR, tuple(ir.Apply(op, pair) for pair in pairs))
    return None


def extremum_in(term: ir.Expr) -> tuple[Op, tuple[ir.Expr, ...]] | None:
    """The sum `term` as minimum, or maximum, of sums, None if nothing in it is one."""
    match term:
        case ir.Apply(op=(Op.MIN | Op.MAX) as which, args=args):
            return which, args
        case ir.Apply(op=(Op.ADD | Op.SUB | Op.NEG) as op, args=args):
            for place, arg in enumerate(args):
                found = extremum_in(arg)
                if found is not None:
                    which, parts = found
                    if op == Op.NEG or (op == Op.SUB and place == 1):
                        which = Op.MAX if which == Op.MIN else Op.MIN
                    return which, tuple(ir.Apply(op, (*args[:place], p, *args[place + 1 :])) for p in parts)
            return None
        case _:
            return None
